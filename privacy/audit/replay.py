"""Re-reads a ledger from its first entry and judges it, trusting none of its sums.

A problem does not stop the replay: after a broken link the auditor goes on from what the entry
claims, so one edit is reported as one edit, and everything after it is still added up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from privacy.accounting import epsilon, gdp_epsilon, mu_of, rho_units
from privacy.budget import BUDGETS, DAY, YEAR, Budget
from privacy.chain import GENESIS, Commit, Open, Reserve, decode_entry, entry_hash
from privacy.errors import FloorViolated, LedgerCorrupt, RoundRefused

__all__ = ["MONTH", "Charge", "LedgerAudit", "Problem", "audit_ledger"]

MONTH = 30 * DAY
"""Seconds; the shorter rolling window shown."""

_UNNAMED_DELTA = 1e-6
"""Delta used for display when the ledger names no budget we know."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One violation: the entry it was found at, and what is wrong in plain words."""

    entry: int
    what: str


@dataclass(frozen=True, slots=True)
class Charge:
    """One paid release. Epsilons at the budget's delta; ``at`` in seconds UTC."""

    entry: int
    task: str
    round: int
    at: float
    rho_units: int
    committed: bool
    epsilon: float
    collusion_epsilon: float
    """What this report alone costs if leader and helper collude: only the phone's own share of
    the noise, sigma / sqrt(n_min), is left."""


@dataclass(frozen=True, slots=True)
class LedgerAudit:
    """The verdict on one ledger. Epsilons count forfeited charges too."""

    device: str
    budget: str
    private: bool
    delta: float
    entries: int
    charges: tuple[Charge, ...]
    problems: tuple[Problem, ...]
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
    def verdict(self) -> str:
        """One plain sentence."""
        if self.problems:
            count = len(self.problems)
            return f"VIOLATION: {count} problem{'s' if count > 1 else ''} found in this ledger."
        if not self.charges:
            return "OK: the ledger is intact, and nothing was ever released."
        kept = f"{len(self.charges)} charges, epsilon {self.lifetime:.3g} in all"
        if not self.private:
            return f"OK by its own rules, but NOT PRIVATE: the {self.budget} budget ({kept})."
        return f"OK: the ledger is intact and within the {self.budget} budget ({kept})."


@dataclass(slots=True)
class _Replay:
    """Working state of one audit."""

    head: str = GENESIS
    index: int = 0
    opened: Open | None = None
    reserves: dict[int, Reserve] = field(default_factory=dict)
    budgets: dict[int, Budget | None] = field(default_factory=dict)
    committed: set[int] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

    def report(self, what: str, entry: int | None = None) -> None:
        self.problems.append(Problem(self.index if entry is None else entry, what))


def audit_ledger(payloads: Iterable[bytes]) -> LedgerAudit:
    """Replay a ledger's entries, oldest first.

    Checks: canonical entries, hash chain and numbering; every COMMIT has one earlier RESERVE;
    rounds strictly increase per task; time never goes back; each charge equals the cost of its
    mechanism; each mechanism respects the floors, and every rolling year and the lifetime the
    caps, of the budget the ledger names.
    """
    state = _Replay()
    for payload in payloads:
        _replay_entry(state, payload)
        state.index += 1
    _check_caps(state)
    return _conclude(state)


def _replay_entry(state: _Replay, payload: bytes) -> None:
    try:
        entry = decode_entry(payload)
    except LedgerCorrupt as error:
        state.report(str(error))
        state.head = entry_hash(payload)
        return
    if entry.prev != state.head:
        state.report("the hash chain is broken: an entry before this one was edited or removed")
    if entry.seq != state.index:
        state.report(f"the entry calls itself number {entry.seq}")
    match entry:
        case Open():
            _replay_open(state, entry)
        case Reserve():
            _replay_reserve(state, entry)
        case Commit():
            _replay_commit(state, entry)
    state.head = entry_hash(payload)


def _replay_open(state: _Replay, entry: Open) -> None:
    budget = BUDGETS.get(entry.budget)
    if budget is None:
        state.report("the budget named here is none of ours")
    elif entry.delta != budget.delta:
        state.report(f"delta {entry.delta:g} is not that of the {budget.name} budget")
    state.opened = entry


