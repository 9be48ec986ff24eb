"""When a virtual phone is charging, on unmetered Wi-Fi and idle.

Each condition is a two-state Markov chain with one step a minute whose rates follow the local hour,
fitted to the phones of ExtraSensory (`availability_fit.json`, made by `simulator.fitting`). The fit
is a chain of conditionals — charging, Wi-Fi given charging, idle given both — so three independent
tracks multiply to the measured share of minutes in which all three hold. Phones differ: each draws
one logit shift per track, and the population's mean is held at the fitted share.

Two models share these parameters: `DAILY` knows the hour of day, `WEEKLY` also the day of the week,
with the same mean at every hour of day. `simulator.habits` bends either into other ways of life.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib import resources
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from simulator.tracks import CONDITIONS, PhoneAvailability, Track, seconds_by_hour

__all__ = [
    "CONDITIONS",
    "MODELS",
    "Model",
    "PhoneAvailability",
    "Rhythm",
    "Rhythms",
    "Track",
    "draw_availability",
    "fitted_rhythms",
    "fitted_window_share",
    "goodness_of_fit",
    "minutes_on",
    "seconds_by_hour",
    "window_share",
]

Floats: TypeAlias = NDArray[np.float64]
Model: TypeAlias = Literal["daily", "weekly"]
"""Whether a model's hours are those of a day (24) or of a week from Monday on (168)."""

MODELS: tuple[Model, ...] = ("daily", "weekly")

_HOURS = 24
_DAYS = 7
_WEEKEND = 5
"""The first day of the weekend, counted from Monday."""
_MINUTE = 60.0
_MINUTES_AN_HOUR = 60
_MINUTES_A_DAY = 1440
_MONDAY = 4.0 * _MINUTES_A_DAY
"""Minutes from the beginning of unix time, a Thursday, to the first Monday."""
_QUADRATURE_POINTS = 21
_BISECTIONS = 40
_LOGIT_RANGE = 12.0
_MAX_RATE = 0.98
_CLOCKS = 256
"""Beginnings of a world in local time, and rhythms by them, that are remembered."""


@dataclass(frozen=True, eq=False)
class Rhythm:
    """How one condition comes and goes by the hour, for a phone and for its fellows.

    `logits` and `off_per_minute` have one entry an hour: 24 of a day, or 168 of a week.
    """

    logits: Floats
    """Of the share of minutes on, around which phones spread."""
    off_per_minute: Floats
    """Probability that the condition ends within a minute in which it holds."""
    spread: float
    """Standard deviation of the phones' logit shifts."""
    never: bool = False
    """The condition never holds at all."""

    @cached_property
    def share(self) -> Floats:
        """The population's mean share of minutes on, by hour."""
        if self.never:
            return np.zeros(self.logits.shape)
        nodes, weights = _quadrature()
        return np.asarray(_sigmoid(self.logits[:, None] + self.spread * nodes) @ weights)

    def shifted(self, by: float | Floats) -> Rhythm:
        """The same rhythm with other logits."""
        return replace(self, logits=np.asarray(self.logits + by, dtype=np.float64))


Rhythms: TypeAlias = Mapping[str, Rhythm]
"""A rhythm for each of `CONDITIONS`."""


def draw_availability(
    rng: np.random.Generator,
    *,
    start: float,
    days: int,
    utc_offset: float,
    rhythms: Rhythms | None = None,
) -> PhoneAvailability:
    """One phone's tracks over `days` from unix time `start`; `utc_offset` in seconds.

    `rhythms`: how the phone lives; None for the daily model as it was measured.
    """
    lived = fitted_rhythms("daily") if rhythms is None else rhythms
    tracks = {}
    for name in CONDITIONS:
        states = _chain(lived[name], rng, start + utc_offset, days)
        jitter = rng.random(len(states) + 1)
        tracks[name] = _track_of(states, jitter, start)
    return PhoneAvailability(**tracks)


def minutes_on(
    rng: np.random.Generator, *, local_start: float, days: int, rhythms: Rhythms
) -> NDArray[np.bool_]:
    """(days·1440,) whether the window is open in each minute: what a trace of minutes would show.

    `local_start`: local wall clock in seconds since the beginning of unix time.
    """
    charging, unmetered, idle = (
        _chain(rhythms[name], rng, local_start, days) for name in CONDITIONS
    )
    return charging & unmetered & idle


