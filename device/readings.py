"""All that is kept of the owner's words for speed alone, and how it is let go."""

from __future__ import annotations

import sys

from device.language.kept import Kept
from device.memory.wording import wording_of
from protocol.models.features import forget_texts

__all__ = ["READERS", "forget_readings"]

READERS = (
    "device.language.actions",
    "device.language.attributes",
    "device.language.changes",
    "device.language.chinese_times.engine",
    "device.language.english_times.engine",
    "device.language.entities",
    "device.language.eventhood",
    "device.language.intents",
    "device.language.preferences",
    "device.language.sentiment",
    "device.language.times",
    "device.language.tokens",
    "device.learning.examples",
    "device.recall.analysis",
    "device.recall.focus",
    "device.recall.folding",
    "device.recall.relevance",
    "device.recall.rules",
)
"""Modules whose functions keep what they read."""


def forget_readings() -> None:
    """Keep nothing of any text read so far: nothing of a forgotten one may linger, nor more than is
    needed when memory is short."""
    forget_texts()
    wording_of.cache_clear()
    for name in READERS:
        for each in vars(sys.modules[name]).values() if name in sys.modules else ():
            if isinstance(each, Kept):
                each.forget()
