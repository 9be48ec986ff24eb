"""What a layer hands to the evaluation step: a hit with what is known about it.

Scores change at every step of a recall, and most candidates are never shown: so a score stands
beside the hit, which takes it over when the answer is put together (`Candidate.shown`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isnan, log1p, nan

from device.memory.records import Hit, Item, Layer, Turn

__all__ = ["Candidate", "from_hit", "from_item", "from_turn", "merge", "ranked", "used"]

USED, USED_MOST = 0.05, 0.2
"""Extra share for every e-fold of the times that an item helped an answer, and the most of it."""
REPEATED_SHARE = 0.8
"""Length of an item's text against its turn's from which the turn says nothing more."""


@dataclass(slots=True)
class Candidate:
    """A hit on its way into the answer; ``item`` when it is a structured memory.

    Never changed, and not frozen all the same: a recall makes fifty, each in twice the time.
    """

    hit: Hit
    relevance: float
    """Share (0 … 1) of the query's information that the memory carries."""
    speaker: str = ""
    item: Item | None = None
    score: float = nan
    """What it is worth now; what its hit says unless given."""

    def __post_init__(self) -> None:
        if isnan(self.score):
            self.score = self.hit.score

    def scaled(self, weight: float) -> Candidate:
        """The same candidate with its score weighted, as the router asks."""
        if weight == 1.0:
            return self
        return Candidate(self.hit, self.relevance, self.speaker, self.item, self.score * weight)

    def shown(self, tells: tuple[str, ...] = ()) -> Hit:
        """The hit as an answer has it: with the candidate's score, and what it `tells`."""
        h = self.hit
        return Hit(
            h.id, h.layer, h.text, h.at, self.score, h.turns, h.source, h.speaker, tells, h.public
        )  # fmt: skip


def from_turn(turn: Turn, score: float, relevance: float) -> Candidate:
    """A raw turn as a candidate; it is its own provenance."""
    hit = Hit(turn.id, Layer.RAW, turn.text, turn.at, score, (turn.id,), turn.source, turn.speaker)
    return Candidate(hit, relevance, turn.speaker, None, score)


def from_item(item: Item, score: float, relevance: float) -> Candidate:
    """A structured item as a candidate, with the turns it was drawn from."""
    hit = Hit(item.id, Layer.STRUCTURED, item.text, item.updated, score, item.turns)
    return Candidate(hit, relevance, "", item, score)


def from_hit(hit: Hit) -> Candidate:
    """A working-memory hit: its score already is a relevance."""
    return Candidate(hit, min(hit.score, 1.0))


def merge(candidates: list[Candidate]) -> list[Candidate]:
    """One list, best first, each memory once.

    The same memory found twice keeps its best score. A turn that an item repeats gives its score
    to the item, which also knows the absolute time and the state, and leaves its place to others.
    """
    best: dict[str, Candidate] = {}
    for candidate in candidates:
        held = best.get(candidate.hit.id)
        if held is None or candidate.score > held.score:
            best[candidate.hit.id] = candidate
    for candidate in [c for c in best.values() if c.item is not None]:
        for turn in _repeated_turns(candidate, best):
            best[candidate.hit.id] = _raised(best[candidate.hit.id], best.pop(turn))
    return ranked(best.values())


def ranked(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Best first; ties by newer first, then by id, so that the order is always the same."""
    return sorted(candidates, key=lambda c: (-c.score, -c.hit.at, c.hit.id))


def used(item: Item | None) -> float:
    """Factor for having helped before (002, feedback); 1 for what is no item."""
    return 1.0 if item is None else 1.0 + min(USED * log1p(item.accesses), USED_MOST)


def _repeated_turns(candidate: Candidate, found: dict[str, Candidate]) -> list[str]:
    """Found turns whose words an item carries nearly whole."""
    if candidate.item is None:
        return []
    return [
        turn
        for turn in candidate.item.turns
        if turn in found and len(candidate.item.text) >= REPEATED_SHARE * len(found[turn].hit.text)
    ]


def _raised(candidate: Candidate, other: Candidate) -> Candidate:
    """The candidate with the better of both scores and relevances."""
    score = max(candidate.score, other.score * used(candidate.item))
    relevance = max(candidate.relevance, other.relevance)
    return replace(candidate, score=score, relevance=relevance)
