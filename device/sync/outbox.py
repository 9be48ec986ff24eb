"""The sealed outbox: randomised reports waiting for the cloud's durable acknowledgement.

It accepts nothing but a `PrivateReport`, which only the privacy gate can make (law 1). Its bytes
are fixed when they enter: every retry sends the same ones (law 3).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import cast

import msgpack

from device.vault import SealedLog
from privacy import PrivateReport
from privacy.gate import made_by_gate
from privacy.secagg.mask import report_digest
from protocol.rounds import Task
from protocol.update import Report, decode_report, encode_report

__all__ = ["Outbox", "Waiting"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """One report that is not acknowledged yet."""

    report_id: bytes
    task: str
    round: int
    body: bytes
    """The upload, byte for byte."""

    @property
    def sha256(self) -> bytes:
        """Hash of the upload's bytes."""
        return hashlib.sha256(self.body).digest()

    @property
    def digest(self) -> bytes:
        """Hash of the report as the ledger's COMMIT and the cloud's receipt name it."""
        report = decode_report(self.body)
        return report_digest(
            report.task, report.round, report.report_id, report.share, report.sealed_seed
        )


class Outbox:
    """The only owner of the log it is given."""

    def __init__(self, log: SealedLog) -> None:
        self._log = log
        self._waiting: dict[bytes, tuple[int, Waiting]] = {}
        for sequence, payload in log.read():
            report_id, task, round_, body = msgpack.unpackb(payload)
            self._waiting[report_id] = (sequence, Waiting(report_id, task, round_, body))

    def put(self, report: PrivateReport) -> Waiting:
        """Store `report`; it survives a crash from here on.

        Raises:
            TypeError: the gate did not make it just so: nothing else may leave the phone.
        """
        if not made_by_gate(report):
            raise TypeError("the outbox takes only reports made by the privacy gate")
        body = encode_report(
            Report(
                task=cast(Task, report.task),
                round=report.round,
                report_id=report.report_id,
                share=report.share,
                sealed_seed=report.sealed_seed,
            )
        )
        waiting = Waiting(report.report_id, report.task, report.round, body)
        sequence = self._log.append(msgpack.packb([*_fields(waiting)]))
        self._waiting[report.report_id] = (sequence, waiting)
        return waiting

    def waiting(self) -> list[Waiting]:
        """Reports to send, oldest first."""
        return [entry for _, entry in sorted(self._waiting.values(), key=lambda pair: pair[0])]

    def settle(self, *report_ids: bytes) -> None:
        """Forget reports: the cloud holds them, or their rounds are over. Idempotent."""
        held = [self._waiting.pop(each) for each in report_ids if each in self._waiting]
        if held:
            self._log.erase([sequence for sequence, _ in held])


def _fields(waiting: Waiting) -> tuple[bytes, str, int, bytes]:
    return waiting.report_id, waiting.task, waiting.round, waiting.body
