"""When a virtual phone is charging, on unmetered Wi-Fi and idle.

Each condition is a two-state Markov chain with one step a minute whose rates follow the local hour
of day, fitted to the phones of ExtraSensory (`availability_fit.json`). The fit is a chain of
conditionals — charging, Wi-Fi given charging, idle given both — so three independent tracks
multiply to the measured share of minutes in which all three hold. Phones differ: each draws one
logit shift per track, and the population's mean is held at the fitted share.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CONDITIONS",
    "PhoneAvailability",
    "Track",
    "draw_availability",
    "fitted_window_share",
    "seconds_by_hour",
]

CONDITIONS = ("charging", "unmetered", "idle")

_HOURS = 24
_MINUTE = 60.0
_MINUTES_A_DAY = 1440
_HOUR = 3600.0
_QUADRATURE_POINTS = 21
_BISECTIONS = 40
_LOGIT_RANGE = 12.0
_MAX_RATE = 0.98


@dataclass(frozen=True)
class Track:
    """Disjoint half-open intervals of unix seconds, ascending: ``(start, end), …``."""

    spans: tuple[tuple[float, float], ...]

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """Starts and ends in turn: an odd number of them passed means that the condition holds."""
        return tuple(edge for span in self.spans for edge in span)

    def holds(self, at: float) -> bool:
        """Whether the condition is true at unix time `at`."""
        return bisect_right(self.edges, at) % 2 == 1

    def span_at(self, at: float) -> tuple[float, float] | None:
        """The interval in force at `at`, if any."""
        passed = bisect_right(self.edges, at)
        return self.spans[passed // 2] if passed % 2 == 1 else None

    def next_change(self, at: float) -> float:
        """The first edge after `at`; infinity when there is none."""
        passed = bisect_right(self.edges, at)
        return self.edges[passed] if passed < len(self.edges) else float("inf")

    def intersection(self, other: Track) -> Track:
        """The seconds in which both hold."""
        return Track(tuple(_overlaps(self.spans, other.spans)))

    def seconds(self) -> float:
        """Total length."""
        return sum(end - start for start, end in self.spans)


@dataclass(frozen=True)
class PhoneAvailability:
    """One phone's three condition tracks; the window is open where all three hold."""

    charging: Track
    unmetered: Track
    idle: Track

    @property
    def window(self) -> Track:
        """The true window, before any settling time."""
        return self.charging.intersection(self.unmetered).intersection(self.idle)

    def next_change(self, at: float) -> float:
        """The first edge of any condition after `at`."""
        return min(track.next_change(at) for track in (self.charging, self.unmetered, self.idle))


@dataclass(frozen=True)
class _Fit:
    """One track's fitted parameters: (24,) shares of minutes on, (24,) rates, logit spread."""

    on_share: NDArray[np.float64]
    off_per_minute: NDArray[np.float64]
    logit_spread: float

    @cached_property
    def centred_logits(self) -> NDArray[np.float64]:
        """(24,) logits around which phones spread; the same for every phone."""
        return _centred_logits(self.on_share, self.logit_spread)


def draw_availability(
    rng: np.random.Generator, *, start: float, days: int, utc_offset: float
) -> PhoneAvailability:
    """One phone's tracks over `days` from unix time `start`; `utc_offset` in seconds."""
    tracks = {}
    for name in CONDITIONS:
        states = _chain(_fits()[name], rng, start + utc_offset, days)
        jitter = rng.random(len(states) + 1) * _MINUTE
        tracks[name] = _track_of(states, jitter, start)
    return PhoneAvailability(**tracks)


def seconds_by_hour(track: Track, utc_offset: float) -> NDArray[np.float64]:
    """(24,) seconds of the track by local hour of day."""
    total = np.zeros(_HOURS)
    for start, end in track.spans:
        at = start
        while at < end:
            hour = (at + utc_offset) // _HOUR
            until = min(end, (hour + 1) * _HOUR - utc_offset)
            total[int(hour) % _HOURS] += until - at
            at = until
    return total


