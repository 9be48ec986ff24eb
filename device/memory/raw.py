"""The raw layer: every turn as it was said, append-only, sealed (002, section on the raw layer).

The actor is the only owner of its log. Ranking over turns belongs to the recall room, which feeds
its own index with `TurnsAfter`; this room only serves turns by sequence, id and time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from device.actors import PromptActor, Request
from device.memory.coding import turn_id, turn_of, turn_sequence, turn_to_payload
from device.memory.records import Turn, TurnDraft
from device.memory.turnstore import TurnStore
from device.vault import SealedLog

__all__ = [
    "Forget",
    "ForgetAll",
    "ForgottenTurns",
    "Newest",
    "RawMemory",
    "RawSize",
    "RawStats",
    "Record",
    "RecordMany",
    "TurnsAfter",
    "TurnsBetween",
    "TurnsByIds",
]

DEFAULT_LIMIT = 1000
"""Turns a reading request returns at most unless it says otherwise."""


@dataclass(frozen=True)
class Record(Request[Turn]):
    """Keep one turn; it is durable when the answer comes. `at` is unix seconds."""

    text: str
    speaker: str
    at: float
    session: str = ""
    source: str = ""
    kind: str = "dialogue"


@dataclass(frozen=True)
class RecordMany(Request[list[Turn]]):
    """Keep many turns with one sync; all are durable when the answer comes."""

    drafts: tuple[TurnDraft, ...] | list[TurnDraft]


@dataclass(frozen=True)
class TurnsAfter(Request[list[Turn]]):
    """Turns above a sequence number (−1 for all), oldest first: how an index catches up."""

    sequence: int = -1
    limit: int = DEFAULT_LIMIT


@dataclass(frozen=True)
class TurnsByIds(Request[list[Turn]]):
    """The turns with these ids, in the order asked; unknown or forgotten ids are left out."""

    ids: tuple[str, ...] | list[str]


@dataclass(frozen=True)
class TurnsBetween(Request[list[Turn]]):
    """Turns said in [start, end) unix seconds, oldest sequence first."""

    start: float
    end: float
    limit: int = DEFAULT_LIMIT


@dataclass(frozen=True)
class Forget(Request[int]):
    """Forget these turns for good; every memory actor understands it and answers how many entries
    went. Ask raw first and structured last: what raw knows to be forgotten and structured does not
    is a forgetting that a crash cut short."""

    ids: tuple[str, ...] | list[str]


@dataclass(frozen=True)
class ForgetAll(Request[int]):
    """Forget everything for good, as `Forget` does for some; `last` is the newest raw sequence."""

    last: int


@dataclass(frozen=True)
class ForgottenTurns(Request[tuple[str, ...]]):
    """Ids of the turns erased so far, oldest first, so that an index can drop them."""


@dataclass(frozen=True)
class Newest(Request[int]):
    """The newest sequence number given so far, −1 when none: what every dream asks."""


@dataclass(frozen=True)
class RawSize:
    """Sizes of the raw layer. ``revision`` grows with every turn kept and every one forgotten."""

    turns: int
    last_sequence: int
    revision: int
    forgotten: int
    resident_bytes: int

    @property
    def bytes_per_turn(self) -> float:
        """RAM one turn takes on average, in bytes."""
        return self.resident_bytes / self.turns if self.turns else 0.0


@dataclass(frozen=True)
class RawStats(Request[RawSize]):
    """How much the raw layer holds."""


class RawMemory(PromptActor):
    """Owner of the raw log. Answers the requests of this module."""

    def __init__(self, log: SealedLog, recorded: Callable[[], None] = lambda: None) -> None:
        """`recorded` is told that there is something new."""
        self._log, self._recorded = log, recorded
        self._turns = TurnStore()
        self._forgotten: list[int] = []
        self._last = -1

    async def started(self) -> None:
        """Read the log into RAM; a gap in its numbering is a turn that was forgotten."""
        for sequence, payload in self._log.read():
            self._forgotten.extend(range(self._last + 1, sequence))
            self._turns.append(sequence, payload)
            self._last = sequence
        self._forgotten.extend(range(self._last + 1, self._log.next_sequence))
        self._last = self._log.next_sequence - 1

    def answer(self, message: object) -> object:
        """Serve one request."""
        match message:
            case Record(text, speaker, at, session, source, kind):
                return self._record([TurnDraft(at, speaker, text, session, source, kind)])[0]
            case RecordMany(drafts):
                return self._record(list(drafts))
            case Newest():
                return self._last
            case TurnsAfter(sequence, limit):
                return self._turns.after(sequence, limit)
            case TurnsByIds(ids):
                return self._by_ids(ids)
            case TurnsBetween(start, end, limit):
                return self._turns.between(start, end, limit)
            case Forget(ids):
                return self._forget(ids)
            case ForgetAll(last):
                return self._forget([turn.id for turn in self._turns.after(-1, last + 1)])
            case ForgottenTurns():
                return tuple(turn_id(sequence) for sequence in sorted(self._forgotten))
            case RawStats():
                return self._size()
            case _:
                raise TypeError(f"raw memory cannot answer {type(message).__name__}")

    def _record(self, drafts: list[TurnDraft]) -> list[Turn]:
        payloads = [turn_to_payload(draft) for draft in drafts]
        sequences = self._log.append_many(payloads)
        for sequence, payload in zip(sequences, payloads, strict=True):
            self._turns.append(sequence, payload)
            self._last = sequence
        self._recorded()
        # The caller's own texts, not copies read back: many who are told the same may share one.
        return [turn_of(sequence, draft) for sequence, draft in zip(sequences, drafts, strict=True)]

    def _by_ids(self, ids: tuple[str, ...] | list[str]) -> list[Turn]:
        sequences = [turn_sequence(identifier) for identifier in ids]
        return self._turns.many([sequence for sequence in sequences if sequence is not None])

    def _forget(self, ids: tuple[str, ...] | list[str]) -> int:
        held = sorted({turn.sequence for turn in self._by_ids(ids)})
        if held:
            self._log.erase(held)
            self._turns.remove(held)
            self._forgotten.extend(held)
        return len(held)

    def _size(self) -> RawSize:
        return RawSize(
            turns=len(self._turns),
            last_sequence=self._last,
            revision=self._last + 1 + len(self._forgotten),
            forgotten=len(self._forgotten),
            resident_bytes=self._turns.resident_bytes,
        )
