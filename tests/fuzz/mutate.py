"""Seeded mutation of bytes that a real encoder made: blind to the format, and along its structure.

Frame ``index`` of a run depends on nothing but the run's seed, the parser's name and ``index``, so
that one failing frame is made again without the ones before it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import msgpack

__all__ = ["Form", "Mutator"]

Form: TypeAlias = Literal["bytes", "msgpack", "json", "lines", "text"]
"""What a parser reads ("lines": JSON lines): which edits are tried beside the blind ones."""

LONGEST = 1 << 17
"""Bytes of the longest frame: twice the largest that any of these parsers takes off the wire."""
MOST_EDITS = 4
STRUCTURED = 0.55
"""Share of edits that follow the format, where there is one."""
DEEPEST = 40
"""Containers put around a value at most; `NESTS` and `SNIPPETS` go far beyond every limit."""

INTEGERS = (
    0, 1, -1, 2, 16, 63, 64, 65, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**24, 2**31 - 1,
    2**31, 2**32 - 1, 2**32, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1,
)  # fmt: skip
FLOATS = (0.0, -0.0, 1e308, -1e308, 5e-324, float("inf"), float("-inf"), float("nan"), 2.0**53)
TEXTS = ("", "a", "\x00", "\u202e", "é" * 70, "日" * 130, "x" * 1025, "-1", "1e9", "hello", "plan")
HEADERS = (
    b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\x7f\xff\xff\xff",
    b"\xc6\xff\xff\xff\xff",
    b"\xc9\xff\xff\xff\xff\x01", b"\xdc\xff\xff", b"\xde\xff\xff", b"\xc5\xff\xff", b"\xc1",
    b"\xd6\xff\x00\x00\x00\x00", b"\xc7\x0c\xff" + bytes(12), b"\xcf" + b"\xff" * 8,
    b"\xcb\x7f\xf8" + bytes(6), b"\xa2\xed\xa0", b"\xc0", b"\x80", b"\x90",
)  # fmt: skip
"""msgpack headers that promise far more than follows, types nobody speaks, half a character."""
NESTS = (b"\x91", b"\xdc\x00\x40", b"\xdc\x4e\x20", b"\xdd\x00\x00\x4e\x20", b"\x81\xa1a")
"""Containers whose promised lengths stay under a limit, to be put inside each other."""
SNIPPETS = (
    b"[" * 2000, b'{"a":' * 2000, b"9" * 5000, b"\\ud800", b"\xef\xbb\xbf", b"\xff\xfe", b"\r",
    b"\n",
    b"\x00", b"1e999", b"NaN", b"-Infinity", b"\\u0000", b'""', b"null", b"\xc2\xb2",
    b"\xe2\x80\xae",
)  # fmt: skip
"""What text parsers stumble over."""

Value: TypeAlias = Any


class Mutator:
    """Frames for one parser.

    Args:
        seed: of the run. name: the parser's. corpus: what its real encoder made. form: see `Form`.
    """

    def __init__(self, seed: int, name: str, corpus: Sequence[bytes], form: Form) -> None:
        if not corpus:
            raise ValueError(f"{name} has no seeds")
        self._label = f"{seed}/{name}"
        self._corpus = list(corpus)
        self._form = form
        self._values = [_parsed(each, form) for each in corpus]

    def frame(self, index: int) -> bytes:
        """The mutated frame of this number."""
        rng = random.Random(f"{self._label}/{index}")
        chosen = rng.randrange(len(self._corpus))
        data = self._corpus[chosen]
        value = self._values[chosen]
        if value is not None and rng.random() < STRUCTURED:
            for _ in range(rng.randint(1, MOST_EDITS)):
                value = _edited(value, rng, self._values)
            data = _packed(value, self._form)
            if rng.random() < 0.75:
                return data[:LONGEST]
        for _ in range(rng.randint(1, MOST_EDITS)):
            data = rng.choice(_BLIND)(data, rng)
            if self._form == "msgpack" and rng.random() < 0.2:
                data = _lying_header(data, rng)
            elif self._form in ("json", "lines", "text") and rng.random() < 0.2:
                data = _insert_at(data, rng, rng.choice(SNIPPETS))
        if rng.random() < 0.1:
            data = _splice(data, rng.choice(self._corpus), rng)
        return data[:LONGEST]


# Blind edits.


def _place(data: bytes, rng: random.Random) -> int:
    """Anywhere, but every other time among the first bytes, where headers are."""
    length = len(data) if rng.random() < 0.5 else min(len(data), 48)
    return rng.randrange(length) if length else 0


def _flip(data: bytes, rng: random.Random) -> bytes:
    if not data:
        return data
    place = _place(data, rng)
    return data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]


def _set(data: bytes, rng: random.Random) -> bytes:
    place = _place(data, rng)
    byte = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return data[:place] + bytes([byte]) + data[place + 1 :]


def _number(data: bytes, rng: random.Random) -> bytes:
    """A length field, perhaps: a telling integer in 1, 2, 4 or 8 bytes of either order."""
    width = rng.choice((1, 2, 4, 8))
    value = rng.choice(INTEGERS) % (1 << 8 * width)
    place = _place(data, rng)
    order: Literal["little", "big"] = rng.choice(("little", "big"))
    return data[:place] + value.to_bytes(width, order) + data[place + width :]


def _nudge(data: bytes, rng: random.Random) -> bytes:
    if not data:
        return data
    place = _place(data, rng)
    byte = (data[place] + rng.choice((-2, -1, 1, 2))) % 256
    return data[:place] + bytes([byte]) + data[place + 1 :]


def _drop(data: bytes, rng: random.Random) -> bytes:
    place = _place(data, rng)
    return data[:place] + data[place + rng.choice((1, 1, 2, 4, 16)) :]


def _insert(data: bytes, rng: random.Random) -> bytes:
    return _insert_at(data, rng, rng.randbytes(rng.choice((1, 1, 2, 4, 16))))


def _repeat(data: bytes, rng: random.Random) -> bytes:
    place = _place(data, rng)
    piece = data[place : place + rng.choice((1, 2, 4, 16, 64))]
    return data[:place] + piece * rng.choice((2, 2, 3, 10, 300)) + data[place + len(piece) :]


def _truncate(data: bytes, rng: random.Random) -> bytes:
    return data[: _place(data, rng)]


def _extend(data: bytes, rng: random.Random) -> bytes:
    return data + rng.randbytes(rng.choice((1, 2, 8, 64)))


def _swap(data: bytes, rng: random.Random) -> bytes:
    one, two = sorted((_place(data, rng), _place(data, rng)))
    middle = (one + two) // 2
    return data[:one] + data[middle:two] + data[one:middle] + data[two:]


_BLIND: Sequence[Callable[[bytes, random.Random], bytes]] = (
    _flip, _flip, _set, _number, _number, _nudge, _drop, _insert, _repeat, _truncate, _extend,
    _swap,
)  # fmt: skip


def _insert_at(data: bytes, rng: random.Random, piece: bytes) -> bytes:
    place = _place(data, rng)
    return data[:place] + piece + data[place:]


def _splice(data: bytes, other: bytes, rng: random.Random) -> bytes:
    return data[: _place(data, rng)] + other[_place(other, rng) :]


def _lying_header(data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return _insert_at(data, rng, rng.choice(NESTS) * rng.choice((2, 8, 64, 500, 1100)))
    place = _place(data, rng)
    header = rng.choice(HEADERS)
    kept = data[place + 1 :] if rng.random() < 0.5 else data[place:]
    return data[:place] + header + kept


# Edits along the structure.


def _parsed(data: bytes, form: Form) -> Value | None:
    try:
        if form == "msgpack":
            return msgpack.unpackb(data, strict_map_key=False)
        if form == "json":
            return json.loads(data)
        if form == "lines":
            return [json.loads(line) for line in data.splitlines()]
    except (ValueError, TypeError, msgpack.UnpackException):
        # A signed blob begins with its signature: blind edits then.
        return None
    return None


def _packed(value: Value, form: Form) -> bytes:
    if form == "msgpack":
        packed: bytes = msgpack.packb(value)
        return packed
    if form == "lines" and isinstance(value, list):
        return b"".join(_json(each) + b"\n" for each in value)
    return _json(value)


def _json(value: Value) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def _edited(value: Value, rng: random.Random, others: Sequence[Value]) -> Value:
    """``value`` with one node changed; the rest is shared, not copied."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(list(value))
        lot = rng.random()
        if lot < 0.12:
            return {each: inner for each, inner in value.items() if each != key}
        if lot < 0.2:
            renamed = rng.choice(list(value) + list(TEXTS))
            return {renamed if each == key else each: inner for each, inner in value.items()}
        if lot < 0.26:
            return {**value, rng.choice(TEXTS): value[key]}
        return {**value, key: _edited(value[key], rng, others)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = rng.randrange(len(value))
        lot = rng.random()
        if lot < 0.1:
            return value[:place] + value[place + 1 :]
        if lot < 0.2:
            return value[:place] + [value[place]] * rng.choice((2, 3, 17, 65, 300)) + value[place:]
        return [*value[:place], _edited(value[place], rng, others), *value[place + 1 :]]
    return _changed(value, rng, others)


def _changed(value: Value, rng: random.Random, others: Sequence[Value]) -> Value:
    """Another value in place of this one: near it, of its type, or of any."""
    lot = rng.random()
    if lot < 0.45:
        return _near(value, rng)
    if lot < 0.55:
        return _node(rng.choice(others), rng)
    if lot < 0.63:
        for _ in range(rng.choice((1, 2, 3, 4, DEEPEST))):
            value = [value] if rng.random() < 0.5 else {"a": value}
        return value
    return rng.choice(
        (
            None,
            True,
            False,
            [],
            {},
            rng.choice(INTEGERS),
            rng.choice(FLOATS),
            rng.choice(TEXTS),
            "" if rng.random() < 0.5 else [value],
        )
    )


def _near(value: Value, rng: random.Random) -> Value:
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        near = rng.choice((value + 1, value - 1, -value, value * 2, rng.choice(INTEGERS)))
        return max(-(2**63), min(near, 2**64 - 1))
    if isinstance(value, float):
        return rng.choice((-value, value * 2, value + 1, rng.choice(FLOATS), int(abs(value) < 2)))
    if isinstance(value, bytes):
        return _near_bytes(value, rng)
    if isinstance(value, str):
        lot = rng.random()
        if lot < 0.3:
            return rng.choice(TEXTS)
        if lot < 0.6:
            return value + rng.choice(TEXTS)
        return value[: rng.randrange(len(value) + 1)] * rng.choice((1, 1, 2, 70))
    return rng.choice(([], {}, 0, ""))


def _near_bytes(value: bytes, rng: random.Random) -> Value:
    lot = rng.random()
    if lot < 0.5:
        return rng.choice(_BLIND)(value, rng)
    if lot < 0.8:
        return bytes(rng.choice((0, 1, 15, 17, 31, 33, 63, 65, 512, 513, 1025, 32769)))
    return value.decode("latin-1")


def _node(value: Value, rng: random.Random) -> Value:
    """Some node of a value."""
    while isinstance(value, dict | list) and value and rng.random() < 0.8:
        value = rng.choice(list(value.values()) if isinstance(value, dict) else value)
    return value
