"""All that is kept of the owner's words for speed alone, and how it is let go."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from device.language.kept import Kept
from device.memory.wording import wording_of
from protocol.models.features import forget_texts, keep_texts

__all__ = ["READERS", "forget_readings", "keep_readings", "shared_readings"]

READERS = (
    "device.language.actions",
    "device.language.attributes",
    "device.language.changes",
    "device.language.chinese_times.engine",
    "device.language.english_times.engine",
    "device.language.entities",
    "device.language.eventhood",
    "device.language.events",
    "device.language.intents",
    "device.language.preferences",
    "device.language.sentiment",
    "device.language.times",
    "device.language.tokens",
    "device.learning.examples",
    "device.memory.amendments",
    "device.memory.desk",
    "device.memory.working",
    "device.recall.focus",
    "device.recall.folding",
    "device.recall.layers",
    "device.recall.lexical",
    "device.recall.relevance",
    "device.recall.rows",
    "device.recall.router",
    "device.recall.rules",
)
"""Modules whose functions keep what they read."""


def forget_readings() -> None:
    """Keep nothing of any text read so far: nothing of a forgotten one may linger, nor more than is
    needed when memory is short."""
    forget_texts()
    wording_of.cache_clear()
    for reader in _readers():
        reader.forget()


def shared_readings() -> None:
    """In place of `forget_readings` where nothing that is kept is anybody's: a script that ships
    with the phone, or a fleet of virtual phones that retell the same dialogues. What one of them
    forgets the others still read."""


def keep_readings(readings: int | None) -> None:
    """Have every reader of the process keep so many readings from now on; None: as one phone does.

    For who composes a process of many phones that are told the same.
    """
    keep_texts(readings)
    for reader in _readers():
        reader.keep(readings)


def _readers() -> Iterator[Kept[..., object]]:
    for name in READERS:
        for each in vars(sys.modules[name]).values() if name in sys.modules else ():
            if isinstance(each, Kept):
                yield each
