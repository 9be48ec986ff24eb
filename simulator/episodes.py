"""Owners with a phone agent: recorded GUI episodes, retold as runs of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from device.agent.records import Confirmation, Outcome, Run
from device.interfaces.episodes import EpisodesUnreadable, read_episodes
from simulator.people import Deed, Do, Person
from simulator.randomness import generator
from simulator.sample import EPISODES

__all__ = ["EpisodesUnreadable", "has_agent", "load_episodes", "with_agent"]

_DAY = 86_400.0
_HOUR = 3_600.0
_AWAKE = (8.0, 22.5)
"""Local hours within which agents are sent to work."""
_FAVOURITES = 6
"""Tasks that one person sends an agent to do, over and over."""
_CONFIRMED = (Confirmation.CONFIRMED, Confirmation.NOT_NEEDED, Confirmation.NO_RECORD)
_CONFIRMATION_SHARES = (0.3, 0.5, 0.2)
_LEAST_SECONDS = 1.0


def load_episodes(path: Path | None) -> list[Run]:
    """Runs of a file that `reverie-device import-episodes` reads; None loads the shipped sample.

    Raises:
        EpisodesUnreadable: one line says where and why.
    """
    return list(read_episodes(path or EPISODES, until=0.0))


def has_agent(seed: int, phone: int, share: float) -> bool:
    """Whether phone number `phone` is among the `share` of phones with an agent."""
    return share > 0.0 and float(generator(seed, "agent", phone).random()) < share


def with_agent(
    person: Person,
    episodes: Sequence[Run],
    phone: int,
    *,
    seed: int,
    start: float,
    days: int,
    runs_a_day: float,
) -> Person:
    """The same person, whose agent works apps `runs_a_day` times a day on average.

    A person has a few favourite tasks in their own language where there are any, and likes to be
    asked or does not. One goal holds the person's canary: an agent's memory must not leak either.
    """
    rng = generator(seed, "agent runs", phone)
    spoken = [run for run in episodes if _language(run.goal) == person.language]
    choices = spoken or list(episodes)
    picked = rng.choice(len(choices), min(_FAVOURITES, len(choices)), replace=False)
    favourites = [choices[int(index)] for index in picked]
    moments = _moments(rng, person.zone, start, days, runs_a_day)
    usual = _CONFIRMED[int(rng.choice(len(_CONFIRMED), p=_CONFIRMATION_SHARES))]
    done: list[Deed] = []
    for number, at in enumerate(moments):
        run = favourites[int(rng.integers(len(favourites)))]
        if number == 0:
            run = replace(run, goal=f"{run.goal} ({person.canary})")
        confirmation = usual if run.outcome is Outcome.SUCCESS else Confirmation.NO_RECORD
        done.append(Do(at, _ending(run, at), confirmation))
    deeds = sorted([*person.deeds, *done], key=lambda deed: deed.at)
    return replace(person, deeds=tuple(deeds))


def _moments(
    rng: np.random.Generator, zone: str, start: float, days: int, runs_a_day: float
) -> list[float]:
    """Ends of runs, ascending, within the days."""
    clocks = datetime.fromtimestamp(start, ZoneInfo(zone))
    shown = clocks.hour * _HOUR + clocks.minute * 60.0 + clocks.second
    moments = []
    for day in range(days):
        for _ in range(int(rng.poisson(runs_a_day))):
            since = (float(rng.uniform(*_AWAKE)) * _HOUR - shown) % _DAY
            moments.append(start + day * _DAY + since)
    return sorted(moments)


def _ending(run: Run, at: float) -> Run:
    """The run, told as if it had ended at `at`."""
    by = at - max(run.ended, run.started + _LEAST_SECONDS)
    steps = tuple(replace(step, at=step.at + by) for step in run.steps)
    return replace(run, started=run.started + by, steps=steps)


def _language(text: str) -> str:
    return "zh" if any("\u4e00" <= sign <= "\u9fff" for sign in text) else "en"
