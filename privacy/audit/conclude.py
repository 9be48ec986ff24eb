"""From what a replay collected to the verdict: charges priced, windows summed, notes written."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction

from privacy.accounting import epsilon
from privacy.audit.books import (
    Charge,
    LedgerAudit,
    Problem,
    QuarantineLine,
    ReceiptLine,
    StreamSpending,
)
from privacy.audit.caps import Counted
from privacy.audit.costs import collusion_of, pure_epsilon
from privacy.audit.odometer import Posting, measure, to_epsilon
from privacy.budget import BUDGETS, Budget
from privacy.chain import Open, Quarantine, ReceiptEntry, Reserve

__all__ = ["Books", "conclude"]

_UNNAMED_DELTA = 1e-6
"""Delta used for display when the ledger names no budget we know."""

_MOST_NOTES = 20

_LARGEST_UNITS = 1 << 60
"""What a hostile ledger charges beyond this adds up as this: no budget comes near."""


@dataclass(slots=True)
class Books:
    """All that a replay saw, by entry."""

    opened: Open | None = None
    helper: str = ""
    charges: dict[int, tuple[Reserve, Counted]] = field(default_factory=dict)
    """RESERVEs, and how they count against the caps."""
    commits: dict[int, tuple[str, bool]] = field(default_factory=dict)
    """Entry of the RESERVE → hash of its report, and whether its signature holds."""
    receipts: dict[int, tuple[ReceiptEntry, bool]] = field(default_factory=dict)
    """RECEIPTs, and whether what they acknowledge was paid for."""
    quarantines: dict[int, Quarantine] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def conclude(books: Books, entries: int, *, checked: bool) -> LedgerAudit:
    """The audit. ``checked``: receipts were opened under a pinned key."""
    opened = books.opened
    budget = BUDGETS.get(opened.budget) if opened else None
    delta = budget.delta if budget else _UNNAMED_DELTA
    acknowledged = {
        (seen.task, seen.round, seen.sha256) for seen, paid in books.receipts.values() if paid
    }
    charges = tuple(_charge(books, index, delta, acknowledged) for index in books.charges)
    postings = _postings(books, budget)
    streams = _streams(postings, budget, delta)
    lifetime_cap = budget.lifetime_cap if budget else 0
    yearly_cap = budget.yearly_cap if budget else 0
    total = measure("all", postings, delta, yearly_cap, lifetime_cap)
    return LedgerAudit(
        device=opened.device if opened else "",
        device_key=opened.key if opened else "",
        budget=opened.budget if opened else "",
        private=budget.private if budget else False,
        delta=delta,
        entries=entries,
        charges=charges,
        receipts=tuple(
            ReceiptLine(index, seen.task, seen.round, seen.sha256, seen.received, checked, paid)
            for index, (seen, paid) in books.receipts.items()
        ),
        quarantines=tuple(
            QuarantineLine(index, each.at, each.reason, dict(each.units))
            for index, each in books.quarantines.items()
        ),
        streams=streams,
        total=total,
        problems=tuple(sorted(books.problems, key=lambda problem: problem.entry)),
        notes=tuple(_notes(books, charges, checked)),
        worst_month=total.epsilon.month,
        worst_year=total.epsilon.year,
        lifetime=total.epsilon.lifetime,
        lifetime_bound=_bound(total.units.lifetime, delta),
        lifetime_rho_units=total.units.lifetime,
    )


def _charge(
    books: Books, index: int, delta: float, acknowledged: set[tuple[str, int, str]]
) -> Charge:
    entry, counted = books.charges[index]
    sha256, signed = books.commits.get(index, ("", False))
    pure = float(pure_epsilon(entry.mechanism))
    alone = collusion_of(entry.mechanism)
    return Charge(
        entry=index,
        task=entry.task,
        stream=counted.stream,
        round=entry.round,
        at=entry.at,
        latest=max(entry.at, entry.latest),
        counts_from=counted.date,
        mechanism=entry.mechanism.name,
        rho_units=min(entry.rho, _LARGEST_UNITS),
        committed=index in books.commits,
        signed=signed,
        sha256=sha256,
        acknowledged=(entry.task, entry.round, sha256) in acknowledged,
        epsilon=to_epsilon(entry.rho, delta),
        pure_epsilon=pure,
        collusion_epsilon=to_epsilon(alone, delta),
        collusion_units=min(alone, _LARGEST_UNITS),
        parameters=entry.mechanism.model_dump(exclude={"name"}),
    )


def _postings(books: Books, budget: Budget | None) -> list[Posting]:
    """Charges and quarantines in the order of their entries, no date before the last one."""
    lines: list[Posting] = []
    at = 0.0
    n_min = {stream.name: stream.n_min for stream in budget.streams} if budget else {}
    for index in sorted([*books.charges, *books.quarantines]):
        if index in books.charges:
            entry, counted = books.charges[index]
            at = max(at, entry.at)
            latest = max(at, entry.latest)
            alone, pure = collusion_of(entry.mechanism), pure_epsilon(entry.mechanism)
            units = min(entry.rho, _LARGEST_UNITS)
            lines.append(
                Posting(counted.stream, at, latest, units, min(alone, _LARGEST_UNITS), pure)
            )
            continue
        told = books.quarantines[index]
        at = max(at, told.at)
        for stream, charged in sorted(told.units.items()):
            units = min(charged, _LARGEST_UNITS)
            # What a copy may have sent is only known to be no dearer than the floor allows.
            alone = units * n_min.get(stream, 1)
            lines.append(Posting(stream, at, at, units, alone, Fraction(0), release=False))
    return lines


def _streams(
    postings: list[Posting], budget: Budget | None, delta: float
) -> tuple[StreamSpending, ...]:
    by_name: defaultdict[str, list[Posting]] = defaultdict(list)
    caps = {stream.name: stream.yearly_cap for stream in budget.streams} if budget else {}
    for name in caps:
        by_name[name] = []
    for posting in postings:
        by_name[posting.stream].append(posting)
    lifetime = budget.lifetime_cap if budget else 0
    return tuple(
        measure(name or "unknown", lines, delta, caps.get(name, 0), lifetime)
        for name, lines in by_name.items()
    )


def _bound(units: int, delta: float) -> float:
    return epsilon(min(units, _LARGEST_UNITS), delta)


def _notes(books: Books, charges: tuple[Charge, ...], checked: bool) -> list[str]:
    notes = books.notes[:_MOST_NOTES]
    if len(books.notes) > _MOST_NOTES:
        notes.append(f"and {len(books.notes) - _MOST_NOTES} more changes like these")
    if books.receipts and not checked:
        notes.append(
            f"{len(books.receipts)} receipts: signatures not checked; "
            "give --cloud-key to check them under a key you know"
        )
    unsigned = sum(charge.committed and not charge.signed for charge in charges)
    if unsigned:
        notes.append(f"{unsigned} of {len(charges)} reports carry no device signature that holds")
    if charges and not books.receipts:
        notes.append("no receipt of the cloud is here: a tail cut off before now would not show")
    return notes
