"""Who uses a virtual phone: a story retold within the simulated days.

Sessions keep their order, and the hours of the day at which their originals took place; turns keep
their order and gaps. Questions come once every turn that answers them has been said. When there are
more phones than people, the later phones retell other slices of the same stories, so no two phones
hold the same data and none holds a fair sample of the whole. `simulator.mixing` makes owners who
tell several stories instead, and `simulator.episodes` gives some of them a phone agent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias
from zoneinfo import ZoneInfo

import numpy as np

from device.agent.records import Confirmation, Run
from simulator.corpus import Line, Question, Story
from simulator.randomness import generator, stream_key

__all__ = ["CANARY_PREFIX", "ZONES", "Ask", "Compare", "Deed", "Do", "Person", "Say", "person_of"]

CANARY_PREFIX = "canary-"
"""How every planted secret begins."""

_DAY = 86400.0
_HOUR = 3600.0
_MINUTE = 60.0
_MAX_TURN_GAP = 90.0
"""Seconds; longer silences within a session are shortened to this."""
_SESSION_GAP = 300.0
"""Least seconds between two sessions."""
_ASKS_A_DAY = (6, 12)
_AWAKE = (7.5, 23.0)
"""Local hours within which questions are asked."""
_SETTLED = 120.0
"""Seconds between the last turn of the evidence and the first question about it."""
_COMPARE_DELAY = (600.0, 4 * _HOUR)
_SLICE = (0.55, 0.9)
"""Share of a story's sessions that a second phone of the same person retells."""
_CANARY_BYTES = 10
ZONES: Mapping[str, Sequence[str]] = {
    "zh": ("Asia/Shanghai",),
    "en": ("Europe/London", "America/New_York", "America/Chicago", "America/Los_Angeles"),
}
"""Where people live, by language; those of any other language live where the English do."""
_CANARY_WORDS = {"zh": "保险柜的备用口令是 {}，别忘了", "en": "The spare code of the safe is {}"}


@dataclass(frozen=True, slots=True)
class Say:
    """A turn said at unix time `at`."""

    at: float
    line: str
    speaker: str
    text: str
    session: str


@dataclass(frozen=True, slots=True)
class Ask:
    """A question asked at `at`; `evidence` names the lines that answer it."""

    at: float
    query: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """At `at` the person says how two lines relate: duplicate, merge or independent."""

    at: float
    first: str
    second: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Do:
    """The owner's phone agent finished working an app at `at`."""

    at: float
    run: Run
    confirmation: Confirmation


Deed: TypeAlias = Say | Ask | Compare | Do


@dataclass(frozen=True, slots=True)
class Person:
    """The life of one virtual phone's owner, ascending by time."""

    name: str
    language: str
    zone: str
    canary: str
    """A secret said once; it must never be seen outside the phone's sealed store."""
    deeds: tuple[Deed, ...]


def person_of(
    stories: Sequence[Story],
    phone: int,
    *,
    seed: int,
    start: float,
    days: int,
    zones: Mapping[str, Sequence[str]] = ZONES,
    whole: bool = False,
) -> Person:
    """The owner of phone number `phone`, living `days` from unix time `start`.

    `whole`: tell all of the story, even if this is not the first phone that tells it.
    """
    story = stories[phone % len(stories)]
    rng = generator(seed, "person", phone)
    at_home = zones.get(story.language) or ZONES.get(story.language) or ZONES["en"]
    zone = at_home[int(rng.integers(len(at_home)))]
    canary = f"{CANARY_PREFIX}{stream_key(seed, 'canary', phone)[:_CANARY_BYTES].hex()}"
    copy = 0 if whole else phone // len(stories)
    sessions = _slice_of(story.sessions(), copy, rng)
    said = _retell(sessions, zone, start, days)
    said = _plant(said, canary, story.language, rng)
    told = {say.line: say.at for say in said}
    deeds: list[Deed] = [*said]
    deeds += _asks(story.questions, told, rng, zone, start, days)
    deeds += _compares(story, told, rng, start + days * _DAY)
    deeds.sort(key=lambda deed: deed.at)
    return Person(story.person, story.language, zone, canary, tuple(deeds))


def _slice_of(
    sessions: list[tuple[Line, ...]], copy: int, rng: np.random.Generator
) -> list[tuple[Line, ...]]:
    """The whole story for the person's first phone, a contiguous part for every other."""
    if copy == 0 or len(sessions) == 1:
        return sessions
    length = max(1, round(len(sessions) * float(rng.uniform(*_SLICE))))
    first = int(rng.integers(len(sessions) - length + 1))
    return sessions[first : first + length]


