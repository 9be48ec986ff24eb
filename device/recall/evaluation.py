"""Is what was found enough? The evaluation step of agentic recall (002).

Three questions about the first retrieval: is any hit relevant, which of time, place and person the
query asks for does no relevant hit carry, and do two hits contradict each other. Any of the three
leads to one clarifying retrieval in the raw layer, never to more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from device.language import content_tokens
from device.language.entities import find_people, find_place
from device.memory.records import EventState, Item, ItemKind
from device.recall.candidates import Candidate
from protocol.models import lexicon

__all__ = ["Assessment", "aspects_asked", "assess", "carries", "conflicting"]

USEFUL = 0.34
"""Share of the query's information that a relevant hit carries at least."""
JUDGED = 5
"""Hits looked at: an answer that stands lower does not answer."""
LEANED_ON = 3
"""Relevant hits that make an answer stand on more than one leg."""
VALUE_PREFIX = "value:"
"""Ids of the working layer's key-value answers."""
SAME_EVENT = 0.5
"""Overlap of two events' words from which different days are a contradiction."""
SAME_DAY_SECONDS = 86_400.0
CLEAR_SENTIMENT = 0.2

_ASKED = {
    "time": lexicon.WHEN_ASKED,
    "place": lexicon.WHERE_ASKED,
    "person": lexicon.PERSON_ASKED,
}
_NAME = re.compile(r"(?<=[a-z,] )(?!I\b)[A-Z][a-z]+")
"""A capitalised word inside an English sentence."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the evaluation found of one retrieval."""

    useful: bool
    """At least one hit is relevant."""
    missing: tuple[str, ...]
    """Aspects asked for that no relevant hit carries: ``time``, ``place``, ``person``."""
    conflicts: tuple[tuple[str, str], ...]
    """Pairs of ids that contradict each other, the newer first."""
    thin: bool = False
    """Too few relevant hits to lean on, and none of them a value known for certain."""

    @property
    def enough(self) -> bool:
        """Nothing to clarify."""
        return self.useful and not (self.thin or self.missing or self.conflicts)


def aspects_asked(query: str) -> tuple[str, ...]:
    """Which of time, place and person the query asks for."""
    folded = query.casefold()
    return tuple(aspect for aspect, pattern in _ASKED.items() if pattern.search(folded))


def assess(query: str, candidates: Sequence[Candidate]) -> Assessment:
    """Judge the best few candidates (best first) against the query."""
    relevant = [c for c in candidates[:JUDGED] if c.relevance >= USEFUL]
    missing = tuple(
        aspect
        for aspect in aspects_asked(query)
        if not any(carries(candidate, aspect) for candidate in relevant)
    )
    items = [c.item for c in relevant if c.item is not None]
    certain = any(c.hit.id.startswith(VALUE_PREFIX) for c in relevant)
    thin = len(relevant) < LEANED_ON and not certain
    return Assessment(bool(relevant), missing, conflicting(items), thin)


def carries(candidate: Candidate, aspect: str) -> bool:
    """Whether a memory tells a time, a place or a person."""
    return _CARRIERS[aspect](candidate)


def conflicting(items: Sequence[Item]) -> tuple[tuple[str, str], ...]:
    """Pairs of active items that cannot both hold, the newer id first.

    Two events alike in action, object and people on different days; two preferences for the same
    thing with opposite feeling.
    """
    pairs = []
    standing = [item for item in items if item.state is EventState.ACTIVE and not item.replaced_by]
    for index, first in enumerate(standing):
        for second in standing[index + 1 :]:
            clash = _CONTRADICTS.get(first.kind)
            if clash is not None and first.kind is second.kind and clash(first, second):
                newer, older = sorted((first, second), key=lambda i: (-i.updated, i.id))
                pairs.append((newer.id, older.id))
    return tuple(pairs)


def _tells_time(candidate: Candidate) -> bool:
    item = candidate.item
    if item is not None and item.starts is not None:
        return True
    return bool(lexicon.TIME.search(candidate.hit.text.casefold()))


def _tells_place(candidate: Candidate) -> bool:
    item = candidate.item
    return bool(item is not None and item.place) or bool(find_place(candidate.hit.text))


def _tells_person(candidate: Candidate) -> bool:
    item = candidate.item
    if item is not None and item.people:
        return True
    return bool(find_people(candidate.hit.text) or _NAME.search(candidate.hit.text))


_CARRIERS: dict[str, Callable[[Candidate], bool]] = {
    "time": _tells_time,
    "place": _tells_place,
    "person": _tells_person,
}


def _events_clash(first: Item, second: Item) -> bool:
    if first.starts is None or second.starts is None:
        return False
    apart = abs(first.starts - second.starts) >= SAME_DAY_SECONDS
    return apart and _overlap(_event_words(first), _event_words(second)) >= SAME_EVENT


def _preferences_clash(first: Item, second: Item) -> bool:
    same = bool(first.object) and first.object == second.object
    opposite = first.sentiment * second.sentiment < 0
    clear = min(abs(first.sentiment), abs(second.sentiment)) >= CLEAR_SENTIMENT
    return same and opposite and clear


_CONTRADICTS: dict[ItemKind, Callable[[Item, Item], bool]] = {
    ItemKind.EVENT: _events_clash,
    ItemKind.PREFERENCE: _preferences_clash,
}


def _event_words(item: Item) -> frozenset[str]:
    """What the event is about, without when it is."""
    said = item.text.replace(item.time_text, " ") if item.time_text else item.text
    return frozenset(content_tokens(" ".join([said, item.place, *item.people])))


def _overlap(first: frozenset[str], second: frozenset[str]) -> float:
    """Jaccard similarity, 0 … 1."""
    union = len(first | second)
    return len(first & second) / union if union else 0.0
