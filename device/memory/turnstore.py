"""Turns held compactly in RAM: deflated blocks, the newest ones open, a few decoded ones cached.

A hundred thousand turns as Python objects cost over 60 MB; deflated in blocks they cost a tenth of
it, and reading one back decodes a single block.
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import msgpack

from device.memory.coding import turn_from_payload
from device.memory.records import Turn

__all__ = ["TurnStore"]

BLOCK_TURNS = 128
CACHED_BLOCKS = 8
BLOCK_OVERHEAD_BYTES = 200
"""Python objects around one block, measured with sys.getsizeof."""
OPEN_TURN_OVERHEAD_BYTES = 50


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

    __slots__ = (
        "_blocks",
        "_cache",
        "_closed_bytes",
        "_closed_turns",
        "_numbers",
        "_open_bytes",
        "_payloads",
    )

    def __init__(self) -> None:
        self._blocks: list[_Block] = []
        # The open turns, in two columns: a pair for each would take as much as its payload.
        self._numbers = array("q")
        self._payloads: list[bytes] = []
        self._cache: OrderedDict[int, tuple[Turn, ...]] = OrderedDict()
        # Kept up to date: a dream asks for the sizes every few minutes, walking is not free.
        self._closed_turns = self._closed_bytes = self._open_bytes = 0

    def __len__(self) -> int:
        return self._closed_turns + len(self._payloads)

    @property
    def resident_bytes(self) -> int:
        """Bytes the turns take in RAM, decoded cache not counted."""
        return self._closed_bytes + self._open_bytes

    def append(self, sequence: int, payload: bytes) -> None:
        """Add one turn; `sequence` is above every one held."""
        self._numbers.append(sequence)
        self._payloads.append(payload)
        self._open_bytes += len(payload) + OPEN_TURN_OVERHEAD_BYTES
        if len(self._payloads) >= BLOCK_TURNS:
            self._blocks.append(_close(self._opened()))
            self._numbers, self._payloads = array("q"), []
            self._measure()

    def after(self, sequence: int, limit: int) -> list[Turn]:
        """Up to `limit` turns whose sequence is above `sequence`, in order."""
        found: list[Turn] = []
        start = bisect_left(self._blocks, sequence + 1, key=lambda block: block.last)
        for index in range(start, len(self._blocks)):
            found += [turn for turn in self._decoded(index) if turn.sequence > sequence]
            if len(found) >= limit:
                return found[:limit]
        return (found + self._tail(sequence))[:limit]

    def get(self, sequence: int) -> Turn | None:
        """The turn with this sequence, or None."""
        return self._find(sequence, {})

    def many(self, sequences: Iterable[int]) -> list[Turn]:
        """The turns with these sequences, in the order asked; unknown ones are left out."""
        opened: dict[int, dict[int, bytes]] = {}
        found = [self._find(sequence, opened) for sequence in sequences]
        return [turn for turn in found if turn is not None]

    def _find(self, sequence: int, opened: dict[int, dict[int, bytes]]) -> Turn | None:
        """A turn; `opened` holds the payloads of blocks opened for it or for one before."""
        if self._numbers and sequence >= self._numbers[0]:
            return self._find_open(sequence)
        index = bisect_left(self._blocks, sequence, key=lambda block: block.last)
        cached = self._cache.get(index)
        if cached is not None:
            return next((turn for turn in cached if turn.sequence == sequence), None)
        if index >= len(self._blocks):
            return None
        # A recall asks for scattered turns: decoding their whole blocks would be most of its time.
        if index not in opened:
            opened[index] = dict(_open(self._blocks[index]))
        payload = opened[index].get(sequence)
        return None if payload is None else turn_from_payload(sequence, payload)

    def _find_open(self, sequence: int) -> Turn | None:
        """A turn of the open ones. Where none was forgotten, its place is known."""
        held = self._numbers
        place = sequence - held[0]
        if place >= len(held) or held[place] != sequence:
            place = bisect_left(held, sequence)
            if place == len(held) or held[place] != sequence:
                return None
        return turn_from_payload(sequence, self._payloads[place])

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
        left = [(n, payload) for n, payload in self._opened() if n not in wanted]
        self._numbers = array("q", [n for n, _ in left])
        self._payloads = [payload for _, payload in left]
        self._blocks = list(self._without(wanted))
        self._cache.clear()
        self._measure()
        return before - len(self)

    def _measure(self) -> None:
        """Count anew what blocks and open turns hold."""
        self._closed_turns = sum(block.count for block in self._blocks)
        self._closed_bytes = sum(len(b.deflated) + BLOCK_OVERHEAD_BYTES for b in self._blocks)
        self._open_bytes = sum(len(p) + OPEN_TURN_OVERHEAD_BYTES for p in self._payloads)

    def _without(self, wanted: frozenset[int]) -> Iterator[_Block]:
        for block in self._blocks:
            if not any(block.first <= n <= block.last for n in wanted):
                yield block
                continue
            kept = [(n, payload) for n, payload in _open(block) if n not in wanted]
            if kept:
                yield _close(kept)

    def _tail(self, above: int = -1) -> list[Turn]:
        """The open turns above this sequence number."""
        numbers = self._numbers
        if not numbers or numbers[-1] <= above:
            return []
        first = bisect_left(numbers, above + 1)
        return [
            turn_from_payload(numbers[place], self._payloads[place])
            for place in range(first, len(numbers))
        ]

    def _opened(self) -> list[tuple[int, bytes]]:
        return list(zip(self._numbers, self._payloads, strict=True))

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
