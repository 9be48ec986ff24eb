"""The durable inbox: a report is committed here before anyone is told that it arrived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from sqlalchemy import Connection, insert, select

from cloud.storage.database import Database
from cloud.storage.tables import rounds, uploads
from privacy.secagg.mask import SEALED_SEED_BYTES
from protocol.errors import ReportInvalid
from protocol.update import Report, decode_report

__all__ = ["COMMITTED", "Intake", "Outcome", "UploadRow"]

COMMITTED = "committed"
UPLOAD_ID_BYTES = 16
_LOOKUP_ITEMS = 500  # bound variables in one IN (...)


@dataclass(frozen=True)
class UploadRow:
    """One report as it came off the wire, from a device that has proven its key."""

    upload_id: bytes
    device_id: str
    body: bytes
    received: float


@dataclass(frozen=True)
class Outcome:
    """`code` is "committed" or a refusal code of the protocol."""

    code: str
    detail: str = ""

    @property
    def committed(self) -> bool:
        """Whether the report is durable."""
        return self.code == COMMITTED


class Intake:
    """Owner of the uploads table."""

    def __init__(self, database_url: str) -> None:
        self._database = Database(database_url)

    def known(self, offers: Sequence[tuple[str, bytes]]) -> list[bool]:
        """For each (device id, upload id): whether it is committed already (its ack was lost)."""
        with self._database.read() as connection:
            owners = _owners(connection, [upload_id for _, upload_id in offers])
        return [owners.get(upload_id, (None,))[0] == device for device, upload_id in offers]

    def commit(self, batch: Sequence[UploadRow]) -> list[Outcome]:
        """Decode, check and store a batch in one transaction; durable on return.

        A refused report never disturbs its neighbours. The same upload again is "committed".
        """
        decoded = [_decode(row) for row in batch]
        with self._database.write() as connection:
            admission = _Admission(connection, batch, decoded)
            outcomes = [
                admission.admit(row, report) for row, report in zip(batch, decoded, strict=True)
            ]
            if admission.rows:
                connection.execute(insert(uploads), admission.rows)
        return outcomes

    def close(self) -> None:
        """Give the file handles back."""
        self._database.close()


class _Admission:
    """What the database knows about one batch, looked up once, and the rows to add."""

    def __init__(
        self,
        connection: Connection,
        batch: Sequence[UploadRow],
        decoded: Sequence[Report | Outcome],
    ) -> None:
        self.rows: list[dict[str, Any]] = []
        reports = [report for report in decoded if isinstance(report, Report)]
        self._owners = _owners(connection, [row.upload_id for row in batch])
        self._open = _open_rounds(connection)
        self._devices: set[tuple[str, str, int]] = set()
        self._report_ids: set[tuple[str, int, bytes]] = set()
        for task, number in sorted({(report.task, report.round) for report in reports}):
            self._recall(connection, task, number, batch, reports)

    def admit(self, row: UploadRow, report: Report | Outcome) -> Outcome:
        """Decide one upload and, when it is new and welcome, plan its insertion."""
        if isinstance(report, Outcome):
            return report
        digest = sha256(row.body).digest()
        owner = self._owners.get(row.upload_id)
        if owner is not None:
            if owner == (row.device_id, digest):
                return Outcome(COMMITTED)
            return Outcome("duplicate_report", "this upload id carries another report")
        dimension = self._open.get((report.task, report.round))
        if dimension is None:
            return Outcome("stale_round", f"{report.task} round {report.round} is not open")
        if report.masked.shape != (dimension,):
            return Outcome("bad_message", f"a report of this round has {dimension} values")
        if len(report.sealed_seed) != SEALED_SEED_BYTES:
            return Outcome("bad_message", f"a sealed seed has {SEALED_SEED_BYTES} bytes")
        device_key = (row.device_id, report.task, report.round)
        report_key = (report.task, report.round, report.report_id)
        if device_key in self._devices or report_key in self._report_ids:
            return Outcome("duplicate_report", "this round already has a report from this device")
        self._devices.add(device_key)
        self._report_ids.add(report_key)
        self._owners[row.upload_id] = (row.device_id, digest)
        self.rows.append(
            {
                "upload_id": row.upload_id,
                "device_id": row.device_id,
                "task": report.task,
                "round": report.round,
                "report_id": report.report_id,
                "sha256": digest,
                "body": row.body,
                "received": row.received,
            }
        )
        return Outcome(COMMITTED)

    def _recall(
        self,
        connection: Connection,
        task: str,
        number: int,
        batch: Sequence[UploadRow],
        reports: Sequence[Report],
    ) -> None:
        here = (uploads.c.task == task) & (uploads.c.round == number)
        for some in _slices(sorted({row.device_id for row in batch})):
            found = select(uploads.c.device_id).where(here & uploads.c.device_id.in_(some))
            self._devices |= {(device, task, number) for device in connection.scalars(found)}
        for some in _slices(sorted({report.report_id for report in reports})):
            found = select(uploads.c.report_id).where(here & uploads.c.report_id.in_(some))
            self._report_ids |= {(task, number, report) for report in connection.scalars(found)}


def _decode(row: UploadRow) -> Report | Outcome:
    if len(row.upload_id) != UPLOAD_ID_BYTES:
        return Outcome("bad_message", f"an upload id has {UPLOAD_ID_BYTES} bytes")
    try:
        return decode_report(row.body)
    except ReportInvalid as error:
        return Outcome("bad_message", str(error))


def _owners(connection: Connection, upload_ids: Sequence[bytes]) -> dict[bytes, tuple[str, bytes]]:
    owners: dict[bytes, tuple[str, bytes]] = {}
    columns = (uploads.c.upload_id, uploads.c.device_id, uploads.c.sha256)
    for some in _slices(upload_ids):
        found = connection.execute(select(*columns).where(uploads.c.upload_id.in_(some)))
        owners |= {row.upload_id: (row.device_id, row.sha256) for row in found}
    return owners


def _open_rounds(connection: Connection) -> dict[tuple[str, int], int]:
    columns = (rounds.c.task, rounds.c.round, rounds.c.dimension)
    found = connection.execute(select(*columns).where(rounds.c.status == "open"))
    return {(row.task, row.round): row.dimension for row in found}


def _slices(items: Sequence[Any]) -> list[Sequence[Any]]:
    return [items[start : start + _LOOKUP_ITEMS] for start in range(0, len(items), _LOOKUP_ITEMS)]
