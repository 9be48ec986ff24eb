"""What a ledger must count against a year and a lifetime, kept independently of the ledger.

A charge counts from its latest possible date. A quarantine counts from its own, and so does, from
then on, every charge of the year before that no receipt of the cloud confirms, or that may be
older than that year: a copy of the phone may have made other charges in its place.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from dataclasses import dataclass, field

from privacy.budget import YEAR, Budget
from privacy.chain import Quarantine

__all__ = ["Counted", "Ledgered"]

MOST_QUARANTINES = 100
"""A phone is restored now and then; nobody's is a hundred times, and each costs a pass."""


@dataclass(slots=True)
class Counted:
    """One charge, as far as the caps are concerned. It leaves the year 365 days after ``date``."""

    entry: int
    stream: str
    units: int
    at: float
    date: float
    receipted: bool = False


@dataclass(slots=True)
class Ledgered:
    """Running sums of one ledger. Dates given to it never go back."""

    lifetime: int = 0
    quarantines: int = 0
    _kept: dict[str, list[tuple[float, int, Counted]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    _years: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def charge(self, made: Counted) -> None:
        """Count a charge."""
        self.lifetime += made.units
        self._years[made.stream] += made.units
        heapq.heappush(self._kept[made.stream], (made.date, made.entry, made))

    def year(self, stream: str, at: float) -> int:
        """Units that count against the stream's year at ``at``."""
        kept = self._kept[stream]
        while kept and kept[0][0] <= at - YEAR:
            self._years[stream] -= heapq.heappop(kept)[2].units
        return self._years[stream]

    def quarantine(self, entry: int, told: Quarantine, at: float, budget: Budget) -> str:
        """Count a quarantine; returns what is wrong with its charge, "" when nothing is."""
        self.quarantines += 1
        if self.quarantines > MOST_QUARANTINES:
            return "more quarantines than any phone has"
        names = {stream.name for stream in budget.streams}
        missing = {
            stream.name: max(0, stream.yearly_cap - self.year(stream.name, at))
            for stream in budget.streams
        }
        room = budget.lifetime_cap - self.lifetime - sum(told.units.values())
        for name in sorted(names):
            self._hold(name, at)
            units = told.units.get(name, 0)
            if units:
                self.charge(Counted(entry, name, units, at, at))
        if set(told.units) - names:
            return "the quarantine names a stream that the budget does not have"
        short = [name for name in sorted(names) if told.units.get(name, 0) < missing[name]]
        if short and room > 0:
            return f"the quarantine leaves part of the year's {short[0]} unspent"
        return ""

    def _hold(self, stream: str, at: float) -> None:
        """Date every charge of the last year at ``at`` that is not surely known to the cloud."""
        kept = [made for _, _, made in self._kept[stream]]
        for made in kept:
            if not (made.receipted and made.at > at - YEAR):
                made.date = max(made.date, at)
        self._kept[stream] = [(made.date, made.entry, made) for made in kept]
        heapq.heapify(self._kept[stream])
