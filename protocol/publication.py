"""How a document is announced: its signed description, and the checks before a phone fetches it.

The order is fixed: signature → listed by the trusted targets → newer, fresh, small enough; then
`protocol.documents.open_document` does the same for the bytes. A document is published with deltas
from up to 16 earlier versions, each straight to the newest; whoever has none of them fetches the
whole.

On the wire a document is named ``knowledge/<name>``, so that no model can be taken for one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Final

from pydantic import Field

from protocol.documents import Document, max_blob
from protocol.errors import DocumentRefused, SignatureInvalid, WireError
from protocol.identity import SigningKey, open_envelope, signed_envelope
from protocol.messages import MAX_INTEGER, MAX_MANIFEST, Digest, ProtocolModel
from protocol.packing import pack, unpack_map, validated
from protocol.release import BlobInfo

__all__ = [
    "DELTA_BASES",
    "KNOWLEDGE",
    "MAX_FETCHED",
    "NAME",
    "WHOLE",
    "Allows",
    "Delta",
    "Publication",
    "check_publication",
    "open_publication",
    "plan_document_fetch",
    "published_name",
    "seal_publication",
]

KNOWLEDGE: Final = "knowledge/"
NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
"""What a document may be called."""
DELTA_BASES: Final = 16
MAX_FETCHED: Final = 1 << 20
"""Bytes of a blob that a session carries at most."""
CLOCK_SLACK: Final = 86_400.0
"""Seconds by which a phone's clock may lag the cloud's before a document looks unborn."""
WHOLE: Final = 0
"""The base of a fetch that needs none."""
_PURPOSE: Final = "document"

Version = Annotated[int, Field(ge=1, le=MAX_INTEGER)]
Allows = Callable[[str, bytes, int], bool]
"""Whether the trusted targets list a file: its name, SHA-256 and size."""


class Delta(ProtocolModel):
    """The blob that turns version ``base`` into the newest."""

    base: Version
    size: Annotated[int, Field(ge=1, le=MAX_FETCHED)]
    sha256: Digest

    @property
    def info(self) -> BlobInfo:
        """Its size and hash."""
        return BlobInfo(size=self.size, sha256=self.sha256)


class Publication(ProtocolModel):
    """One version of one document, and the blobs that bring a phone to it.

    ``records`` counts what is in it; ``created`` and ``expires`` are unix seconds.
    """

    document: Document
    records: Version
    whole: BlobInfo
    deltas: Annotated[tuple[Delta, ...], Field(max_length=DELTA_BASES)] = ()
    created: float
    expires: float

    def blob_info(self, base: int) -> BlobInfo | None:
        """What to expect of the blob from `base` (0: the whole); None when there is no such."""
        if base == WHOLE:
            return self.whole
        return next((delta.info for delta in self.deltas if delta.base == base), None)


def published_name(name: str) -> str:
    """What a document is called on the wire and among the trusted targets."""
    return KNOWLEDGE + name


def seal_publication(publication: Publication, key: SigningKey) -> bytes:
    """The signed description as it travels in a Plan, at most 4 KiB."""
    return signed_envelope(pack(publication.model_dump()), key, purpose=_PURPOSE)


def open_publication(blob: bytes, public_key: bytes) -> Publication:
    """The description, signature checked before it is parsed.

    Raises:
        DocumentRefused: "signature", or "format" for what the cloud signed by mistake.
    """
    try:
        payload = open_envelope(blob, public_key, purpose=_PURPOSE)
    except SignatureInvalid:
        raise DocumentRefused("signature", "not signed by the pinned cloud key") from None
    try:
        publication = validated(Publication, unpack_map(payload, max_size=MAX_MANIFEST))
    except WireError:
        raise DocumentRefused("format", "the description is malformed") from None
    bases = [delta.base for delta in publication.deltas]
    if len(set(bases)) < len(bases) or not NAME.fullmatch(publication.document.name):
        raise DocumentRefused("format", "the description is malformed")
    return publication


def check_publication(publication: Publication, *, floor: int, now: float) -> None:
    """Raise DocumentRefused unless this phone may take it.

    Args:
        floor: the highest version ever held or refused. now: unix seconds.
    """
    document = publication.document
    if document.version <= floor:
        raise DocumentRefused("rollback", f"version {floor} of {document.name} was here already")
    if publication.expires <= now:
        raise DocumentRefused("expired", "its lifetime is over")
    if publication.created > now + CLOCK_SLACK:
        raise DocumentRefused("future", "made over a day from now; check this phone's clock")
    most = min(MAX_FETCHED, max_blob(document))
    sizes = [publication.whole.size, *(delta.size for delta in publication.deltas)]
    if max(sizes) > most:
        raise DocumentRefused("size", f"a blob is over {most} bytes")


def plan_document_fetch(publication: Publication, have: int) -> int:
    """The base to fetch from: version `have` when its delta is the smaller, else 0."""
    info = publication.blob_info(have) if have else None
    return have if info is not None and info.size < publication.whole.size else WHOLE
