"""The discrete Gaussian for whole vectors: inversion of a 128-bit integer table.

`GaussianTable` is the same distribution as `discrete_gaussian` up to a stated total-variation
distance, drawn with one look-up and comparison per value in numpy. The distance of one draw,
split or not, is at most 2^-110 (`.distance` holds the sum for the table at hand). Its parts, for
a table over |x| ≤ R, R ≤ 13·1025 + 1, of N = 2R + 1 probabilities:

- *Tails.* Values beyond 13 sigma are dropped. E[exp(tX)] is exp(t²·sigma2/2) times the sum of
  exp(-(x - t·sigma2)²/(2·sigma2)) over the sum of exp(-x²/(2·sigma2)), and the unshifted sum is
  the largest (its Fourier coefficients are positive), so X is sub-Gaussian: the mass beyond, and
  with it the distance to the distribution without it, is at most 2·exp(-13²/2) < 2^-120.
- *Weights.* exp(-x²/(2·sigma2)) is built in 192-bit fixed point from two constants computed to 70
  decimal digits: w(x+1) = w(x)·r(x), r(x+1) = r(x)·exp(-1/sigma2). Every product of numbers ≤ 1
  adds at most one unit of 2^-192 to the errors of its factors, so r(x) is off by at most 2x + 1
  units, w(x) by (x + 1)², and all weights together by 2·(R + 2)³/3 < 2^41 units. Their true sum is
  at least 1, so this is worth less than 2^-150.
- *Thresholds.* The cumulative sums are floored to multiples of 2^-128. That moves each of the N
  probabilities by less than 2^-128, together less than N/2·2^-128 < 2^-114 in total variation.

Wide Gaussians are split, so that a table never has more than some 27,000 entries:
X = m·Y + Z with Y, Z discrete Gaussians, Var Y = (sigma2 - 16m²)/m², Var Z = 16m². Completing the
square, P(m·Y + Z = x) ∝ exp(-x²/(2·sigma2)) · g(x), g(x) = Σ_y exp(-(y - s)²/(2c²)) with s
depending on x and c² = Var Y·Var Z/sigma2 = 16·(1 - 16m²/sigma2). As m² ≤ sigma2/2^11 (see
`_split_step`), c² ≥ 8. By Poisson summation g is a constant times 1 + h(x) with
|h| ≤ 2q/(1 - q), q = exp(-2π²c²), which moves the distribution by at most |h|/(1 - |h|):

- *Seam.* Less than 4·exp(-2π²c²) ≤ 4·exp(-16π²) < 2^-225 for every split (compare Micciancio &
  Walter, CRYPTO 2017, Theorem 1). The distances of Y and Z add to it.

The variance is at most 2^100, so there are at most six tables: 6·(2^-114 + 2^-119) < 2^-111.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from privacy.bits import BitSource, draw

__all__ = ["GaussianTable", "gaussian_table", "sampling_delta"]

_PRECISION = 192
"""Fractional bits of the weights while the table is built."""

_DECIMAL_DIGITS = 70
"""Digits of the two starting exponentials: more than _PRECISION bits."""

_LIMB = 64
"""Bits of the half of a threshold that is searched, and of the first random word of a draw."""

_WORD = 2 * _LIMB
"""Bits of one table threshold."""

_LOW = (1 << _LIMB) - 1

_REACH = 13
"""Standard deviations kept on either side."""

_TAIL_MASS = Fraction(1, 1 << 120)
"""Bound on the mass beyond _REACH: 2·exp(-13²/2)."""

_WEIGHT_ERROR = Fraction(1, 1 << 150)
"""Bound on the distance due to the fixed-point weights."""

_SEAM = Fraction(1, 1 << 225)
"""Bound on the distance due to one split."""

_GUIDE_BITS = 14
"""Leading bits of a word that look up where to search: nearly every such range of words holds at
most one threshold, and one comparison settles it."""

_WIDEST_DIRECT = 1024
"""Sigma, in lattice units, above which the Gaussian is split into a coarse and a fine part."""

_FINE_SIGMA = 4
"""Sigma of the fine part in steps of the coarse one; 4 makes the seam invisible (see above)."""

_LARGEST_STEP = _WIDEST_DIRECT // _FINE_SIGMA
"""Keeps the fine table within _WIDEST_DIRECT, and the distance within its bound."""

_CACHED_TABLES = 32
"""Tables kept: a fleet uses a handful of (sigma, scale, n_min) combinations."""

_SMALLEST_VARIANCE = Fraction(1, 4)

_LARGEST_VARIANCE = 1 << 100
"""Every value that can be drawn fits an int64, and six tables are enough."""

_LARGEST_EXPONENT = 700.0
"""Epsilon beyond which e^epsilon leaves the doubles and the delta paid is 1 anyway."""


class GaussianTable:
    """Sampler of P(x) ∝ exp(-x²/(2·sigma2)) for one variance, in lattice units.

    ``sigma2``: rational, 1/4 … 2^100 (ValueError). Immutable after construction; share it freely.
    ``distance``: bound on the total-variation distance of one draw from the exact distribution,
    at most 2^-110; what it costs is `sampling_delta`. A draw is ``step``·(a draw of ``coarse``) +
    a value of the table itself, which is the discrete Gaussian of variance ``direct`` over
    -reach … reach; ``coarse`` is None and ``step`` 1 when there is no split.
    """

    __slots__ = (
        "_crowded",
        "_distance",
        "_high",
        "_low",
        "_start",
        "coarse",
        "direct",
        "distance",
        "reach",
        "sigma2",
        "step",
    )

    def __init__(self, sigma2: Fraction | int) -> None:
        variance = Fraction(sigma2)
        if variance < _SMALLEST_VARIANCE:
            raise ValueError("sigma2 is too small for a table; use discrete_gaussian")
        if variance > _LARGEST_VARIANCE:
            raise ValueError("sigma2 is too large for 64-bit integers")
        self.sigma2: Fraction = variance
        self.step: int = _split_step(variance)
        self.coarse: GaussianTable | None = None
        self.direct: Fraction = variance
        if self.step > 1:
            self.direct = Fraction((_FINE_SIGMA * self.step) ** 2)
            self.coarse = GaussianTable((variance - self.direct) / self.step**2)
        self.reach: int = math.isqrt(math.floor(_REACH**2 * self.direct)) + 1
        thresholds = _thresholds(self.direct, self.reach)
        self._high = np.array([t >> _LIMB for t in thresholds], dtype=np.uint64)
        self._low = np.array([t & _LOW for t in thresholds], dtype=np.uint64)
        self._start, self._crowded = _guide(self._high)
        self._distance = _own_distance(self.reach)
        if self.coarse is not None:
            self._distance += _SEAM + self.coarse._distance
        self.distance: float = math.nextafter(float(self._distance), math.inf)

    @property
    def thresholds(self) -> list[int]:
        """floor(2^128·P(X ≤ x)) for x = -reach … reach-1, of the table itself without ``coarse``.

        x is drawn with probability (threshold of x - threshold of x-1)/2^128, exactly.
        """
        limbs = zip(self._high.tolist(), self._low.tolist(), strict=True)
        return [(high << _LIMB) | low for high, low in limbs]

    def sample(self, n: int, bits: BitSource) -> npt.NDArray[np.int64]:
        """``n`` draws as int64[n], from 8·n random bytes (a further 8·n for each split).

        A draw inverts a uniform 128-bit integer: its position among the thresholds. The lower
        64 bits only matter, and are only drawn, when the upper ones equal a threshold's.
        """
        words = np.frombuffer(draw(bits, n * _LIMB // 8), dtype="<u8")
        position = self._search(words)
        # the lowest threshold is under 2^64 (13 sigma out), so position is never 0
        tied = np.flatnonzero(self._high[position - 1] == words)
        if tied.size:
            position[tied] = self._break_ties(words[tied], bits)
        values = position - self.reach
        if self.coarse is not None:
            values += self.step * self.coarse.sample(n, bits)
        return values

    def _search(self, words: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """How many thresholds' upper words are at most each word."""
        bucket = (words >> np.uint64(_LIMB - _GUIDE_BITS)).astype(np.intp)
        position = self._start.take(bucket)
        position += self._high.take(position) <= words
        crowded = np.flatnonzero(self._crowded.take(bucket))
        position[crowded] = np.searchsorted(self._high, words[crowded], side="right")
        return position

    def _break_ties(self, words: npt.NDArray[np.uint64], bits: BitSource) -> list[int]:
        """Positions of draws whose upper words equal a threshold's, by their lower words."""
        lower = np.frombuffer(draw(bits, len(words) * _LIMB // 8), dtype="<u8")
        first = np.searchsorted(self._high, words, side="left").tolist()
        last = np.searchsorted(self._high, words, side="right").tolist()
        return [
            start + int(np.searchsorted(self._low[start:stop], word, side="right"))
            for start, stop, word in zip(first, last, lower, strict=True)
        ]


@lru_cache(maxsize=_CACHED_TABLES)
def gaussian_table(sigma2: int) -> GaussianTable:
    """The table of an integer variance, built once per process (a pure function of its input)."""
    return GaussianTable(sigma2)


def sampling_delta(draws: int, distance: float, epsilon: float) -> float:
    """What inexact sampling adds to delta: draws·distance·(1 + e^epsilon), at most 1.

    ``draws``: values drawn in all releases that ``epsilon`` covers; ``distance``: total variation
    of one draw (`GaussianTable.distance`). With M the exact mechanism, (epsilon, delta)-DP, and M'
    the one run, at most tau apart: P[M'(x) ∈ S] ≤ P[M(x) ∈ S] + tau ≤ e^epsilon·P[M(y) ∈ S] +
    delta + tau ≤ e^epsilon·P[M'(y) ∈ S] + delta + (1 + e^epsilon)·tau. Raises ValueError for a
    negative or non-finite argument.
    """
    if draws < 0 or not (0 <= distance < math.inf and 0 <= epsilon < math.inf):
        raise ValueError("draws, distance and epsilon must be finite and not negative")
    if epsilon > _LARGEST_EXPONENT:
        return 1.0 if draws * distance > 0 else 0.0
    return min(1.0, draws * distance * (1.0 + math.exp(epsilon)))


def _split_step(variance: Fraction) -> int:
    """The coarse step m: a power of two that makes both tables about equally long; 1 = direct.

    With b bits in sigma//4 (b ≥ 9), sigma ≥ 2^(b+1) and m² ≤ 2^b, so sigma2/m² ≥ 2^(b+2) ≥ 2^11.
    """
    sigma = math.isqrt(math.floor(variance))
    if sigma <= _WIDEST_DIRECT:
        return 1
    balanced = 1 << ((sigma // _FINE_SIGMA).bit_length() // 2)
    return min(balanced, _LARGEST_STEP)


def _own_distance(reach: int) -> Fraction:
    """Distance of a direct table from its discrete Gaussian: thresholds, weights and tails."""
    return Fraction(2 * reach + 1, 2 << _WORD) + _WEIGHT_ERROR + _TAIL_MASS


def _guide(
    high: npt.NDArray[np.uint64],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Per range of words: the thresholds below it, and whether it holds more than one.

    The highest threshold's upper word is all ones, so every range starts at a valid index.
    """
    ranges = np.arange(1 << _GUIDE_BITS, dtype=np.uint64)
    holders = high >> np.uint64(_LIMB - _GUIDE_BITS)
    start = np.searchsorted(holders, ranges, side="left").astype(np.int64)
    inside = np.searchsorted(holders, ranges, side="right") - start
    return start, inside > 1


def _thresholds(variance: Fraction, reach: int) -> list[int]:
    """floor(2^128 · P(X ≤ x)) for x = -reach … reach-1."""
    weights = _half_weights(variance, reach)
    total = 2 * sum(weights) - weights[0]
    cumulative = 0
    thresholds = []
    for x in range(-reach, reach):
        cumulative += weights[abs(x)]
        thresholds.append((cumulative << _WORD) // total)
    return thresholds


def _half_weights(variance: Fraction, reach: int) -> list[int]:
    """exp(-x²/(2·variance)) for x = 0 … reach, in fixed point with _PRECISION bits."""
    weight = 1 << _PRECISION
    ratio = _fixed_exp(-1 / (2 * variance))
    shrink = _fixed_exp(-1 / variance)
    weights = [weight]
    for _ in range(reach):
        weight = weight * ratio >> _PRECISION
        ratio = ratio * shrink >> _PRECISION
        weights.append(weight)
    return weights


def _fixed_exp(exponent: Fraction) -> int:
    """floor(exp(exponent) · 2^_PRECISION), by the stdlib's correctly rounded decimal exp."""
    with localcontext() as context:
        context.prec = _DECIMAL_DIGITS
        value = (Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()
        return int(value * (1 << _PRECISION))
