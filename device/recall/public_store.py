"""Public documents on the phone: sealed, with the index made of them, and read a passage at a time.

Nothing of a person's is in here and nothing of a person's is written here. Two sealed logs:

catalogue  one record: which documents are held, where their pieces are, the highest version seen
           of each, and the names the owner does not want
pieces     passages (whole lines, 16 KiB), and parts of the index: columns, and vectors. One record
           a segment, so that a query reads the passage it needs and nothing else

The catalogue is replaced as a whole, after the pieces it names are durable: a document is there
entirely or not at all. Pieces it does not name are shredded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from operator import itemgetter
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from device.actors import checkpoint
from device.recall.parts import Part
from device.vault import SealedLog, Tampered

__all__ = ["Held", "PublicStore"]

PASSAGE = 16 << 10
"""Bytes from which a passage is closed: a query opens about one for every record it shows."""
AT_ONCE = 16
"""Pieces written between two checkpoints."""
FORMAT = 1
"""Raised when the catalogue changes."""


@dataclass(frozen=True, slots=True)
class Held:
    """One document at hand."""

    name: str
    version: int
    sha256: bytes
    size: int
    """Bytes of its content."""
    records: int
    created: float
    taken: float
    """When this phone took it, unix seconds."""
    passages: tuple[tuple[int, int], ...]
    """Of each passage: its piece and the place of its first record in the document."""
    analysis: str
    """What made the index: the index of another analysis is made again."""
    parts: tuple[tuple[int, int, int], ...]
    """Of each part of the index: the pieces of its columns and of its vectors, and its records."""

    @property
    def pieces(self) -> Iterator[int]:
        """Every piece that belongs to it."""
        yield from (piece for piece, _ in self.passages)
        for columns, rows, _ in self.parts:
            yield from (columns, rows)


class PublicStore:
    """Owner of the two logs. Nothing is read before something is asked."""

    __slots__ = (
        "_catalogue",
        "_draft",
        "_held",
        "_opened",
        "_pieces",
        "_refused",
        "_seen",
        "_unwanted",
    )

    def __init__(self, catalogue: SealedLog, pieces: SealedLog) -> None:
        self._catalogue = catalogue
        self._pieces = pieces
        self._opened = False
        self._held: dict[str, Held] = {}
        self._seen: dict[str, int] = {}
        self._refused: dict[str, int] = {}
        self._unwanted: set[str] = set()
        self._draft: set[int] = set()
        """Pieces on their way into the catalogue."""

    @property
    def held(self) -> tuple[Held, ...]:
        """The documents at hand, by name."""
        self._open()
        return tuple(self._held[name] for name in sorted(self._held))

    @property
    def empty(self) -> bool:
        """Whether there is none."""
        self._open()
        return not self._held

    @property
    def unwanted(self) -> tuple[str, ...]:
        """Names the owner dropped, sorted."""
        self._open()
        return tuple(sorted(self._unwanted))

    def get(self, name: str) -> Held | None:
        """The document of that name."""
        self._open()
        return self._held.get(name)

    def floor(self, name: str) -> int:
        """The version of it above which one may be taken; 0 before the first.

        The highest ever seen, or the one below where that was dropped: it may come back.
        """
        self._open()
        seen, held = self._seen.get(name, 0), self._held.get(name)
        at_hand = held is not None and held.version == seen
        return seen if at_hand or self._refused.get(name) == seen else max(seen - 1, 0)

    def settled(self, name: str, version: int) -> bool:
        """Whether this version is here or was found to be of no use."""
        held = self.get(name)
        here = held is not None and held.version == version
        return here or self._refused.get(name) == version

    def content(self, held: Held) -> bytes:
        """The whole document."""
        return b"".join(self._piece(piece) for piece, _ in held.passages)

    def lines(self, held: Held, places: Collection[int]) -> dict[int, bytes]:
        """The records at these places, each as its line; only their passages are opened."""
        found: dict[int, bytes] = {}
        first = 0
        lines: list[bytes] = []
        for place in sorted(places):
            if not first <= place < first + len(lines):
                owner = bisect_right(held.passages, place, key=itemgetter(1)) - 1
                piece, first = held.passages[owner]
                lines = self._piece(piece).splitlines()
            found[place] = lines[place - first]
        return found

    def parts(self, held: Held) -> Iterator[Part]:
        """Its index, part by part."""
        for columns, rows, _ in held.parts:
            yield Part.unpack(self._piece(columns), self._piece(rows))

    def rows(self, held: Held) -> Iterator[tuple[int, NDArray[np.int8]]]:
        """The vectors of its index, each stretch with its first slot."""
        place = 0
        for _, rows, size in held.parts:
            yield place, np.frombuffer(self._piece(rows), np.int8).reshape(size, -1)
            place += size

    async def keep(self, held: Held, content: bytes, parts: Iterable[Part]) -> Held:
        """Put a document in place of its earlier version; durable on return.

        Cancelled before, nothing has changed. `held`: without passages and parts.
        """
        self._open()
        starts, texts = _passages(content)
        with self._drafting():
            written = await self._write(texts)
            held = replace(held, passages=tuple(zip(written, starts, strict=True)))
            held = await self._with_parts(held, parts)
            self._see(held.name, held.version)
            self._put(held)
        return held

    async def keep_index(self, held: Held, analysis: str, parts: Iterable[Part]) -> Held:
        """Give a document another index."""
        self._open()
        with self._drafting():
            held = await self._with_parts(replace(held, analysis=analysis, parts=()), parts)
            self._put(held)
        return held

    def refuse(self, name: str, version: int) -> None:
        """Remember that this version is of no use, so that it is not fetched again."""
        self._open()
        self._see(name, version)
        self._refused[name] = version
        self._commit()

    def drop(self, name: str) -> bool:
        """Shred a document and take no other version of it until `want`; whether it was here."""
        self._open()
        gone = self._held.pop(name, None)
        self._unwanted.add(name)
        self._commit()
        return gone is not None

    def want(self, name: str) -> bool:
        """Take a dropped document again, from the next sync on; whether it had been dropped."""
        self._open()
        if name not in self._unwanted:
            return False
        self._unwanted.discard(name)
        self._commit()
        return True

    def _see(self, name: str, version: int) -> None:
        self._seen[name] = max(version, self._seen.get(name, 0))

    def _put(self, held: Held) -> None:
        """Unless its owner dropped it meanwhile; then its pieces go as well."""
        self._draft.clear()
        if held.name not in self._unwanted:
            self._held[held.name] = held
        self._commit()

    @contextmanager
    def _drafting(self) -> Iterator[None]:
        """Pieces written inside are kept from shredding until the catalogue names them. One at a
        time: whoever takes documents is busy with nothing else."""
        try:
            yield
        finally:
            self._draft.clear()

    async def _with_parts(self, held: Held, parts: Iterable[Part]) -> Held:
        made: list[tuple[int, int, int]] = []
        for part in parts:
            columns, rows = await self._write(part.pack())
            made.append((columns, rows, len(part)))
        return replace(held, parts=tuple(made))

    async def _write(self, pieces: Sequence[bytes]) -> list[int]:
        written: list[int] = []
        for start in range(0, len(pieces), AT_ONCE):
            written += self._pieces.append_many(pieces[start : start + AT_ONCE])
            self._draft.update(written)
            await checkpoint()
        return written

    def _piece(self, sequence: int) -> bytes:
        for found, payload in self._pieces.read(sequence - 1):
            if found == sequence:
                return payload
            break
        raise Tampered("a piece of a public document is missing: drop it and take it again")

    def _open(self) -> None:
        if self._opened:
            return
        self._opened = True
        for _, payload in self._catalogue.read():
            state: Any = msgpack.unpackb(payload, use_list=False)
            if state[0] == FORMAT:
                _, seen, refused, unwanted, held = state
                self._seen, self._refused = dict(seen), dict(refused)
                self._unwanted = set(unwanted)
                self._held = {fields[0]: Held(*fields) for fields in held}
        self._sweep()

    def _commit(self) -> None:
        held = [astuple(each) for each in self.held]
        state = [FORMAT, self._seen, self._refused, sorted(self._unwanted), held]
        self._catalogue.snapshot([msgpack.packb(state)])
        self._sweep()

    def _sweep(self) -> None:
        wanted = {piece for held in self._held.values() for piece in held.pieces} | self._draft
        if len(self._pieces) > len(wanted):
            every = range(self._pieces.next_sequence)
            self._pieces.erase([piece for piece in every if piece not in wanted])


def _passages(content: bytes) -> tuple[list[int], list[bytes]]:
    """The content in stretches of whole lines, each with the place of its first line."""
    starts, texts, lines, size, place = [], [], [], 0, 0
    for number, line in enumerate(content.splitlines(keepends=True), 1):
        lines.append(line)
        size += len(line)
        if size >= PASSAGE:
            starts.append(place)
            texts.append(b"".join(lines))
            lines, size, place = [], 0, number
    if lines:
        starts.append(place)
        texts.append(b"".join(lines))
    return starts, texts