def fitted_window_share() -> NDArray[np.float64]:
    """(24,) share of minutes with all three conditions, by local hour, as fitted."""
    share = np.ones(_HOURS)
    for name in CONDITIONS:
        share = share * _fits()[name].on_share
    return share


@cache
def _fits() -> dict[str, _Fit]:
    text = resources.files("simulator").joinpath("availability_fit.json").read_text("utf-8")
    return {
        name: _Fit(
            np.array(fit["on_share"]), np.array(fit["off_per_minute"]), float(fit["logit_spread"])
        )
        for name, fit in json.loads(text)["tracks"].items()
    }


def _chain(fit: _Fit, rng: np.random.Generator, local_start: float, days: int) -> NDArray[np.bool_]:
    """(days·1440,) states, one a minute, starting from the stationary share."""
    shift = rng.standard_normal() * fit.logit_spread
    on_share = _sigmoid(fit.centred_logits + shift)
    minutes = days * _MINUTES_A_DAY
    elapsed = np.arange(minutes + 1, dtype=np.float64)
    clock = np.mod(local_start / _MINUTE + elapsed, float(_MINUTES_A_DAY))
    share = _by_minute(on_share, clock)
    falling = _by_minute(fit.off_per_minute, clock)[:-1]
    rising = (share[1:] - share[:-1] * (1.0 - falling)) / (1.0 - share[:-1])
    # Where the share falls faster than the fitted rate allows, the chain must fall faster too.
    needed = 1.0 - share[1:] / share[:-1]
    falling = np.clip(np.where(rising < 0.0, needed, falling), 0.0, _MAX_RATE)
    rising = np.clip(rising, 0.0, _MAX_RATE)
    uniform = rng.random(minutes)
    state = bool(rng.random() < share[0])
    rises, falls = (uniform < rising).tolist(), (uniform < falling).tolist()
    states = np.empty(minutes, dtype=np.bool_)
    for minute in range(minutes):
        states[minute] = state
        state = not falls[minute] if state else rises[minute]
    return states


def _by_minute(hourly: NDArray[np.float64], clock: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear between the middles of the hours, periodic over the day."""
    middles = (np.arange(_HOURS) + 0.5) * _MINUTES_A_DAY / _HOURS
    return np.interp(clock, middles, hourly, period=_MINUTES_A_DAY)


def _track_of(states: NDArray[np.bool_], jitter: NDArray[np.float64], start: float) -> Track:
    """Runs of True as intervals; each edge falls at a random second of its minute."""
    padded = np.concatenate(([False], states, [False])).astype(np.int8)
    edges = np.flatnonzero(np.diff(padded))
    moments = start + edges * _MINUTE + jitter[edges]
    moments[edges == 0] = start
    pairs = moments.reshape(-1, 2).tolist()
    return Track(tuple((begin, end) for begin, end in pairs))


def _overlaps(
    left: Iterable[tuple[float, float]], right: Iterable[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """Common parts of two ascending interval lists, by one sweep over their edges."""
    edges = sorted(
        [(start, 1) for spans in (left, right) for start, _ in spans]
        + [(end, -1) for spans in (left, right) for _, end in spans]
    )
    depth = 0
    for (at, step), (following, _) in pairwise(edges):
        depth += step
        if depth == 2 and following > at:
            yield at, following


def _centred_logits(share: NDArray[np.float64], spread: float) -> NDArray[np.float64]:
    """Logits m with E[sigmoid(m + spread·Z)] = share, Z standard normal, by bisection."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_QUADRATURE_POINTS)
    weights = weights / weights.sum()
    low, high = np.full(share.shape, -_LOGIT_RANGE), np.full(share.shape, _LOGIT_RANGE)
    for _ in range(_BISECTIONS):
        middle: NDArray[np.float64] = (low + high) / 2.0
        mean = _sigmoid(middle[:, None] + spread * nodes) @ weights
        low, high = np.where(mean < share, middle, low), np.where(mean < share, high, middle)
    return np.asarray((low + high) / 2.0, dtype=np.float64)


def _sigmoid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1.0 / (1.0 + np.exp(-values)), dtype=np.float64)
