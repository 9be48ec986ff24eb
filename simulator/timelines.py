"""How a world went, hour by hour: the window, uploads, adoption and how stale the phones were."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simulator.availability import Track, fitted_window_share
from simulator.plan import WorldPlan
from simulator.weeks import WEEK_HOURS, by_week

__all__ = [
    "Release",
    "Taken",
    "adoption",
    "availability",
    "per_hour",
    "spread_of",
    "staleness",
    "told_versions",
]

_HOUR = 3600.0
_DAY = 86_400.0
_HOURS = 24
_STALE_EVERY = 6
"""Hours between two points of the staleness."""
_DIGITS = 4
_HALF, _MOST = 0.5, 0.95

Taken = tuple[float, int, str, int]
"""One adoption: unix time, phone, model, version."""


@dataclass(frozen=True)
class Release:
    """One published version. `accuracy` is on the cloud's held-out examples, 0 … 1."""

    model: str
    version: int
    published: float
    accuracy: float | None


def availability(
    plan: WorldPlan,
    by_hour: Sequence[Sequence[float]],
    weekly: Sequence[tuple[float, NDArray[np.float32]]],
) -> dict[str, Any]:
    """The window by local hour, and by weekday and hour.

    Args:
        by_hour: seconds by local hour, a row of 24 a phone.
        weekly: (UTC offset in seconds, `by_week` of the window), a phone each.
    """
    share = np.sum(by_hour, axis=0) / (plan.phones * plan.days * _HOUR)
    offsets = [offset for offset, _ in weekly]
    world = Track(((plan.start, plan.start + plan.seconds),))
    there = np.zeros(WEEK_HOURS)
    for offset in sorted(set(offsets)):
        there += offsets.count(offset) * by_week(world, offset).astype(np.float64)
    held = np.stack([seconds for _, seconds in weekly]).sum(axis=0, dtype=np.float64)
    week = [
        round(min(1.0, float(open_ / all_)), _DIGITS) if all_ else None
        for open_, all_ in zip(held, there, strict=True)
    ]
    return {
        "fitted": [round(float(value), _DIGITS) for value in fitted_window_share()],
        "simulated": [round(float(value), _DIGITS) for value in share],
        "by_weekday": [week[day * _HOURS : (day + 1) * _HOURS] for day in range(7)],
    }


def per_hour(plan: WorldPlan, moments: Iterable[float]) -> list[int]:
    """How many of the moments fall in each hour of the world."""
    counts = [0] * (plan.days * _HOURS)
    for at in moments:
        counts[min(len(counts) - 1, int((at - plan.start) // _HOUR))] += 1
    return counts


def adoption(
    plan: WorldPlan, releases: Sequence[Release], taken: Sequence[Taken], model: str
) -> list[dict[str, float]]:
    """Share of phones on the newest release at each hour since the first was published."""
    world = _Held(plan, releases, taken, model)
    curve = []
    for hour in range(plan.days * _HOURS + 1):
        versions, out = world.at(plan.start + hour * _HOUR)
        if len(out):
            share = float(np.count_nonzero(versions >= out[-1][1])) / plan.phones
            curve.append({"day": round(hour / _HOURS, _DIGITS), "share": round(share, _DIGITS)})
    return curve


def staleness(
    plan: WorldPlan, releases: Sequence[Release], taken: Sequence[Taken], model: str
) -> list[dict[str, float]]:
    """Days that phones are behind, every six hours since the first release."""
    world = _Held(plan, releases, taken, model)
    points = []
    for hour in range(_STALE_EVERY, plan.days * _HOURS + 1, _STALE_EVERY):
        now = plan.start + hour * _HOUR
        versions, out = world.at(now)
        if not len(out):
            continue
        newer = np.searchsorted([version for _, version in out], versions, side="right")
        since = np.array([*(at for at, _ in out), now])
        behind = (now - since[newer]) / _DAY
        points.append(
            {
                "day": round(hour / _HOURS, _DIGITS),
                "fresh": round(float(np.mean(behind <= 0.0)), _DIGITS),
                "median": round(float(np.median(behind)), _DIGITS),
                "p90": round(float(np.quantile(behind, 0.9, method="higher")), _DIGITS),
                "max": round(float(behind.max()), _DIGITS),
            }
        )
    return points


def spread_of(release: Release, taken: Sequence[Taken], phones: int) -> dict[str, float | None]:
    """Days from a release's publication until half, and 95 %, of all phones held it or a newer."""
    first: dict[int, float] = {}
    for at, phone, model, version in taken:
        if model == release.model and version >= release.version:
            first[phone] = min(at, first.get(phone, math.inf))
    moments = sorted(first.values())

    def until(share: float) -> float | None:
        wanted = math.ceil(share * phones)
        if len(moments) < wanted:
            return None
        return round(max(0.0, moments[wanted - 1] - release.published) / _DAY, _DIGITS)

    return {"days_to_half": until(_HALF), "days_to_95": until(_MOST)}


class _Held:
    """Which version of a model every phone holds, as time goes on."""

    def __init__(
        self, plan: WorldPlan, releases: Sequence[Release], taken: Sequence[Taken], model: str
    ) -> None:
        self._published = sorted((r.published, r.version) for r in releases if r.model == model)
        self._taken = sorted((at, phone, v) for at, phone, name, v in taken if name == model)
        self._versions = np.zeros(plan.phones, np.int64)
        self._next = 0

    def at(self, now: float) -> tuple[NDArray[np.int64], list[tuple[float, int]]]:
        """Versions by phone (0: none yet) and the releases (time, version) published before `now`,
        which never goes back."""
        while self._next < len(self._taken) and self._taken[self._next][0] <= now:
            _, phone, version = self._taken[self._next]
            self._versions[phone] = version
            self._next += 1
        return self._versions, [one for one in self._published if one[0] < now]


def told_versions(
    plan: WorldPlan, releases: Sequence[Release], taken: Sequence[Taken], phones: Mapping[int, int]
) -> list[dict[str, Any]]:
    """A model's versions as the report lists them; `phones`: version → phones that took it."""
    return [
        {
            "version": one.version,
            "accuracy": one.accuracy,
            "phones": phones.get(one.version, 0),
            "published_day": round((one.published - plan.start) / _DAY, _DIGITS),
            **spread_of(one, taken, plan.phones),
        }
        for one in releases
    ]
