"""What came of dialogues already played, told by what of the models they looked into."""

from __future__ import annotations

from dataclasses import dataclass

from device.probing.schema import Dialogue, RouterKind
from device.sync.adoption import Models
from protocol.models import DEDUP, ROUTER
from protocol.params import Parameters, sha256_of

__all__ = ["Key", "Verdicts", "key_of"]

ANY = b"any"
"""Stands for parameters that were there and that the play did not look into."""
NONE = b""

Key = tuple[bytes, bytes, tuple[tuple[str, float], ...]]
"""Digests of router and dedup model, and the router's policy."""


def key_of(models: Models) -> Key:
    """What tells these models from others."""
    policy = tuple(sorted(models.policy.items()))
    return _digest(models.router), _digest(models.dedup), policy


@dataclass(frozen=True, slots=True)
class _Seen:
    """A dialogue, and of the models what its play may have looked into."""

    dialogue: str
    router: bytes
    dedup: bytes
    policy: tuple[tuple[str, float], ...]


class Verdicts:
    """Ids of the probes passed, by dialogue and models; the newest `remembered`."""

    def __init__(self, remembered: int) -> None:
        self._remembered = remembered
        self._passed: dict[_Seen, frozenset[str]] = {}

    def __len__(self) -> int:
        return len(self._passed)

    def find(self, dialogue: Dialogue, key: Key) -> frozenset[str] | None:
        """What is known to come of `dialogue` with these models; None: it must be played."""
        router, dedup, policy = _concerning(dialogue, key)
        for first in dict.fromkeys((router, ANY if router else NONE)):
            for second in dict.fromkeys((dedup, ANY if dedup else NONE)):
                passed = self._passed.get(_Seen(dialogue.id, first, second, policy))
                if passed is not None:
                    return passed
        return None

    def keep(self, dialogue: Dialogue, key: Key, read: set[str], passed: frozenset[str]) -> None:
        """`dialogue` passed these with models of which it looked into those in `read`."""
        router, dedup, policy = _concerning(dialogue, key)
        if router and ROUTER.name not in read:
            router = ANY
        if dedup and DEDUP.name not in read:
            dedup = ANY
        while len(self._passed) >= self._remembered:
            del self._passed[next(iter(self._passed))]
        self._passed[_Seen(dialogue.id, router, dedup, policy)] = passed


def _concerning(dialogue: Dialogue, key: Key) -> Key:
    """The part of the models that this dialogue's phone is given: one with a router made for it is
    lent no other, and no policy."""
    router, dedup, policy = key
    return (router, dedup, policy) if dialogue.router is RouterKind.GIVEN else (NONE, dedup, ())


def _digest(parameters: Parameters | None) -> bytes:
    return NONE if parameters is None else sha256_of(parameters)
