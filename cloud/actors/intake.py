"""The durable inbox: a report is committed here before anyone is told that it arrived.

With the commit a receipt is signed and stored: who reported, for which round, the digest of what.
A phone is given it with the acknowledgement, and its newest ones in every plan, so that one
restored from an old copy learns what its ledger has forgotten. A receipt can only raise a spend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from operator import attrgetter
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Row, Select, and_, bindparam, func, select
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from cloud.actors.sums import RoundTerms, randomiser_of, terms_of
from cloud.identity import signing_key
from cloud.storage.database import Database
from cloud.storage.tables import rounds, uploads
from privacy.errors import BatchRefused
from privacy.receipts import Receipt, sign_receipt
from privacy.secagg.mask import SEALED_SEED_BYTES, report_digest
from privacy.secagg.sharing import sharing_for
from protocol.errors import ReportInvalid
from protocol.identity import SigningKey
from protocol.rounds import LOCAL_TASK
from protocol.update import Report, decode_report

__all__ = ["COMMITTED", "Intake", "Outcome", "UploadRow"]

COMMITTED = "committed"
UPLOAD_ID_BYTES = 16
LOCAL_SHARE_BYTES = 4
_DEADLOCK = "40P01"
"""SQLSTATE: two writers each wait for the other, and PostgreSQL ended this one."""
_LOOKUP_ITEMS = 500  # bound variables in one IN (...)
_CACHED_ROUNDS = 64

# Statements are made once: making one costs more than running it.
_OWNERS: Final = select(
    uploads.c.upload_id, uploads.c.device_id, uploads.c.sha256, uploads.c.receipt
).where(uploads.c.upload_id.in_(bindparam("ids", expanding=True)))
_OPEN: Final = select(
    *(rounds.c[name] for name in RoundTerms._fields), rounds.c.histogram, rounds.c.epsilon
).where(rounds.c.status == "open")


def _newest_receipts() -> Select[tuple[str, bytes]]:
    last = (
        select(uploads.c.device_id, uploads.c.task, func.max(uploads.c.round).label("round"))
        .where(uploads.c.device_id.in_(bindparam("devices", expanding=True)))
        .group_by(uploads.c.device_id, uploads.c.task)
        .subquery()
    )
    same = and_(*(uploads.c[name] == last.c[name] for name in ("device_id", "task", "round")))
    # Reports of a version that gave no receipts have an empty one.
    return (
        select(uploads.c.device_id, uploads.c.receipt)
        .join(last, same)
        .where(func.length(uploads.c.receipt) > 0)
        .order_by(uploads.c.device_id, uploads.c.task)
    )


_NEWEST: Final = _newest_receipts()


@dataclass(frozen=True)
class UploadRow:
    """One report as it came off the wire, from a device that has proven its key."""

    upload_id: bytes
    device_id: str
    body: bytes
    received: float


@dataclass(frozen=True)
class Outcome:
    """`code` is "committed", with the stored receipt, or a refusal code of the protocol."""

    code: str
    detail: str = ""
    receipt: bytes = b""

    @property
    def committed(self) -> bool:
        """Whether the report is durable."""
        return self.code == COMMITTED


class Intake:
    """Owner of the uploads table.

    Args:
        database_url: where it is kept.
        signing_key_path: the cloud's Ed25519 key file; it signs the receipts.
    """

    def __init__(self, database_url: str, signing_key_path: str) -> None:
        self._database = Database(database_url)
        self._key = signing_key(signing_key_path)

    def known(self, offers: Sequence[tuple[str, bytes]]) -> list[bytes | None]:
        """For each (device id, upload id): its receipt if it is committed already (its ack was
        lost), else None."""
        with self._database.read() as connection:
            owners = _owners(connection, [upload_id for _, upload_id in offers])
        found = [owners.get(upload_id) for _, upload_id in offers]
        return [
            owner.receipt if owner is not None and owner.device_id == device else None
            for owner, (device, _) in zip(found, offers, strict=True)
        ]

    def newest(self, device_ids: Sequence[str]) -> list[list[bytes]]:
        """For each device: the receipt of its newest report of every task it reported for."""
        receipts: dict[str, list[bytes]] = {device: [] for device in device_ids}
        with self._database.read() as connection:
            for some in _slices(sorted(receipts)):
                for row in connection.execute(_NEWEST, {"devices": some}):
                    receipts[row.device_id].append(row.receipt)
        return [receipts[device] for device in device_ids]

    def commit(self, batch: Sequence[UploadRow]) -> list[Outcome]:
        """Decode, check and store a batch in one transaction; durable on return.

        A refused report never disturbs its neighbours. The same upload again is "committed".
        """
        decoded = [_decode(row) for row in batch]
        try:
            return self._commit(batch, decoded, hopeful=True)
        except (IntegrityError, OperationalError) as error:
            if not _collided(error):
                raise
            # One of these is stored already, maybe since a moment: look first, and alone.
            return self._commit(batch, decoded, hopeful=False)

    def _commit(
        self, batch: Sequence[UploadRow], decoded: Sequence[Report | Outcome], *, hopeful: bool
    ) -> list[Outcome]:
        """`hopeful`: nearly every report is new and welcome, and the unique constraints find those
        that are not new: so nothing is looked up unless one is not welcome."""
        with self._database.write(shared=hopeful) as connection:
            admission = _Admission(connection, decoded, self._key)
            if not hopeful or not admission.all_welcome:
                admission.look_up(connection, batch)
            outcomes = [
                admission.admit(place, row, report)
                for place, (row, report) in enumerate(zip(batch, decoded, strict=True))
            ]
            _store(connection, admission.rows)
        return outcomes

    def close(self) -> None:
        """Give the file handles back."""
        self._database.close()


class _Admission:
    """What is to become of one batch, and the rows to add."""

    def __init__(
        self, connection: Connection, decoded: Sequence[Report | Outcome], key: SigningKey
    ) -> None:
        self.rows: list[_Stored] = []
        self._key = key
        self._reports = [report for report in decoded if isinstance(report, Report)]
        self._open = _open_rounds(connection)
        self._objections = [self._objection(report) for report in decoded]
        self._devices: set[tuple[str, str, int]] = set()
        self._report_ids: set[tuple[str, int, bytes]] = set()
        self._owners: dict[bytes, _Owner] = {}

    @property
    def all_welcome(self) -> bool:
        """Whether every report that is one is for an open round and such as that asks for."""
        return not any(self._objections)

    def look_up(self, connection: Connection, batch: Sequence[UploadRow]) -> None:
        """Learn what is stored of the batch already."""
        # Only of open rounds: the others are refused, and a number may be larger than any column.
        wanted = {(report.task, report.round) for report in self._reports} & set(self._open)
        for task, number in sorted(wanted):
            self._recall(connection, task, number, batch)
        # Last: what another intake stores meanwhile is then known as an upload, too, wherever it
        # is known as a report.
        self._owners = _owners(connection, [row.upload_id for row in batch])

    def admit(self, place: int, row: UploadRow, report: Report | Outcome) -> Outcome:
        """Decide one upload and, when it is new and welcome, plan its insertion."""
        if isinstance(report, Outcome):
            return report
        digest = sha256(row.body).digest()
        owner = self._owners.get(row.upload_id)
        if owner is not None:
            if (owner.device_id, owner.sha256) == (row.device_id, digest):
                return Outcome(COMMITTED, receipt=owner.receipt)
            return Outcome("duplicate_report", "this upload id carries another report")
        objection = self._objections[place]
        if objection is not None:
            return objection
        device_key = (row.device_id, report.task, report.round)
        report_key = (report.task, report.round, report.report_id)
        if device_key in self._devices or report_key in self._report_ids:
            return Outcome("duplicate_report", "this round already has a report from this device")
        self._devices.add(device_key)
        self._report_ids.add(report_key)
        receipt = sign_receipt(_receipt(row, report), self._key)
        self._owners[row.upload_id] = _Owner(row.device_id, digest, receipt)
        self.rows.append(
            _Stored(
                row.upload_id,
                row.device_id,
                report.task,
                report.round,
                report.report_id,
                digest,
                row.body,
                row.received,
                receipt,
            )
        )
        return Outcome(COMMITTED, receipt=receipt)

    def _objection(self, report: Report | Outcome) -> Outcome | None:
        if isinstance(report, Outcome):
            return None
        here = self._open.get((report.task, report.round))
        if here is None:
            return Outcome("stale_round", f"{report.task} round {report.round} is not open")
        objection = here.objection(report)
        return Outcome("bad_message", objection) if objection else None

    def _recall(
        self, connection: Connection, task: str, number: int, batch: Sequence[UploadRow]
    ) -> None:
        here = (uploads.c.task == task) & (uploads.c.round == number)
        for some in _slices(sorted({row.device_id for row in batch})):
            found = select(uploads.c.device_id).where(here & uploads.c.device_id.in_(some))
            self._devices |= {(device, task, number) for device in connection.scalars(found)}
        for some in _slices(sorted({report.report_id for report in self._reports})):
            found = select(uploads.c.report_id).where(here & uploads.c.report_id.in_(some))
            self._report_ids |= {(task, number, report) for report in connection.scalars(found)}


class _Stored(NamedTuple):
    """The columns of an upload as it is stored, by their names and in their order."""

    upload_id: bytes
    device_id: str
    task: str
    round: int
    report_id: bytes
    sha256: bytes
    body: bytes
    received: float
    receipt: bytes


def _store(connection: Connection, rows: list[_Stored]) -> None:
    if not rows:
        return
    # In one order everywhere, so that two intakes wait for each other, not both.
    rows.sort(key=attrgetter("upload_id"))
    mark = "?" if connection.dialect.positional else "%s"
    # To the driver as they are: SQLAlchemy would copy every row twice, a fifth of the whole commit.
    connection.exec_driver_sql(_INSERT.replace("?", mark), [tuple(row) for row in rows])


_INSERT: Final = (
    f"INSERT INTO {uploads.name} ({', '.join(_Stored._fields)})"  # noqa: S608 - names of our own
    f" VALUES ({', '.join('?' for _ in _Stored._fields)})"
)


def _collided(error: DBAPIError) -> bool:
    """Whether another writer was in the way, rather than the database out of order."""
    if isinstance(error, IntegrityError):
        return True
    return getattr(error.orig, "sqlstate", None) == _DEADLOCK


def _decode(row: UploadRow) -> Report | Outcome:
    if len(row.upload_id) != UPLOAD_ID_BYTES:
        return Outcome("bad_message", f"an upload id has {UPLOAD_ID_BYTES} bytes")
    try:
        return decode_report(row.body)
    except ReportInvalid as error:
        return Outcome("bad_message", str(error))


class _OpenRound:
    """What a report of one open round must look like.

    Whether counts are in range only the servers together can tell, when the round is summed.
    """

    def __init__(self, row: Row[Any]) -> None:
        self._row = row
        self._sharing = None if row.task == LOCAL_TASK else sharing_for(terms_of(row))

    def objection(self, report: Report) -> str:
        """Why the report cannot belong to this round; empty when it can."""
        if self._sharing is None:
            return _local_objection(self._row, report)
        if len(report.sealed_seed) != SEALED_SEED_BYTES:
            return f"a sealed seed has {SEALED_SEED_BYTES} bytes"
        try:
            self._sharing.read(report.share)
        except BatchRefused as refusal:
            return refusal.detail
        return ""


def _local_objection(row: Row[Any], report: Report) -> str:
    if report.sealed_seed:
        return "a local report has no sealed seed"
    if len(report.share) != LOCAL_SHARE_BYTES:
        return f"a local report has {LOCAL_SHARE_BYTES} bytes"
    randomiser = randomiser_of(row)
    mask = int.from_bytes(report.share, "little")
    if mask >> randomiser.bins or mask.bit_count() != randomiser.size:
        return f"a report of this round names {randomiser.size} of {randomiser.bins} answers"
    return ""


def _receipt(row: UploadRow, report: Report) -> Receipt:
    digest = report_digest(
        report.task, report.round, report.report_id, report.share, report.sealed_seed
    )
    return Receipt(row.device_id, report.task, report.round, digest, row.received)


class _Owner(NamedTuple):
    """Who holds an upload id, and with which content."""

    device_id: str
    sha256: bytes
    receipt: bytes


def _owners(connection: Connection, upload_ids: Sequence[bytes]) -> dict[bytes, _Owner]:
    owners: dict[bytes, _Owner] = {}
    for some in _slices(upload_ids):
        for upload_id, *owner in connection.execute(_OWNERS, {"ids": some}):
            owners[upload_id] = _Owner(*owner)
    return owners


def _open_rounds(connection: Connection) -> dict[tuple[str, int], _OpenRound]:
    return {(row.task, row.round): _open_round(row) for row in connection.execute(_OPEN)}


@lru_cache(maxsize=_CACHED_ROUNDS)
def _open_round(row: Row[Any]) -> _OpenRound:
    """From its terms alone: another round, or other terms, is another row."""
    return _OpenRound(row)


def _slices(items: Sequence[Any]) -> list[Sequence[Any]]:
    return [items[start : start + _LOOKUP_ITEMS] for start in range(0, len(items), _LOOKUP_ITEMS)]