@cache
def fitted_rhythms(model: Model) -> Rhythms:
    """The rhythms as measured."""
    by_hour = _daily if model == "daily" else _weekly
    return {name: by_hour(fit) for name, fit in _parameters()["tracks"].items()}


def window_share(rhythms: Rhythms) -> Floats:
    """Expected share of minutes with all three conditions, by hour of the model."""
    share = np.ones(rhythms[CONDITIONS[0]].logits.shape)
    for name in CONDITIONS:
        share = share * rhythms[name].share
    return share


def fitted_window_share() -> Floats:
    """(24,) share of minutes with all three conditions, by local hour, as fitted."""
    share = np.ones(_HOURS)
    for name in CONDITIONS:
        share = share * np.array(_parameters()["tracks"][name]["on_share"])
    return share


def goodness_of_fit() -> dict[str, Any]:
    """How the fitted models stand to the trace: see `simulator.fitting`."""
    goodness: dict[str, Any] = _parameters()["goodness"]
    return goodness


@cache
def _parameters() -> dict[str, Any]:
    text = resources.files("simulator").joinpath("availability_fit.json").read_text("utf-8")
    parameters: dict[str, Any] = json.loads(text)
    return parameters


def _daily(fit: Mapping[str, Any]) -> Rhythm:
    spread = float(fit["logit_spread"])
    logits = _centred_logits(np.array(fit["on_share"]), spread)
    return Rhythm(logits, np.array(fit["off_per_minute"]), spread)


def _weekly(fit: Mapping[str, Any]) -> Rhythm:
    """The daily rhythm bent by the day of the week, its mean over the week held at every hour."""
    daily = _daily(fit)
    bend = np.tile(np.array(fit["weekday_logits"])[:, None], _HOURS)
    bend[_WEEKEND:] += np.array(fit["weekend_logits"])
    on_share, (nodes, weights) = np.array(fit["on_share"]), _quadrature()

    def mean_share(hourly: Floats) -> Floats:
        logits = hourly + bend
        by_day = _sigmoid(logits[..., None] + daily.spread * nodes) @ weights
        return np.asarray(by_day.mean(axis=0))

    hourly = _solve(mean_share, on_share)
    rates = np.tile(daily.off_per_minute, _DAYS)
    return Rhythm((hourly + bend).reshape(-1), rates, daily.spread)


def _chain(
    rhythm: Rhythm, rng: np.random.Generator, local_start: float, days: int
) -> NDArray[np.bool_]:
    """(days·1440,) states, one a minute, starting from the stationary share."""
    minutes = days * _MINUTES_A_DAY
    if rhythm.never:
        return np.zeros(minutes, dtype=np.bool_)
    shift = rng.standard_normal() * rhythm.spread
    first_minute = local_start / _MINUTE
    share = _by_minute(_sigmoid(rhythm.logits + shift), first_minute)
    before, after = share[:-1], share[1:]
    falling = _falling(rhythm, first_minute)
    rising = np.minimum((after - before * (1.0 - falling)) / (1.0 - before), _MAX_RATE)
    # Where the share falls faster than the fitted rate allows, the chain must fall faster too.
    steep = np.flatnonzero(rising < 0.0)
    if len(steep):
        falling = falling.copy()
        falling[steep] = np.minimum(1.0 - after[steep] / before[steep], _MAX_RATE)
    uniform = rng.random(minutes)
    first = bool(rng.random() < share[0])
    return _states(first, _below(uniform, rising), _below(uniform, falling))


@lru_cache(_CLOCKS)
def _falling(rhythm: Rhythm, first_minute: float) -> Floats:
    """(period,) the rate of ending by minute, from unix minute `first_minute` (local) on."""
    falling = np.minimum(_by_minute(rhythm.off_per_minute, first_minute)[:-1], _MAX_RATE)
    falling.setflags(write=False)
    return falling


