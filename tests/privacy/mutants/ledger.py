"""Faults of the ledger: sums, windows, dates, copies, receipts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pytest

from privacy import anchor, gate, receipts
from privacy.anchor import Suspicion, compared
from privacy.budget import YEAR, Stream
from privacy.ledger import Ledger
from privacy.ledger_state import LedgerState
from tests.privacy.mutants.surgery import Mutant, edit, rebind

__all__ = ["LEDGER_MUTANTS"]


def composition_forgotten(patch: pytest.MonkeyPatch) -> None:
    """The costliest report is taken for all of them."""
    by_task = LedgerState.by_task

    def largest(self: LedgerState, since: float) -> Mapping[str, int]:
        most = max((charge.rho_units for charge in self.charges.values()), default=0)
        sums = by_task(self, since)
        return defaultdict(int, {task: min(units, most) for task, units in sums.items()})

    patch.setattr(LedgerState, "by_task", largest)


def window_that_tumbles(patch: pytest.MonkeyPatch) -> None:
    """A new year's budget on a fixed day, not 365 days after the charge."""
    year = LedgerState.year

    def tumbling(self: LedgerState, stream: Stream, at: float) -> int:
        return year(self, stream, (math.floor(at / YEAR) + 1) * YEAR)

    patch.setattr(LedgerState, "year", tumbling)


def lifetime_unbounded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LedgerState, "lifetime", lambda self: 0)


def phone_clock_believed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gate, "_dates", lambda descriptor, at: (max(0.0, at), max(0.0, at)))


def cloud_date_believed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gate, "_dates", lambda descriptor, at: (descriptor.opens, descriptor.closes))


def clock_rollback_accepted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LedgerState, "_move_to", lambda self, seq, at: None)


def cut_tail_unnoticed(patch: pytest.MonkeyPatch) -> None:
    rebind(patch, compared, lambda payloads, anchor: (list(payloads), ""))


def anchor_length_only(patch: pytest.MonkeyPatch) -> None:
    """The mark's hash is not looked at, so another ledger of the same length passes."""
    edit(patch, anchor, "compared", "head == mark.head", "True")


def missing_anchor_accepted(patch: pytest.MonkeyPatch) -> None:
    edit(patch, anchor, "compared", '"unmarked" if entries else ""', '""')


def _deaf_to(patch: pytest.MonkeyPatch, reason: str) -> None:
    evidence = LedgerState.evidence

    def deaf(self: LedgerState, *report: Any) -> Suspicion:
        found = evidence(self, *report)
        return "" if found == reason else found

    patch.setattr(LedgerState, "evidence", deaf)


def clone_accepted(patch: pytest.MonkeyPatch) -> None:
    _deaf_to(patch, "cloned")


def unknown_receipt_ignored(patch: pytest.MonkeyPatch) -> None:
    _deaf_to(patch, "rolled back")


def receipt_signature_unchecked(patch: pytest.MonkeyPatch) -> None:
    edit(
        patch,
        receipts,
        "open_receipt",
        "except (InvalidSignature, ValueError):",
        "except InvalidSignature:\n        pass\n    except ValueError:",
    )


def clone_may_still_send(patch: pytest.MonkeyPatch) -> None:
    edit(patch, Ledger, "may_send", "not self._state.quarantined_since(charge.seq)", "True")


def quarantine_costs_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LedgerState, "by_stream", lambda self, since: defaultdict(int))


def failed_write_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "_check_usable", lambda self: None)


def chain_unchecked(patch: pytest.MonkeyPatch) -> None:
    edit(
        patch,
        LedgerState,
        "fold",
        "entry.seq != self.length or entry.prev != self.head",
        "entry.seq != self.length",
    )


def uncommitted_report_may_go(patch: pytest.MonkeyPatch) -> None:
    edit(
        patch,
        Ledger,
        "may_send",
        "self._state.committed.get(charge.seq) == sha256.hex()",
        "self._state.committed.get(charge.seq, sha256.hex()) == sha256.hex()",
    )


LEDGER_MUTANTS = (
    Mutant("forgotten composition", composition_forgotten, ("ledger",), "composition is forgotten"),
    Mutant("tumbling window", window_that_tumbles, ("ledger",), "renewed before 365 days"),
    Mutant("lifetime unbounded", lifetime_unbounded, ("ledger",), "lifetime cap is passed"),
    Mutant("phone's clock believed", phone_clock_believed, ("ledger",), "clock set forward 400"),
    Mutant("cloud's date believed", cloud_date_believed, ("ledger",), "opens a round 400 days"),
    Mutant("clock rollback accepted", clock_rollback_accepted, ("ledger",), "set back 400 days"),
    Mutant("ledger tail cut unnoticed", cut_tail_unnoticed, ("ledger",), "entries cut off"),
    Mutant("mark's hash unchecked", anchor_length_only, ("ledger",), "parted from its mark"),
    Mutant("missing mark accepted", missing_anchor_accepted, ("ledger",), "without its mark"),
    Mutant("clone accepted", clone_accepted, ("ledger",), "a clone"),
    Mutant("restored backup accepted", unknown_receipt_ignored, ("ledger",), "never charged here"),
    Mutant(
        "receipt signature unchecked", receipt_signature_unchecked, ("ledger",), "for a receipt"
    ),
    Mutant("clone may still send", clone_may_still_send, ("ledger",), "a clone may still send"),
    Mutant("quarantine costs nothing", quarantine_costs_nothing, ("ledger",), "goes on releasing"),
    Mutant("failed write forgotten", failed_write_forgotten, ("ledger",), "goes on charging"),
    Mutant("hash chain unchecked", chain_unchecked, ("ledger",), "a changed charge is opened"),
    Mutant(
        "report without COMMIT sent", uncommitted_report_may_go, ("ledger",), "without its COMMIT"
    ),
)
