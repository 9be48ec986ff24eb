"""Turns held compactly in RAM: deflated blocks, the newest ones open, a few decoded ones cached.

A hundred thousand turns as Python objects cost over 60 MB; deflated in blocks they cost a tenth of
it, and reading one back decodes a single block.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import msgpack

from device.memory.coding import turn_from_payload
from device.memory.records import Turn

__all__ = ["TurnStore"]

BLOCK_TURNS = 128
CACHED_BLOCKS = 8
BLOCK_OVERHEAD_BYTES = 200
"""Python objects around one block, measured with sys.getsizeof."""
OPEN_TURN_OVERHEAD_BYTES = 100


@dataclass(frozen=True, slots=True)
class _Block:
    first: int
    last: int
    earliest: float
    latest: float
    count: int
    deflated: bytes


class TurnStore:
    """Turns by sequence number (strictly increasing) and by time.

    Reading order is always by sequence. Nothing here is durable: the sealed log is.
    """

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        self._open: list[tuple[int, bytes]] = []
        self._cache: OrderedDict[int, tuple[Turn, ...]] = OrderedDict()

    def __len__(self) -> int:
        return sum(block.count for block in self._blocks) + len(self._open)

    @property
    def resident_bytes(self) -> int:
        """Bytes the turns take in RAM, decoded cache not counted."""
        closed = sum(len(block.deflated) + BLOCK_OVERHEAD_BYTES for block in self._blocks)
        waiting = sum(len(payload) + OPEN_TURN_OVERHEAD_BYTES for _, payload in self._open)
        return closed + waiting

    def append(self, sequence: int, payload: bytes) -> None:
        """Add one turn; `sequence` is above every one held."""
        self._open.append((sequence, payload))
        if len(self._open) >= BLOCK_TURNS:
            self._blocks.append(_close(self._open))
            self._open = []

    def after(self, sequence: int, limit: int) -> list[Turn]:
        """Up to `limit` turns whose sequence is above `sequence`, in order."""
        found: list[Turn] = []
        start = bisect_left(self._blocks, sequence + 1, key=lambda block: block.last)
        for turns in self._runs(start):
            found.extend(turn for turn in turns if turn.sequence > sequence)
            if len(found) >= limit:
                break
        return found[:limit]

    def get(self, sequence: int) -> Turn | None:
        """The turn with this sequence, or None."""
        index = bisect_left(self._blocks, sequence, key=lambda block: block.last)
        cached = self._cache.get(index)
        if cached is not None:
            return next((turn for turn in cached if turn.sequence == sequence), None)
        # A recall asks for scattered turns: decoding their whole blocks would be most of its time.
        held = _open(self._blocks[index]) if index < len(self._blocks) else self._open
        payload = next((payload for n, payload in held if n == sequence), None)
        return None if payload is None else turn_from_payload(sequence, payload)

    def between(self, start: float, end: float, limit: int) -> list[Turn]:
        """Up to `limit` turns said in [start, end), in order of sequence."""
        found: list[Turn] = []
        for index, block in enumerate(self._blocks):
            if block.latest < start or block.earliest >= end:
                continue
            found.extend(turn for turn in self._decoded(index) if start <= turn.at < end)
            if len(found) >= limit:
                return found[:limit]
        found.extend(turn for turn in self._tail() if start <= turn.at < end)
        return found[:limit]

    def remove(self, sequences: Collection[int]) -> int:
        """Drop these turns; returns how many were held."""
        wanted = frozenset(sequences)
        before = len(self)
        self._open = [(n, payload) for n, payload in self._open if n not in wanted]
        self._blocks = list(self._without(wanted))
        self._cache.clear()
        return before - len(self)

    def _without(self, wanted: frozenset[int]) -> Iterator[_Block]:
        for block in self._blocks:
            if not any(block.first <= n <= block.last for n in wanted):
                yield block
                continue
            kept = [(n, payload) for n, payload in _open(block) if n not in wanted]
            if kept:
                yield _close(kept)

    def _runs(self, start: int) -> Iterator[tuple[Turn, ...]]:
        for index in range(start, len(self._blocks)):
            yield self._decoded(index)
        yield self._tail()

    def _tail(self) -> tuple[Turn, ...]:
        return tuple(turn_from_payload(n, payload) for n, payload in self._open)

    def _decoded(self, index: int) -> tuple[Turn, ...]:
        cached = self._cache.get(index)
        if cached is not None:
            self._cache.move_to_end(index)
            return cached
        turns = tuple(turn_from_payload(n, payload) for n, payload in _open(self._blocks[index]))
        self._cache[index] = turns
        if len(self._cache) > CACHED_BLOCKS:
            self._cache.popitem(last=False)
        return turns


def _close(turns: Sequence[tuple[int, bytes]]) -> _Block:
    times = [turn_from_payload(n, payload).at for n, payload in turns]
    packed = msgpack.packb([list(turn) for turn in turns])
    return _Block(
        first=turns[0][0],
        last=turns[-1][0],
        earliest=min(times),
        latest=max(times),
        count=len(turns),
        deflated=zlib.compress(packed),
    )


def _open(block: _Block) -> list[tuple[int, bytes]]:
    return [(n, payload) for n, payload in msgpack.unpackb(zlib.decompress(block.deflated))]
