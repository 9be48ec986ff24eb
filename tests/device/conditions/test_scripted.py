from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device.conditions import (
    AnnouncingSource,
    Conditions,
    Interval,
    LinuxConditions,
    ScriptedConditions,
    ScriptUnreadable,
    TermuxConditions,
    detect,
)


def zero() -> float:
    return 0.0


def test_outside_every_interval_nothing_holds() -> None:
    script = ScriptedConditions([Interval(start=10, end=20, battery=0.5)], zero)
    assert script.at(9.9) == Conditions(False, False, False, None, read_at=9.9)
    assert script.at(10.0) == Conditions(True, True, True, 0.5, read_at=10.0)
    assert not script.at(20.0).all_hold
    assert [script.next_change(t) for t in (0, 10, 19.9, 20)] == [10, 20, 20, None]
    assert isinstance(script, AnnouncingSource)
    assert not isinstance(LinuxConditions(), AnnouncingSource)


async def test_it_reads_the_time_it_was_given() -> None:
    script = ScriptedConditions([Interval(start=10, end=20)], lambda: 15.0)
    assert await script.read() == script.at(15.0)
    assert (await ScriptedConditions.always(zero).read()).all_hold


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=20, unique=True), st.floats(0, 1e6))
def test_neighbours_and_changes(bounds: list[float], moment: float) -> None:
    ordered = sorted(bounds)
    script = ScriptedConditions(
        [
            Interval(start=start, end=end, idle=bool(n % 2))
            for n, (start, end) in enumerate(pairwise(ordered))
        ],
        zero,
    )
    inside = ordered[0] <= moment < ordered[-1]
    assert (script.at(moment).charging is True) == inside
    change = script.next_change(moment)
    assert change == min((bound for bound in ordered if bound > moment), default=None)


@pytest.mark.parametrize(
    "pairs", [[(5.0, 5.0)], [(6.0, 5.0)], [(0.0, 10.0), (9.0, 12.0)], [(0.0, 10.0), (0.0, 10.0)]]
)
def test_nonsense_is_refused(pairs: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError):
        ScriptedConditions([Interval(start=start, end=end) for start, end in pairs], zero)


def test_a_script_file(tmp_path: Path) -> None:
    path = tmp_path / "conditions.json"
    rows = [
        {"start": "1970-01-01T08:00:10+08:00", "end": 20, "unmetered": None, "battery": 0.9},
        {"start": 30, "end": "1970-01-01T00:00:40+00:00", "idle": False},
    ]
    path.write_text(json.dumps({"intervals": rows}))
    script = ScriptedConditions.from_json(path, zero)
    assert script.at(12.0) == Conditions(True, True, None, 0.9, read_at=12.0)
    assert script.at(35.0).idle is False
    assert isinstance(detect(zero, {"REVERIE_CONDITIONS": str(path)}), ScriptedConditions)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"intervals": 3}',
        '{"intervals": [3]}',
        '{"intervals": [{"start": 1}]}',
        '{"intervals": [{"start": 1, "end": 2, "wifi": true}]}',
        '{"intervals": [{"start": 1, "end": 2, "battery": 40}]}',
        '{"intervals": [{"start": "2026-01-01T00:00:00", "end": "2026-01-09T00:00:00+00:00"}]}',
        '{"intervals": [{"start": "yesterday", "end": "2026-01-09T00:00:00+00:00"}]}',
        '{"intervals": [{"start": 5, "end": 2}]}',
    ],
)
def test_a_bad_script_file_is_one_clear_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "conditions.json"
    path.write_text(content)
    with pytest.raises(ScriptUnreadable) as caught:
        ScriptedConditions.from_json(path, zero)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_an_absent_script_is_told(tmp_path: Path) -> None:
    with pytest.raises(ScriptUnreadable):
        detect(zero, {"REVERIE_CONDITIONS": str(tmp_path / "absent.json")})


def test_detect() -> None:
    assert isinstance(detect(zero, {"TERMUX_VERSION": "0.118.1"}), TermuxConditions)
    assert isinstance(detect(zero, {}), LinuxConditions)
