"""Vectors of a chosen embedder (a model file, a service) beside the built-in ones.

They are dear to make, so each is made once and sealed: a record holds the vectors of up to 64
turns with the embedder's name, and vectors of another name are shredded, never mixed. Making them
is work for an idle phone. A query waits for its own vector a little while at most and then does
without: words always answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass

import msgpack
import numpy as np
from numpy.typing import NDArray

from device.actors import ActorRef, DomainError, checkpoint
from device.memory import TurnsAfter
from device.memory.records import Turn
from device.recall.columns import Column
from device.recall.embedders import Embedder
from device.recall.index import Similar
from device.recall.vectors import VectorIndex
from device.vault import SealedLog

__all__ = ["DenseIndex"]

BATCH = 64
PEAK = 127.0
SYSTEM_KIND = "system"
GONE = -1
Floats = NDArray[np.float32]


@dataclass(slots=True)
class _Record:
    sequence: int
    numbers: NDArray[np.int32]
    through: int


class DenseIndex:
    """Owner of one sealed log of vectors and the index over them."""

    def __init__(
        self,
        log: SealedLog,
        embedder: Embedder,
        *,
        patience: float,
        rng: np.random.Generator,
    ) -> None:
        """`patience` in seconds: how long a query waits for its vector; `rng` picks the sample
        that codes are trained on."""
        self._log = log
        self._embedder = embedder
        self._patience = patience
        self._rng = rng
        self._index: VectorIndex | None = None
        self._numbers = Column(np.int32)
        self._records: list[_Record] = []
        self._opened = False
        self._held_dimension = 0
        self.trouble = ""
        """Why vectors were missing the last time they were asked for; empty: they were not."""

    def __len__(self) -> int:
        return int(np.count_nonzero(self._numbers.view != GONE))

    @property
    def leaves_phone(self) -> str:
        """The host that texts are sent to; empty when they stay on the phone."""
        return self._embedder.leaves_phone

    @property
    def through(self) -> int:
        """Sequence of the last turn that has its vector; −1 without any."""
        self._open()
        return self._records[-1].through if self._records else -1

    async def near(self, query: str, k: int) -> Similar:
        """The `k` turns nearest to the query; none when the embedder fails or takes too long."""
        self._open()
        if self._index is None:
            return ()
        try:
            async with asyncio.timeout(self._patience):
                vector = (await self._embedder.embed_many([query]))[0]
        except TimeoutError:
            self.trouble = f"no vector within {self._patience:g} s"
            return ()
        except DomainError as error:
            self.trouble = str(error)
            return ()
        self.trouble = ""
        if len(vector) != self._dimension:
            self.trouble = "the embedder's vectors changed their length"
            return ()
        slots, cosines = self._index.nearest(vector, k)
        numbers = self._numbers.view[slots].tolist()
        return list(zip(numbers, cosines.tolist(), strict=True))

    async def fill(self, raw: ActorRef) -> int:
        """Make the vectors still missing, then train codes if it is time; how many were made.

        Stops at the embedder's first failure; the next idle hour goes on from there. Cancelling it
        loses at most one batch.
        """
        made = 0
        while turns := await raw.ask(TurnsAfter(self.through, BATCH)):
            said = [turn for turn in turns if turn.kind != SYSTEM_KIND]
            try:
                vectors = (
                    await self._embedder.embed_many([_text(turn) for turn in said])
                    if said
                    else np.empty((0, self._dimension), np.float32)
                )
            except DomainError as error:
                self.trouble = str(error)
                return made
            self._keep([turn.sequence for turn in said], turns[-1].sequence, vectors)
            made += len(said)
            await checkpoint()
        if self._index is not None:
            for _ in self._index.training(self._rng):
                await checkpoint()
        return made

    def forget(self, numbers: Collection[int]) -> int:
        """Shred the vectors of these turns; how many there were."""
        self._open()
        doomed = np.fromiter(numbers, np.int64, len(numbers))
        slots = np.flatnonzero(np.isin(self._numbers.view, doomed))
        if not len(slots):
            return 0
        for place, record in enumerate(self._records):
            if np.isin(record.numbers, doomed).any():
                self._records[place] = self._without(record, doomed)
        kept = {record.sequence for record in self._records}
        self._log.erase([n for n in range(self._log.next_sequence) if n not in kept])
        self._numbers.view[slots] = GONE
        if self._index is not None:
            self._index.remove(slots)
        return len(slots)

    async def close(self) -> None:
        """Let go of the embedder."""
        await self._embedder.close()

    @property
    def _dimension(self) -> int:
        return self._embedder.dimension or self._held_dimension

    def _open(self) -> None:
        """Read the sealed vectors back, once; shred those of another embedder."""
        if self._opened:
            return
        self._opened = True
        foreign: list[int] = []
        for sequence, payload in self._log.read():
            name, numbers, through, dimension, rows = msgpack.unpackb(payload)
            other = bool(numbers) and self._embedder.dimension not in (0, dimension)
            if name != self._embedder.name or other:
                foreign.append(sequence)
                continue
            held = np.array(numbers, np.int32)
            self._records.append(_Record(sequence, held, through))
            self._add(held, np.frombuffer(rows, np.int8).reshape(len(held), dimension))
        self._records.sort(key=lambda record: record.through)
        if foreign:
            self._log.erase(foreign)

    def _keep(self, numbers: list[int], through: int, vectors: Floats) -> None:
        """Seal a batch, then index it."""
        peaks = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
        rows = np.rint(vectors * (PEAK / np.maximum(peaks, 1e-12))).astype(np.int8)
        held = np.array(numbers, np.int32)
        sequence = self._log.append(self._record(held, through, rows))
        self._records.append(_Record(sequence, held, through))
        self._add(held, rows)

    def _record(self, numbers: NDArray[np.int32], through: int, rows: NDArray[np.int8]) -> bytes:
        fields = [self._embedder.name, numbers.tolist(), through, rows.shape[1], rows.tobytes()]
        return bytes(msgpack.packb(fields))

    def _add(self, numbers: NDArray[np.int32], rows: NDArray[np.int8]) -> None:
        if not len(numbers):
            return
        if self._index is None:
            self._held_dimension = rows.shape[1]
            self._index = VectorIndex(rows.shape[1])
        self._index.add(rows.astype(np.float32))
        self._numbers.extend(numbers)

    def _without(self, record: _Record, doomed: NDArray[np.int64]) -> _Record:
        _, payload = next(self._log.read(record.sequence - 1))
        *_, dimension, rows = msgpack.unpackb(payload)
        mask = ~np.isin(record.numbers, doomed)
        kept = np.frombuffer(rows, np.int8).reshape(len(mask), dimension)[mask]
        numbers = record.numbers[mask]
        sequence = self._log.append(self._record(numbers, record.through, kept))
        return _Record(sequence, numbers, record.through)


def _text(turn: Turn) -> str:
    return f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text
