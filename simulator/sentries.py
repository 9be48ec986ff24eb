"""Watchmen of a whole process, for worlds that are played to find faults: laws 4 and 6.

They put wrappers in the place of a few functions while phones run, in this process only, so they
are asked for and never on by themselves.
"""

from __future__ import annotations

import builtins
import hashlib
import os
import random
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Protocol

from protocol import release
from simulator.laws import GIVEN, VERIFIED, Tally

__all__ = ["Decoders", "Machine", "Sentry"]

_ROOT: Final = Path(__file__).resolve().parents[1]
_PHONES: Final = tuple(str(_ROOT / name) + os.sep for name in ("device", "protocol", "privacy"))
"""Code that runs on a phone."""
_OURS: Final = (*_PHONES, *(str(_ROOT / name) + os.sep for name in ("cloud", "simulator")))
_TAKEN: Final[tuple[tuple[ModuleType, str], ...]] = (
    (time, "time"),
    (time, "time_ns"),
    (time, "monotonic"),
    (time, "sleep"),
    (os, "urandom"),
    (random, "random"),
    (random, "randrange"),
    (socket, "socket"),
    (builtins, "open"),
)


class Sentry(Protocol):
    """Whoever watches a process while phones run."""

    tally: Tally

    def on_duty(self) -> Any:
        """A context manager around what is watched."""
        ...


class Decoders:
    """Law 4: no blob of a release is decoded whose hash was not taken right before, and fits what a
    release names."""

    def __init__(self) -> None:
        self.tally = Tally()
        self._taken: set[bytes] = set()

    @contextmanager
    def on_duty(self) -> Iterator[None]:
        """While open, decoders are watched."""
        names = ("decode_full", "apply_difference", "hashlib")
        full, difference, hashes = (getattr(release, name) for name in names)

        def watched_full(blob: bytes, *args: Any) -> Any:
            self._decoded(blob)
            return full(blob, *args)

        def watched_difference(base: Any, blob: bytes, *args: Any) -> Any:
            self._decoded(blob)
            return difference(base, blob, *args)

        with _instead(
            (release, "decode_full", watched_full),
            (release, "apply_difference", watched_difference),
            (release, "hashlib", _Hashes(self._taken, hashes)),
        ):
            yield

    def _decoded(self, blob: bytes) -> None:
        digest = hashlib.sha256(blob).digest()
        known = digest in self._taken
        self._taken.discard(digest)
        said = f"{len(blob)} bytes were decoded before their hash was taken"
        self.tally.check(VERIFIED, known, "a phone", said)


class _Hashes:
    """`hashlib`, which remembers whose SHA-256 was taken."""

    def __init__(self, taken: set[bytes], real: Any) -> None:
        self._taken, self._real = taken, real

    def sha256(self, data: bytes = b"") -> Any:
        """As hashlib's."""
        digest = self._real.sha256(data)
        self._taken.add(digest.digest())
        return digest


class Machine:
    """Law 6: while phones run, none of their code asks this machine for time, randomness, a file or
    a socket. Files of the packages themselves are code."""

    def __init__(self) -> None:
        self.tally = Tally()

    @contextmanager
    def on_duty(self) -> Iterator[None]:
        """While open, what phones must not take is watched."""
        places = [
            (module, name, self._watched(name, getattr(module, name))) for module, name in _TAKEN
        ]
        self.tally.check(GIVEN, True, "", "")
        with _instead(*places):
            yield

    def _watched(self, name: str, real: Any) -> Callable[..., Any]:
        def taking(*args: Any, **kwargs: Any) -> Any:
            taker = _taker(sys._getframe(1))
            if taker and not (name == "open" and str(args[0]).startswith(_OURS)):
                self.tally.check(GIVEN, False, taker, f"{name} was taken from the machine")
            return real(*args, **kwargs)

        return taking


def _taker(frame: Any) -> str:
    """The nearest caller of ours, where it is a phone's code; else ""."""
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(_OURS):
            return str(Path(name).relative_to(_ROOT)) if name.startswith(_PHONES) else ""
        frame = frame.f_back
    return ""


@contextmanager
def _instead(*places: tuple[Any, str, Any]) -> Iterator[None]:
    """Put other functions in place, and the real ones back."""
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in places]
    for owner, name, other in places:
        setattr(owner, name, other)
    try:
        yield
    finally:
        for owner, name, real in before:
            setattr(owner, name, real)
