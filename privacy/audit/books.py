"""What an audit of one ledger finds: charges, receipts, quarantines, windows, and the verdict.

Plain values, JSON-ready through `dataclasses.asdict`. Units are rho units of 2^-40; epsilons are at
the budget's delta and count forfeited charges and quarantines too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = [
    "Charge",
    "LedgerAudit",
    "Problem",
    "QuarantineLine",
    "ReceiptLine",
    "Spending",
    "StreamSpending",
    "Windows",
]


@dataclass(frozen=True, slots=True)
class Problem:
    """One violation: the entry it was found at, and what is wrong in plain words."""

    entry: int
    what: str


@dataclass(frozen=True, slots=True)
class Charge:
    """One paid release. Epsilons at the budget's delta.

    Made no earlier than ``at`` and no later than ``latest``, seconds UTC: what the ledger knows.
    """

    entry: int
    task: str
    stream: str
    """The budget's stream that pays; "" when the budget knows no such task."""
    round: int
    at: float
    latest: float
    counts_from: float
    """It leaves the year 365 days after this: ``latest``, or a later quarantine's date."""
    mechanism: str
    rho_units: int
    committed: bool
    signed: bool
    """Its COMMIT carries a signature that holds under the device key of the ledger."""
    sha256: str
    """Of the released report, hex; "" while forfeited."""
    acknowledged: bool
    """The ledger holds the cloud's receipt for it."""
    epsilon: float
    pure_epsilon: float
    """What a local report costs at delta 0; 0.0 for Gaussian noise, which has no such figure."""
    collusion_epsilon: float
    """What this report alone costs if leader and helper collude: only the phone's own share of
    the noise, sigma / sqrt(n_min), is left. A local report trusts nobody: the same as epsilon."""
    collusion_units: int
    parameters: Mapping[str, float | int | str]
    """The mechanism's own fields."""


@dataclass(frozen=True, slots=True)
class ReceiptLine:
    """One receipt of the cloud in the ledger. ``received``: seconds UTC by the cloud's clock."""

    entry: int
    task: str
    round: int
    sha256: str
    received: float
    checked: bool
    """Its signature was verified under the pinned cloud key."""
    charged: bool
    """It acknowledges a report this ledger paid for."""


@dataclass(frozen=True, slots=True)
class QuarantineLine:
    """The ledger stopped itself, charging what was left. ``units`` by stream."""

    entry: int
    at: float
    reason: str
    units: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Windows:
    """One quantity per report and over the worst 30 days, 365 days, and for ever.

    ``report``: of the costliest single release (quarantines are none).
    """

    report: float
    month: float
    year: float
    lifetime: float


@dataclass(frozen=True, slots=True)
class Spending:
    """Rho units per window: integers, the only thing decided on."""

    report: int
    month: int
    year: int
    lifetime: int


@dataclass(frozen=True, slots=True)
class StreamSpending:
    """The odometer of one stream, or of all together.

    ``pure``: the linear sum of epsilons of its local reports; zeros without any. ``yearly_cap``:
    of the budget in force at the end; 0 when it has no such stream. ``current_year``: units of
    the 365 days that end with the ledger's last date.
    """

    stream: str
    units: Spending
    epsilon: Windows
    collusion: Windows
    pure: Windows
    yearly_cap: int
    lifetime_cap: int
    current_year: int


@dataclass(frozen=True, slots=True)
class LedgerAudit:
    """The verdict on one ledger."""

    device: str
    device_key: str
    """Ed25519 public key of the COMMITs, hex; "" when they are not signed."""
    budget: str
    private: bool
    delta: float
    entries: int
    charges: tuple[Charge, ...]
    receipts: tuple[ReceiptLine, ...]
    quarantines: tuple[QuarantineLine, ...]
    streams: tuple[StreamSpending, ...]
    total: StreamSpending
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    """What could not be checked, or is worth knowing; no violation."""
    worst_month: float
    worst_year: float
    lifetime: float
    lifetime_bound: float
    """The zCDP upper bound on ``lifetime``, which is exact for Gaussian noise."""
    lifetime_rho_units: int

    @property
    def sound(self) -> bool:
        """Whether no violation was found."""
        return not self.problems

    @property
    def forfeited(self) -> int:
        """Charges without a report: spent, never released."""
        return sum(not charge.committed for charge in self.charges)

    @property
    def last_date(self) -> float:
        """Date of the newest charge or quarantine, seconds UTC; 0.0 in an empty ledger."""
        dated = [charge.at for charge in self.charges] + [each.at for each in self.quarantines]
        return max(dated, default=0.0)

    def postings(self, stream: str) -> list[tuple[float, float, int]]:
        """(date, date it counts from, rho units) of all a ``stream`` spent, oldest first."""
        paid = [
            (each.at, each.counts_from, each.rho_units)
            for each in self.charges
            if each.stream == stream
        ]
        paid += [
            (each.at, each.at, each.units[stream])
            for each in self.quarantines
            if each.units.get(stream)
        ]
        return sorted(paid)

    @property
    def verdict(self) -> str:
        """One plain sentence."""
        if self.problems:
            count = len(self.problems)
            return f"VIOLATION: {count} problem{'s' if count > 1 else ''} found in this ledger."
        if not self.charges and not self.quarantines:
            return "OK: the ledger is intact, and nothing was ever released."
        kept = f"{len(self.charges)} charges, epsilon {self.lifetime:.3g} in all"
        if not self.private:
            return f"OK by its own rules, but NOT PRIVATE: the {self.budget} budget ({kept})."
        return f"OK: the ledger is intact and within the {self.budget} budget ({kept})."
