"""The bytes of one sealed segment: frames of ChaCha20-Poly1305 in a chain. Pure, no I/O.

A frame is ``header (u32) | ciphertext | tag (16 bytes)``; the header's low 31 bits count
ciphertext + tag, its top bit marks the first frame of one durable append. The nonce counts the
frames of the segment, whose key is used for this segment only and never after the process that
made it, so no (key, nonce) pair can come twice. The associated data is the log's name, the segment
and the previous frame's tag: a frame cannot be moved, swapped, repeated or dropped from the middle
(the chain of Hoang, Reyhanitabar, Rogaway, Vizár, 2015, STREAM).

A frame holds a block of records, deflated together where that makes it smaller.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

import msgpack
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from device.vault.errors import Tampered

__all__ = ["MAX_PAYLOAD", "Frame", "SegmentCipher", "blocks", "pack_block", "unpack_block"]

TAG = 16
KEY = 32
NONCE = 12
HEADER = struct.Struct("<I")
STARTS_APPEND = 1 << 31
LENGTH_MASK = STARTS_APPEND - 1
NO_TAG = bytes(TAG)
FORMAT = b"reverie segment 1"

MAX_PAYLOAD = 1 << 20
"""Bytes of one record; larger ones are refused."""
BLOCK_BYTES = 64 << 10
"""Payload bytes gathered in one frame: bounds what an append or a read holds in RAM at once."""
BLOCK_RECORDS = 256
MAX_BLOCK = 2 * MAX_PAYLOAD
"""Bytes a block may inflate to."""
DEFLATE_FROM = 192
"""Bytes under which deflating gains next to nothing: a sentence holds no word twice."""
DEFLATE_LEVEL = 1
SMALL_BLOCK = 4 << 10
"""Bytes up to which a window as small serves: deflating with the usual one first clears 256 KB."""
SMALL_WINDOW_BITS, SMALL_MEMORY_LEVEL = 12, 4
DENSE_SAMPLE, DENSE_FROM, DENSE_VALUES = 256, 1 << 10, 140
"""What was encrypted or deflated before does not shrink. Of 256 random bytes 162 are expected to
differ, of a text less than 80: blocks whose middle shows 140 different values are left as they are.
"""
PLAIN, DEFLATED = b"\x00", b"\x01"

Record = tuple[int, bytes]


class Frame(NamedTuple):
    """One opened frame."""

    block: bytes
    end: int
    """Offset of the byte after it."""
    starts_append: bool


class SegmentCipher:
    """Seals or opens the frames of one segment in order; it cannot go back.

    A log that is being written keeps one of these, so sealing makes the AEAD anew for each frame:
    1 µs, where one that lies idle takes 2 KB.
    """

    __slots__ = ("_aead", "_context", "_counter", "_key", "tag")

    def __init__(self, key: bytes, log: str, segment: int) -> None:
        """`key`: 32 bytes, made for this segment and used for nothing else."""
        self._key = key
        self._aead: ChaCha20Poly1305 | None = None
        self._context = b"%s\x00%s\x00%016x" % (FORMAT, log.encode(), segment)
        self._counter = 0
        self.tag = NO_TAG
        """Tag of the newest frame; zeros before the first."""

    def seal(self, block: bytes, *, starts_append: bool) -> bytes:
        """The next frame."""
        length = len(block) + TAG
        header = HEADER.pack(length | (STARTS_APPEND if starts_append else 0))
        associated = self._context + header + self.tag
        sealed = ChaCha20Poly1305(self._key).encrypt(self._nonce(), block, associated)
        self._advance(sealed[-TAG:])
        return header + sealed

    def open(self, data: bytes, offset: int) -> Frame | None:
        """The frame at `offset`, or None when it is torn, damaged, or not this segment's next."""
        bounds = _bounds(data, offset)
        if bounds is None:
            return None
        start, end = bounds
        header = data[offset:start]
        if self._aead is None:
            self._aead = ChaCha20Poly1305(self._key)
        try:
            block = self._aead.decrypt(
                self._nonce(), data[start:end], self._context + header + self.tag
            )
        except InvalidTag:
            return None
        self._advance(data[end - TAG : end])
        return Frame(block, end, bool(HEADER.unpack(header)[0] & STARTS_APPEND))

    def acknowledged_after(self, data: bytes, offset: int) -> bool:
        """Whether a frame after the bad one at `offset` proves that it had been durable.

        An append begins only after the one before it was synced: so a good frame that starts an
        append means that the bad one is damage, not a torn tail. The cipher is spent afterwards.
        """
        while True:
            frame = self.open(data, offset)
            if frame is not None and frame.starts_append:
                return True
            bounds = _bounds(data, offset)
            if bounds is None:
                return False
            offset = bounds[1]
            if frame is None:
                self._advance(data[offset - TAG : offset])

    def _nonce(self) -> bytes:
        return self._counter.to_bytes(NONCE, "little")

    def _advance(self, tag: bytes) -> None:
        self._counter += 1
        self.tag = tag


def _bounds(data: bytes, offset: int) -> tuple[int, int] | None:
    """Where the sealed part of the frame at `offset` starts and ends, if it is all there."""
    start = offset + HEADER.size
    if start > len(data):
        return None
    length = HEADER.unpack_from(data, offset)[0] & LENGTH_MASK
    end = start + length
    return (start, end) if length >= TAG and end <= len(data) else None


def blocks(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """`records` in runs that each fit one frame."""
    start = weight = 0
    for index, (_, payload) in enumerate(records):
        if index > start and (
            weight + len(payload) > BLOCK_BYTES or index - start >= BLOCK_RECORDS
        ):
            yield records[start:index]
            start, weight = index, 0
        weight += len(payload)
    if start < len(records):
        yield records[start:]


def pack_block(records: Sequence[Record]) -> bytes:
    """One frame's content; sequences ascend and are written as differences."""
    first, last = records[0][0], records[-1][0]
    steps: list[int] = []
    if last - first != len(records) - 1:
        steps = [after - before for (before, _), (after, _) in pairwise(records)]
    body: bytes = msgpack.packb([first, steps, [payload for _, payload in records]])
    if len(body) >= DEFLATE_FROM and not _is_dense(body):
        deflated = _deflated(body)
        if len(deflated) < len(body):
            return DEFLATED + deflated
    return PLAIN + body


def _is_dense(body: bytes) -> bool:
    if len(body) < DENSE_FROM:
        return False
    start = (len(body) - DENSE_SAMPLE) // 2
    return len(set(body[start : start + DENSE_SAMPLE])) >= DENSE_VALUES


def _deflated(body: bytes) -> bytes:
    if len(body) > SMALL_BLOCK:
        return zlib.compress(body, DEFLATE_LEVEL, -zlib.MAX_WBITS)
    engine = zlib.compressobj(DEFLATE_LEVEL, zlib.DEFLATED, -SMALL_WINDOW_BITS, SMALL_MEMORY_LEVEL)
    return engine.compress(body) + engine.flush()


def unpack_block(block: bytes) -> list[Record]:
    """The records of an authenticated frame."""
    body = block[1:]
    if block[:1] == DEFLATED:
        body = zlib.decompressobj(-zlib.MAX_WBITS).decompress(body, MAX_BLOCK)
    try:
        first, steps, payloads = msgpack.unpackb(body)
    except (ValueError, TypeError) as error:
        raise Tampered("a sealed block was written by another version of this program") from error
    if not steps:
        return list(enumerate(payloads, first))
    return list(zip(accumulate(steps, initial=first), payloads, strict=True))
