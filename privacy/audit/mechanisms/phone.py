"""A phone for drills: one ledger, its anchor and its outbox, with faults on demand."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from privacy.anchor import Mark
from privacy.audit.mechanisms.fleet import START, AuditLocalRound, AuditRound, audit_round
from privacy.audit.mechanisms.verdict import Context
from privacy.bits import BitSource
from privacy.budget import DAY, PRODUCTION, Budget
from privacy.chain import Reserve, decode_entry
from privacy.errors import PrivacyError
from privacy.gate import Gate, PrivateReport
from privacy.ledger import Ledger
from privacy.receipts import Receipt, Signer, sign_receipt
from privacy.secagg.helper import Helper, MemoryHelperStore
from privacy.streams import USAGE_HISTOGRAMS

__all__ = ["Fault", "Phone", "new_phone"]

_DIMENSION = 4
_DEVICE = "phone-under-audit"


class Fault(Exception):
    """The fault a drill asked for: power lost, or a full disk."""


@dataclass
class Phone:
    """Everything of one phone that outlives a crash, and a record of what it did.

    ``fault``: "step-lost" or "step-kept" raises before or after that step is durable, once; steps
    are open, reserve, commit, receipt, quarantine (log entries), anchor, bits, store.
    """

    budget: Budget
    helper_key: bytes
    bits: BitSource
    task: str = "router"
    payloads: list[bytes] = field(default_factory=list)
    mark: Mark | None = None
    outbox: list[PrivateReport] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    fault: str = ""

    def open(self) -> Ledger:
        """The ledger read anew from what is durable."""
        return Ledger(_Log(self), self.budget, device_id=_DEVICE, anchor=_Anchor(self))

    def release(
        self, number: int, day: float, *, opens: float | None = None, **terms: object
    ) -> PrivateReport:
        """One release at a day of the phone's clock; ``opens``: day of the descriptor."""
        opened = START + DAY * (day if opens is None else opens)
        round_ = replace(
            audit_round(self.budget, self.task, _DIMENSION, self.helper_key, number),
            opens=opened,
            closes=opened + DAY / 2,
            **terms,  # type: ignore[arg-type]
        )
        return self.release_round(round_, START + DAY * day)

    def release_round(self, round_: AuditRound, at: float) -> PrivateReport:
        """One release by a gate that was just started."""
        gate = Gate(self.open(), self._draw)
        return gate.release(round_, np.zeros(round_.dimension), at, self._store)

    def release_local(
        self, number: int, day: float, *, epsilon: float | None = None, n_min: int | None = None
    ) -> PrivateReport:
        """One local report of the first histogram's first answer, by the plan's own terms."""
        histogram, plan = USAGE_HISTOGRAMS[0], self.budget.local
        opened = START + DAY * day
        round_ = AuditLocalRound(
            task=plan.task,
            round=number,
            histogram=histogram.name,
            epsilon=plan.epsilon if epsilon is None else epsilon,
            n_min=plan.n_min if n_min is None else n_min,
            budget=self.budget.name,
            opens=opened,
            closes=opened + DAY / 2,
        )
        gate = Gate(self.open(), self._draw)
        return gate.release_local(round_, histogram.bins[0], opened, self._store)

    def tries(self, number: int, day: float, *, opens: float | None = None) -> bool:
        """Whether a release is granted; False for a typed refusal."""
        try:
            self.release(number, day, opens=opens)
        except PrivacyError:
            return False
        return True

    def fill(self, count: int, day: float, first: int = 1) -> int:
        """``count`` releases, one a day; how many were granted."""
        return sum(self.tries(first + number, day + number) for number in range(count))

    def charges(self) -> list[Reserve]:
        """Every RESERVE in the log."""
        entries = [decode_entry(payload) for payload in self.payloads]
        return [entry for entry in entries if isinstance(entry, Reserve)]

    def copy(self) -> Phone:
        """The same folder on a second phone, anchor included; records start empty."""
        return replace(
            self, payloads=list(self.payloads), mark=copy.copy(self.mark), outbox=[], events=[]
        )

    def receipt(self, report: PrivateReport, signer: Signer, day: float) -> bytes:
        """What the cloud signs for a report."""
        receipt = Receipt(_DEVICE, report.task, report.round, report.sha256, START + DAY * day)
        return sign_receipt(receipt, signer)

    def step(self, name: str) -> Iterator[None]:
        """Around one durable step: raise before it, let it happen, raise after it."""
        if self.fault == f"{name}-lost":
            self.fault = ""
            raise Fault(name)
        yield
        self.events.append(name)
        if self.fault == f"{name}-kept":
            self.fault = ""
            raise Fault(name)

    def _store(self, report: PrivateReport) -> None:
        for _ in self.step("store"):
            self.outbox.append(report)

    def _draw(self, size: int) -> bytes:
        data = b""
        for _ in self.step("bits"):
            data = self.bits(size)
        return data


def new_phone(context: Context, label: str, budget: Budget = PRODUCTION) -> Phone:
    """A phone with an empty ledger; ``label`` tells its random bits from other phones'."""
    helper = Helper(context.bits("key")(32), MemoryHelperStore(), context.bits("x"), budget)
    return Phone(budget, helper.public_key, context.bits("drill", label))


class _Log:
    def __init__(self, phone: Phone) -> None:
        self._phone = phone

    def append(self, payload: bytes) -> int:
        for _ in self._phone.step(decode_entry(payload).kind):
            self._phone.payloads.append(payload)
        return len(self._phone.payloads) - 1

    def read(self) -> Iterator[tuple[int, bytes]]:
        yield from enumerate(list(self._phone.payloads))


class _Anchor:
    def __init__(self, phone: Phone) -> None:
        self._phone = phone

    def read(self) -> Mark | None:
        return self._phone.mark

    def write(self, mark: Mark) -> None:
        for _ in self._phone.step("anchor"):
            self._phone.mark = mark
