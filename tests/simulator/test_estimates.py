"""Published counts against the truth, and how stale phones are: by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from privacy.streams import USAGE_HISTOGRAMS
from simulator.availability import Track
from simulator.estimates import UsageSum, estimates
from simulator.plan import WorldPlan
from simulator.timelines import Release, adoption, spread_of, staleness
from simulator.weeks import by_week
from simulator.world import EPOCH

DAY, HOUR = 86_400.0, 3_600.0
NORMAL_95 = 1.959963984540054
LANGUAGE = next(i for i, one in enumerate(USAGE_HISTOGRAMS) if one.name == "language")


def phone(language: int) -> bytes:
    return bytes(language if place == LANGUAGE else 0 for place in range(len(USAGE_HISTOGRAMS)))


def told(name: str, estimate: float, half: float) -> dict[str, Any]:
    low, high = max(0.0, estimate - half), min(1.0, estimate + half)
    return {"histogram": "language", "bin": name, "estimate": estimate, "low": low, "high": high}


def test_truth_is_what_the_summed_reports_said() -> None:
    reports = {bytes([n]): phone(0 if n < 3 else 1) for n in range(4)}
    reports[b"late"] = phone(2)  # released, but in no sum
    entries = [told("zh", 0.65, 0.2), told("en", 0.5, 0.1)]
    found = estimates([UsageSum("usage", 3, 4, entries, [bytes([n]) for n in range(4)])], reports)
    zh, en = found["rounds"][0]["histograms"]["language"]
    assert (zh["truth"], zh["covered"]) == (0.75, True)
    assert zh["error"] == pytest.approx(-0.1)
    assert zh["sigmas"] == pytest.approx(-0.1 * NORMAL_95 / 0.2, abs=1e-5)
    assert (en["truth"], en["covered"]) == (0.25, False)
    assert (found["bins"], found["covered"], found["worst"]) == (2, 1, 0.25)
    both = [zh["sigmas"], en["sigmas"]]
    assert found["rms_sigmas"] == pytest.approx(math.hypot(*both) / math.sqrt(2), abs=1e-5)


def test_forged_reports_are_counted_apart() -> None:
    entries = [told("zh", 0.5, 0.1)]
    found = estimates(
        [UsageSum("usage", 1, 3, entries, [b"a", b"b", b"x"])], {b"a": phone(0), b"b": phone(0)}
    )
    (one,) = found["rounds"]
    assert (one["reports"], one["known"]) == (3, 2)
    assert one["histograms"]["language"][0]["truth"] == 1.0


def test_where_nothing_was_published_there_is_no_error() -> None:
    assert estimates([], {}) == {
        "bins": 0, "covered": 0, "rms_sigmas": None, "worst": None, "rounds": []
    }  # fmt: skip


def world(phones: int, days: int) -> WorldPlan:
    plan = SimpleNamespace(phones=phones, days=days, start=EPOCH, seconds=days * DAY)
    return cast(WorldPlan, plan)


RELEASES: Sequence[Release] = (
    Release("router", 1, EPOCH, 0.8),
    Release("router", 2, EPOCH + DAY, 0.9),
    Release("dedup", 1, EPOCH, None),
)
TAKEN = (
    (EPOCH + 6 * HOUR, 0, "router", 1),
    (EPOCH + 30 * HOUR, 0, "router", 2),
    (EPOCH + 30 * HOUR, 1, "router", 2),
)


def test_a_phone_is_behind_since_what_it_lacks_came_out() -> None:
    points = {point["day"]: point for point in staleness(world(2, 2), RELEASES, TAKEN, "router")}
    assert (points[0.25]["fresh"], points[0.25]["max"]) == (0.5, 0.25)
    assert (points[1.0]["fresh"], points[1.0]["max"]) == (0.5, 1.0)
    # At 30 h both take version 2; an hour before, the first was 5 h behind, the second 29 h.
    assert points[1.25] == {"day": 1.25, "fresh": 1.0, "median": 0.0, "p90": 0.0, "max": 0.0}
    assert staleness(world(2, 2), RELEASES, (), "dedup")[-1]["median"] == 2.0


def test_a_phone_on_the_version_before_is_behind_since_the_newest() -> None:
    taken = [(EPOCH + HOUR, phone, "router", 1) for phone in (0, 1)]
    last = staleness(world(2, 2), RELEASES, taken, "router")[-1]
    assert (last["fresh"], last["median"], last["max"]) == (0.0, 1.0, 1.0)


def test_a_release_spreads_with_newer_ones_too() -> None:
    first, second = RELEASES[0], RELEASES[1]
    assert spread_of(first, TAKEN, 2) == {"days_to_half": 0.25, "days_to_95": 1.25}
    assert spread_of(second, TAKEN, 2) == {"days_to_half": 0.25, "days_to_95": 0.25}
    assert spread_of(second, TAKEN, 3) == {"days_to_half": 0.25, "days_to_95": None}


def test_adoption_falls_when_a_release_comes() -> None:
    curve = {
        point["day"]: point["share"] for point in adoption(world(2, 2), RELEASES, TAKEN, "router")
    }
    assert [curve[day] for day in (0.125, 0.25, 1.0, 1.125, 1.25)] == [0.0, 0.5, 0.5, 0.0, 1.0]


def test_the_week_begins_on_monday_at_the_owners_midnight() -> None:
    track = Track(((EPOCH + 0.5 * HOUR, EPOCH + 2 * HOUR),))  # a Monday, UTC
    at_home = by_week(track, 0.0)
    assert (at_home[0], at_home[1], at_home.sum()) == (1800.0, 3600.0, 5400.0)
    west = by_week(track, -5 * HOUR)  # Sunday evening there
    assert np.flatnonzero(west).tolist() == [163, 164]
