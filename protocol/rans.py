"""A range coder for small symbols that plain Python reads fast: static rANS over groups of symbols.

rANS (Duda 2013, "Asymmetric numeral systems") keeps the message in one integer. Interpreted code
pays per step, not per bit, so a step decodes a group of 1 to ``MAX_GROUP`` symbols at once: a
group's frequency is the product of its symbols' frequencies, cut down to 16 bits. Every operation
here is on integers, so all machines read the same values; a table lookup, a product and a shift
make a step.

A symbol stream is one or more segments, each with a frequency table of its own; one state runs
through all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from protocol.errors import DifferenceInvalid

__all__ = ["MAX_PRECISION", "MAX_SYMBOLS", "MIN_PRECISION", "Table", "decode", "encode", "settled"]

Symbols = NDArray[np.uint8]

MAX_SYMBOLS: Final = 256
"""Symbols of an alphabet, and groups of a segment: a slot's group fits a byte."""
MAX_GROUP: Final = 6
"""Symbols a step decodes at most."""
MIN_PRECISION, MAX_PRECISION = 4, 12
"""A table's frequencies sum to 2**precision; these bound the precision."""
_SLOT_BITS: Final = 16
"""A group's frequency is out of 2**16."""
_PRODUCT_BITS: Final = 62
"""A product of frequencies stays inside int64."""
_LOW: Final = 1 << 24
"""The state is in [2**24, 2**40) between steps, 256 times the slots: rounding costs nothing."""
_STATE_BYTES: Final = 5
_WORD_BITS: Final = 16
_WORD: Final = "<u2"


@dataclass(frozen=True)
class Table:
    """How often each symbol of a segment comes: ``frequencies`` are positive and sum to
    2**``precision``. Symbols are 0 … len(frequencies) − 1.
    """

    precision: int
    frequencies: tuple[int, ...]

    def __post_init__(self) -> None:
        if not MIN_PRECISION <= self.precision <= MAX_PRECISION:
            raise DifferenceInvalid("a frequency table has another precision than the format's")
        if not 0 < len(self.frequencies) <= MAX_SYMBOLS or min(self.frequencies) < 1:
            raise DifferenceInvalid("a frequency table has a symbol that never comes")
        if sum(self.frequencies) != 1 << self.precision:
            raise DifferenceInvalid("a frequency table does not add up")

    @cached_property
    def group(self) -> int:
        """Symbols a step: as many as keep the groups within a byte."""
        size = 1
        while (
            size < MAX_GROUP
            and len(self.frequencies) ** (size + 1) <= MAX_SYMBOLS
            and self.precision * (size + 1) <= _PRODUCT_BITS
        ):
            size += 1
        return size

    @cached_property
    def group_frequencies(self) -> NDArray[np.int64]:
        """int64[symbols ** group], positive, sums to 2**16; the first symbol weighs most."""
        single = np.array(self.frequencies, dtype=np.int64)
        product = single
        for _ in range(self.group - 1):
            product = np.multiply.outer(product, single).ravel()
        shift = self.precision * self.group - _SLOT_BITS
        return settled(product >> shift if shift >= 0 else product << -shift, _SLOT_BITS)

    @cached_property
    def group_symbols(self) -> Symbols:
        """uint8[symbols ** group, group]: the symbols of each group."""
        count = len(self.frequencies)
        groups = np.arange(count**self.group)[:, None]
        powers = count ** np.arange(self.group - 1, -1, -1)
        return (groups // powers % count).astype(np.uint8)


def settled(parts: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """``parts`` int64[n], nearly summing to 2**bits, made positive and to sum to it exactly.

    n is at most 2**bits. The largest give or take, ties to the first: all machines find the same.
    """
    parts = np.maximum(parts, 1)
    excess = int(parts.sum()) - (1 << bits)
    for index in np.argsort(-parts, kind="stable"):
        given = min(excess, int(parts[index]) - 1)
        parts[index] -= given
        excess -= given
        if excess == 0:
            break
    return parts


def encode(segments: Sequence[tuple[Table, Symbols]]) -> bytes:
    """The segments' symbols as state | words; empty ones and one-symbol alphabets cost nothing."""
    state = _LOW
    words: list[int] = []
    mask = (1 << _WORD_BITS) - 1
    for table, symbols in reversed(segments):
        frequencies = table.group_frequencies
        starts: list[int] = (np.cumsum(frequencies) - frequencies).tolist()
        widths: list[int] = frequencies.tolist()
        for group in reversed(_groups(table, symbols)):
            width = widths[group]
            if state >= width << (40 - _SLOT_BITS):
                words.append(state & mask)
                state >>= _WORD_BITS
            state = (state // width << _SLOT_BITS) + state % width + starts[group]
    return state.to_bytes(_STATE_BYTES, "little") + np.array(words[::-1], dtype=_WORD).tobytes()


def decode(data: bytes, segments: Sequence[tuple[Table, int]]) -> list[Symbols]:
    """The uint8[count] of each (table, count); DifferenceInvalid unless ``data`` is exactly them.

    Work and memory follow the counts, never ``data``.
    """
    state = int.from_bytes(data[:_STATE_BYTES], "little")
    if len(data) < _STATE_BYTES or len(data) % 2 != _STATE_BYTES % 2 or state < _LOW:
        raise DifferenceInvalid("a symbol stream is cut short")
    words = iter(np.frombuffer(data, dtype=_WORD, offset=_STATE_BYTES).tolist())
    decoded: list[Symbols] = []
    try:
        for table, count in segments:
            groups, state = _decode_groups(table, -(-count // table.group), state, words)
            symbols = table.group_symbols[groups].reshape(-1)
            if symbols[count:].any():
                raise DifferenceInvalid("padding is not zero")
            decoded.append(symbols[:count])
    except StopIteration:
        raise DifferenceInvalid("a symbol stream is cut short") from None
    if state != _LOW or next(words, None) is not None:
        raise DifferenceInvalid("a symbol stream does not end where its symbols do")
    return decoded


def _decode_groups(
    table: Table, steps: int, state: int, words: Iterator[int]
) -> tuple[NDArray[np.intp], int]:
    """``steps`` group numbers and the state after them."""
    if len(table.frequencies) == 1:
        return np.zeros(steps, dtype=np.intp), state
    frequencies = table.group_frequencies
    widths: list[int] = frequencies.tolist()
    starts: list[int] = (np.cumsum(frequencies) - frequencies).tolist()
    of_slot = np.repeat(np.arange(frequencies.size, dtype=np.uint8), frequencies).tobytes()
    groups = bytearray(steps)
    mask, low = (1 << _SLOT_BITS) - 1, _LOW
    for step in range(steps):
        slot = state & mask
        groups[step] = group = of_slot[slot]
        state = widths[group] * (state >> _SLOT_BITS) + slot - starts[group]
        if state < low:
            state = state << _WORD_BITS | next(words)
    return np.frombuffer(groups, dtype=np.uint8).astype(np.intp), state


def _groups(table: Table, symbols: Symbols) -> list[int]:
    """Group numbers of ``symbols``, the last group filled up with zeros."""
    if len(table.frequencies) == 1:
        return []
    count = len(table.frequencies)
    padded = np.zeros(-(-symbols.size // table.group) * table.group, dtype=np.int64)
    padded[: symbols.size] = symbols
    powers = count ** np.arange(table.group - 1, -1, -1)
    groups: list[int] = (padded.reshape(-1, table.group) * powers).sum(axis=1).tolist()
    return groups
