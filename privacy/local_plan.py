"""Local mode: what a fleet without a helper may ask, and what that is worth.

One answer a report, randomised on the phone by subset selection. Nobody need be trusted, and
nothing adds up: the error of a share falls with sqrt(n) only. It is paid by the same stream as
the shared counts, so a phone that meets both kinds of round never spends more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from privacy.errors import FloorViolated, RoundRefused
from privacy.mechanisms.local import SubsetSelection
from privacy.streams import USAGE_HISTOGRAMS

__all__ = ["LocalPlan", "LocalTerms"]


class LocalTerms(Protocol):
    """The fields of a local round that decide what it costs."""

    @property
    def task(self) -> str:
        """local_usage."""
        ...

    @property
    def round(self) -> int:
        """Strictly increasing, from 1."""
        ...

    @property
    def histogram(self) -> str:
        """Name of the one usage histogram that is asked for."""
        ...

    @property
    def epsilon(self) -> float:
        """Pure epsilon of one report."""
        ...

    @property
    def n_min(self) -> int:
        """Fewest reports that are estimated from."""
        ...


@dataclass(frozen=True, slots=True)
class LocalPlan:
    """Local rounds of a budget: ``epsilon`` at most, ``n_min`` at least; ``cadence`` in seconds."""

    task: str
    epsilon: float
    n_min: int
    cadence: float

    def check(self, terms: LocalTerms, budget: str) -> None:
        """Refuse a round above the plan's epsilon or below its n_min (FloorViolated), or
        malformed (RoundRefused); ``budget``: its name, for the message."""
        if terms.task != self.task or terms.round < 1:
            raise RoundRefused("the round is not a local round")
        if all(histogram.name != terms.histogram for histogram in USAGE_HISTOGRAMS):
            raise RoundRefused("the round asks for a histogram this phone does not keep")
        if not (math.isfinite(terms.epsilon) and terms.epsilon > 0):
            raise RoundRefused("the round has an epsilon that is not a positive number")
        if terms.epsilon > self.epsilon:
            raise FloorViolated(
                f"round asks for epsilon {terms.epsilon:.3g} a local report, "
                f"the {budget} budget allows {self.epsilon:.3g}"
            )
        if terms.n_min < self.n_min:
            raise FloorViolated(
                f"round would publish from as few as {terms.n_min} phones, "
                f"the {budget} budget wants at least {self.n_min}"
            )

    def error(self, n: int) -> float:
        """Standard deviation of a rare bin's estimated share, over ``n`` reports, of the largest
        histogram: q(1-q)/(p-q)²/n (Ye & Barg 2017, arXiv 1702.00610)."""
        bins = max(len(histogram.bins) for histogram in USAGE_HISTOGRAMS)
        p, q = map(float, SubsetSelection(bins, self.epsilon).inclusion())
        return math.sqrt(q * (1.0 - q) / n) / (p - q)
