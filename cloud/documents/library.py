"""The library: publishes public documents and serves what brings a phone to the newest version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Row, func, select, update

from cloud.documents.encoder import DeltaEncoder, local_encoder
from cloud.documents.planner import DocumentBlob, delta_blob, whole_blob
from cloud.documents.tables import documents
from cloud.documents.xdelta import EncoderMissing
from cloud.identity import signing_key
from cloud.storage import BlobMissing, Database, insert_once, open_blobs
from cloud.storage.journal import note
from protocol.documents import Document
from protocol.errors import DocumentRefused
from protocol.facts import each_fact
from protocol.publication import (
    DELTA_BASES,
    KNOWLEDGE,
    MAX_FETCHED,
    NAME,
    WHOLE,
    Delta,
    Publication,
    open_publication,
    published_name,
    seal_publication,
)

__all__ = ["LIFETIME", "MAX_OFFERED", "Library", "Published"]

LIFETIME = 90 * 86_400.0
"""Seconds a description is good for: a mirror that is cut off can hold phones back no longer."""
RENEWAL = LIFETIME / 3.0
"""Seconds before expiry at which the newest descriptions are signed anew."""
MAX_OFFERED = 8
"""Documents of one cloud: as many as a plan has room for."""


@dataclass(frozen=True)
class Published:
    """What a publishing came to."""

    name: str
    version: int
    records: int
    size: int
    """Bytes of the content."""
    whole: int
    """Bytes of the whole blob."""
    deltas: dict[int, int]
    """Version a delta starts from → its bytes."""
    fresh: bool
    """False when the newest version has this very content already: nothing was written."""
    encoder: str = ""
    """Why there are no deltas, when the encoder is missing."""


class Library:
    """Owner of the documents; an actor as the publisher is.

    Args:
        database_url: SQLAlchemy URL. blobs: folder of immutable artefacts.
        signing_key_path: file with the cloud's 32-byte Ed25519 seed.
        encoder: finds the delta encoder, or raises EncoderMissing: then documents travel whole.
    """

    def __init__(
        self,
        database_url: str,
        blobs: str | Path,
        signing_key_path: str | Path,
        encoder: Callable[[], DeltaEncoder] = local_encoder,
    ) -> None:
        self._database = Database(database_url)
        self._blobs = open_blobs(blobs)
        self._key = signing_key(signing_key_path)
        self._encoder = encoder

    def publish(self, name: str, content: bytes, now: float) -> Published:
        """Publish the next version of a document of facts; blobs first, then its row.

        Args:
            content: canonical (protocol/records.py). now: unix seconds.

        Raises:
            DocumentRefused: "records" for what are no facts, "size" for what no phone would take,
                "format" for a name that is none.
        """
        if not NAME.fullmatch(name):
            raise DocumentRefused(
                "format", "a name has 1 to 40 of a-z, 0-9 and -, the first no dash"
            )
        records = sum(1 for _ in each_fact(content))
        earlier = self._earlier(name)
        newest = earlier[0].version if earlier else 0
        whole = whole_blob(name, newest + 1, content)
        if earlier and earlier[0].sha256 == whole.document.sha256:
            return self._told(earlier[0], fresh=False)
        self._check_room(name, whole)
        deltas, missing = self._deltas(whole, content, earlier)
        publication = Publication(
            document=whole.document,
            records=records,
            whole=whole.info,
            deltas=tuple(
                Delta(base=base, size=blob.info.size, sha256=blob.info.sha256)
                for base, blob in sorted(deltas.items())
            ),
            created=now,
            expires=now + LIFETIME,
        )
        row = {
            "name": name,
            "version": newest + 1,
            "sha256": whole.document.sha256,
            "size": whole.document.size,
            "records": records,
            "content": self._blobs.put(content),
            "whole": self._blobs.put(whole.blob),
            "deltas": {str(base): self._blobs.put(blob.blob) for base, blob in deltas.items()},
            "publication": seal_publication(publication, self._key),
            "published": now,
            "expires": publication.expires,
        }
        with self._database.write() as connection:
            if not insert_once(connection, documents, row):
                raise DocumentRefused(
                    "base", f"{name} was published elsewhere meanwhile: try again"
                )
            version = {"name": name, "version": newest + 1}
            key = f"document_published:{name}:{newest + 1}"
            note(connection, key, "document_published", now, version)
        return self._told(self._earlier(name)[0], fresh=True, encoder=missing)

    def newest(self) -> list[tuple[str, int, bytes]]:
        """Name on the wire, version and signed description of every document, by name."""
        return [
            (published_name(row.name), row.version, row.publication) for row in self._newest_rows()
        ]

    def blob(self, name: str, version: int, base: int) -> bytes | None:
        """The whole newest version (base 0) or the delta from `base`; None when there is none.

        `name` is the one on the wire.
        """
        earlier = self._earlier(name.removeprefix(KNOWLEDGE)) if name.startswith(KNOWLEDGE) else []
        if not earlier or earlier[0].version != version:
            return None
        key = earlier[0].whole if base == WHOLE else earlier[0].deltas.get(str(base))
        try:
            return None if key is None else self._blobs.get(key)
        except BlobMissing:
            return None

    def renew(self, now: float) -> list[str]:
        """Sign descriptions anew before they expire. Returns the names renewed."""
        renewed = []
        for row in self._newest_rows():
            if row.expires - now >= RENEWAL:
                continue
            opened = open_publication(row.publication, self._key.public)
            fresh = opened.model_copy(update={"created": now, "expires": now + LIFETIME})
            same = (documents.c.name == row.name) & (documents.c.version == row.version)
            sealed = seal_publication(fresh, self._key)
            with self._database.write() as connection:
                values = {"publication": sealed, "expires": fresh.expires}
                connection.execute(update(documents).where(same).values(**values))
            renewed.append(row.name)
        return renewed

    def listing(self) -> list[dict[str, Any]]:
        """The newest version of every document: name, version, records, size, whole, deltas,
        published, expires."""
        rows = [vars(self._told(row, fresh=False)) | _times(row) for row in self._newest_rows()]
        return [{k: v for k, v in row.items() if k not in ("fresh", "encoder")} for row in rows]

    def close(self) -> None:
        """Give back the database's file handles."""
        self._database.close()

    def _deltas(
        self, whole: DocumentBlob, content: bytes, earlier: list[Row[Any]]
    ) -> tuple[dict[int, DocumentBlob], str]:
        """A delta from each of the last versions where one is smaller than the whole."""
        try:
            encode = self._encoder() if earlier else None
        except EncoderMissing as missing:
            return {}, str(missing)
        made: dict[int, DocumentBlob] = {}
        for row in earlier[:DELTA_BASES]:
            assert encode is not None
            base = Document(name=row.name, version=row.version, sha256=row.sha256, size=row.size)
            try:
                blob = delta_blob(whole, content, base, self._blobs.get(row.content), encode)
            except BlobMissing:
                continue
            if blob.base:
                made[row.version] = blob
        return made, ""

    def _check_room(self, name: str, whole: DocumentBlob) -> None:
        if whole.info.size > MAX_FETCHED:
            raise DocumentRefused(
                "size",
                f"{whole.info.size} bytes on the wire, at most {MAX_FETCHED}: publish it as "
                "several documents",
            )
        names = {row.name for row in self._newest_rows()}
        if name not in names and len(names) >= MAX_OFFERED:
            raise DocumentRefused("size", f"a cloud publishes at most {MAX_OFFERED} documents")

    def _earlier(self, name: str) -> list[Row[Any]]:
        """The last versions of a document, newest first."""
        chosen = (
            select(documents)
            .where(documents.c.name == name)
            .order_by(documents.c.version.desc())
            .limit(DELTA_BASES)
        )
        with self._database.read() as connection:
            return list(connection.execute(chosen))

    def _newest_rows(self) -> list[Row[Any]]:
        last = select(documents.c.name, func.max(documents.c.version).label("version")).group_by(
            documents.c.name
        )
        latest = last.subquery()
        chosen = (
            select(documents)
            .join(
                latest,
                (documents.c.name == latest.c.name) & (documents.c.version == latest.c.version),
            )
            .order_by(documents.c.name)
        )
        with self._database.read() as connection:
            return list(connection.execute(chosen))

    def _told(self, row: Row[Any], *, fresh: bool, encoder: str = "") -> Published:
        opened = open_publication(row.publication, self._key.public)
        return Published(
            name=row.name,
            version=row.version,
            records=row.records,
            size=row.size,
            whole=opened.whole.size,
            deltas={delta.base: delta.size for delta in opened.deltas},
            fresh=fresh,
            encoder=encoder,
        )


def _times(row: Row[Any]) -> dict[str, float]:
    return {"published": row.published, "expires": row.expires}
