"""Is what was found enough? The evaluation step of agentic recall (002).

Three questions about a retrieval: is any hit relevant; which of what the query needs (a time, a
place, a person, a number, a reason, a name, an attribute of the user) does no relevant hit tell; do
two hits contradict each other. Any of the three leads to a clarifying retrieval in the raw layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress, product

from device.language import content_tokens
from device.memory.records import EventState, Item, ItemKind
from device.recall.candidates import Candidate, ranked, used
from device.recall.relevance import CARRIERS, Question, cross_score

__all__ = ["VALUE_PREFIX", "Assessment", "assess", "carries", "conflicting", "judged", "tells"]

USEFUL = 0.34
"""Share of the query's information that a relevant hit carries at least."""
JUDGED = 5
"""Hits looked at: an answer that stands lower does not answer."""
LEANED_ON = 3
"""Relevant hits that make an answer stand on more than one leg."""
SURE = 0.6
"""Share that at least one of them carries: three memories of "I like" do not say which dishes."""
COMPLETE = 0.9
"""Share of the query's information from which one hit that also tells what is needed is enough."""
CERTAIN = 5.0
"""A value known for certain stands above whatever words may score."""
VALUE_PREFIX = "value:"
"""Ids of the working layer's key-value answers."""
SAME_EVENT = 0.5
"""Overlap of two events' words from which different days are a contradiction."""
SAME_DAY_SECONDS = 86_400.0
CLEAR_SENTIMENT = 0.2


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the evaluation found of one retrieval."""

    useful: bool
    """At least one hit is relevant."""
    missing: tuple[str, ...]
    """What the query needs and no relevant hit tells."""
    conflicts: tuple[tuple[str, str], ...]
    """Pairs of ids that contradict each other, the newer first."""
    thin: bool = False
    """Too few relevant hits to lean on, and none of them that says it all."""

    @property
    def enough(self) -> bool:
        """Nothing to clarify."""
        return self.useful and not (self.thin or self.missing or self.conflicts)


def _items_of(candidate: Candidate) -> Sequence[Item]:
    return () if candidate.item is None else (candidate.item,)


def judged(question: Question, candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates read side by side with the query, best first."""
    return ranked([_read(question, candidate) for candidate in candidates])


def assess(
    question: Question,
    candidates: Sequence[Candidate],
    claims: Callable[[Candidate], Sequence[Item]] = _items_of,
) -> Assessment:
    """Judge the best few candidates (best first) against the query.

    `claims` tells the items that a candidate stands for: itself, or what its turn tells.
    """
    relevant = [c for c in candidates[:JUDGED] if c.relevance >= USEFUL]
    missing = tuple(
        aspect
        for aspect in question.needs
        if not any(carries(candidate, aspect, question) for candidate in relevant)
    )
    # A turn is read for its claims only when a time is asked for: that is what claims disagree on.
    telling = [c for c in relevant if c.item is not None or "time" in question.needs]
    items = [item for candidate in telling for item in claims(candidate)]
    complete = any(_is_value(c) or c.relevance >= COMPLETE for c in relevant)
    sure = max((c.relevance for c in relevant), default=0.0) >= SURE
    thin = not complete and (len(relevant) < LEANED_ON or not sure)
    return Assessment(bool(relevant), missing, conflicting(items), thin)


def tells(question: Question, candidate: Candidate) -> tuple[str, ...]:
    """Which of what the query needs this memory tells."""
    return tuple([aspect for aspect in question.needs if carries(candidate, aspect, question)])


def carries(candidate: Candidate, aspect: str, question: Question) -> bool:
    """Whether a memory tells an aspect: in its fields when it has them, else in its words."""
    if aspect == "attribute":
        item = candidate.item
        if item is not None and item.kind is ItemKind.ENTITY:
            return item.action == question.attribute
        return _is_value(candidate)
    return aspect in _known(candidate) or CARRIERS[aspect](candidate.hit.text)


def conflicting(items: Sequence[Item]) -> tuple[tuple[str, str], ...]:
    """Pairs of active items that cannot both hold, the newer id first.

    Two events alike in action, object and people on different days; two preferences for the same
    thing with opposite feeling; two values of one attribute.
    """
    pairs = []
    standing = [item for item in items if item.state is EventState.ACTIVE and not item.replaced_by]
    for index, first in enumerate(standing):
        for second in standing[index + 1 :]:
            clash = _CONTRADICTS.get(first.kind)
            apart = first.kind is second.kind and first.id != second.id
            if clash is not None and apart and clash(first, second):
                newer, older = sorted((first, second), key=lambda i: (-i.updated, i.id))
                pairs.append((newer.id, older.id))
    return tuple(pairs)


def _read(question: Question, candidate: Candidate) -> Candidate:
    """The candidate with the cross-scorer's word in its score; a known value needs none."""
    if _is_value(candidate):
        return candidate.scaled(CERTAIN)
    item, speaker = candidate.item, candidate.speaker
    if item is not None and not speaker:
        speaker = item.subject if item.kind is not ItemKind.CHANGE else ""
    hit = candidate.hit
    factor = cross_score(question, hit.text, speaker, _known(candidate))
    return candidate.scaled(factor * used(item))


def _is_value(candidate: Candidate) -> bool:
    return candidate.hit.id.startswith(VALUE_PREFIX)


def _known(candidate: Candidate) -> frozenset[str]:
    """The aspects that a structured memory has as fields."""
    item = candidate.item
    if item is None:
        return _UNKNOWN
    return _FIELDS[item.starts is not None, bool(item.place), bool(item.people)]


_UNKNOWN: frozenset[str] = frozenset()
_FIELDS = {
    has: frozenset(compress(("time", "place", "person"), has))
    for has in product((False, True), repeat=3)
}
"""Whether an item has a time, a place, people → the aspects it knows."""


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


def _values_clash(first: Item, second: Item) -> bool:
    same = (first.subject, first.action) == (second.subject, second.action)
    return same and first.object != second.object


_CONTRADICTS: dict[ItemKind, Callable[[Item, Item], bool]] = {
    ItemKind.EVENT: _events_clash,
    ItemKind.PREFERENCE: _preferences_clash,
    ItemKind.ENTITY: _values_clash,
}


def _event_words(item: Item) -> frozenset[str]:
    """What the event is about, without when it is."""
    said = item.text.replace(item.time_text, " ") if item.time_text else item.text
    return frozenset(content_tokens(" ".join([said, item.place, *item.people])))


def _overlap(first: frozenset[str], second: frozenset[str]) -> float:
    """Jaccard similarity, 0 … 1."""
    union = len(first | second)
    return len(first & second) / union if union else 0.0
