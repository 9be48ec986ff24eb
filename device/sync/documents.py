"""Public documents on their way into the phone: verify, fetch, decode, keep.

Law 4: nothing of a document is decoded before its signed description and the hash of its bytes fit.
Law 7: versions only rise. A delta whose base is not the version at hand is no fault of the cloud's:
the whole document is fetched instead, in the same session.

Nobody learns from these fetches what a person asks: every document offered is taken as a whole, by
every phone, unless its owner dropped it by name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from device.actors import Clock
from device.recall.public import PublicLayer
from device.recall.public_store import Held, PublicStore
from protocol.documents import open_document
from protocol.errors import DocumentRefused
from protocol.publication import (
    WHOLE,
    Allows,
    Publication,
    check_publication,
    open_publication,
    plan_document_fetch,
    published_name,
)

__all__ = ["DocumentOffer", "DocumentOutcome", "Documents", "FetchBlob", "take_documents"]

MAX_HELD_BYTES: Final = 8 << 20
"""Bytes of all documents of a phone, sealed beside its memory in a file for every 16 KiB."""
MAX_HELD_RECORDS: Final = 40_000
"""Records of all documents of a phone: 3 MB of RAM for their indexes."""
_MAY_BE_WHOLE: Final = frozenset({"base", "hash", "format", "size"})
"""Faults of a delta after which the whole document may still open."""

FetchBlob = Callable[[str, int, int, int], Awaitable[bytes | None]]
"""(name on the wire, version, base, size) → the blob, or None where the cloud has none."""


@dataclass(frozen=True, slots=True)
class DocumentOffer:
    """A verified description of a newer version, and the base to fetch a delta from (0: whole)."""

    publication: Publication
    base: int

    @property
    def size(self) -> int:
        """Bytes to fetch."""
        info = self.publication.blob_info(self.base)
        assert info is not None
        return info.size

    def whole(self) -> DocumentOffer:
        """The same without a base."""
        return DocumentOffer(self.publication, WHOLE)


@dataclass(frozen=True, slots=True)
class DocumentOutcome:
    """What became of an offered document."""

    name: str
    version: int
    taken: bool
    reason: str = ""
    """Empty when taken; else why what was held before stays."""
    fetched: int = 0
    """Bytes that came for it."""
    base: int = WHOLE
    """The version it was made from; 0: it came whole."""


class Documents:
    """Checks what is offered and keeps what holds."""

    def __init__(self, store: PublicStore, layer: PublicLayer, clock: Clock) -> None:
        self._store = store
        self._layer = layer
        self._clock = clock

    def have(self) -> dict[str, int]:
        """Name on the wire → version at hand, for the session's proof."""
        return {published_name(held.name): held.version for held in self._store.held}

    def offer(self, blob: bytes, cloud_key: bytes, allows: Allows | None) -> DocumentOffer | None:
        """Check a description; None when that version is here, was of no use, or is not wanted.

        Args:
            allows: what the trusted targets list; None where no targets are followed yet.

        Raises:
            DocumentRefused: it is not to be trusted, or not for this phone.
        """
        publication = open_publication(blob, cloud_key)
        document = publication.document
        if allows is not None and not _listed(allows, document.name, blob):
            raise DocumentRefused("unlisted", f"{document.name} is not among the trusted targets")
        settled = self._store.settled(document.name, document.version)
        if settled or document.name in self._store.unwanted:
            return None
        floor = self._store.floor(document.name)
        check_publication(publication, floor=floor, now=self._clock.now())
        self._check_room(publication)
        held = self._store.get(document.name)
        return DocumentOffer(publication, plan_document_fetch(publication, _version(held)))

    async def take(self, offer: DocumentOffer, blob: bytes) -> None:
        """Verify, decode and keep a fetched document; durable on return.

        Raises:
            DocumentRefused: a check failed and what was held stays. After a delta the whole
                document may still do.
        """
        publication = offer.publication
        document, info = publication.document, publication.blob_info(offer.base)
        assert info is not None
        held = self._store.get(document.name)
        base = None if offer.base == WHOLE or held is None else self._store.content(held)
        content = open_document(document, info, blob, base)
        try:
            await self._layer.take(document, content, publication.created, self._clock.now())
        except DocumentRefused:
            # It is what the cloud signed, so fetching it again would change nothing.
            self._store.refuse(document.name, document.version)
            raise

    def _check_room(self, publication: Publication) -> None:
        """Refuse what this phone has no room for."""
        document = publication.document
        others = [held for held in self._store.held if held.name != document.name]
        size = document.size + sum(held.size for held in others)
        records = publication.records + sum(held.records for held in others)
        if size > MAX_HELD_BYTES or records > MAX_HELD_RECORDS:
            raise DocumentRefused(
                "size", f"no room for {document.name}: drop another with `knowledge drop`"
            )


async def take_documents(
    blobs: Iterable[bytes],
    fetch: FetchBlob,
    documents: Documents,
    *,
    cloud_key: bytes,
    allows: Allows | None = None,
) -> list[DocumentOutcome]:
    """Take every document offered that is newer than the one at hand; what became of each.

    A fault of one leaves the others alone. Whatever `fetch` raises ends it: what was taken stays.
    """
    outcomes = []
    for blob in blobs:
        try:
            offer = documents.offer(blob, cloud_key, allows)
        except DocumentRefused as refusal:
            outcomes.append(DocumentOutcome("", 0, taken=False, reason=str(refusal)))
            continue
        if offer is not None:
            outcomes.append(await _take(offer, fetch, documents))
    return outcomes


async def _take(offer: DocumentOffer, fetch: FetchBlob, documents: Documents) -> DocumentOutcome:
    document = offer.publication.document
    tries = [offer] if offer.base == WHOLE else [offer, offer.whole()]
    fetched, reason = 0, ""
    for each in tries:
        name = published_name(document.name)
        blob = await fetch(name, document.version, each.base, each.size)
        if blob is None:
            reason = "it is not to be had now"
            continue
        fetched += len(blob)
        try:
            await documents.take(each, blob)
        except DocumentRefused as refusal:
            reason = str(refusal)
            if refusal.reason in _MAY_BE_WHOLE:
                continue
            break
        return DocumentOutcome(
            document.name, document.version, taken=True, fetched=fetched, base=each.base
        )
    return DocumentOutcome(document.name, document.version, False, reason, fetched)


def _listed(allows: Allows, name: str, blob: bytes) -> bool:
    return allows(published_name(name), sha256(blob).digest(), len(blob))


def _version(held: Held | None) -> int:
    return held.version if held else WHOLE
