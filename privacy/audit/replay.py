"""Re-reads a ledger from its first entry and judges it, trusting none of its sums.

It shares the decoding of entries with the ledger and nothing else: what an entry costs, which
charges a year holds, what a quarantine owes, are all computed here again.

A problem does not stop the replay: after a broken link the auditor goes on from what the entry
claims, so one edit is reported as one edit, and everything after it is still added up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from privacy.audit.books import LedgerAudit, Problem
from privacy.audit.caps import Counted, Ledgered
from privacy.audit.conclude import Books, conclude
from privacy.audit.costs import cost_of, fault_of
from privacy.audit.signatures import key_is_of, receipt_fault, signature_holds
from privacy.budget import BUDGETS, Budget
from privacy.chain import (
    GENESIS,
    Commit,
    Entry,
    GaussianMechanism,
    Open,
    Quarantine,
    ReceiptEntry,
    Reserve,
    decode_entry,
    entry_hash,
)
from privacy.errors import LedgerCorrupt, RoundRefused

__all__ = ["LedgerAudit", "Problem", "audit_ledger"]


@dataclass(slots=True)
class _Replay:
    """Working state of one audit."""

    cloud_key: bytes
    head: str = GENESIS
    index: int = 0
    books: Books = field(default_factory=Books)
    counted: Ledgered = field(default_factory=Ledgered)
    rounds: dict[tuple[str, int], int] = field(default_factory=dict)
    """(task, round) → entry of its charge."""
    newest: dict[str, int] = field(default_factory=dict)
    """Task → newest round charged or acknowledged."""
    last_at: float = 0.0
    quarantined_at: float = -1.0
    known: set[tuple[str, int, str]] = field(default_factory=set)
    """Receipts seen."""
    unpaid: list[int] = field(default_factory=list)
    """Receipts for what was never charged, waiting for their quarantine."""

    @property
    def budget(self) -> Budget | None:
        return BUDGETS.get(self.books.opened.budget) if self.books.opened else None

    def report(self, what: str, entry: int | None = None) -> None:
        self.books.problems.append(Problem(self.index if entry is None else entry, what))

    def move_to(self, at: float, what: str) -> float:
        """The date that counts: never before the last one."""
        if at < self.last_at:
            self.report(f"{what} goes back in time")
        self.last_at = max(self.last_at, at)
        return self.last_at


def audit_ledger(payloads: Iterable[bytes], *, cloud_key: bytes = b"") -> LedgerAudit:
    """Replay a ledger's entries, oldest first. ``cloud_key``: Ed25519, to check receipts under.

    Checks: canonical entries, hash chain and numbering; every COMMIT has one earlier RESERVE and
    the signature of the device key its OPEN names; rounds strictly increase per task; dates never
    go back; each charge equals the cost of its mechanism; each mechanism respects the floors, and
    every rolling year and the lifetime the caps, of the budget the ledger names; every receipt
    acknowledges a report that was committed, or is covered by a quarantine; every quarantine
    charges all that was left of the year.
    """
    state = _Replay(cloud_key)
    for payload in payloads:
        _replay_payload(state, payload)
        state.index += 1
    _settle(state)
    return conclude(state.books, state.index, checked=bool(cloud_key))


def _replay_payload(state: _Replay, payload: bytes) -> None:
    try:
        entry = decode_entry(payload)
    except LedgerCorrupt as error:
        state.report(str(error))
    else:
        if entry.prev != state.head:
            state.report("the hash chain is broken: an entry before this one was edited or removed")
        if entry.seq != state.index:
            state.report(f"the entry calls itself number {entry.seq}")
        _replay_entry(state, entry)
    state.head = entry_hash(payload)


def _replay_entry(state: _Replay, entry: Entry) -> None:
    if state.books.opened is None and not isinstance(entry, Open):
        state.report(f"a {entry.kind} comes before any budget was opened")
    match entry:
        case Open():
            _replay_open(state, entry)
        case Reserve():
            _replay_reserve(state, entry)
        case Commit():
            _replay_commit(state, entry)
        case ReceiptEntry():
            _replay_receipt(state, entry)
        case Quarantine():
            _replay_quarantine(state, entry)


def _replay_open(state: _Replay, entry: Open) -> None:
    budget, before = BUDGETS.get(entry.budget), state.books.opened
    if budget is None:
        state.report("the budget named here is none of ours")
    elif entry.delta != budget.delta:
        state.report(f"delta {entry.delta:g} is not that of the {budget.name} budget")
    if not key_is_of(entry.key, entry.device):
        state.report("the device named here is not the one its key belongs to")
    if before is not None and before.key and entry.key != before.key:
        state.books.notes.append(f"entry {state.index} changes the device key")
    if before is not None and before.budget != entry.budget:
        state.books.notes.append(f"entry {state.index} changes the budget to {entry.budget}")
    state.books.opened = entry


def _replay_reserve(state: _Replay, entry: Reserve) -> None:
    _settle(state)
    name = f"{entry.task} round {entry.round}"
    _check_order(state, entry, name)
    at = state.move_to(entry.at, name)
    if 0.0 < entry.latest < entry.at:
        state.report(f"{name} has a latest date before its earliest")
    cost, budget, stream = cost_of(entry.mechanism), state.budget, ""
    if entry.rho < cost:
        state.report(f"{name} was charged less than its noise costs")
    elif entry.rho > cost:
        state.report(f"{name} was charged more than its noise costs")
    if budget is not None:
        fault = fault_of(entry, budget)
        if fault:
            state.report(f"{name}: {fault}")
        stream = _stream_of(budget, entry.task)
    _note_helper(state, entry)
    made = Counted(state.index, stream, entry.rho, at, max(at, entry.latest))
    state.books.charges[state.index] = (entry, made)
    state.counted.charge(made)
    if budget is not None:
        _check_caps(state, budget, stream, at)


def _check_order(state: _Replay, entry: Reserve, name: str) -> None:
    newest = state.newest.get(entry.task, 0)
    if (entry.task, entry.round) in state.rounds:
        state.report(f"{name} is charged twice")
    elif entry.round <= newest:
        state.report(f"{name} comes after round {newest}")
    state.rounds.setdefault((entry.task, entry.round), state.index)
    state.newest[entry.task] = max(newest, entry.round)


def _check_caps(state: _Replay, budget: Budget, stream: str, at: float) -> None:
    """Caps of the budget in force now, over what counts against the year that ends now."""
    cap = next((each.yearly_cap for each in budget.streams if each.name == stream), None)
    if cap is not None and state.counted.year(stream, at) > cap:
        state.report(f"the {stream} stream is over its yearly cap: overspent")
    if state.counted.lifetime > budget.lifetime_cap:
        state.report("the lifetime cap is passed: overspent")


def _replay_commit(state: _Replay, entry: Commit) -> None:
    books = state.books
    if entry.reserve not in books.charges:
        state.report("a COMMIT has no RESERVE before it: something left without being charged")
    elif entry.reserve in books.commits:
        state.report("a charge is committed twice: two reports left for one charge")
    key = books.opened.key if books.opened else ""
    holds = signature_holds(entry, key)
    if entry.signature and not holds:
        state.report("a COMMIT is not signed by the device key of this ledger")
    elif key and not entry.signature:
        state.report("a COMMIT is not signed, though this ledger names a device key")
    books.commits.setdefault(entry.reserve, (entry.sha256, holds))


def _replay_receipt(state: _Replay, entry: ReceiptEntry) -> None:
    books, name = state.books, f"the receipt for {entry.task} round {entry.round}"
    device = books.opened.device if books.opened else ""
    fault = receipt_fault(entry, device, state.cloud_key)
    if fault:
        state.report(f"{name} {fault}")
    told = (entry.task, entry.round, entry.sha256)
    if told in state.known:
        state.report(f"{name} is written down twice")
    state.known.add(told)
    charge = state.rounds.get((entry.task, entry.round))
    paid = charge is not None and books.commits.get(charge, ("", False))[0] == entry.sha256
    if charge is not None and paid:
        books.charges[charge][1].receipted = True
    elif state.quarantined_at < entry.received:
        state.unpaid.append(state.index)
    state.newest[entry.task] = max(entry.round, state.newest.get(entry.task, 0))
    books.receipts[state.index] = (entry, paid)


def _replay_quarantine(state: _Replay, entry: Quarantine) -> None:
    state.unpaid.clear()
    at = state.move_to(entry.at, "a quarantine")
    state.quarantined_at = at
    budget = state.budget
    if budget is not None:
        fault = state.counted.quarantine(state.index, entry, at, budget)
        if fault:
            state.report(fault)
        for stream in budget.streams:
            _check_caps(state, budget, stream.name, at)
    state.books.quarantines[state.index] = entry


def _settle(state: _Replay) -> None:
    """A receipt for what was never paid for so must be covered by a quarantine by now.

    A phone that suspects itself may wait with its quarantine until its next charge; until then its
    books do lack a report that left, and are called so.
    """
    for index in state.unpaid:
        seen, _ = state.books.receipts[index]
        state.report(
            f"the cloud has a report of {seen.task} round {seen.round} that this ledger "
            "never paid for, and no quarantine covers it yet",
            index,
        )
    state.unpaid.clear()


def _stream_of(budget: Budget, task: str) -> str:
    try:
        return budget.stream(task).name
    except RoundRefused:
        return ""


def _note_helper(state: _Replay, entry: Reserve) -> None:
    if not isinstance(entry.mechanism, GaussianMechanism) or not entry.mechanism.helper:
        return
    first = state.books.helper
    if not first:
        state.books.helper = entry.mechanism.helper
    elif entry.mechanism.helper != first:
        state.books.notes.append(f"entry {state.index} seals to another helper than the first")
