"""A small world for the ledger: phones whose storage fails, copies of them, and their cloud.

A phone does what the real one does, in the same order: complete what waits, take the plan's
receipts, forget what may not be sent, make reports, send them. The world writes down what really
left, at the moment it was charged, whatever any ledger says.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol

import numpy as np

from privacy import (
    DEMO,
    Anchor,
    Budget,
    BudgetExceeded,
    Gate,
    Ledger,
    LedgerUnavailable,
    Mark,
    PrivateReport,
    Receipt,
    ReceiptInvalid,
    RoundAlreadyCharged,
    RoundRefused,
    sign_receipt,
)
from privacy.accounting import pure_units
from privacy.chain import Commit, Reserve, decode_entry
from tests.privacy.parts import DAY, DEVICE, START, Key, LocalRound, Round, seeded_bits

CADENCE = 20 * DAY
"""A round every 20 days: far more than the budget pays for."""
DIMENSION = 4

SMALL = Budget(
    name="small",
    delta=1e-6,
    streams=tuple(replace(stream, yearly=3) for stream in DEMO.streams),
    local=DEMO.local,
    lifetime_years=50,
    private=False,
)
"""Three reports a year and stream."""


class Killed(Exception):
    """The process ended here."""


class Disk:
    """Counts every write and every draw of randomness, and ends the process at one of them."""

    def __init__(self, fail_at: int = 0, how: str = "before") -> None:
        self.fail_at = fail_at
        self.how = how
        self.steps = 0

    @property
    def failed(self) -> bool:
        return 0 < self.fail_at <= self.steps

    def write(self, keep: Callable[[], None]) -> None:
        self.steps += 1
        if self.steps != self.fail_at:
            keep()
            return
        if self.how == "after":
            keep()
        if self.how == "full":
            raise OSError(errno.ENOSPC, "no space left on device")
        raise Killed


class Cells(Protocol):
    """One phone's durable state: a ledger's entries, an outbox, and an anchor elsewhere."""

    def entries(self) -> list[bytes]: ...
    def add_entry(self, payload: bytes) -> None: ...
    def mark(self) -> Mark | None: ...
    def set_mark(self, mark: Mark) -> None: ...


@dataclass
class Memory:
    """Durable state in memory. ``anchored``: whether there is a place outside the folder."""

    payloads: list[bytes] = field(default_factory=list)
    marked: Mark | None = None

    def entries(self) -> list[bytes]:
        return list(self.payloads)

    def add_entry(self, payload: bytes) -> None:
        self.payloads.append(payload)

    def mark(self) -> Mark | None:
        return self.marked

    def set_mark(self, mark: Mark) -> None:
        self.marked = mark


class Files:
    """Durable state in real files; an entry may be torn by `tear`."""

    def __init__(self, folder: Path) -> None:
        self._log, self._mark = folder / "ledger", folder / "mark"

    def entries(self) -> list[bytes]:
        if not self._log.exists():
            return []
        whole, _, torn = self._log.read_bytes().rpartition(b"\n")
        if torn:
            os.truncate(self._log, len(whole) + 1 if whole else 0)
        return whole.split(b"\n") if whole else []

    def add_entry(self, payload: bytes) -> None:
        self._append(payload + b"\n")

    def tear(self, payload: bytes) -> None:
        self._append(payload[: len(payload) // 2])

    def mark(self) -> Mark | None:
        if not self._mark.exists():
            return None
        length, head = json.loads(self._mark.read_bytes())
        return Mark(length, head)

    def set_mark(self, mark: Mark) -> None:
        beside = self._mark.with_suffix(".new")
        beside.write_text(json.dumps(list(mark)))
        beside.replace(self._mark)

    def _append(self, data: bytes) -> None:
        with self._log.open("ab") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())


class _Log:
    def __init__(self, cells: Cells, disk: Disk) -> None:
        self._cells, self._disk = cells, disk

    def append(self, payload: bytes) -> int:
        if self._disk.how == "torn" and isinstance(self._cells, Files):
            self._disk.steps += 1
            if self._disk.steps == self._disk.fail_at:
                self._cells.tear(payload)
                raise Killed
            self._cells.add_entry(payload)
        else:
            self._disk.write(lambda: self._cells.add_entry(payload))
        return len(self._cells.entries()) - 1

    def read(self) -> Iterator[tuple[int, bytes]]:
        yield from enumerate(self._cells.entries())


class _Anchor:
    def __init__(self, cells: Cells, disk: Disk) -> None:
        self._cells, self._disk = cells, disk

    def read(self) -> Mark | None:
        return self._cells.mark()

    def write(self, mark: Mark) -> None:
        self._disk.write(lambda: self._cells.set_mark(mark))


@dataclass(frozen=True)
class Sent:
    """A report on its way."""

    task: str
    round: int
    report_id: bytes
    share: bytes
    sealed_seed: bytes
    sha256: bytes
    charged: float
    """The real moment of its charge."""


class Cloud:
    """Takes reports, signs receipts, and opens a round every CADENCE. It sees everything sent."""

    def __init__(self, helper: Round | None = None) -> None:
        self.key = Key(1)
        self.seen: dict[bytes, Sent] = {}
        self.newest: dict[str, bytes] = {}
        self._helper = Round() if helper is None else helper

    def receive(self, sent: Sent, now: float) -> bytes:
        """Its receipt; the same bytes again are the same report."""
        known = self.seen.setdefault(sent.report_id, sent)
        assert known == sent, "a retry sent other bytes"
        receipt = Receipt(DEVICE, sent.task, sent.round, sent.sha256, now)
        self.newest[sent.task] = sign_receipt(receipt, self.key)
        return self.newest[sent.task]

    def rounds(self, now: float, lie: float = 0.0) -> list[Round | LocalRound]:
        """The open rounds; a lie moves their dates."""
        number = int((now - START) // CADENCE) + 1
        opens = START + (number - 1) * CADENCE + lie
        closes = opens + CADENCE
        terms = SMALL.terms("router")
        return [
            LocalRound(
                round=number, epsilon=SMALL.local.epsilon, n_min=20, opens=opens, closes=closes
            ),
            replace(
                self._helper,
                task="router",
                round=number,
                dimension=DIMENSION,
                scale=terms.scale,
                clip=terms.clip,
                sigma=terms.sigma,
                n_min=terms.n_min,
                opens=opens,
                closes=closes,
            ),
        ]


COSTS = {
    "local_usage": pure_units(SMALL.local.epsilon),
    "router": SMALL.stream("router").yearly_cap // 3,
}


class Phone:
    """One copy of the phone. All copies share the device's name and key."""

    def __init__(
        self, cells: Cells, *, anchored: bool = True, outbox: dict[bytes, Sent] | None = None
    ) -> None:
        self.cells = cells
        self.anchored = anchored
        self.outbox: dict[bytes, Sent] = {} if outbox is None else outbox
        self.disk = Disk()
        self._ledger: Ledger | None = None
        self._seed = 0

    @property
    def ledger(self) -> Ledger:
        """Opened as at a start of the process."""
        if self._ledger is None:
            anchor: Anchor | None = _Anchor(self.cells, self.disk) if self.anchored else None
            log = _Log(self.cells, self.disk)
            ledger = Ledger(log, SMALL, device_id=DEVICE, signer=Key(7), anchor=anchor)
            for sent in self.outbox.values():
                ledger.complete(sent.task, sent.round, sent.sha256)
            self._ledger = ledger
        return self._ledger

    def end(self) -> None:
        """The process ends; what is durable stays."""
        self._ledger = None

    def session(
        self, cloud: Cloud, now: float, *, skew: float = 0.0, lie: float = 0.0, silent: bool = False
    ) -> None:
        """One sync at the real moment ``now``. ``skew``: of this phone's clock; ``lie``: of the
        rounds' dates; ``silent``: the cloud shows no receipts."""
        clock = now + skew
        try:
            for blob in [] if silent else list(cloud.newest.values()):
                with suppress(ReceiptInvalid):  # a line for the owner; the session goes on
                    self.ledger.acknowledge(blob, cloud.key.public, clock)
            self._forget()
            for round_ in cloud.rounds(now, lie):
                self._join(round_, now, clock)
            for sent in list(self.outbox.values()):
                if not self.ledger.may_send(sent.task, sent.round, sent.sha256):
                    continue
                self._check_paid(sent)
                receipt = cloud.receive(sent, now)
                if not silent:
                    self.ledger.acknowledge(receipt, cloud.key.public, clock)
                self.disk.write(partial(self.outbox.__delitem__, sent.report_id))
        except (Killed, OSError, LedgerUnavailable):
            self.end()

    def _forget(self) -> None:
        for sent in list(self.outbox.values()):
            if not self.ledger.may_send(sent.task, sent.round, sent.sha256):
                del self.outbox[sent.report_id]

    def _join(self, round_: Round | LocalRound, now: float, clock: float) -> None:
        self._seed += 1
        drawn = seeded_bits(hash((id(self), self._seed)) & 0xFFFFFFFF)

        def bits(size: int) -> bytes:
            charged = decode_entry(self.cells.entries()[-1])
            assert isinstance(charged, Reserve), "noise was drawn before it was charged"
            assert (charged.task, charged.round) == (round_.task, round_.round)
            self.disk.write(lambda: None)
            return drawn(size)

        def store(report: PrivateReport) -> None:
            sent = Sent(
                report.task,
                report.round,
                report.report_id,
                report.share,
                report.sealed_seed,
                report.sha256,
                now,
            )
            self.disk.write(lambda: self.outbox.__setitem__(report.report_id, sent))

        gate = Gate(self.ledger, bits)
        try:
            if isinstance(round_, LocalRound):
                gate.release_local(round_, "en", clock, store)
            else:
                gate.release(round_, np.zeros(DIMENSION), clock, store)
        except (RoundAlreadyCharged, BudgetExceeded, RoundRefused):
            pass

    def _check_paid(self, sent: Sent) -> None:
        """Never a release without its durable charge and COMMIT, signed."""
        entries = [decode_entry(payload) for payload in self.cells.entries()]
        commits = {e.sha256: e for e in entries if isinstance(e, Commit)}
        commit = commits[sent.sha256.hex()]
        reserve = entries[commit.reserve]
        assert isinstance(reserve, Reserve)
        assert (reserve.task, reserve.round) == (sent.task, sent.round)
        assert reserve.rho == COSTS[sent.task]
        assert commit.signature


def really_spent(cloud: Cloud, stream: str) -> list[tuple[float, int]]:
    """(moment, rho units) of everything that left for a stream, all copies together."""
    tasks = next(each.tasks for each in SMALL.streams if each.name == stream)
    return [(s.charged, COSTS[s.task]) for s in cloud.seen.values() if s.task in tasks]