def _replay_reserve(state: _Replay, entry: Reserve) -> None:
    if state.opened is None:
        state.report("a charge comes before any budget was opened")
    budget = BUDGETS.get(state.opened.budget) if state.opened else None
    _check_order(state, entry)
    cost = rho_units(entry.mechanism.clip, entry.mechanism.sigma)
    if entry.rho < cost:
        state.report(f"{entry.task} round {entry.round} was charged less than its noise costs")
    if budget is not None:
        try:
            budget.check(_as_round(entry))
        except (FloorViolated, RoundRefused) as error:
            state.report(f"{entry.task} round {entry.round}: {error}")
    state.reserves[state.index] = entry
    state.budgets[state.index] = budget


def _check_order(state: _Replay, entry: Reserve) -> None:
    same_task = [known.round for known in state.reserves.values() if known.task == entry.task]
    if entry.round in same_task:
        state.report(f"{entry.task} round {entry.round} is charged twice")
    elif same_task and entry.round < max(same_task):
        state.report(f"{entry.task} round {entry.round} comes after round {max(same_task)}")
    if any(known.at > entry.at for known in state.reserves.values()):
        state.report(f"{entry.task} round {entry.round} goes back in time")


def _replay_commit(state: _Replay, entry: Commit) -> None:
    if entry.reserve not in state.reserves:
        state.report("a COMMIT has no RESERVE before it: something left without being charged")
    elif entry.reserve in state.committed:
        state.report("a charge is committed twice: two reports left for one charge")
    state.committed.add(entry.reserve)


@dataclass(frozen=True, slots=True)
class _AuditedRound:
    task: str
    round: int
    dimension: int
    scale: int
    clip: float
    sigma: float
    n_min: int


def _as_round(entry: Reserve) -> _AuditedRound:
    m = entry.mechanism
    return _AuditedRound(entry.task, entry.round, m.dimension, m.scale, m.clip, m.sigma, m.n_min)


def _check_caps(state: _Replay) -> None:
    """Caps of the budget in force at each charge, over the rolling year that ends with it."""
    for index, entry in state.reserves.items():
        budget = state.budgets[index]
        if budget is None:
            continue
        so_far = [known for seq, known in state.reserves.items() if seq <= index]
        for stream in budget.streams:
            if entry.task not in stream.tasks:
                continue
            yearly = sum(
                known.rho
                for known in so_far
                if known.task in stream.tasks and known.at > entry.at - YEAR
            )
            if yearly > stream.yearly_cap:
                state.report(f"the {stream.name} stream is over its yearly cap: overspent", index)
        if sum(known.rho for known in so_far) > budget.lifetime_cap:
            state.report("the lifetime cap is passed: overspent", index)


def _conclude(state: _Replay) -> LedgerAudit:
    budget = BUDGETS.get(state.opened.budget) if state.opened else None
    delta = budget.delta if budget else _UNNAMED_DELTA
    charges = tuple(
        _charge(index, entry, index in state.committed, delta)
        for index, entry in state.reserves.items()
    )
    everything = sum(charge.rho_units for charge in charges)
    return LedgerAudit(
        device=state.opened.device if state.opened else "",
        budget=state.opened.budget if state.opened else "",
        private=budget.private if budget else False,
        delta=delta,
        entries=state.index,
        charges=charges,
        problems=tuple(sorted(state.problems, key=lambda problem: problem.entry)),
        worst_month=_to_epsilon(_worst_window(charges, MONTH), delta),
        worst_year=_to_epsilon(_worst_window(charges, YEAR), delta),
        lifetime=_to_epsilon(everything, delta),
        lifetime_bound=epsilon(everything, delta),
        lifetime_rho_units=everything,
    )


def _charge(index: int, entry: Reserve, committed: bool, delta: float) -> Charge:
    share = entry.mechanism.sigma / math.sqrt(entry.mechanism.n_min)
    alone = rho_units(entry.mechanism.clip, share)
    return Charge(
        entry=index,
        task=entry.task,
        round=entry.round,
        at=entry.at,
        rho_units=entry.rho,
        committed=committed,
        epsilon=_to_epsilon(entry.rho, delta),
        collusion_epsilon=_to_epsilon(alone, delta),
    )


def _worst_window(charges: tuple[Charge, ...], length: float) -> int:
    """Largest rho spent within any ``length`` seconds: some window ending at a charge."""
    return max(
        (
            sum(other.rho_units for other in charges if end.at - length < other.at <= end.at)
            for end in charges
        ),
        default=0,
    )


def _to_epsilon(units: int, delta: float) -> float:
    return gdp_epsilon(mu_of(units), delta)
