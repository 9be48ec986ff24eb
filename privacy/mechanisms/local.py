"""The local randomiser: a phone's one answer hidden in a small random set of answers.

Subset selection (Ye & Barg, "Optimal Schemes for Discrete Distribution Estimation under Locally
Differential Privacy", arXiv 1702.00610): out of k answers the phone reports a set of w. With
probability p the true answer is in it, the rest being uniform. w = 1 is k-ary randomised response.
No server needs to be trusted: every reported set is at most e^ε times likelier under one answer
than under another, which holds exactly, as a statement about integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from privacy.bits import BitSource
from privacy.mechanisms.uniform import Integers, Uniform

__all__ = ["LARGEST_BINS", "SubsetSelection", "exp_lower_bound"]

LARGEST_BINS = 32
"""A reported set is a mask of 32 bits."""

_SMALLEST_EPSILON = 1e-6
_LARGEST_EPSILON = 32.0
"""Beyond it 1 - p nears the resolution of a 64-bit threshold."""

_WORD = 64
"""Bits of the threshold that decides whether the true answer is in the set."""

_SERIES_BITS = 192
"""Fractional bits of the exponential series."""


@dataclass(frozen=True, slots=True)
class SubsetSelection:
    """ε-DP randomiser of one answer out of ``bins`` (2 … 32); ``epsilon`` 1e-6 … 32 (ValueError).

    ``size``: answers in a reported set, w. It minimises the variance of a rare answer's estimate,
    and is 1 when bins < e^ε + 1. ``include``: T, the true answer is in the set with probability
    T/2^64. Both are computed in integers from the exact value of ``epsilon``, so every machine
    gets the same; T is rounded down, so that `ratio` ≤ e^ε.
    """

    bins: int
    epsilon: float
    size: int = field(init=False)
    include: int = field(init=False)

    def __post_init__(self) -> None:
        if not 2 <= self.bins <= LARGEST_BINS:
            raise ValueError(f"a local report chooses among 2 to {LARGEST_BINS} answers")
        if not _SMALLEST_EPSILON <= self.epsilon <= _LARGEST_EPSILON:
            raise ValueError(f"local epsilon must be {_SMALLEST_EPSILON} to {_LARGEST_EPSILON}")
        odds = exp_lower_bound(self.epsilon)
        size = _best_size(self.bins, odds)
        object.__setattr__(self, "size", size)
        object.__setattr__(
            self, "include", math.floor(_inclusion(self.bins, size, odds) * (1 << _WORD))
        )

    @property
    def name(self) -> str:
        """k-rr or subset-selection."""
        return "k-rr" if self.size == 1 else "subset-selection"

    def randomise(self, answer: int, bits: BitSource) -> int:
        """A mask of exactly ``size`` bits: bit i is set if answer i is in the reported set.

        ``answer``: 0 … bins-1 (ValueError).
        """
        return self._draw(answer, Uniform(bits))

    def probability(self, mask: int, answer: int) -> Fraction:
        """Exact probability that `randomise` reports ``mask`` when ``answer`` is the truth."""
        if mask.bit_count() != self.size or mask >> self.bins:
            return Fraction(0)
        true = Fraction(self.include, 1 << _WORD)
        if mask >> answer & 1:
            return true / math.comb(self.bins - 1, self.size - 1)
        return (1 - true) / math.comb(self.bins - 1, self.size)

    def ratio(self) -> Fraction:
        """The largest ratio of one report's probabilities under two answers; at most e^ε."""
        true, other = Fraction(self.include), Fraction((1 << _WORD) - self.include)
        ratio = true * (self.bins - self.size) / (other * self.size)
        return max(ratio, 1 / ratio)

    def inclusion(self) -> tuple[Fraction, Fraction]:
        """Probability that an answer is in the set if it is the true one, and if it is not."""
        true = Fraction(self.include, 1 << _WORD)
        other = (true * (self.size - 1) + (1 - true) * self.size) / (self.bins - 1)
        return true, other

    def _draw(self, answer: int, uniform: Integers) -> int:
        if not 0 <= answer < self.bins:
            raise ValueError("the answer is not one of the randomiser's bins")
        truthful = uniform.below(1 << _WORD) < self.include
        others = [i for i in range(self.bins) if i != answer]
        mask = 1 << answer if truthful else 0
        for _ in range(self.size - truthful):
            mask |= 1 << others.pop(uniform.below(len(others)))
        return mask


def exp_lower_bound(exponent: float) -> Fraction:
    """A rational at most e^exponent, within 2^-180 of it relatively; exponent finite and ≥ 0.

    The Taylor series, every term and the tail rounded down to multiples of 2^-192.
    """
    top, bottom = exponent.as_integer_ratio()
    term = 1 << _SERIES_BITS
    total, k = 0, 0
    while term:
        total += term
        k += 1
        term = term * top // (bottom * k)
    return Fraction(total, 1 << _SERIES_BITS)


def _best_size(bins: int, odds: Fraction) -> int:
    """The set size with the smallest variance: a neighbour of bins/(e^ε + 1), at least 1."""
    below = max(1, math.floor(bins / (odds + 1)))
    if bins < odds + 1 or below + 1 == bins:
        return below
    return min(below, below + 1, key=lambda size: _variance(bins, size, odds))


def _inclusion(bins: int, size: int, odds: Fraction) -> Fraction:
    return odds * size / (odds * size + bins - size)


def _variance(bins: int, size: int, odds: Fraction) -> Fraction:
    """Variance, times n, of the estimated share of an answer nobody gives: q(1-q)/(p-q)²."""
    true = _inclusion(bins, size, odds)
    other = (true * (size - 1) + (1 - true) * size) / (bins - 1)
    return other * (1 - other) / (true - other) ** 2
