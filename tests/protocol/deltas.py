"""VCDIFF deltas made by hand, also such as no encoder makes."""

from __future__ import annotations

import zlib

__all__ = ["ADLER", "MAGIC", "SOURCE", "TARGET", "copying_delta", "delta", "integer", "window"]

MAGIC = b"\xd6\xc3\xc4\x00"
SOURCE, TARGET, ADLER = 1, 2, 4
ADD, COPY = 1, 19
"""Codes of the default table whose size follows; the copy's address is absolute."""


def integer(value: int) -> bytes:
    """A VCDIFF integer: base 128, most significant digit first."""
    digits = [value & 0x7F]
    while value := value >> 7:
        digits.append(value & 0x7F | 0x80)
    return bytes(reversed(digits))


def window(
    size: int,
    instructions: bytes = b"",
    data: bytes = b"",
    addresses: bytes = b"",
    *,
    segment: tuple[int, int] | None = None,
    flags: int = 0,
    compressed: int = 0,
    checked: bytes | None = None,
) -> bytes:
    """A window that declares ``size`` bytes; ``segment`` is (size, start) in the base and
    ``checked`` what its checksum is taken over."""
    head = flags | (SOURCE if segment else 0) | (ADLER if checked is not None else 0)
    body = integer(size) + bytes([compressed])
    body += integer(len(data)) + integer(len(instructions)) + integer(len(addresses))
    if checked is not None:
        body += zlib.adler32(checked).to_bytes(4, "big")
    body += data + instructions + addresses
    where = integer(segment[0]) + integer(segment[1]) if segment else b""
    return bytes([head]) + where + integer(len(body)) + body


def delta(*windows: bytes, header: bytes = b"\x00") -> bytes:
    """A delta of these windows."""
    return MAGIC + header + b"".join(windows)


def copying_delta(base: bytes, target: bytes) -> bytes:
    """A delta that copies what both begin and end with and adds what is between."""
    head = _common(base, target)
    most = min(len(base), len(target)) - head
    tail = min(_common(base[::-1], target[::-1]), most)
    added = target[head : len(target) - tail]
    pieces = [
        (COPY, head, b"", integer(0)),
        (ADD, len(added), added, b""),
        (COPY, tail, b"", integer(len(base) - tail)),
    ]
    kept = [piece for piece in pieces if piece[1]]
    instructions = b"".join(bytes([code]) + integer(size) for code, size, _, _ in kept)
    data = b"".join(piece for _, _, piece, _ in kept)
    addresses = b"".join(address for _, _, _, address in kept)
    return delta(window(len(target), instructions, data, addresses, segment=(len(base), 0)))


def _common(first: bytes, second: bytes) -> int:
    """How many bytes both begin with."""
    pairs = zip(first, second, strict=False)
    return next(
        (place for place, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second))
    )
