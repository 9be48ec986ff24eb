"""Uploads that broke off, kept so that the next session goes on where the last one stopped.

Nothing here counts as received: the hash of the whole body decides, once it is whole. Kept bytes
are a convenience under bounds: per device, in age, and in all; what is over them is let go, and
the phone, which keeps the body until it is committed, sends it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Float,
    Index,
    LargeBinary,
    String,
    Table,
    and_,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)

from cloud.storage.columns import Whole
from cloud.storage.database import Database
from cloud.storage.tables import CLOUD

__all__ = ["Offer", "Partials", "Piece", "partial_chunks", "partials"]

LIFETIME_SECONDS: Final = 7 * 86_400.0
"""A phone that has not come back for so long begins its upload anew."""
DEVICE_BYTES: Final = 4 << 20
"""Kept for one device: as much as its outbox sends in a few sessions."""
DEVICE_UPLOADS: Final = 16
TOTAL_BYTES: Final = 1 << 30

#: One upload that broke off; `held` bytes of `size` are in `partial_chunks`.
partials = Table(
    "partials",
    CLOUD,
    Column("device_id", String(32), primary_key=True),
    Column("upload_id", LargeBinary(16), primary_key=True),
    Column("sha256", LargeBinary(32), nullable=False),
    Column("size", Whole, nullable=False),
    Column("held", Whole, nullable=False),
    Column("touched", Float, nullable=False),
    Index("partials_touched", "touched"),
)

#: Its bytes: rows of their own, so that adding a chunk writes a chunk and not all before it.
partial_chunks = Table(
    "partial_chunks",
    CLOUD,
    Column("device_id", String(32), primary_key=True),
    Column("upload_id", LargeBinary(16), primary_key=True),
    Column("place", Whole, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)


@dataclass(frozen=True)
class Offer:
    """An upload as its device announces it; only its exact like is resumed."""

    device_id: str
    upload_id: bytes
    size: int
    sha256: bytes


@dataclass(frozen=True)
class Piece:
    """Bytes of an offered upload from ``place`` on, at ``received`` (unix seconds)."""

    offer: Offer
    place: int
    data: bytes
    received: float


_OFFERED: Final = select(
    partials.c.device_id, partials.c.upload_id, partials.c.size, partials.c.sha256
).where(partials.c.device_id.in_(bindparam("device_ids", expanding=True)))


class Partials:
    """Owner of the partial uploads."""

    def __init__(self, database_url: str) -> None:
        self._database = Database(database_url)

    def held(self, offers: Sequence[Offer]) -> list[bytes]:
        """For each offer the bytes kept of it, b"" for none."""
        wanted = {"device_ids": [offer.device_id for offer in offers]}
        with self._database.read() as connection:
            # Most uploads never broke off: one look says so for all of them.
            kept = {Offer(*row) for row in connection.execute(_OFFERED, wanted)}
            return [_bytes_of(connection, offer) if offer in kept else b"" for offer in offers]

    def append(self, pieces: Sequence[Piece]) -> list[bool]:
        """Keep pieces, durable on return; for each whether it was new and found its place.

        A piece that leaves a gap, or that is here already, changes nothing.
        """
        with self._database.write() as connection:
            return [_keep(connection, piece) for piece in pieces]

    def drop(self, offers: Sequence[Offer]) -> list[None]:
        """Forget uploads: they are committed, refused, or not what they said they were."""
        with self._database.write() as connection:
            for offer in offers:
                _drop(connection, offer.device_id, offer.upload_id)
        return [None] * len(offers)

    def expire(self, now: float, total_bytes: int = TOTAL_BYTES) -> int:
        """Forget what is too old, and the oldest of what is too much. Gives how many uploads."""
        with self._database.write() as connection:
            old = select(partials).where(partials.c.touched < now - LIFETIME_SECONDS)
            gone = [(row.device_id, row.upload_id) for row in connection.execute(old)]
            for device_id, upload_id in gone:
                _drop(connection, device_id, upload_id)
            return len(gone) + _shrink(connection, total_bytes)

    def close(self) -> None:
        """Give the file handles back."""
        self._database.close()


def _bytes_of(connection: Connection, offer: Offer) -> bytes:
    chunks = select(partial_chunks.c.data).where(_here(partial_chunks, offer))
    return b"".join(connection.scalars(chunks.order_by(partial_chunks.c.place)))


def _keep(connection: Connection, piece: Piece) -> bool:
    offer = piece.offer
    row = connection.execute(select(partials).where(_here(partials, offer))).first()
    if row is not None and (row.sha256, row.size) != (offer.sha256, offer.size):
        _drop(connection, offer.device_id, offer.upload_id)
        row = None
    held = 0 if row is None else row.held
    if piece.place != held or held + len(piece.data) > offer.size:
        return False
    if row is None:
        _make_room(connection, offer.device_id)
        connection.execute(insert(partials).values(**vars(offer), held=0, touched=piece.received))
    connection.execute(
        insert(partial_chunks).values(
            device_id=offer.device_id, upload_id=offer.upload_id, place=held, data=piece.data
        )
    )
    connection.execute(
        update(partials)
        .where(_here(partials, offer))
        .values(held=held + len(piece.data), touched=piece.received)
    )
    return True


def _make_room(connection: Connection, device_id: str) -> None:
    """Let go of a device's oldest uploads until one more of the largest size may begin."""
    own = select(partials).where(partials.c.device_id == device_id)
    rows = connection.execute(own.order_by(partials.c.touched, partials.c.upload_id)).all()
    size = sum(row.size for row in rows)
    count = len(rows)
    for row in rows:
        if size <= DEVICE_BYTES - (1 << 20) and count < DEVICE_UPLOADS:
            return
        _drop(connection, device_id, row.upload_id)
        size, count = size - row.size, count - 1


def _shrink(connection: Connection, total_bytes: int) -> int:
    total = int(connection.scalar(select(func.sum(partials.c.held))) or 0)
    dropped = 0
    if total <= total_bytes:
        return dropped
    for row in connection.execute(select(partials).order_by(partials.c.touched)).all():
        if total <= total_bytes:
            break
        _drop(connection, row.device_id, row.upload_id)
        total, dropped = total - row.held, dropped + 1
    return dropped


def _drop(connection: Connection, device_id: str, upload_id: bytes) -> None:
    for table in (partial_chunks, partials):
        here = and_(table.c.device_id == device_id, table.c.upload_id == upload_id)
        connection.execute(delete(table).where(here))


def _here(table: Table, offer: Offer) -> ColumnElement[bool]:
    return and_(table.c.device_id == offer.device_id, table.c.upload_id == offer.upload_id)
