"""Which probes a set of parameters passes: what a phone asks before it adopts a release (law 7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing

from device.probing.engine import play
from device.probing.loading import Suite, load_suite
from device.sync.adoption import Models
from protocol.params import Parameters, sha256_of

__all__ = ["Examiner"]

VERDICTS = 8
"""Verdicts remembered: the parameters in use and a few candidates."""

_Key = tuple[bytes, bytes, tuple[tuple[str, float], ...]]


class Examiner:
    """Plays the suite once for each pair of parameters and policy and remembers what passed.

    A verdict follows from these alone, so phones of one process may share an examiner;
    those that ask for the same at the same time wait for one another's.
    """

    def __init__(
        self, suite: Callable[[], Suite] = load_suite, *, remembered: int | None = None
    ) -> None:
        """`suite` reads the probes; it is called for every run, to keep none in memory.
        `remembered` bounds the verdicts kept, `VERDICTS` unless given: a fleet's phones hold many
        pairs of versions."""
        self._suite = suite
        self._remembered = VERDICTS if remembered is None else remembered
        self._verdicts: dict[_Key, frozenset[str]] = {}
        self._running: dict[_Key, asyncio.Event] = {}

    async def passed(self, models: Models) -> frozenset[str]:
        """Ids of the probes that a phone with `models` passes. Cancelling it loses only time."""
        policy = tuple(sorted(models.policy.items()))
        key = (_digest(models.router), _digest(models.dedup), policy)
        while key not in self._verdicts:
            if key in self._running:
                await self._running[key].wait()
            else:
                await self._examine(key, models)
        return self._verdicts[key]

    async def _examine(self, key: _Key, models: Models) -> None:
        done = self._running[key] = asyncio.Event()
        try:
            async with aclosing(play(self._suite(), models)) as results:
                verdict = frozenset([result.id async for result in results if result.passed])
        finally:
            # A run cut short leaves no verdict: the next in line begins anew.
            del self._running[key]
            done.set()
        while len(self._verdicts) >= self._remembered:
            del self._verdicts[next(iter(self._verdicts))]
        self._verdicts[key] = verdict


def _digest(parameters: Parameters | None) -> bytes:
    return b"" if parameters is None else sha256_of(parameters)
