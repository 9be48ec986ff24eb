"""Ways to live with a phone, each a bend of the measured rhythm.

The phones of the trace are a few dozen people of one city; a fleet has others. A habit is a
transformation of the fitted chain (`simulator.availability`), stated in numbers so that a reader
may disagree with them: constant and hourly logit shifts, a stretched or flattened rhythm, a day
that begins later, shorter or longer spells. The chain itself stays, so spells keep their
irregularity and phones of one habit still differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache

import numpy as np

from simulator.availability import CONDITIONS, Model, Rhythm, Rhythms, fitted_rhythms, window_share
from simulator.randomness import generator

__all__ = [
    "EVERYDAY",
    "HABITS",
    "Bend",
    "Habit",
    "HabitName",
    "Spell",
    "habit_of",
    "rhythms_of",
    "window_share_of",
]

_HOURS = 24
_DAYS = 7
_WORKDAYS = range(5)
_GOLDEN = (5**0.5 - 1) / 2
_BISECTIONS = 40
_LEVEL_RANGE = 8.0


class HabitName(StrEnum):
    """Every habit there is."""

    MEASURED = "measured"
    NIGHTLY_CHARGER = "nightly-charger"
    OPPORTUNISTIC = "opportunistic"
    NIGHT_SHIFT = "night-shift"
    COMMUTER = "commuter"
    NEVER_ON_WIFI = "never-on-wifi"
    RARELY_CHARGING = "rarely-charging"
    SHARED_TABLET = "shared-tablet"


@dataclass(frozen=True)
class Spell:
    """Hours of the day, from and to, in which a logit shift applies; ``[from, to)``."""

    begin: int
    end: int
    logit: float
    workdays: bool = False
    """Monday to Friday only; a model that knows no weekdays has it every day."""


@dataclass(frozen=True)
class Bend:
    """What a habit does to one condition's rhythm."""

    logit: float = 0.0
    """Added to every hour."""
    contrast: float = 1.0
    """How far the hours differ, around their own mean."""
    hurry: float = 1.0
    """Factor on the rate at which a spell ends: spells get shorter, their share stays."""
    spells: tuple[Spell, ...] = ()
    never: bool = False
    """The condition does not hold at all."""


@dataclass(frozen=True)
class Habit:
    """A way to live with a phone."""

    about: str
    later: int = 0
    """Hours by which the whole day's rhythm is put off."""
    bends: Mapping[str, Bend] = field(default_factory=dict)
    """By condition."""


_ABROAD = -7.0
"""Logit that all but rules a condition out for an hour."""

HABITS: Mapping[HabitName, Habit] = {
    HabitName.MEASURED: Habit("as the phones of the trace lived"),
    HabitName.NIGHTLY_CHARGER: Habit(
        "plugs in at bedtime and hardly by day",
        bends={"charging": Bend(contrast=2.2, hurry=0.5)},
    ),
    HabitName.OPPORTUNISTIC: Habit(
        "charges a little wherever a socket is, day and night alike",
        bends={"charging": Bend(contrast=0.3, hurry=2.0)},
    ),
    HabitName.NIGHT_SHIFT: Habit("works at night and sleeps, and charges, by day", later=10),
    HabitName.COMMUTER: Habit(
        "is on a metered hotspot on the way to work and back, and out for lunch",
        bends={
            "unmetered": Bend(
                spells=(
                    Spell(7, 9, _ABROAD, workdays=True),
                    Spell(12, 13, _ABROAD, workdays=True),
                    Spell(17, 19, _ABROAD, workdays=True),
                )
            ),
            "charging": Bend(contrast=1.4),
        },
    ),
    HabitName.NEVER_ON_WIFI: Habit("has mobile data only", bends={"unmetered": Bend(never=True)}),
    HabitName.RARELY_CHARGING: Habit(
        "charges to the full every other night at best",
        bends={"charging": Bend(logit=-1.8, contrast=1.2, hurry=0.5)},
    ),
    HabitName.SHARED_TABLET: Habit(
        "lies at home on Wi-Fi, in several hands in the evening",
        bends={
            "charging": Bend(logit=0.4, contrast=0.6, hurry=0.7),
            "unmetered": Bend(logit=3.0),
            "idle": Bend(spells=(Spell(16, 22, -1.2),)),
        },
    ),
}

