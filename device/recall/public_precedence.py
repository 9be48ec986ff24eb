"""Own memory before public knowledge: how the two come together in one answer.

What a person told the phone is about that person and is theirs to change; what everybody is told is
neither. So a public record

- is left out where an own memory already says it,
- stands below every own memory that carries at least as much of the question (a tie is the own
  memory's) or that speaks of the same thing (where the two disagree, the own memory is right),
- takes at most half the places of an answer that own memories could fill,
- and comes into it only by what it carries of the question: of records that share no more than a
  likeness with it, two, and those only where the own memory holds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from device.recall.candidates import Candidate
from device.recall.evaluation import USEFUL
from device.recall.folding import Judge, Said

__all__ = ["with_public"]

LIKENESSES = 2
"""Records that are only alike, in an answer that would be empty."""
SAME_THING = 0.5
"""Share of the shorter text's content words from which two texts speak of the same thing."""


def with_public(
    own: Sequence[Candidate], public: Sequence[Candidate], judge: Judge, k: int
) -> list[Candidate]:
    """The best `k` of both, best first.

    Args:
        own, public: each read beside the question and best first, `own` at most `k`.
    """
    told = [(candidate, Said.of(candidate.hit.text)) for candidate in own]
    useful = [c for c in public if c.relevance >= USEFUL] or (() if own else public[:LIKENESSES])
    placed: list[Candidate] = []
    for candidate in useful:
        said = Said.of(candidate.hit.text)
        if not any(judge(held, said) for _, held in told):
            placed.append(_below(candidate, said, told))
    room = max(k - len(own), ceil(k / 2))
    return sorted([*own, *placed[:room]], key=_rank)[:k]


def _below(candidate: Candidate, said: Said, told: Sequence[tuple[Candidate, Said]]) -> Candidate:
    """The candidate, no higher than the own memories that take precedence over it."""
    before = [
        own.score
        for own, held in told
        if own.relevance >= candidate.relevance or _same_thing(held, said)
    ]
    return replace(candidate, score=min([candidate.score, *before]))


def _same_thing(first: Said, second: Said) -> bool:
    shorter = min(len(first.words), len(second.words))
    return shorter > 0 and len(first.words & second.words) >= SAME_THING * shorter


def _rank(candidate: Candidate) -> tuple[float, bool, float, str]:
    hit = candidate.hit
    return -candidate.score, hit.public is not None, -hit.at, hit.id
