"""The built-in extractor: rules alone, on the phone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo

from device.language.events import Draft, extract
from device.language.extractors.extractor import Said

__all__ = ["BuiltinExtractor"]


class BuiltinExtractor:
    """`device.language.extract`, turn by turn."""

    name = "builtin"
    notice = ""

    async def extract(self, turns: Sequence[Said], tz: tzinfo) -> list[list[Draft]]:
        """As `Extractor.extract`."""
        return [extract(turn.text, turn.speaker, turn.at, tz, turn.kind) for turn in turns]