EVERYDAY: Mapping[HabitName, float] = {
    HabitName.MEASURED: 0.30,
    HabitName.NIGHTLY_CHARGER: 0.22,
    HabitName.OPPORTUNISTIC: 0.12,
    HabitName.COMMUTER: 0.12,
    HabitName.NIGHT_SHIFT: 0.07,
    HabitName.RARELY_CHARGING: 0.08,
    HabitName.NEVER_ON_WIFI: 0.05,
    HabitName.SHARED_TABLET: 0.04,
}
"""A mixed population, for scenarios that ask for one; the shares are a judgement, not a count."""


def habit_of(mix: Mapping[HabitName, float], seed: int, phone: int) -> HabitName:
    """The habit of phone number `phone`; shares of `mix` need not sum to 1.

    Phones are spread by the golden ratio from a start that the seed draws, so the shares hold
    nearly exactly in a fleet of any size, and independently of who tells which story.
    """
    total = sum(mix.values())
    start = float(generator(seed, "habits").random())
    at = (start + phone * _GOLDEN) % 1.0 * total
    names = sorted(name for name, share in mix.items() if share > 0.0)
    for name in names:
        at -= mix[name]
        if at < 0.0:
            return name
    return names[-1]


def rhythms_of(
    mix: Mapping[HabitName, float], model: Model, *, balanced: bool = False
) -> dict[HabitName, Rhythms]:
    """Each habit's rhythms.

    `balanced`: one logit is added to everybody's charging, so that the population's expected share
    of window minutes is the fitted one: other people, just as available as those of the trace.
    """
    shares = {name: share for name, share in sorted(mix.items()) if share > 0.0}
    lived = {name: _bent(name, model) for name in shares}
    if not balanced:
        return lived
    wanted = window_share_of(fitted_rhythms(model))
    low, high = -_LEVEL_RANGE, _LEVEL_RANGE
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        mean = sum(
            share * window_share_of(_charged(lived[name], middle)) for name, share in shares.items()
        ) / sum(shares.values())
        low, high = (middle, high) if mean < wanted else (low, middle)
    return {name: _charged(each, (low + high) / 2.0) for name, each in lived.items()}


def window_share_of(rhythms: Rhythms) -> float:
    """Expected share of all minutes in which such a phone's window is open."""
    return float(window_share(rhythms).mean())


def _charged(rhythms: Rhythms, logit: float) -> Rhythms:
    return {**rhythms, "charging": rhythms["charging"].shifted(logit)}


@cache
def _bent(name: HabitName, model: Model) -> Rhythms:
    measured, habit = fitted_rhythms(model), HABITS[name]
    if not habit.later and not habit.bends:
        return measured
    return {
        condition: _bend(measured[condition], habit.later, habit.bends.get(condition, Bend()))
        for condition in CONDITIONS
    }


def _bend(rhythm: Rhythm, later: int, bend: Bend) -> Rhythm:
    mean = float(rhythm.logits.mean())
    logits = mean + (np.roll(rhythm.logits, later) - mean) * bend.contrast + bend.logit
    for spell in bend.spells:
        logits[_hours_in(spell, len(logits))] += spell.logit
    rates = np.roll(rhythm.off_per_minute, later) * bend.hurry
    return replace(rhythm, logits=logits, off_per_minute=rates, never=bend.never)


def _hours_in(spell: Spell, hours: int) -> list[int]:
    """Indices of the spell's hours in a model of a day or of a week."""
    days = [0] if hours == _HOURS else _WORKDAYS if spell.workdays else range(_DAYS)
    return [day * _HOURS + hour for day in days for hour in range(spell.begin, spell.end)]
