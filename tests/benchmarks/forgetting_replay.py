"""Dialogues replayed on their own time line, to see which memories were still there when needed.

A session is consolidated when it ends. A question is a use of the memories drawn from the turns
that answer it; each use touches them, as feedback does on a phone. Whether a memory was in the
working set at a use, and how many bytes the working set has at the end, follow from its score then:
every policy's score only falls between two touches.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgpack
import numpy as np

from device.memory.coding import item_to_fields
from device.memory.consolidation import Consolidator
from device.memory.forgetting import Fate, ForgettingPolicy, fate, retention
from device.memory.records import Item, Turn
from simulator.sample import DIALOGUES, QUESTIONS

__all__ = [
    "LAWS",
    "POLICIES",
    "Dialogue",
    "Outcome",
    "kept_at",
    "locomo",
    "replay",
    "space_at",
    "threshold_keeping",
    "threshold_within",
]

DAY = 86_400.0
TURN_SECONDS = 30.0
LAST_CATEGORY = 4
"""Category 5 of LoCoMo asks for what was never said."""
SHORTEST_DAYS = 0.5
MOST_USES = 4
MEMORYBANK_STRENGTH_DAYS = 5.0
NEVER = ForgettingPolicy(archive_below=math.inf, delete_below=math.inf)
"""Tells which items the rules keep whatever their retention."""

Score = Callable[[Item, float], float]


@dataclass(frozen=True)
class Dialogue:
    """Sessions of turns, oldest first, and for each question the turns that answer it."""

    name: str
    sessions: tuple[tuple[Turn, ...], ...]
    questions: tuple[tuple[str, ...], ...]

    @property
    def end(self) -> float:
        """When the last turn was said."""
        return self.sessions[-1][-1].at


@dataclass(frozen=True)
class Outcome:
    """Of one dialogue under one policy: scores of memories when they were needed, and scores and
    bytes of all memories at each session of the second half of its time."""

    needed: tuple[float, ...]
    held: tuple[tuple[tuple[float, int], ...], ...]


def locomo(folder: Path) -> list[Dialogue]:
    """The long dialogues of two people over half a year."""
    conversations = json.loads((folder / "locomo_0_5.json").read_text(encoding="utf-8"))
    return [_locomo(number, whole) for number, whole in enumerate(conversations)]


def _locomo(number: int, whole: dict[str, object]) -> Dialogue:
    talk, asked = whole["conversation"], whole["qa"]
    assert isinstance(talk, dict)
    assert isinstance(asked, list)
    names: dict[str, str] = {}
    sessions = []
    for key in sorted((k for k in talk if f"{k}_date_time" in talk), key=lambda k: int(k[8:])):
        written = f"{talk[f'{key}_date_time']} +0000"
        start = datetime.strptime(written, "%I:%M %p on %d %B, %Y %z").timestamp()
        session = []
        for place, said in enumerate(talk[key]):
            names[said["dia_id"]] = f"raw:{len(names)}"
            moment = start + TURN_SECONDS * place
            turn = Turn(names[said["dia_id"]], moment, said["speaker"], said["text"], key)
            session.append(turn)
        sessions.append(tuple(session))
    questions = [
        tuple(names[turn] for turn in question["evidence"] if turn in names)
        for question in asked
        if question["category"] <= LAST_CATEGORY
    ]
    return Dialogue(f"locomo {number}", tuple(sessions), tuple(q for q in questions if q))


# -- when questions are asked: (time, question) pairs, oldest first

Uses = list[tuple[float, tuple[str, ...]]]


def asked_at_the_end(dialogue: Dialogue) -> Uses:
    """Every question once, after all is said: the hardest reading of the data."""
    return [(dialogue.end + DAY, question) for question in dialogue.questions]


def like_the_sample(dialogue: Dialogue) -> Uses:
    """Every question once, as long after its last evidence as the sample's owners took to ask."""
    delays = _sample_delays()
    return _uses(dialogue, lambda rng, _: [float(rng.choice(delays))])


def heavy_tailed(dialogue: Dialogue) -> Uses:
    """Needs fall off as a power of time: each question one to four times, at delays uniform in
    their logarithm from half a day to the end."""

    def draw(rng: np.random.Generator, left: float) -> list[float]:
        times = min(int(rng.zipf(2.0)), MOST_USES)
        low, high = math.log(SHORTEST_DAYS * DAY), math.log(max(left, SHORTEST_DAYS * DAY))
        return [math.exp(rng.uniform(low, high)) for _ in range(times)]

    return _uses(dialogue, draw)


def _uses(dialogue: Dialogue, draw: Callable[[np.random.Generator, float], list[float]]) -> Uses:
    rng = np.random.Generator(np.random.Philox(key=len(dialogue.questions)))
    said = {turn.id: turn.at for session in dialogue.sessions for turn in session}
    found: Uses = []
    for question in dialogue.questions:
        last = max(said[turn] for turn in question)
        delays = draw(rng, dialogue.end + DAY - last)
        found += [(min(last + delay, dialogue.end + DAY), question) for delay in delays]
    return sorted(found, key=lambda use: (use[0], use[1]))


