"""How much was spent within any 30 days, any 365 days, and ever, in integers.

A charge was made at some moment from ``at`` to ``latest``: two charges count into one window when
they may have been that close. ``at`` is made monotone: an entry that goes back in time (a violation
by itself) counts at the date of the one before, so no forged date empties a window.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from privacy.accounting import gdp_epsilon, mu_of
from privacy.audit.books import Spending, StreamSpending, Windows
from privacy.budget import DAY, YEAR

__all__ = ["MONTH", "Posting", "RollingSum", "measure", "to_epsilon"]

MONTH = 30 * DAY
"""Seconds; the shorter rolling window shown."""

_LARGEST_UNITS = 1 << 60
"""Rho of a million, epsilon of another: what is larger is shown as this."""


@dataclass(frozen=True, slots=True)
class Posting:
    """One line of the books: what a charge, or a quarantine's part of a stream, adds.

    ``units``: rho units; ``collusion``: what they become when leader and helper collude;
    ``pure``: epsilon of a local report, exact, else 0. ``release``: False for a quarantine.
    """

    stream: str
    at: float
    latest: float
    units: int
    collusion: int
    pure: Fraction
    release: bool = True


class RollingSum:
    """The largest sum that may lie within one window of ``length`` seconds."""

    def __init__(self, length: float) -> None:
        self._length = length
        self._kept: list[tuple[float, Fraction]] = []
        self._total = Fraction(0)
        self.worst = Fraction(0)

    def add(self, posting: Posting, amount: int | Fraction) -> Fraction:
        """Add ``amount`` at the posting's dates; returns the window's sum, which includes it."""
        heapq.heappush(self._kept, (posting.latest, Fraction(amount)))
        self._total += amount
        current = self.ending(posting.at)
        self.worst = max(self.worst, current)
        return current

    def ending(self, now: float) -> Fraction:
        """The sum of the window that ends at ``now``, not before the last date added."""
        while self._kept and self._kept[0][0] <= now - self._length:
            self._total -= heapq.heappop(self._kept)[1]
        return self._total


def measure(
    name: str, postings: Sequence[Posting], delta: float, yearly_cap: int, lifetime_cap: int
) -> StreamSpending:
    """The odometer over ``postings`` (``at`` monotone)."""
    units = _spending(postings, lambda posting: posting.units)
    collusion = _spending(postings, lambda posting: posting.collusion)
    pure = _windows(postings, lambda posting: posting.pure)
    current = RollingSum(YEAR)
    for posting in postings:
        current.add(posting, posting.units)
    return StreamSpending(
        stream=name,
        units=units,
        epsilon=_epsilons(units, delta),
        collusion=_epsilons(collusion, delta),
        pure=Windows(*(float(value) for value in pure)),
        yearly_cap=yearly_cap,
        lifetime_cap=lifetime_cap,
        current_year=int(current.ending(postings[-1].at)) if postings else 0,
    )


@lru_cache(maxsize=4096)
def to_epsilon(units: int, delta: float) -> float:
    """Epsilon at ``delta`` of ``units`` composed Gaussian releases: exact, never below the truth
    for local reports, which are charged as the Gaussian that dominates them."""
    return gdp_epsilon(mu_of(min(units, _LARGEST_UNITS)), delta)


def _spending(postings: Sequence[Posting], amount: Callable[[Posting], int]) -> Spending:
    return Spending(*(int(value) for value in _windows(postings, amount)))


def _windows(
    postings: Sequence[Posting], amount: Callable[[Posting], int | Fraction]
) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    month, year = RollingSum(MONTH), RollingSum(YEAR)
    report = lifetime = Fraction(0)
    for posting in postings:
        value = Fraction(amount(posting))
        month.add(posting, value)
        year.add(posting, value)
        lifetime += value
        if posting.release:
            report = max(report, value)
    return report, month.worst, year.worst, lifetime


def _epsilons(units: Spending, delta: float) -> Windows:
    values = (units.report, units.month, units.year, units.lifetime)
    return Windows(*(to_epsilon(value, delta) for value in values))
