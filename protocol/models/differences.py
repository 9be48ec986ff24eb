"""Where two aligned texts part: what is swapped for something else, and what one side adds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from protocol.models.alignment import Alignment, Gap
from protocol.models.concepts import CONTENT
from protocol.models.synonyms import OPPOSITES
from protocol.models.views import View

__all__ = ["MANY", "Parts", "additions", "half", "rarest", "swaps"]

_HEAVY_WORD = 12.0
_HALF = 6.0
"""Weight at which a feature that tells small weights well apart is at one half."""
MANY = 3


class _Swap(NamedTuple):
    """A place where each side has content of its own."""

    gap: Gap
    weight: int
    """Of the lighter side."""


class Parts(NamedTuple):
    """The gaps of an alignment by what they are, with weights."""

    left: tuple[int, int]
    """Weight without a partner, on either side."""
    swaps: list[_Swap]
    additions: list[tuple[Gap, int]]
    """Gaps where at most one side has content, with that weight."""

    @classmethod
    def of(cls, a: View, b: View, alignment: Alignment) -> Parts:
        """Tell the gaps of `alignment`, of `a` with `b`, apart."""
        left, right = 0, 0
        swaps: list[_Swap] = []
        additions: list[tuple[Gap, int]] = []
        for gap in alignment.gaps:
            mine = sum([a.weights[place] for place in gap.left])
            theirs = sum([b.weights[place] for place in gap.right])
            left, right = left + mine, right + theirs
            if min(mine, theirs) >= CONTENT:
                swaps.append(_Swap(gap, min(mine, theirs)))
            elif max(mine, theirs) >= CONTENT:
                additions.append((gap, mine + theirs))
        return cls((left, right), swaps, additions)


def rarest(view: View, parts: Parts, side: int) -> float:
    """How much the most telling word without a partner says, 0–1; `side` 0 or 1 of the gaps."""
    gaps = [*(swap.gap for swap in parts.swaps), *(gap for gap, _ in parts.additions)]
    most = max([view.weights[place] for gap in gaps for place in gap[side]], default=0)
    return most / _HEAVY_WORD


def swaps(a: View, b: View, parts: Parts) -> tuple[float, ...]:
    """What stands on one side in the place of something else on the other."""
    swapped, added = parts.swaps, parts.additions
    rarest, longest, meanings = 0, 0, False
    for (left, right), _ in swapped:
        mine = max([a.weights[place] for place in left])
        theirs = max([b.weights[place] for place in right])
        rarest = max(rarest, min(mine, theirs))
        longest = max(longest, len(left), len(right))
        meanings |= _has_concept(a, left) and _has_concept(b, right)
    first = swapped[0].gap.left[0] / max(len(a.words), 1) if swapped else 0.0
    return (
        half(sum([swap.weight for swap in swapped])),
        half(max([swap.weight for swap in swapped], default=0)),
        rarest / _HEAVY_WORD,
        min(len(swapped), MANY) / MANY,
        float(len(swapped) == 1 and not added),
        first,
        min(longest, 2 * MANY) / (2 * MANY),
        float(meanings),
        float(_opposed(a, b)),
    )


def _has_concept(view: View, places: Sequence[int]) -> bool:
    return any(view.words[place][0] == "@" for place in places)


def _opposed(a: View, b: View) -> bool:
    mine = [word for word in a.content_weights if word[0] == "@" and word not in b.content_weights]
    theirs = [
        word for word in b.content_weights if word[0] == "@" and word not in a.content_weights
    ]
    return any(frozenset((x, y)) in OPPOSITES for x in mine for y in theirs)


def additions(a: View, b: View, parts: Parts) -> tuple[float, ...]:
    """What one side says and the other leaves out."""
    added = parts.additions
    last_a, last_b = len(a.words) - 1, len(b.words) - 1
    gaps = [gap for gap, _ in added]
    weights = [weight for _, weight in added]
    return (
        half(sum(weights)),
        half(max(weights, default=0)),
        min(len(gaps), MANY) / MANY,
        float(any(gap.left for gap in gaps) and any(gap.right for gap in gaps)),
        min(max([len(x) + len(y) for x, y in gaps], default=0), 2 * MANY) / (2 * MANY),
        float(any(0 in gap.left or 0 in gap.right for gap in gaps)),
        float(any(last_a in gap.left or last_b in gap.right for gap in gaps)),
    )


def half(weight: int) -> float:
    """A weight squeezed into 0–1."""
    return weight / (weight + _HALF)
