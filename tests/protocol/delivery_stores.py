"""What the cloud of the delivery model keeps, in RAM and over SQLite, and reports to hand in.

A test holds the two stores against each other; the model runs over the one in RAM, for its speed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, Self

from sqlalchemy import insert, select

from cloud.actors.intake import COMMITTED, Intake, Outcome, UploadRow
from cloud.actors.openings import local_round
from cloud.actors.partials import Offer, Partials, Piece, partials
from cloud.actors.rounds import Rounds
from cloud.identity import ensure_key
from cloud.storage.database import Database
from cloud.storage.tables import rounds, uploads
from privacy import BUDGETS, Gate, Ledger, PrivateReport
from privacy.receipts import Receipt, sign_receipt
from privacy.secagg.mask import report_digest
from privacy.streams import usage_histogram
from protocol.errors import ReportInvalid
from protocol.identity import SigningKey
from protocol.rounds import LocalRound
from protocol.update import decode_report
from tests.cloud.world import MemoryLog, sqlite
from tests.protocol.samples import bits

__all__ = ["CLOUD", "NOW", "DatabaseStore", "LocalReports", "MemoryStore", "Store"]

NOW = 1_780_000_000.0
CLOUD = SigningKey(bytes(range(32)))


class Store(Protocol):
    """What intake and partials keep; durable when a call returns."""

    def known(self, offers: Sequence[tuple[str, bytes]]) -> list[bytes | None]: ...

    def commit(self, batch: Sequence[UploadRow]) -> list[Outcome]: ...

    def held(self, offers: Sequence[Offer]) -> list[bytes]: ...

    def append(self, pieces: Sequence[Piece]) -> list[bool]: ...

    def drop(self, offers: Sequence[Offer]) -> list[None]: ...

    def holds(self, upload_id: bytes) -> bool: ...


@dataclass
class MemoryStore:
    """The same answers as intake and partials give over a database, for open local rounds.

    ``open_rounds``: their numbers. ``rows``: upload id → (device, body, receipt).
    """

    open_rounds: frozenset[int]
    rows: dict[bytes, tuple[str, bytes, bytes]] = field(default_factory=dict)
    parts: dict[tuple[str, bytes], tuple[Offer, bytes]] = field(default_factory=dict)
    taken: list[bytes] = field(default_factory=list)
    """Upload ids in the order in which they were counted."""

    def copy(self) -> Self:
        return replace(self, rows=dict(self.rows), parts=dict(self.parts), taken=list(self.taken))

    def known(self, offers: Sequence[tuple[str, bytes]]) -> list[bytes | None]:
        found = ((device, self.rows.get(upload_id)) for device, upload_id in offers)
        return [row[2] if row is not None and row[0] == device else None for device, row in found]

    def commit(self, batch: Sequence[UploadRow]) -> list[Outcome]:
        return [self._commit(row) for row in batch]

    def held(self, offers: Sequence[Offer]) -> list[bytes]:
        return [self._held(offer) for offer in offers]

    def append(self, pieces: Sequence[Piece]) -> list[bool]:
        return [self._append(piece) for piece in pieces]

    def drop(self, offers: Sequence[Offer]) -> list[None]:
        for offer in offers:
            self.parts.pop((offer.device_id, offer.upload_id), None)
        return [None] * len(offers)

    def holds(self, upload_id: bytes) -> bool:
        return upload_id in self.rows

    def _commit(self, row: UploadRow) -> Outcome:
        try:
            report = decode_report(row.body)
        except ReportInvalid as error:
            return Outcome("bad_message", str(error))
        here = self.rows.get(row.upload_id)
        if here is not None:
            if here[:2] == (row.device_id, row.body):
                return Outcome(COMMITTED, receipt=here[2])
            return Outcome("duplicate_report", "this upload id carries another report")
        if report.round not in self.open_rounds:
            return Outcome("stale_round", f"{report.task} round {report.round} is not open")
        for device, body, _ in self.rows.values():
            other = decode_report(body)
            same_place = (device, other.round) == (row.device_id, report.round)
            if same_place or (other.round, other.report_id) == (report.round, report.report_id):
                detail = "this round already has a report from this device"
                return Outcome("duplicate_report", detail)
        digest = report_digest(
            report.task, report.round, report.report_id, report.share, report.sealed_seed
        )
        receipt = sign_receipt(
            Receipt(row.device_id, report.task, report.round, digest, row.received), CLOUD
        )
        self.rows[row.upload_id] = (row.device_id, row.body, receipt)
        self.taken.append(row.upload_id)
        return Outcome(COMMITTED, receipt=receipt)

    def _held(self, offer: Offer) -> bytes:
        kept, data = self.parts.get((offer.device_id, offer.upload_id), (None, b""))
        return data if kept == offer else b""

    def _append(self, piece: Piece) -> bool:
        data = self._held(piece.offer)
        if not data:
            self.parts.pop((piece.offer.device_id, piece.offer.upload_id), None)
        if piece.place != len(data):
            return False
        key = (piece.offer.device_id, piece.offer.upload_id)
        self.parts[key] = (piece.offer, data + piece.data)
        return True


class DatabaseStore:
    """Intake and partials over one SQLite file in ``folder``, which is empty or was made so.

    Round 1 is open, as the cloud opens it; ``open_round`` opens more like it.
    """

    def __init__(self, folder: Path) -> None:
        self._url, self._key = sqlite(folder), str(folder / "signing.key")
        ensure_key(folder / "signing.key", lambda size: CLOUD.seed[:size])
        leading = Rounds(self._url, self._key, None, "demo")
        leading.open_due(NOW)
        leading.close()
        self.restart()

    def restart(self) -> None:
        """As after the gateway's death: what is not in the file is gone."""
        self._intake, self._partials = Intake(self._url, self._key), Partials(self._url)
        self._database = Database(self._url)

    def close(self) -> None:
        for part in (self._intake, self._partials, self._database):
            part.close()

    def open_round(self, number: int) -> None:
        with self._database.write() as connection:
            first = connection.execute(select(rounds).where(rounds.c.round == 1)).one()._asdict()
            connection.execute(insert(rounds).values(**first | {"round": number}))

    def rows(self) -> dict[bytes, bytes]:
        """Upload id → body of all that is counted."""
        with self._database.read() as connection:
            found = connection.execute(select(uploads.c.upload_id, uploads.c.body)).all()
        assert len({row.upload_id for row in found}) == len(found)
        return {row.upload_id: row.body for row in found}

    def parts(self) -> int:
        """Uploads that are kept in part."""
        with self._database.read() as connection:
            return len(connection.execute(select(partials)).all())

    def known(self, offers: Sequence[tuple[str, bytes]]) -> list[bytes | None]:
        return self._intake.known(offers)

    def commit(self, batch: Sequence[UploadRow]) -> list[Outcome]:
        return self._intake.commit(batch)

    def held(self, offers: Sequence[Offer]) -> list[bytes]:
        return self._partials.held(offers)

    def append(self, pieces: Sequence[Piece]) -> list[bool]:
        return self._partials.append(pieces)

    def drop(self, offers: Sequence[Offer]) -> list[None]:
        return self._partials.drop(offers)

    def holds(self, upload_id: bytes) -> bool:
        return upload_id in self.rows()


class LocalReports:
    """Answers of local rounds, through the real gate."""

    def __init__(self) -> None:
        self._gate = Gate(Ledger(MemoryLog(), BUDGETS["demo"]), bits(31))

    def make(self, *numbers: int) -> list[PrivateReport]:
        """One report of each round; the numbers rise from call to call."""
        return [
            self._gate.release_local(self._round(number), self._answer, NOW, lambda report: None)
            for number in numbers
        ]

    @staticmethod
    def _round(number: int) -> LocalRound:
        return local_round(BUDGETS["demo"], 1, NOW).model_copy(update={"round": number})

    @property
    def _answer(self) -> str:
        return usage_histogram(self._round(1).histogram).bins[0]
