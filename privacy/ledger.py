"""The phone's privacy ledger: every charge durable before its noise is drawn.

RESERVE (durable) → draw noise → store the report (durable) → COMMIT (durable) → send. A crash
before the report is stored forfeits the charge: it is never refunded, because the noise may already
have been seen. After it, the stored report is what was paid for: at the next start the phone calls
`complete` for every report that waits, so that none goes out without its COMMIT. Rounds strictly
increase per task, so the same round is never paid, or released, twice. Caps hold over every rolling
365 days and over the ledger's lifetime, in integer units; ledger_state.py says why, and what a
restored or copied ledger does.

What remains of a budget is itself data, and so is a quarantine: never send them.

One owner per ledger, one thread; the log below it enforces the first.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import TypedDict

from privacy.anchor import Anchor, AppendLog, Mark, Suspicion, compared
from privacy.budget import Budget, Stream
from privacy.chain import (
    GENESIS,
    Commit,
    Entry,
    Mechanism,
    Open,
    Quarantine,
    Reason,
    ReceiptEntry,
    Reserve,
    commit_statement,
    decode_entry,
    encode_entry,
)
from privacy.errors import (
    BudgetExceeded,
    LedgerCorrupt,
    LedgerUnavailable,
    ReceiptInvalid,
    RoundAlreadyCharged,
)
from privacy.ledger_state import LedgerState, Reservation, Spending
from privacy.receipts import Signer, open_receipt

__all__ = [
    "Anchor",
    "AppendLog",
    "Ledger",
    "LedgerCorrupt",
    "LedgerUnavailable",
    "Mark",
    "Mechanism",
    "Reservation",
    "Signer",
    "Spending",
]


class _Link(TypedDict):
    seq: int
    prev: str


class Ledger:
    """Hash-chained charges of one device under one budget.

    ``signer``: the device key; COMMITs carry its signature. ``anchor``: see anchor.py; without one
    a restored ledger is only found out by the cloud's receipts.

    Opening replays and verifies the log (LedgerCorrupt when the chain, the order of rounds or a
    COMMIT does not hold), and writes nothing. An append that fails leaves it unknown whether the
    entry is durable: the ledger then refuses everything (LedgerUnavailable) until it is opened
    again, by `reopen` or by the next process.
    """

    def __init__(
        self,
        log: AppendLog,
        budget: Budget,
        *,
        device_id: str = "",
        signer: Signer | None = None,
        anchor: Anchor | None = None,
    ) -> None:
        self._log = log
        self._budget = budget
        self._device_id = device_id
        self._signer = signer
        self._anchor = anchor
        self._state, self._suspicion = self._replayed()
        self._broken = False

    def reopen(self) -> None:
        """After an append that failed, take what the log really holds, as a new process would;
        else nothing. A charge that was lost has let nothing out, one that was kept is spent.

        Raises LedgerCorrupt as opening does.
        """
        if self._broken:
            self._state, self._suspicion = self._replayed()
            self._broken = False

    def _replayed(self) -> tuple[LedgerState, Suspicion]:
        state = LedgerState()
        payloads, suspicion = compared((payload for _, payload in self._log.read()), self._anchor)
        for payload in payloads:
            state.replay(payload)
        return state, suspicion

    @property
    def budget(self) -> Budget:
        """The budget whose caps and floors hold."""
        return self._budget

    @property
    def head(self) -> tuple[int, str]:
        """(number of entries, hash of the last): what the anchor keeps."""
        return self._state.length, self._state.head

    @property
    def suspicion(self) -> str:
        """Why this ledger is believed restored, copied or cut; "" when it is not. The next charge
        settles it by a QUARANTINE; until then nothing may be sent."""
        return self._suspicion

    @property
    def quarantined_at(self) -> float | None:
        """Date of the newest QUARANTINE, seconds UTC: what is left of the 365 days after it counts
        as spent. None when there was none."""
        return self._state.quarantined_at

    @property
    def helper_fingerprint(self) -> str:
        """Hex SHA-256 of the key of the first helper a charge named; "" before that."""
        return self._state.helper

    def name_device(self, device_id: str) -> None:
        """The cloud's name for this phone, once it is enrolled: from here on entries and receipts
        are under it. Writes nothing."""
        self._device_id = device_id

    def last_round(self, task: str) -> int:
        """The newest round of ``task`` charged here or confirmed by the cloud; 0 for none."""
        return self._state.last_round.get(task, 0)

    def check_new(self, task: str, round: int) -> None:  # noqa: A002
        """Raise what `reserve` would for a round that is charged already, or of no known task."""
        self._check_usable()
        self._budget.stream(task)
        if round <= self.last_round(task):
            raise RoundAlreadyCharged(
                f"{task} round {round} is not newer than the last charged, {self.last_round(task)}"
            )

    def reserve(
        self,
        task: str,
        round: int,  # noqa: A002
        mechanism: Mechanism,
        rho_units: int,
        at: float,
        latest: float | None = None,
    ) -> Reservation:
        """Charge ``rho_units`` for a round, durably.

        The charge is made between ``at`` and ``latest`` (the same when None), seconds UTC.
        Raises RoundAlreadyCharged, BudgetExceeded, RoundRefused (no such task), all before
        anything but an overdue QUARANTINE is written, or LedgerUnavailable.
        """
        self._check_usable()
        latest = at if latest is None else latest
        if not (math.isfinite(at) and math.isfinite(latest)) or rho_units < 1:
            raise ValueError("a charge needs a finite time and at least one unit")
        self.check_new(task, round)
        stream = self._budget.stream(task)
        self._settle(max(at, latest))
        at = max(at, self._state.last_at)
        self._check_caps(stream, rho_units, at)
        self._open_if_changed()
        entry = Reserve(
            **self._link(),
            task=task,
            round=round,
            mechanism=mechanism,
            rho=rho_units,
            at=at,
            latest=max(at, latest),
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
        self._open_if_changed()
        entry = Commit(**self._link(), reserve=reservation.seq, sha256=sha256.hex())
        if self._signer is not None:
            signature = self._signer.sign(commit_statement(entry))
            entry = entry.model_copy(update={"signature": signature.hex()})
        self._append(entry)

    def complete(self, task: str, round: int, sha256: bytes) -> None:  # noqa: A002
        """Commit a stored report whose COMMIT a crash prevented; nothing to do for any other.

        Called at start for every report that waits in the outbox, before anything is sent. A round
        has one report ever, so the one that was stored is the one its charge paid for.
        """
        charge = self._state.charge(task, round)
        if charge is not None and charge.seq not in self._state.committed:
            self.commit(charge, sha256)

    def may_send(self, task: str, round: int, sha256: bytes) -> bool:  # noqa: A002
        """Whether this report is paid for here, and may still leave.

        False for a report without its charge and COMMIT, and for any charged before a quarantine:
        the copy that went on may have spent the same budget. Such a report is to be forgotten.
        Ask after the plan's receipts were acknowledged, right before sending.
        """
        self._check_usable()
        charge = self._state.charge(task, round)
        return (
            charge is not None
            and self._state.committed.get(charge.seq) == sha256.hex()
            and not self._suspicion
            and not self._state.quarantined_since(charge.seq)
        )

    def acknowledge(self, blob: bytes, cloud_key: bytes, at: float) -> None:
        """Take a receipt of the cloud; ``at``: the phone's clock, seconds UTC.

        A receipt for a report this ledger committed becomes an entry, once. Any other shows a
        report this ledger never paid for: it was restored or copied, and is quarantined from the
        receipt's date on, unless it already was at a later date, or a suspicion waits: only a
        charge knows how late it may be. Raises ReceiptInvalid (not of this cloud or device),
        LedgerUnavailable.
        """
        self._check_usable()
        if not math.isfinite(at):
            raise ValueError("a receipt is taken at a finite time")
        if hashlib.sha256(blob).digest() in self._state.receipt_blobs:
            return
        receipt = open_receipt(blob, cloud_key)
        if not self._device_id or receipt.device != self._device_id:
            raise ReceiptInvalid("a receipt names another device")
        sha256 = receipt.sha256.hex()
        if (receipt.task, receipt.round, sha256) in self._state.receipts:
            return
        self._open_if_changed()
        evidence = self._state.evidence(receipt.task, receipt.round, sha256)
        covered = self._state.quarantined_at
        if evidence and not self._suspicion and (covered is None or covered < receipt.received):
            self._quarantine(evidence, max(at, receipt.received))
        self._append(
            ReceiptEntry(
                **self._link(),
                task=receipt.task,
                round=receipt.round,
                sha256=sha256,
                received=receipt.received,
                blob=blob.hex(),
            )
        )

    def spent(self, since: float = -math.inf) -> Spending:
        """Spending that counts after ``since`` (seconds UTC); all of it by default."""
        return self._state.spending(since, self._budget.delta)

    def remaining(self, at: float) -> dict[str, int]:
        """Rho units each stream may still spend at ``at``, by stream name; nothing while a
        suspicion waits to be settled."""
        at = max(at, self._state.last_at)
        return {
            stream.name: 0 if self._suspicion else self._state.left(self._budget, stream, at)
            for stream in self._budget.streams
        }

    def entries(self) -> Iterator[Entry]:
        """Every entry, oldest first, read from the log."""
        for _, payload in self._log.read():
            yield decode_entry(payload)

    def _check_usable(self) -> None:
        if self._broken:
            raise LedgerUnavailable("an earlier write to the ledger failed; open it again")

    def _check_caps(self, stream: Stream, units: int, at: float) -> None:
        name = self._budget.name
        if self._state.lifetime() + units > self._budget.lifetime_cap:
            raise BudgetExceeded(f"the {name} budget is spent for good")
        if self._state.year(stream, at) + units > stream.yearly_cap:
            why = ": this phone was restored or copied" if self._state.quarantines else ""
            raise BudgetExceeded(
                f"{stream.name} stream of the {name} budget is spent for this year{why}"
            )

    def _settle(self, at: float) -> None:
        """Turn a suspicion into a QUARANTINE; ``at``: no earlier than now."""
        if self._suspicion:
            self._open_if_changed()
            self._quarantine(self._suspicion, at)

    def _quarantine(self, reason: Reason, at: float) -> None:
        at = max(at, self._state.last_at)
        units = self._state.missed(self._budget, at)
        self._append(Quarantine(**self._link(), reason=reason, units=units, at=at))

    def _open_if_changed(self) -> None:
        key = "" if self._signer is None else self._signer.public.hex()
        wanted = (self._budget.name, self._budget.delta, self._device_id, key)
        if self._state.opened != wanted:
            name, delta, device, key = wanted
            self._append(Open(**self._link(), budget=name, delta=delta, device=device, key=key))

    def _link(self) -> _Link:
        return {"seq": self._state.length, "prev": self._state.head}

    def _append(self, entry: Entry) -> None:
        """Log first, mark second. While a suspicion stands only its QUARANTINE moves the mark:
        else a crash before that entry would leave nothing to suspect."""
        payload = encode_entry(entry)
        self._broken = True  # stays so if a write raises: durable or not, nobody knows
        if self._anchor is not None and self._state.length == 0 and not self._suspicion:
            self._anchor.write(Mark(0, GENESIS))  # so that a ledger without a mark was moved
        self._log.append(payload)
        self._state.fold(entry, payload)
        if isinstance(entry, Quarantine):
            self._suspicion = ""
        if self._anchor is not None and not self._suspicion:
            self._anchor.write(Mark(self._state.length, self._state.head))
        self._broken = False
