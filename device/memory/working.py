"""The working layer: the last turns and a few values answered at once (002, working layer).

Values (name, address, city …) live in the sealed log; the ring of recent turns lives in RAM only
and is refilled from the raw layer at start. Eviction is mixed: values asked for often stay, the
state of a task stays a while after the task ended, dialogue leaves by age and by number. Nothing
depends on a turn staying here: consolidation reads the raw layer, so overflow loses nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

import msgpack

from device.actors import PromptActor
from device.language import attribute_asked, attribute_label, content_tokens, find_attributes
from device.language.kept import kept
from device.language.tokens import content_of
from device.memory.coding import turn_sequence
from device.memory.raw import Forget, ForgetAll
from device.memory.records import Hit, Layer, Turn
from device.memory.workingcalls import (
    EndTask,
    ForgetValue,
    Lookup,
    Note,
    Remember,
    Tasks,
    Tidy,
    Value,
    Values,
    WorkingSize,
    WorkingStats,
)
from device.vault import SealedLog

__all__ = ["WorkingMemory"]

DEFAULT_CAPACITY = 64
"""Turns in the ring."""
DIALOGUE_SECONDS = 7 * 86_400.0
"""Age at which a turn leaves the ring even when nothing pushes it out."""
SUMMARY_CHARACTERS = 400
"""What the ring holds of one turn; the whole of it stays in the raw layer."""
VALUES_LIMIT = 512
"""Key-value entries held at most."""
TASK_PREFIX = "task:"
TASK_DECAY_SECONDS = 3600.0
"""How long a task's state stays after the task ended."""
TASK_ABANDONED_SECONDS = 86_400.0
"""A task without news for so long is taken to have ended with the last."""
RECENT_HITS = 5
"""Turns of the ring one lookup returns at most."""
MIN_OVERLAP = 0.34
"""Share of the query's content tokens a recent turn must carry to be a hit."""
STALE_RECORDS = 256
"""Superseded log records that trigger a compaction."""
SYSTEM_KIND = "system"


