"""The phone's privacy ledger: every charge durable before its noise is drawn.

RESERVE (durable) → draw noise → store the report (durable) → COMMIT (durable) → send. A crash
anywhere after RESERVE forfeits the charge: it is never refunded, because the noise may already
have been seen. Rounds strictly increase per task, so the same round is never paid, or released,
twice. Caps hold over every rolling 365 days and over the ledger's lifetime, in integer units.

Time only moves forward here: a charge is dated at the later of the clock and the last charge, so
turning the clock back renews nothing. What remains of a budget is itself data: never send it.

One owner per ledger, one thread; the log below it enforces the first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from privacy.accounting import gdp_epsilon, mu_of
from privacy.budget import YEAR, Budget
from privacy.chain import (
    GENESIS,
    Commit,
    Mechanism,
    Open,
    Reserve,
    decode_entry,
    encode_entry,
    entry_hash,
)
from privacy.errors import BudgetExceeded, LedgerCorrupt, LedgerUnavailable, RoundAlreadyCharged

__all__ = [
    "AppendLog",
    "Ledger",
    "LedgerCorrupt",
    "LedgerUnavailable",
    "Mechanism",
    "Reservation",
    "Spending",
]


class AppendLog(Protocol):
    """Where entries live; on a phone, a sealed log."""

    def append(self, payload: bytes) -> int:
        """Store ``payload`` durably and return its sequence number."""
        ...

    def read(self) -> Iterator[tuple[int, bytes]]:
        """Every (sequence number, payload), oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class Reservation:
    """A durable charge waiting for its COMMIT."""

    seq: int
    task: str
    round: int
    rho_units: int
    at: float


@dataclass(frozen=True, slots=True)
class Spending:
    """What has been spent, forfeited charges included.

    ``rho``: rho units per task. ``epsilon``: of everything together, at ``delta``.
    """

    rho: Mapping[str, int]
    delta: float
    epsilon: float
    charges: int
    forfeited: int

    @property
    def rho_units(self) -> int:
        """Rho units over all tasks."""
        return sum(self.rho.values())


@dataclass(slots=True)
class _State:
    """What the entries so far add up to."""

    head: str = GENESIS
    length: int = 0
    opened: tuple[str, float, str] | None = None
    charges: dict[int, Reservation] = field(default_factory=dict)
    last_at: float = -math.inf
    committed: dict[int, str] = field(default_factory=dict)
    last_round: dict[str, int] = field(default_factory=dict)