def _retell(sessions: list[tuple[Line, ...]], zone: str, start: float, days: int) -> list[Say]:
    """Spread the sessions over the days, keeping their order and the day's set of hours."""
    says: list[Say] = []
    free = start
    for day in range(days):
        todays = sessions[len(sessions) * day // days : len(sessions) * (day + 1) // days]
        morning = start + day * _DAY
        begins = sorted(_occurrence(_time_of_day(t[0].at), zone, morning) for t in todays)
        for begin, lines in zip(begins, todays, strict=True):
            at = max(begin, free)
            for index, line in enumerate(lines):
                if index:
                    gap = (line.at - lines[index - 1].at).total_seconds()
                    at += min(max(gap, 1.0), _MAX_TURN_GAP)
                says.append(Say(at, line.id, line.speaker, line.text, line.session))
            free = at + _SESSION_GAP
    end = start + days * _DAY
    return [say for say in says if say.at < end]


def _occurrence(time_of_day: float, zone: str, after: float) -> float:
    """The first unix time from `after` on at which the zone's clocks show `time_of_day` (s)."""
    shown = _time_of_day(datetime.fromtimestamp(after, ZoneInfo(zone)))
    return after + (time_of_day - shown) % _DAY


def _time_of_day(wall: datetime) -> float:
    return wall.hour * _HOUR + wall.minute * _MINUTE + wall.second


def _plant(said: list[Say], canary: str, language: str, rng: np.random.Generator) -> list[Say]:
    """Add one turn that holds the canary, right after a turn in the first half of the story."""
    if not said:
        return said
    index = int(rng.integers(max(1, len(said) // 2)))
    host = said[index]
    text = _CANARY_WORDS.get(language, _CANARY_WORDS["en"]).format(canary)
    secret = Say(host.at + 0.5, "canary", "user", text, host.session)
    return [*said[: index + 1], secret, *said[index + 1 :]]


def _asks(
    questions: Sequence[Question],
    told: dict[str, float],
    rng: np.random.Generator,
    zone: str,
    start: float,
    days: int,
) -> list[Ask]:
    """Six to twelve questions a day, the least asked first, each once its answer was said."""
    ready = [
        (max(told[line] for line in q.evidence) + _SETTLED, q)
        for q in questions
        if all(line in told for line in q.evidence)
    ]
    asked = [0] * len(ready)
    asks = []
    for day in range(days):
        count = int(rng.integers(_ASKS_A_DAY[0], _ASKS_A_DAY[1] + 1))
        for at in sorted(_awake(rng, zone, start + day * _DAY) for _ in range(count)):
            known = [i for i, (since, _) in enumerate(ready) if since <= at]
            if not known:
                continue
            least = min(asked[i] for i in known)
            choices = [i for i in known if asked[i] == least]
            index = choices[int(rng.integers(len(choices)))]
            asked[index] += 1
            asks.append(Ask(at, ready[index][1].query, ready[index][1].evidence))
    return asks


def _awake(rng: np.random.Generator, zone: str, day: float) -> float:
    return _occurrence(float(rng.uniform(*_AWAKE)) * _HOUR, zone, day)


def _compares(
    story: Story, told: dict[str, float], rng: np.random.Generator, end: float
) -> list[Compare]:
    """Verdicts on pairs: restatements, changed facts, and unrelated turns, one each in turn."""
    pairs = [(line.same_as, line.id, "duplicate") for line in story.lines if line.same_as]
    pairs += [
        (q.evidence[1], q.evidence[0], "merge")
        for q in story.questions
        if q.kind == "change" and len(q.evidence) > 1
    ]
    pairs = [pair for pair in pairs if pair[0] in told and pair[1] in told]
    related = {frozenset(pair[:2]) for pair in pairs}
    users = [line.id for line in story.lines if line.speaker != "agent" and line.id in told]
    unrelated = []
    for _ in range(len(pairs) if len(users) > 1 else 0):
        left, right = (users[int(i)] for i in rng.choice(len(users), 2, replace=False))
        if frozenset((left, right)) not in related:
            unrelated.append((left, right, "independent"))
    compares = []
    for first, second, verdict in [*pairs, *unrelated]:
        at = max(told[first], told[second]) + float(rng.uniform(*_COMPARE_DELAY))
        if at < end:
            compares.append(Compare(at, first, second, verdict))
    return compares
