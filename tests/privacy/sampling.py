"""How the mechanism tests draw and judge: reproducible bits, goodness of fit, walks over a program.

`hashed_bits` is a hash in counter mode: nothing about it depends on a library's generator, so a
seed printed by a failing test means the same bits everywhere. `outcomes` runs a sampler once for
every way its uniform integers can fall and returns exact rational probabilities.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TypeVar

from privacy.bits import BitSource

T = TypeVar("T")

Options = list[tuple[int, Fraction]]
"""Values a uniform draw may take, with the probability each stands for."""

SIGMAS = 5.0
"""Standard deviations at which a statistic is called wrong: a false alarm in a million or more."""

_FULL_CELL = 20.0
"""Draws a cell of the chi-square test must expect."""


def hashed_bits(seed: int) -> BitSource:
    """SHAKE-256 over (seed, counter)."""
    calls = 0

    def bits(size: int) -> bytes:
        nonlocal calls
        calls += 1
        return hashlib.shake_256(f"{seed}|{calls}".encode()).digest(size)

    return bits


def gaussian_weights(sigma2: Fraction | int, reach: int) -> dict[int, float]:
    return {x: math.exp(-x * x / (2 * float(sigma2))) for x in range(-reach, reach + 1)}


def laplace_weights(scale: Fraction | int, reach: int) -> dict[int, float]:
    return {x: math.exp(-abs(x) / float(scale)) for x in range(-reach, reach + 1)}


def misfit(draws: Iterable[int], weights: Mapping[int, float]) -> float:
    """Chi-square goodness of fit in standard normal units (Wilson & Hilferty 1931).

    Neighbouring values are pooled until a cell expects enough draws; values without a weight all
    fall into the last cell.
    """
    observed = Counter(draws)
    n, total = observed.total(), math.fsum(weights.values())
    cells: list[list[float]] = [[0.0, 0.0]]
    for x in sorted(weights):
        if cells[-1][0] >= _FULL_CELL:
            cells.append([0.0, 0.0])
        cells[-1][0] += n * weights[x] / total
        cells[-1][1] += observed.pop(x, 0)
    cells[-1][1] += observed.total()
    if cells[-1][0] < _FULL_CELL and len(cells) > 1:
        mass, seen = cells.pop()
        cells[-1][0] += mass
        cells[-1][1] += seen
    statistic = math.fsum((seen - mass) ** 2 / mass for mass, seen in cells)
    freedom = len(cells) - 1
    spread = 2 / (9 * freedom)
    return (math.cbrt(statistic / freedom) - (1 - spread)) / math.sqrt(spread)


def exact_exp(exponent: Fraction, digits: int = 80) -> Fraction:
    """e^exponent to ``digits`` decimal digits, by another road than the code under test."""
    with localcontext() as context:
        context.prec = digits
        return Fraction((Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp())


class _TooUnlikely(Exception):
    pass


class Walk:
    """Uniform integers that follow a script, then take the first option everywhere."""

    def __init__(self, script: list[int], split: Callable[[int], Options], floor: Fraction) -> None:
        self._script = script
        self._split = split
        self._floor = floor
        self.widths: list[int] = []
        self.weight = Fraction(1)

    def below(self, bound: int) -> int:
        return self.choose(self._split(bound))

    def choose(self, options: Options) -> int:
        step = len(self.widths)
        value, chance = options[self._script[step] if step < len(self._script) else 0]
        self.widths.append(len(options))
        self.weight *= chance
        if self.weight < self._floor:
            raise _TooUnlikely
        return value


def every_value(bound: int) -> Options:
    return [(value, Fraction(1, bound)) for value in range(bound)]


def outcomes(
    program: Callable[[Walk], T],
    split: Callable[[int], Options] = every_value,
    floor: Fraction = Fraction(0),
) -> dict[T, Fraction]:
    """Exact probability of everything ``program`` can return.

    Paths less likely than ``floor`` are left out: 1 - the sum of what is returned is their mass.
    """
    found: defaultdict[T, Fraction] = defaultdict(Fraction)
    scripts: list[list[int]] = [[]]
    while scripts:
        script = scripts.pop()
        walk = Walk(script, split, floor)
        with suppress(_TooUnlikely):
            found[program(walk)] += walk.weight
        for step in range(len(script), len(walk.widths)):
            zeros = [0] * (step - len(script))
            scripts.extend([*script, *zeros, option] for option in range(1, walk.widths[step]))
    return dict(found)