class Ledger:
    """Hash-chained charges of one device under one budget.

    Opening replays and verifies the log (LedgerCorrupt when the chain, the order of rounds or a
    COMMIT does not hold). An append that fails leaves it unknown whether the entry is durable:
    the ledger then refuses everything (LedgerUnavailable) until it is opened again.
    """

    def __init__(self, log: AppendLog, budget: Budget, *, device_id: str = "") -> None:
        self._log = log
        self._budget = budget
        self._device_id = device_id
        self._broken = False
        self._state = _State()
        for _, payload in log.read():
            _replay(self._state, payload)

    @property
    def budget(self) -> Budget:
        """The budget whose caps and floors hold."""
        return self._budget

    @property
    def head(self) -> tuple[int, str]:
        """(number of entries, hash of the last): what a receipt would countersign."""
        return self._state.length, self._state.head

    def last_round(self, task: str) -> int:
        """The newest round charged for ``task``; 0 when none was."""
        return self._state.last_round.get(task, 0)

    def reserve(
        self,
        task: str,
        round: int,  # noqa: A002
        mechanism: Mechanism,
        rho_units: int,
        at: float,
    ) -> Reservation:
        """Charge ``rho_units`` for a round, durably; ``at`` in seconds UTC.

        Raises RoundAlreadyCharged, BudgetExceeded (both before anything is written) or
        LedgerUnavailable.
        """
        self._check_usable()
        if not math.isfinite(at) or rho_units < 1:
            raise ValueError("a charge needs a finite time and at least one unit")
        if round <= self.last_round(task):
            raise RoundAlreadyCharged(
                f"{task} round {round} is not newer than the last charged, {self.last_round(task)}"
            )
        when = max(at, self._state.last_at)
        self._check_caps(task, rho_units, when)
        self._open_if_changed()
        entry = Reserve(
            seq=self._state.length,
            prev=self._state.head,
            task=task,
            round=round,
            mechanism=mechanism,
            rho=rho_units,
            at=when,
        )
        self._append(entry)
        return self._state.charges[entry.seq]

    def commit(self, reservation: Reservation, sha256: bytes) -> None:
        """Record the hash of the report a reservation paid for, once (ValueError otherwise)."""
        self._check_usable()
        if self._state.charges.get(reservation.seq) != reservation:
            raise ValueError("this ledger made no such reservation")
        if reservation.seq in self._state.committed:
            raise ValueError("this reservation is already committed")
        self._append(
            Commit(
                seq=self._state.length,
                prev=self._state.head,
                reserve=reservation.seq,
                sha256=sha256.hex(),
            )
        )

    def spent(self, since: float = -math.inf) -> Spending:
        """Spending of the charges later than ``since`` (seconds UTC); all of them by default."""
        charges = [charge for charge in self._state.charges.values() if charge.at > since]
        rho: defaultdict[str, int] = defaultdict(int)
        for charge in charges:
            rho[charge.task] += charge.rho_units
        forfeited = sum(charge.seq not in self._state.committed for charge in charges)
        delta = self._budget.delta
        epsilon = gdp_epsilon(mu_of(sum(rho.values())), delta)
        return Spending(dict(sorted(rho.items())), delta, epsilon, len(charges), forfeited)

    def remaining(self, at: float) -> dict[str, int]:
        """Rho units each stream may still spend at ``at``, by stream name."""
        lifetime = self._budget.lifetime_cap - self._spent_units(self._budget.tasks, -math.inf)
        since = max(at, self._state.last_at) - YEAR
        return {
            stream.name: max(
                0, min(lifetime, stream.yearly_cap - self._spent_units(stream.tasks, since))
            )
            for stream in self._budget.streams
        }

    def entries(self) -> Iterator[Open | Reserve | Commit]:
        """Every entry, oldest first, read from the log."""
        for _, payload in self._log.read():
            yield decode_entry(payload)

    def _check_usable(self) -> None:
        if self._broken:
            raise LedgerUnavailable("an earlier write to the ledger failed; open it again")

    def _check_caps(self, task: str, units: int, at: float) -> None:
        stream = self._budget.stream(task)
        yearly = self._spent_units(stream.tasks, at - YEAR)
        if yearly + units > stream.yearly_cap:
            raise BudgetExceeded(
                f"{stream.name} stream of the {self._budget.name} budget is spent for this year"
            )
        everything = sum(charge.rho_units for charge in self._state.charges.values())
        if everything + units > self._budget.lifetime_cap:
            raise BudgetExceeded(f"the {self._budget.name} budget is spent for good")

    def _spent_units(self, tasks: tuple[str, ...], since: float) -> int:
        return sum(
            charge.rho_units
            for charge in self._state.charges.values()
            if charge.task in tasks and charge.at > since
        )

    def _open_if_changed(self) -> None:
        wanted = (self._budget.name, self._budget.delta, self._device_id)
        if self._state.opened != wanted:
            name, delta, device = wanted
            self._append(
                Open(
                    seq=self._state.length,
                    prev=self._state.head,
                    budget=name,
                    delta=delta,
                    device=device,
                )
            )

    def _append(self, entry: Open | Reserve | Commit) -> None:
        payload = encode_entry(entry)
        self._broken = True  # stays so if the append raises: durable or not, nobody knows
        self._log.append(payload)
        self._broken = False
        _replay(self._state, payload)


def _replay(state: _State, payload: bytes) -> None:
    """Fold one entry into the state, verifying what it claims."""
    entry = decode_entry(payload)
    if entry.seq != state.length or entry.prev != state.head:
        raise LedgerCorrupt(f"entry {state.length} does not continue the hash chain")
    match entry:
        case Open():
            state.opened = (entry.budget, entry.delta, entry.device)
        case Reserve():
            _replay_reserve(state, entry)
        case Commit():
            _replay_commit(state, entry)
    state.head = entry_hash(payload)
    state.length += 1


def _replay_reserve(state: _State, entry: Reserve) -> None:
    if state.opened is None:
        raise LedgerCorrupt(f"entry {entry.seq} charges before any budget was opened")
    if entry.round <= state.last_round.get(entry.task, 0):
        raise LedgerCorrupt(f"entry {entry.seq} charges a round twice")
    if entry.at < state.last_at:
        raise LedgerCorrupt(f"entry {entry.seq} goes back in time")
    state.last_round[entry.task] = entry.round
    state.last_at = entry.at
    state.charges[entry.seq] = Reservation(entry.seq, entry.task, entry.round, entry.rho, entry.at)


def _replay_commit(state: _State, entry: Commit) -> None:
    if entry.reserve not in state.charges:
        raise LedgerCorrupt(f"entry {entry.seq} commits what was never reserved")
    if entry.reserve in state.committed:
        raise LedgerCorrupt(f"entry {entry.seq} commits a charge twice")
    state.committed[entry.reserve] = entry.sha256
