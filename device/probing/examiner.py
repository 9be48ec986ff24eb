"""Which probes a set of parameters passes: what a phone asks before it adopts a release (law 7)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from device.actors import checkpoint
from device.probing.engine import play_dialogue
from device.probing.loading import Suite, load_suite
from device.probing.verdicts import Key, Verdicts, key_of
from device.sync.adoption import Models

__all__ = ["Examiner"]

VERDICTS = 8
"""Verdicts remembered: the parameters in use and a few candidates."""
DIALOGUES = 100
"""Dialogues remembered for each of them: somewhat more than there are."""


class Examiner:
    """Plays the suite for each pair of parameters and policy and remembers what passed.

    A verdict follows from these alone, so phones of one process may share an examiner;
    those that ask for the same at the same time wait for one another's. A dialogue that did not
    look into a model is not played again for another version of it, and one played before an
    examination was cancelled not for the next.
    """

    def __init__(
        self, suite: Callable[[], Suite] = load_suite, *, remembered: int | None = None
    ) -> None:
        """`suite` reads the probes; it is called for every run, to keep none in memory.
        `remembered` bounds the verdicts kept, `VERDICTS` unless given: a fleet's phones hold many
        pairs of versions."""
        self._suite = suite
        self._remembered = VERDICTS if remembered is None else remembered
        self._verdicts: dict[Key, frozenset[str]] = {}
        self._dialogues = Verdicts(self._remembered * DIALOGUES)
        self._running: dict[Key, asyncio.Event] = {}

    async def passed(self, models: Models) -> frozenset[str]:
        """Ids of the probes that a phone with `models` passes. Cancelling it loses only time."""
        key = key_of(models)
        while key not in self._verdicts:
            if key in self._running:
                await self._running[key].wait()
            else:
                await self._examine(key, models)
        return self._verdicts[key]

    async def _examine(self, key: Key, models: Models) -> None:
        done = self._running[key] = asyncio.Event()
        passed: set[str] = set()
        try:
            for dialogue in self._suite().dialogues:
                known = self._dialogues.find(dialogue, key)
                if known is None:
                    results, read = await play_dialogue(dialogue, models)
                    known = frozenset([result.id for result in results if result.passed])
                    self._dialogues.keep(dialogue, key, read, known)
                passed |= known
                await checkpoint()
        finally:
            # A run cut short leaves no verdict: the next in line begins anew.
            del self._running[key]
            done.set()
        while len(self._verdicts) >= self._remembered:
            del self._verdicts[next(iter(self._verdicts))]
        self._verdicts[key] = frozenset(passed)