def _sample_delays() -> list[float]:
    """Seconds from a sample question's newest evidence to its asking."""
    rows = map(json.loads, DIALOGUES.read_text("utf-8").splitlines())
    said = {row["id"]: datetime.fromisoformat(row["at"]).timestamp() for row in rows}
    delays = []
    for question in map(json.loads, QUESTIONS.read_text("utf-8").splitlines()):
        asked = datetime.fromisoformat(question["asked_at"]).timestamp()
        delays.append(asked - max(said[turn] for turn in question["evidence"]))
    return sorted(delays)


# -- policies: the higher the score, the longer a memory is kept


def _ours(item: Item, now: float) -> float:
    if fate(item, now, NEVER) is Fate.KEEP:
        return math.inf
    return retention(item, now, ForgettingPolicy())


def _memorybank(item: Item, now: float) -> float:
    """exp(−t/S): the strength S grows by one with each use (its paper's formula, not its code)."""
    days = (now - max(item.last_access, item.updated)) / DAY
    return math.exp(-days / (MEMORYBANK_STRENGTH_DAYS * (1 + item.accesses)))


POLICIES: dict[str, Score] = {
    "ours": _ours,
    "first in, first out": lambda item, now: item.created - now,
    "least recently used": lambda item, now: max(item.last_access, item.updated) - now,
    "MemoryBank's exp(−t/S)": _memorybank,
}
LAWS: dict[str, Callable[[Dialogue], Uses]] = {
    "needs fall as a power of time": heavy_tailed,
    "asked as soon as the sample's owners ask": like_the_sample,
    "all asked at the end": asked_at_the_end,
}


def replay(dialogue: Dialogue, uses: Uses, score: Score) -> Outcome:
    """One dialogue and its uses under one policy."""
    items: dict[str, Item] = {}
    needed: list[float] = []
    held = []
    waiting = list(uses)
    middle = (dialogue.sessions[0][0].at + dialogue.end) / 2
    for session, made in zip(dialogue.sessions, _consolidated(dialogue), strict=True):
        while waiting and waiting[0][0] < session[0].at:
            needed += _use(items, *waiting.pop(0), score)
        if session[0].at > middle:
            held.append(_weighed(items, session[0].at, score))
        for item in made:
            old = items.get(item.id)
            seen = max(old.last_access if old else 0.0, session[-1].at)
            uses_so_far = old.accesses if old else 0
            items[item.id] = replace(item, accesses=uses_so_far, last_access=seen)
    for use in waiting:
        needed += _use(items, *use, score)
    held.append(_weighed(items, dialogue.end + DAY, score))
    return Outcome(tuple(needed), tuple(held))


@cache
def _consolidated(dialogue: Dialogue) -> list[list[Item]]:
    """The items each session makes or changes."""
    consolidator = Consolidator([])
    return [[c.item for c in consolidator.consolidate(s, UTC)] for s in dialogue.sessions]


def _weighed(items: dict[str, Item], at: float, score: Score) -> tuple[tuple[float, int], ...]:
    return tuple((score(item, at), _size(item)) for item in items.values())


def _size(item: Item) -> int:
    return len(msgpack.packb(item_to_fields(item)))


def _use(items: dict[str, Item], at: float, question: tuple[str, ...], score: Score) -> list[float]:
    """Scores of the memories of each answering turn (the best one's); all of them are touched."""
    scores = []
    for turn in question:
        drawn = [i for i in items.values() if turn in i.turns and not i.replaced_by]
        if drawn:
            scores.append(max(score(item, at) for item in drawn))
        for item in drawn:
            items[item.id] = replace(item, accesses=item.accesses + 1, last_access=at)
    return scores


def kept_at(threshold: float, outcomes: Sequence[Outcome]) -> float:
    """Share of the needed memories whose score was at or over the threshold when needed."""
    needed = [score >= threshold for one in outcomes for score in one.needed]
    return sum(needed) / len(needed)


def space_at(threshold: float, outcomes: Sequence[Outcome]) -> float:
    """Share of the bytes of all memories that those at or over the threshold take, on average."""
    shares = [
        sum(size for score, size in held if score >= threshold) / sum(size for _, size in held)
        for one in outcomes
        for held in one.held
    ]
    return sum(shares) / len(shares)


def threshold_keeping(share: float, outcomes: Sequence[Outcome]) -> float:
    """The highest threshold that keeps at least this share of the needed memories."""
    scores = sorted(score for one in outcomes for score in one.needed)
    return scores[int((1.0 - share) * len(scores))]


def threshold_within(space: float, outcomes: Sequence[Outcome]) -> float:
    """The lowest threshold whose working set stays within this share of the bytes."""
    scores = sorted({score for one in outcomes for held in one.held for score, _ in held})
    low, high = 0, len(scores) - 1
    while low < high:
        middle = (low + high) // 2
        if space_at(scores[middle], outcomes) <= space:
            high = middle
        else:
            low = middle + 1
    return scores[low]