class WorkingMemory(PromptActor):
    """Owner of the values' log. Answers `workingcalls`, `raw.Forget` and `raw.ForgetAll`."""

    def __init__(self, log: SealedLog, capacity: int = DEFAULT_CAPACITY) -> None:
        self._log = log
        self._capacity = capacity
        self._ring: deque[tuple[Turn, tuple[str, ...]]] = deque()
        """Turns and their distinct content tokens."""
        self._values: dict[str, Value] = {}
        self._sequences: dict[str, int] = {}
        self._used: set[str] = set()
        """Keys whose uses the log does not know yet."""
        self._barred: set[str] = set()
        """Turns forgotten meanwhile: a dream under way may still bring their values."""
        self._floor = -1

    async def started(self) -> None:
        """Read the values back."""
        for sequence, payload in self._log.read():
            value = Value(*msgpack.unpackb(payload))
            self._values[value.key] = value
            self._sequences[value.key] = sequence

    def answer(self, message: object) -> object:
        """Serve one request."""
        match message:
            case Remember(key, value, source, at):
                self._remember(Value(key, value, source, at))
            case EndTask(key, at):
                return self._end_task(key, at)
            case Lookup(query):
                return self._lookup(query)
            case Note(turn):
                self._note(turn)
            case Tidy(now):
                self._tidy(now)
            case Forget(ids):
                return self._forget_turns(frozenset(ids))
            case ForgetAll(last):
                return self._forget_all(last)
            case ForgetValue(key):
                return self._drop([key]) > 0
            case Tasks(now):
                return self._tasks(now)
            case Values():
                return [self._values[key] for key in sorted(self._values)]
            case WorkingStats():
                return WorkingSize(len(self._ring), len(self._values), self._capacity)
            case _:
                raise TypeError(f"working memory cannot answer {type(message).__name__}")
        return None

    # -- values

    def _remember(self, value: Value) -> None:
        held = self._values.get(value.key)
        if self._is_barred(value.source) or (held is not None and not _newer(value, held)):
            return
        self._keep(replace(value, uses=held.uses if held is not None else 0))
        self._fade(value.at)
        self._compact()

    def _keep(self, *values: Value) -> None:
        records = [bytes(msgpack.packb([*_fields(value)])) for value in values]
        for value, sequence in zip(values, self._log.append_many(records), strict=True):
            self._values[value.key] = value
            self._sequences[value.key] = sequence
            self._used.discard(value.key)

    def _end_task(self, key: str, at: float) -> bool:
        task = self._values.get(key)
        if task is None or not key.startswith(TASK_PREFIX):
            return False
        self._keep(replace(task, ended=at))
        return True

    def _tasks(self, now: float) -> list[Value]:
        tasks = [v for v in self._values.values() if v.key.startswith(TASK_PREFIX)]
        lasting = [task for task in tasks if not _faded(task, now)]
        return sorted(lasting, key=lambda task: (-task.at, task.key))

    def _tidy(self, now: float) -> None:
        while self._ring and now - self._ring[0][0].at > DIALOGUE_SECONDS:
            self._ring.popleft()
        self._fade(now)
        if self._used:
            self._keep(*(self._values[key] for key in sorted(self._used)))
        self._compact()

    def _fade(self, now: float) -> None:
        """Mixed eviction: faded task state first, then the least used, then the oldest."""
        faded = [v.key for v in self._values.values() if _faded(v, now)]
        surplus = len(self._values) - len(faded) - VALUES_LIMIT
        if surplus > 0:
            rest = [v for v in self._values.values() if v.key not in set(faded)]
            rest.sort(key=lambda v: (v.uses, v.at, v.key))
            faded += [v.key for v in rest[:surplus]]
        self._drop(faded)

    # -- the ring

    def _note(self, turn: Turn) -> None:
        if turn.kind == SYSTEM_KIND or self._is_barred(turn.id):
            return
        self._ring.append((_summary(turn), _distinct(turn.text)))
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
            self._used.add(value.key)
            hits.append(_value_hit(value, query))
        return hits + self._recent(frozenset(content_tokens(query)))

    def _recent(self, wanted: frozenset[str]) -> list[Hit]:
        if not wanted:
            return []
        scored = [
            (len(wanted.intersection(tokens)) / len(wanted), position, turn)
            for position, (turn, tokens) in enumerate(self._ring)
        ]
        best = sorted((s for s in scored if s[0] >= MIN_OVERLAP), key=lambda s: (-s[0], -s[1]))
        return [
            Hit(turn.id, Layer.WORKING, turn.text, turn.at, score, (turn.id,), turn.source)
            for score, _, turn in best[:RECENT_HITS]
        ]

    # -- forgetting

    def _is_barred(self, source: str) -> bool:
        number = turn_sequence(source)
        return number is not None and (number <= self._floor or source in self._barred)

    def _forget_turns(self, ids: frozenset[str]) -> int:
        self._barred.update(ids)
        before = len(self._ring)
        self._ring = deque((turn, tokens) for turn, tokens in self._ring if turn.id not in ids)
        keys = {v.key for v in self._values.values() if v.source in ids}
        doomed = []
        for sequence, payload in self._log.read():
            value = Value(*msgpack.unpackb(payload))
            # An older record of a value that stays may still hold what a forgotten turn said.
            if value.key in keys or value.source in ids:
                doomed.append(sequence)
        if doomed:
            self._log.erase(doomed)
        self._let_go(keys)
        return before - len(self._ring) + len(keys)

    def _forget_all(self, last: int) -> int:
        self._floor = max(self._floor, last)
        gone = len(self._ring) + len(self._values)
        self._log.erase([sequence for sequence, _ in self._log.read()])
        self._ring.clear()
        self._let_go(list(self._values))
        return gone

    def _drop(self, keys: Iterable[str]) -> int:
        """Erase values for good. Older records of a key go too, so none can come back."""
        dropped = [key for key in keys if key in self._values]
        if not dropped:
            return 0
        gone = set(dropped)
        records = ((n, msgpack.unpackb(payload)) for n, payload in self._log.read())
        self._log.erase(sorted(n for n, fields in records if fields[0] in gone))
        self._let_go(dropped)
        return len(dropped)

    def _let_go(self, keys: Iterable[str]) -> None:
        for key in keys:
            del self._values[key], self._sequences[key]
            self._used.discard(key)

    def _compact(self) -> None:
        if len(self._log) - len(self._values) > STALE_RECORDS:
            live = set(self._sequences.values())
            self._log.erase(sorted(n for n, _ in self._log.read() if n not in live))


@kept
def _distinct(text: str) -> tuple[str, ...]:
    """Kept, so that it takes RAM once in a process however many phones were told the same."""
    return tuple(dict.fromkeys(content_of(text)))


def _newer(value: Value, held: Value) -> bool:
    """Whether `value` tells something `held` does not; said again, it moves to the newer turn."""
    if held.at > value.at:
        return False
    return value.value != held.value or (value.at > held.at and value.source != held.source)


def _fields(value: Value) -> tuple[object, ...]:
    return value.key, value.value, value.source, value.at, value.uses, value.ended


def _summary(turn: Turn) -> Turn:
    if len(turn.text) <= SUMMARY_CHARACTERS:
        return turn
    return replace(turn, text=turn.text[: SUMMARY_CHARACTERS - 1].rstrip() + "…")


def _faded(value: Value, now: float) -> bool:
    if not value.key.startswith(TASK_PREFIX):
        return False
    if value.ended is not None:
        return now - value.ended > TASK_DECAY_SECONDS
    return now - value.at > TASK_ABANDONED_SECONDS + TASK_DECAY_SECONDS


def _value_hit(value: Value, query: str) -> Hit:
    text = f"{attribute_label(value.key, query)}: {value.value}"
    turns = (value.source,) if value.source.startswith("raw:") else ()
    return Hit(f"value:{value.key}", Layer.WORKING, text, value.at, 1.0, turns, value.source)
