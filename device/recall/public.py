"""The public layer: what published documents say, for questions the own memory does not settle.

It is read only. No query is routed to it and nothing is written to it, no count names it, and no
memory is ever drawn from it: what it finds says so in its hit (`Hit.public`).

Same analysis and same embedder as the other layers. The texts stay sealed, opened only for what is
shown. In RAM, from the first question on until the phone is short of memory, are the postings of
hashed words, about 100 bytes a record, and the vectors of small documents; those of large ones are
read from disk by the few questions that words do not answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from device.actors import checkpoint
from device.memory.records import PUBLIC, Hit, Published
from device.recall.analysis import terms
from device.recall.candidates import Candidate
from device.recall.embedders import BUILTIN
from device.recall.index import Entry, LayerIndex, Match, Ranking
from device.recall.layers import Seek
from device.recall.parts import Part
from device.recall.public_store import Held, PublicStore
from protocol.documents import Document
from protocol.facts import Fact, each_fact, fact_of
from protocol.models import EMBEDDING

__all__ = ["ANALYSIS", "PublicLayer", "public_id"]

PREFIX = "pub:"
ANALYSIS = f"{BUILTIN}/1"
"""Names the embedder and the analysis of the words; raised when either changes."""
PART = 4_096
"""Records of one part of the index."""
INDEXED_AT_ONCE = 32
"""Records indexed between two checkpoints: a hundredth of a second."""
RESIDENT = 8_192
"""Records of a document up to which its vectors stay in RAM: 0.8 MB."""
UNDATED = 0.0
"""Of a record without a time: no span that a query names is near it."""
RANKING = replace(Ranking(), neighbours=(), reply=0.0, episode=0.0, timely=0.0)
"""Records stand alone: what stands beside one says nothing of it, and a day alone asks for none."""


def public_id(document: str, record: str) -> str:
    """The id of a record as a hit."""
    return f"{PREFIX}{document}/{record}"


class PublicLayer:
    """Ranks the records of the documents at hand."""

    __slots__ = ("_indexes", "_store")

    def __init__(self, store: PublicStore) -> None:
        self._store = store
        self._indexes: dict[str, tuple[Held, LayerIndex]] = {}

    @property
    def empty(self) -> bool:
        """Whether there is nothing to look in."""
        return self._store.empty

    def search(self, seek: Seek, k: int, least: float = 0.0) -> list[Candidate]:
        """The best `k` records of all documents, best first.

        Synchronous: a document is never replaced between finding a record and reading it.

        Args:
            least: share of the question's information that a record carries at least; over 0,
                records that are only alike are not looked for.
        """
        found = [
            (match, held)
            for held, index in self._current()
            for match in index.search(seek.text, k, spans=seek.spans, likeness=least == 0)
            if match.coverage >= least
        ]
        best = sorted(found, key=lambda pair: (-pair[0].score, pair[1].name, pair[0].number))[:k]
        read = [
            candidate
            for held in self._store.held
            for candidate in self._read(held, [match for match, of in best if of is held])
        ]
        return sorted(read, key=lambda candidate: (-candidate.score, candidate.hit.id))

    async def take(self, document: Document, content: bytes, created: float, now: float) -> Held:
        """Keep a verified document and its index; durable on return.

        Raises:
            DocumentRefused: "records": it holds something else than facts. Nothing has changed.
        """
        parts, records = await _index_parts(each_fact(content))
        held = Held(
            name=document.name,
            version=document.version,
            sha256=document.sha256,
            size=document.size,
            records=records,
            created=created,
            taken=now,
            passages=(),
            analysis=ANALYSIS,
            parts=(),
        )
        return await self._store.keep(held, content, parts)

    async def catch_up(self) -> None:
        """Make the index again of documents whose index is of an earlier analysis."""
        for held in self._store.held:
            if held.analysis != ANALYSIS:
                parts, _ = await _index_parts(each_fact(self._store.content(held)))
                await self._store.keep_index(held, ANALYSIS, parts)

    def release(self) -> None:
        """Let go of what can be read again."""
        self._indexes.clear()

    def _current(self) -> Iterator[tuple[Held, LayerIndex]]:
        documents = self._store.held
        if len(self._indexes) > len(documents):
            names = {held.name for held in documents}
            self._indexes = {name: kept for name, kept in self._indexes.items() if name in names}
        for held in documents:
            known = self._indexes.get(held.name)
            if known is None or known[0] != held:
                self._indexes[held.name] = (held, self._restored(held))
            yield self._indexes[held.name]

    def _restored(self, held: Held) -> LayerIndex:
        """From its sealed parts; one of another analysis finds nothing until it is made again."""
        index = _empty_index()
        if held.analysis == ANALYSIS:
            for part in self._store.parts(held):
                index.restore(part)
                if held.records > RESIDENT:
                    index.lean_on(lambda: self._store.rows(held), len(index))
        return index

    def _read(self, held: Held, found: Sequence[Match]) -> Iterator[Candidate]:
        lines = self._store.lines(held, [match.number for match in found])
        for match in found:
            fact = fact_of(json.loads(lines[match.number]))
            yield Candidate(_hit(held, fact, match.score), match.coverage)


def _hit(held: Held, fact: Fact, score: float) -> Hit:
    at = held.created if fact.at is None else fact.at
    return Hit(
        id=public_id(held.name, fact.id),
        layer=PUBLIC,
        text=fact.text,
        at=at,
        score=score,
        source=fact.source or "",
        public=Published(held.name, held.version, fact.id),
    )


async def _index_parts(facts: Iterator[Fact]) -> tuple[list[Part], int]:
    """The index of these facts in parts, and how many they are."""
    parts: list[Part] = []
    index, waiting, number = _empty_index(), [], 0
    for number, fact in enumerate(facts, 1):
        waiting.append(_entry(number - 1, fact))
        if len(waiting) == INDEXED_AT_ONCE:
            index.add(waiting)
            waiting = []
            if len(index) >= PART:
                parts.append(index.extract(0, len(index)))
                index = _empty_index()
            await checkpoint()
    index.add(waiting)
    if len(index):
        parts.append(index.extract(0, len(index)))
    return parts, number


def _entry(place: int, fact: Fact) -> Entry:
    """Found by its tags as by its words; numbered by its place in the document."""
    text = " ".join([fact.text, *fact.tags])
    return Entry(place, text, UNDATED if fact.at is None else fact.at)


def _empty_index() -> LayerIndex:
    return LayerIndex(terms, dimension=EMBEDDING, ranking=RANKING)
