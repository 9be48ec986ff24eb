"""The working layer: the last turns and a few values answered at once (002, working layer).

Values (name, address, city …) live in the sealed log; the ring of recent turns lives in RAM only
and is refilled from the raw layer at start. Eviction is mixed: values asked for often stay, task
state fades a while after its last update, dialogue leaves by age.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

import msgpack

from device.actors import Actor, Request
from device.language import attribute_asked, attribute_label, content_tokens, find_attributes
from device.memory.raw import Forget
from device.memory.records import Hit, Layer, Turn
from device.vault import SealedLog

__all__ = [
    "ForgetValue",
    "Lookup",
    "Note",
    "Remember",
    "Value",
    "Values",
    "WorkingMemory",
    "WorkingSize",
    "WorkingStats",
]

DEFAULT_CAPACITY = 64
"""Turns in the ring."""
VALUES_LIMIT = 512
"""Key-value entries held at most."""
TASK_PREFIX = "task:"
TASK_DECAY_SECONDS = 3600.0
"""How long a task's state stays after its last update."""
RECENT_HITS = 5
"""Turns of the ring one lookup returns at most."""
MIN_OVERLAP = 0.34
"""Share of the query's content tokens a recent turn must carry to be a hit."""
STALE_RECORDS = 256
"""Superseded log records that trigger a compaction."""
SYSTEM_KIND = "system"


@dataclass(frozen=True, slots=True)
class Value:
    """One remembered value; `source` is the id of the turn it came from."""

    key: str
    value: str
    source: str
    at: float
    uses: int = 0


@dataclass(frozen=True)
class Remember(Request[None]):
    """Keep a value under a key (`name`, `address`, `task:<id>` …); the newest `at` wins."""

    key: str
    value: str
    source: str = ""
    at: float = 0.0


@dataclass(frozen=True)
class Lookup(Request[list[Hit]]):
    """Answer from the values and the recent turns; best first, empty when neither fits."""

    query: str


@dataclass(frozen=True)
class Note(Request[None]):
    """A turn was just kept: put it in the ring and remember the values the user stated in it."""

    turn: Turn


@dataclass(frozen=True)
class ForgetValue(Request[bool]):
    """Forget one value for good."""

    key: str


@dataclass(frozen=True)
class Values(Request[list[Value]]):
    """Every value held, by key: what a user lists."""


@dataclass(frozen=True)
class WorkingSize:
    """Sizes of the working layer."""

    turns: int
    values: int
    capacity: int


@dataclass(frozen=True)
class WorkingStats(Request[WorkingSize]):
    """How much the working layer holds."""


class WorkingMemory(Actor):
    """Owner of the values' log. Answers the requests of this module and `raw.Forget`."""

    def __init__(self, log: SealedLog, capacity: int = DEFAULT_CAPACITY) -> None:
        self._log = log
        self._capacity = capacity
        self._ring: deque[tuple[Turn, frozenset[str]]] = deque()
        self._values: dict[str, Value] = {}
        self._sequences: dict[str, int] = {}

    async def started(self) -> None:
        """Read the values back."""
        for sequence, payload in self._log.read():
            value = Value(*msgpack.unpackb(payload))
            self._values[value.key] = value
            self._sequences[value.key] = sequence

    async def receive(self, message: object) -> object:
        """Serve one request."""
        match message:
            case Remember(key, value, source, at):
                self._remember(Value(key, value, source, at))
            case Lookup(query):
                return self._lookup(query)
            case Note(turn):
                self._note(turn)
            case Forget(ids):
                return self._forget_turns(frozenset(ids))
            case ForgetValue(key):
                return self._drop([key]) > 0
            case Values():
                return [self._values[key] for key in sorted(self._values)]
            case WorkingStats():
                return WorkingSize(len(self._ring), len(self._values), self._capacity)
            case _:
                raise TypeError(f"working memory cannot answer {type(message).__name__}")
        return None

    def _remember(self, value: Value) -> None:
        held = self._values.get(value.key)
        if held is not None and (held.value == value.value or held.at > value.at):
            return
        record = msgpack.packb([value.key, value.value, value.source, value.at])
        self._sequences[value.key] = self._log.append(record)
        uses = held.uses if held is not None else 0
        self._values[value.key] = replace(value, uses=uses)
        self._fade(value.at)
        self._compact()

    def _note(self, turn: Turn) -> None:
        if turn.kind == SYSTEM_KIND:
            return
        self._ring.append((turn, frozenset(content_tokens(turn.text))))
        while len(self._ring) > self._capacity:
            self._ring.popleft()
        for attribute in find_attributes(turn.text, turn.speaker):
            self._remember(Value(attribute.key, attribute.value, turn.id, turn.at))

    def _lookup(self, query: str) -> list[Hit]:
        hits = []
        key = attribute_asked(query)
        value = self._values.get(key) if key else None
        if value is not None:
            self._values[value.key] = replace(value, uses=value.uses + 1)
            hits.append(_value_hit(value, query))
        return hits + self._recent(frozenset(content_tokens(query)))

    def _recent(self, wanted: frozenset[str]) -> list[Hit]:
        if not wanted:
            return []
        scored = [
            (len(wanted & tokens) / len(wanted), position, turn)
            for position, (turn, tokens) in enumerate(self._ring)
        ]
        best = sorted((s for s in scored if s[0] >= MIN_OVERLAP), key=lambda s: (-s[0], -s[1]))
        return [
            Hit(turn.id, Layer.WORKING, turn.text, turn.at, score, (turn.id,), turn.source)
            for score, _, turn in best[:RECENT_HITS]
        ]

    def _fade(self, now: float) -> None:
        """Mixed eviction: faded task state first, then the least used, then the oldest."""
        faded = [v.key for v in self._values.values() if _faded(v, now)]
        surplus = len(self._values) - len(faded) - VALUES_LIMIT
        if surplus > 0:
            rest = [v for v in self._values.values() if v.key not in set(faded)]
            rest.sort(key=lambda v: (v.uses, v.at, v.key))
            faded += [v.key for v in rest[:surplus]]
        self._drop(faded)

    def _forget_turns(self, ids: frozenset[str]) -> int:
        before = len(self._ring)
        self._ring = deque((turn, tokens) for turn, tokens in self._ring if turn.id not in ids)
        keys = [v.key for v in self._values.values() if v.source in ids]
        return before - len(self._ring) + self._drop(keys)

    def _drop(self, keys: Iterable[str]) -> int:
        """Erase values for good. Older records of a key go too, so none can come back."""
        dropped = [key for key in keys if key in self._values]
        if not dropped:
            return 0
        gone = set(dropped)
        records = ((n, msgpack.unpackb(payload)) for n, payload in self._log.read())
        self._log.erase(sorted(n for n, fields in records if fields[0] in gone))
        for key in dropped:
            del self._values[key], self._sequences[key]
        return len(dropped)

    def _compact(self) -> None:
        if len(self._log) - len(self._values) > STALE_RECORDS:
            live = set(self._sequences.values())
            self._log.erase(sorted(n for n, _ in self._log.read() if n not in live))


def _faded(value: Value, now: float) -> bool:
    return value.key.startswith(TASK_PREFIX) and now - value.at > TASK_DECAY_SECONDS


def _value_hit(value: Value, query: str) -> Hit:
    text = f"{attribute_label(value.key, query)}: {value.value}"
    turns = (value.source,) if value.source.startswith("raw:") else ()
    return Hit(f"value:{value.key}", Layer.WORKING, text, value.at, 1.0, turns, value.source)
