"""Clarifying retrievals: what to look for next when a first look was not enough (002).

Always in the raw layer, always another question than before, at most as many rounds as allowed:

everywhere  the raw layer was not searched yet: ask it
around      the turns beside the best hits, for what they do not tell themselves
reworded    the query together with the best hit's words
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from device.memory.records import Item
from device.recall.candidates import Candidate, from_turn, merge
from device.recall.evaluation import USEFUL, Assessment, assess, carries
from device.recall.layers import RawLayer, Seek
from device.recall.relevance import Question

__all__ = ["DEPTH", "Clarifier", "Found"]

DEPTH = 2.0
"""Each layer is asked for this many times the hits wanted: reading them changes their order."""
Claims = Callable[[Candidate], Sequence[Item]]
Read = Callable[[Question, list[Candidate]], list[Candidate]]
CLARIFYING_WORDS = 12
"""Words of the best hit that a reworded query takes along."""
FILLS_GAP = 1.5
"""A clarifying hit that tells what was missing counts this much more."""
CLARIFYING_WEIGHT = 0.8
"""Weight of the raw layer when it was not routed to: what it adds ranks after what was found."""
REACH = 3
"""Turns looked at before and after a hit."""
CENTRES = 2
"""Best hits whose surroundings are looked at."""
BESIDE = 0.8
"""Share of a hit's score that a turn beside it gets for telling what the hit does not."""


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates, best first, what is to be said of them, and the retrievals made."""

    candidates: list[Candidate]
    assessment: Assessment
    rounds: int


class Clarifier:
    """Goes on looking until it is enough, nothing new can be asked, or the rounds are used up."""

    __slots__ = ("_claims", "_raw", "_read", "_rounds")

    def __init__(self, raw: RawLayer, rounds: int, read: Read, claims: Claims) -> None:
        """`rounds` bounds the looks after the first; `read` reads candidates beside the query;
        `claims` tells which items a candidate stands for."""
        self._raw = raw
        self._claims = claims
        self._rounds = rounds
        self._read = read

    async def clarify(
        self, question: Question, seek: Seek, first: list[Candidate], k: int, *, raw_searched: bool
    ) -> Found:
        """What is known after as many clarifying rounds as it took (the first look counts as one).

        `first` is best first; `k` hits are wanted.
        """
        known: dict[str, Sequence[Item]] = {}

        def claims(candidate: Candidate) -> Sequence[Item]:
            """Read once, however many rounds judge the candidate."""
            if candidate.hit.id not in known:
                known[candidate.hit.id] = self._claims(candidate)
            return known[candidate.hit.id]

        found = Found(first, assess(question, first, claims), 1)
        ways = [self._around, self._reworded] if raw_searched else [self._everywhere, self._around]
        for way in ways[: self._rounds]:
            if not _worth(found.assessment, raw_searched=raw_searched):
                break
            more = await way(question, seek, found, ceil(k * DEPTH))
            raw_searched = True
            candidates = merge([*found.candidates, *more])
            assessment = assess(question, candidates, claims)
            found = Found(candidates, assessment, found.rounds + 1)
        return found

    async def _everywhere(
        self, question: Question, seek: Seek, found: Found, depth: int
    ) -> list[Candidate]:
        more = await self._raw.search(seek, depth)
        weight = CLARIFYING_WEIGHT if found.assessment.useful else 1.0
        return self._read(question, [candidate.scaled(weight) for candidate in more])

    async def _around(
        self, question: Question, _seek: Seek, found: Found, _depth: int
    ) -> list[Candidate]:
        """What stands beside a hit belongs to it: as relevant as the hit, a little below it."""
        centres = [c for c in found.candidates[:CENTRES] if c.relevance >= USEFUL and c.hit.turns]
        missing = found.assessment.missing
        if not centres or not missing:
            return []
        score = BESIDE * centres[-1].score
        relevance = centres[-1].relevance
        turns = await self._raw.around([c.hit.turns[-1] for c in centres], REACH)
        beside = [from_turn(turn, score, relevance) for turn in turns]
        return [c for c in beside if any(carries(c, aspect, question) for aspect in missing)]

    async def _reworded(
        self, question: Question, seek: Seek, found: Found, depth: int
    ) -> list[Candidate]:
        """Once more, with the words of the best hit beside the query's."""
        words = found.candidates[0].hit.text.split()[:CLARIFYING_WORDS]
        more = await self._raw.search(replace(seek, text=" ".join([seek.text, *words])), depth)
        missing = found.assessment.missing
        return [
            candidate.scaled(FILLS_GAP)
            if any(carries(candidate, aspect, question) for aspect in missing)
            else candidate
            for candidate in self._read(question, more)
        ]


def _worth(assessment: Assessment, *, raw_searched: bool) -> bool:
    """Whether another look can find what the last did not: never the same search again."""
    if raw_searched:
        return assessment.useful and bool(assessment.missing or assessment.conflicts)
    return not assessment.enough
