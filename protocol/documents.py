"""Documents the cloud publishes to every phone, and how their versions travel.

A document is bytes with a name, a version, a size and a hash, all four under the cloud's
signature. It travels whole or as a VCDIFF delta from an earlier version, whichever is smaller.

The order on the phone is fixed: size → hash of the blob → right base → decode within the target's
size → size and hash of the result. Nothing unverified reaches a decoder, and no byte of the result
is given out before its hash is right.

Blob layouts:

- whole: ``RVK1`` | 0 | deflate of the content
- delta: ``RVK1`` | 1 | first 8 bytes of the base's hash | VCDIFF
- delta, deflated: ``RVK1`` | 2 | first 8 bytes of the base's hash | size of the VCDIFF (4 bytes,
  little-endian) | deflate of the VCDIFF
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Final

from pydantic import Field

from protocol.entropy import deflate, inflate
from protocol.errors import DeltaInvalid, DifferenceInvalid, DocumentRefused
from protocol.messages import MAX_INTEGER, Digest, Name, ProtocolModel
from protocol.release import BlobInfo
from protocol.vcdiff import Limits, decode_delta

__all__ = [
    "MAX_DOCUMENT",
    "Document",
    "blob_info",
    "describe",
    "encode_delta",
    "encode_whole",
    "max_blob",
    "open_document",
]

MAX_DOCUMENT: Final = 8 << 20
"""Bytes of a document: a phone holds two versions of one while it applies a delta."""
_MAGIC: Final = b"RVK1"
_WHOLE, _DELTA, _DEFLATED_DELTA = b"\x00", b"\x01", b"\x02"
_BASE_MARK: Final = 8
"""Bytes of the base's hash in a delta: enough to say "wrong base", the result's hash proves it."""
_SIZE_BYTES: Final = 4
_SPARE: Final = 1024
"""Bytes by which a blob of incompressible content may exceed it, besides one in 256."""


class Document(ProtocolModel):
    """One version of one document: ``size`` bytes whose SHA-256 is ``sha256``."""

    name: Name
    version: Annotated[int, Field(ge=1, le=MAX_INTEGER)]
    sha256: Digest
    size: Annotated[int, Field(ge=1, le=MAX_DOCUMENT)]


def describe(name: str, version: int, content: bytes) -> Document:
    """The document whose content this is; DocumentRefused("size") beyond ``MAX_DOCUMENT``."""
    if not 1 <= len(content) <= MAX_DOCUMENT:
        raise DocumentRefused("size", f"a document has 1 to {MAX_DOCUMENT} bytes")
    digest = hashlib.sha256(content).digest()
    return Document(name=name, version=version, sha256=digest, size=len(content))


def max_blob(document: Document) -> int:
    """Bytes that no honest blob of this document exceeds, nor a delta inside one."""
    return document.size + document.size // 256 + _SPARE


def blob_info(blob: bytes) -> BlobInfo:
    """What a signed manifest says of a blob."""
    return BlobInfo(size=len(blob), sha256=hashlib.sha256(blob).digest())


def encode_whole(content: bytes) -> bytes:
    """A blob that needs no base."""
    return _MAGIC + _WHOLE + deflate(content)


def encode_delta(delta: bytes, base: Document) -> bytes:
    """A blob that turns ``base`` into another version by ``delta``, a VCDIFF."""
    mark = base.sha256[:_BASE_MARK]
    deflated = len(delta).to_bytes(_SIZE_BYTES, "little") + deflate(delta)
    if len(deflated) < len(delta):
        return _MAGIC + _DEFLATED_DELTA + mark + deflated
    return _MAGIC + _DELTA + mark + delta


def open_document(
    document: Document, info: BlobInfo, blob: bytes, base: bytes | None = None
) -> bytes:
    """The document's content from a blob.

    Args:
        document, info: from the signed manifest. base: content of the version at hand, if any.

    Raises:
        DocumentRefused: any check failed; nothing of the content is given out. After "base" or
            "hash", the whole document may still open.
    """
    if len(blob) != info.size or info.size > max_blob(document):
        raise DocumentRefused("size", "the blob has another size than its manifest says")
    if hashlib.sha256(blob).digest() != info.sha256:
        raise DocumentRefused("hash", "the blob does not match its manifest")
    try:
        content = _decoded(document, blob, base)
    except (DeltaInvalid, DifferenceInvalid) as error:
        raise DocumentRefused("format", str(error)) from None
    if len(content) != document.size or hashlib.sha256(content).digest() != document.sha256:
        raise DocumentRefused("hash", "the decoded document does not match its manifest")
    return content


def _decoded(document: Document, blob: bytes, base: bytes | None) -> bytes:
    magic, codec, body = blob[: len(_MAGIC)], blob[len(_MAGIC) :][:1], blob[len(_MAGIC) + 1 :]
    if magic != _MAGIC:
        raise DocumentRefused("format", "not a blob of this format")
    if codec == _WHOLE:
        return _inflated(body, document.size)
    if codec not in (_DELTA, _DEFLATED_DELTA):
        raise DocumentRefused("format", "coded in a way this version does not know; update")
    mark, delta = body[:_BASE_MARK], body[_BASE_MARK:]
    if base is None or hashlib.sha256(base).digest()[:_BASE_MARK] != mark:
        raise DocumentRefused("base", "the delta is from another version than the one at hand")
    limits = Limits(target=document.size, delta=max_blob(document))
    if codec == _DEFLATED_DELTA:
        size = int.from_bytes(delta[:_SIZE_BYTES], "little")
        if size > limits.delta:
            raise DocumentRefused("size", "the delta inside is larger than any honest one")
        delta = _inflated(delta[_SIZE_BYTES:], size)
    return decode_delta(delta, base, limits)


def _inflated(data: bytes, size: int) -> bytes:
    content, rest = inflate(data, size)
    if rest:
        raise DocumentRefused("format", "bytes follow the end")
    return content