def _below(uniform: Floats, periodic: Floats) -> NDArray[np.bool_]:
    """``uniform < periodic``, the latter repeated as often as it takes."""
    turns = -(-len(uniform) // len(periodic))
    repeated = periodic[: len(uniform)] if turns == 1 else np.tile(periodic, turns)[: len(uniform)]
    return np.asarray(uniform < repeated)


def _states(first: bool, rises: NDArray[np.bool_], falls: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(minutes,) the states of a chain that begins `first` and steps at each minute's end.

    An off state becomes `rises`, an on state ``not falls``. So a minute in which only one of them
    is true decides the next state whatever went before, one in which both are true turns it round,
    and any other leaves it: a state is the last decided one, turned by the parity of turns since.
    """
    events = np.flatnonzero(rises | falls)
    up, down = rises[events], falls[events]
    parity = np.concatenate(([False], np.logical_xor.accumulate(up & down)))
    # Entry 0 stands for the beginning, which decides until anything else does.
    order = np.arange(1, len(events) + 1) * (up != down)
    decider = np.concatenate(([0], np.maximum.accumulate(order)))
    decided = np.concatenate(([first], up))[decider]
    held = decided ^ parity ^ parity[decider]
    lengths = np.diff(np.concatenate(([-1], events, [len(rises) - 1])))
    return np.asarray(np.repeat(held, lengths), dtype=np.bool_)


def _by_minute(hourly: Floats, first_minute: float) -> Floats:
    """(period + 1,) linear between the middles of the hours, periodic, from a unix minute on."""
    left, since = _clock(first_minute, len(hourly))
    padded = np.concatenate((hourly[-1:], hourly, hourly[:1]))
    slopes = np.diff(padded) / _MINUTES_AN_HOUR
    return np.asarray(slopes[left] * since + padded[left], dtype=np.float64)


@lru_cache(_CLOCKS)
def _clock(first_minute: float, hours: int) -> tuple[NDArray[np.intp], Floats]:
    """Where each minute of a period of `hours` stands between two middles of hours.

    (period + 1,) the middle on its left, 0 being that of the hour before the period's first, and
    (period + 1,) the minutes since, from unix minute `first_minute` (local) on.
    """
    period = hours * _MINUTES_AN_HOUR
    begin = first_minute if hours == _HOURS else first_minute - _MONDAY
    minutes = np.mod(begin + np.arange(period + 1, dtype=np.float64), float(period))
    left = np.floor((minutes + _MINUTES_AN_HOUR / 2) / _MINUTES_AN_HOUR).astype(np.intp)
    since = minutes - (left - 0.5) * _MINUTES_AN_HOUR
    left.setflags(write=False)
    since.setflags(write=False)
    return left, since


def _track_of(states: NDArray[np.bool_], jitter: Floats, start: float) -> Track:
    """Runs of True as intervals; each edge falls at a random second of its minute."""
    padded = np.concatenate(([False], states, [False])).astype(np.int8)
    edges = np.flatnonzero(np.diff(padded))
    moments = start + edges * _MINUTE + jitter[edges] * _MINUTE
    moments[edges == 0] = start
    return Track.of_edges(moments)


def _centred_logits(share: Floats, spread: float) -> Floats:
    """Logits m with E[sigmoid(m + spread·Z)] = share, Z standard normal."""
    nodes, weights = _quadrature()

    def mean_share(logits: Floats) -> Floats:
        return np.asarray(_sigmoid(logits[:, None] + spread * nodes) @ weights)

    return _solve(mean_share, share)


def _solve(function: Any, wanted: Floats) -> Floats:
    """Where an increasing function of logits takes the values `wanted`, by bisection."""
    low, high = np.full(wanted.shape, -_LOGIT_RANGE), np.full(wanted.shape, _LOGIT_RANGE)
    for _ in range(_BISECTIONS):
        middle: Floats = (low + high) / 2.0
        mean = function(middle)
        low, high = np.where(mean < wanted, middle, low), np.where(mean < wanted, high, middle)
    return np.asarray((low + high) / 2.0, dtype=np.float64)


@cache
def _quadrature() -> tuple[Floats, Floats]:
    """Nodes and weights of a mean over a standard normal variable."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_QUADRATURE_POINTS)
    return nodes, weights / weights.sum()


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-values)), dtype=np.float64)
