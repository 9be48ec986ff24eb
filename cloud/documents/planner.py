"""The smallest blob that brings a phone to the newest version of a document.

Every blob is opened again the way a phone does it before it is offered: a fault in the encoder
costs bytes, never a document.
"""

from __future__ import annotations

from dataclasses import dataclass

from cloud.documents.encoder import DeltaEncoder
from cloud.documents.xdelta import DeltaFailed
from protocol.documents import (
    Document,
    blob_info,
    describe,
    encode_delta,
    encode_whole,
    max_blob,
    open_document,
)
from protocol.errors import DocumentRefused
from protocol.release import BlobInfo

__all__ = ["DocumentBlob", "delta_blob", "whole_blob"]

WHOLE = 0
"""The base of a blob that needs none."""


@dataclass(frozen=True)
class DocumentBlob:
    """A blob of ``document`` as it travels; ``base`` is the version it needs, or 0."""

    document: Document
    base: int
    blob: bytes
    info: BlobInfo


def whole_blob(name: str, version: int, content: bytes) -> DocumentBlob:
    """The whole document; DocumentRefused("size") when it is empty or too large."""
    document = describe(name, version, content)
    return _checked(document, WHOLE, encode_whole(content), None)


def delta_blob(
    whole: DocumentBlob,
    content: bytes,
    base: Document,
    base_content: bytes,
    encode: DeltaEncoder,
) -> DocumentBlob:
    """The delta from ``base``, or ``whole`` itself where no delta is smaller.

    Args:
        whole: what ``whole_blob`` made of ``content``. base_content: what ``base`` describes.
    """
    if describe(base.name, base.version, base_content) != base:
        raise DocumentRefused("base", f"that is not the content of {base.name} {base.version}")
    # Larger than the whole blob before deflate, it may still be smaller after: VCDIFF of small
    # edits deflates well. What no phone accepts is not asked for.
    try:
        delta = encode(base_content, content, max_blob(whole.document))
    except DeltaFailed:
        return whole
    blob = encode_delta(delta, base)
    if len(blob) >= len(whole.blob):
        return whole
    try:
        return _checked(whole.document, base.version, blob, base_content)
    except DocumentRefused:
        return whole


def _checked(
    document: Document, base: int, blob: bytes, base_content: bytes | None
) -> DocumentBlob:
    info = blob_info(blob)
    open_document(document, info, blob, base_content)
    return DocumentBlob(document, base, blob, info)
