"""Everything in the memory that holds certain words: exact, so that it may decide an erasure."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import datetime, tzinfo

from device.actors import DomainError, checkpoint
from device.agent.keeping import words_kept
from device.language import content_tokens, find_times
from device.memory import DrawnFrom, ListArchived, ListItems, TurnsAfter, TurnsBetween
from device.memory.records import Item, Turn
from device.owner.records import Layers

__all__ = ["NothingToSeek", "Words", "items_with", "turns_with", "values_with"]

PAGE = 512
"""Turns looked at between two checkpoints: a recall is served in between."""
MIN_CHARACTERS = 2
VAGUE_GRAINS = frozenset({"second", "days", "after"})


class NothingToSeek(DomainError):
    """A query that would match nearly everything."""

    def __init__(self) -> None:
        super().__init__("give at least one telling word, or use --all to forget everything")


class Words:
    """A query as words to be found: all of them, or the very phrase; and the times it names."""

    def __init__(self, query: str, now: float, zone: tzinfo) -> None:
        """Times in `query` are read from `now` (unix seconds) in `zone`.

        Raises:
            NothingToSeek: neither a telling word nor a time is left.
        """
        times = find_times(query, datetime.fromtimestamp(now, zone))
        usable = [time for time in times if time.grain not in VAGUE_GRAINS]
        self.spans = tuple((time.start, time.end) for time in usable)
        for time in usable:
            query = query.replace(time.text, " ")
        self.text = " ".join(query.split())
        self._tokens = frozenset(content_tokens(self.text))
        telling = len(self.text) >= MIN_CHARACTERS and self._tokens
        if not telling and not self.spans:
            raise NothingToSeek
        phrase = re.escape(self.text.casefold())
        # A latin phrase stands between word borders: "Ann" is not in "annual".
        self._phrase = re.compile(rf"(?<![a-z0-9]){phrase}(?![a-z0-9])") if telling else None

    def within(self, text: str) -> bool:
        """Whether `text` holds the phrase or all of its telling words."""
        if self._phrase is None:
            return True
        if self._phrase.search(text.casefold()):
            return True
        return self._tokens <= frozenset(content_tokens(text))


async def turns_with(layers: Layers, words: Words) -> list[Turn]:
    """Turns that hold the words, oldest first; only those of the times named, where any is: their
    segments are found first and searched inside (002, raw layer)."""
    pages = _between(layers, words) if words.spans else _all(layers)
    found: dict[str, Turn] = {}
    async for page in pages:
        found.update((turn.id, turn) for turn in page if words.within(turn.text))
        await checkpoint()
    return sorted(found.values(), key=lambda turn: turn.sequence)


async def items_with(layers: Layers, words: Words, turns: list[Turn]) -> list[Item]:
    """Items that hold the words, and those drawn from `turns`; archived ones included, by id."""
    drawn = await layers.structured.ask(DrawnFrom([turn.id for turn in turns]))
    found = {item.id: item for item in drawn}
    if not words.spans:
        held = await layers.structured.ask(ListItems())
        cold = await layers.structured.ask(ListArchived())
        found |= {item.id: item for item in (*held, *cold) if words.within(_words_of(item))}
    return [found[identifier] for identifier in sorted(found)]


async def values_with(layers: Layers, words: Words) -> list[str]:
    """Ids of values that hold the words."""
    if words.spans:
        return []
    return [i for i, value in (await layers.values()).items() if words.within(value.value)]


async def _all(layers: Layers) -> AsyncIterator[list[Turn]]:
    after = -1
    while turns := await layers.raw.ask(TurnsAfter(after, PAGE)):
        yield turns
        after = turns[-1].sequence


async def _between(layers: Layers, words: Words) -> AsyncIterator[list[Turn]]:
    newest = await layers.newest()
    for start, end in words.spans:
        yield await layers.raw.ask(TurnsBetween(start, end, newest + 1))


def _words_of(item: Item) -> str:
    words = [item.text, item.subject, item.object, item.place, *item.people]
    return " ".join([*words, *words_kept(item)])
