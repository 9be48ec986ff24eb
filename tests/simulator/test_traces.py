"""Availability traces from files: both formats, replayed at the hours their phones saw."""

from __future__ import annotations

import json
import pickle
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from simulator import traces
from simulator.lives import Lives
from simulator.scenario import Scenario
from simulator.traces import PhoneTrace, TraceUnreadable, load_traces
from simulator.tracks import Track

MONDAY = 1_772_409_600.0  # 2026-03-02 00:00 UTC
DAY, HOUR = 86_400.0, 3_600.0

WHOLE = """phone,condition,start,end
a,charging,2024-06-03T22:00:00+02:00,2024-06-04T06:00:00+02:00
a,wifi,2024-06-03T20:00:00+02:00,2024-06-04T08:00:00+02:00
a,idle,2024-06-03T23:30:00+02:00,2024-06-04T05:30:00+02:00
a,idle,2024-06-03T23:00:00+02:00,2024-06-03T23:45:00+02:00

b,unmetered,2024-06-04T01:00:00,2024-06-10T01:00:00
"""


def loaded(folder: Path, text: str, name: str = "trace.csv") -> list[PhoneTrace]:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return load_traces(file)


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(TraceUnreadable) as caught:
        loaded(folder, text)
    said = str(caught.value)
    assert "\n" not in said
    assert said.startswith(str(folder / "trace.csv"))
    return said


def clock(at: float, zone: str) -> str:
    return datetime.fromtimestamp(at, ZoneInfo(zone)).strftime("%a %H:%M")


def test_intervals_keep_their_wall_clock_and_weekday(tmp_path: Path) -> None:
    first, second = loaded(tmp_path, WHOLE)
    assert (first.name, second.name) == ("a", "b")
    for zone in ("Asia/Shanghai", "America/New_York"):
        offset = datetime.fromtimestamp(MONDAY, ZoneInfo(zone)).utcoffset()
        assert offset is not None
        truth = first.replay(start=MONDAY, days=7, utc_offset=offset.total_seconds())
        nights = [(clock(b, zone), clock(e, zone)) for b, e in truth.charging.spans]
        # Two days are observed, so the pattern comes back every second day.
        assert ("Mon 22:00", "Tue 06:00") in nights or ("Tue 22:00", "Wed 06:00") in nights
        assert {(b[4:], e[4:]) for b, e in nights[1:-1]} == {("22:00", "06:00")}
        assert {b[4:] for b, _ in ((clock(b, zone), e) for b, e in truth.window.spans)} <= {"23:00"}
    never = second.replay(start=MONDAY, days=7, utc_offset=0.0)
    assert never.charging == Track(())
    assert never.unmetered.spans
    assert not never.window.spans


def test_a_trace_of_weeks_repeats_by_whole_weeks(tmp_path: Path) -> None:
    rows = "phone,condition,start,end,zone\n" + "".join(
        f"x,window,2024-06-{day:02d}T0{hour}:00,2024-06-{day:02d}T0{hour}:30,Asia/Tokyo\n"
        for day, hour in ((3, 1), (5, 2), (8, 3), (11, 4))  # Monday … the second Tuesday
    )
    (trace,) = loaded(tmp_path, rows)
    assert trace.zone == "Asia/Tokyo"
    assert trace.period == 7 * DAY
    truth = trace.replay(start=MONDAY, days=15, utc_offset=9 * HOUR)
    begins = [clock(begin, "Asia/Tokyo") for begin, _ in truth.window.spans]
    week = ["Mon 01:00", "Wed 02:00", "Sat 03:00"]
    # The world begins on Monday 09:00 in Tokyo, after that day's window.
    assert begins == [*week[1:], *week, week[0]]
    assert truth.charging.holds(MONDAY + DAY)
    assert truth.unmetered.holds(MONDAY + DAY)


def test_unix_seconds_are_told_in_the_zone_that_is_named(tmp_path: Path) -> None:
    noon = datetime(2024, 6, 3, 12, tzinfo=ZoneInfo("Asia/Tokyo")).timestamp()
    row = f"{{}},window,{noon},{noon + 600}"
    header = "phone,condition,start,end"
    named, bare = (
        loaded(tmp_path, f"{header},zone\n{row.format('x')},Asia/Tokyo\n")[0],
        loaded(tmp_path, f"{header}\n{row.format('x')}\n")[0],
    )
    assert named.zone == "Asia/Tokyo"
    assert named.spans[2][0][0] % DAY == 12 * HOUR
    assert bare.zone == "UTC"
    assert bare.spans[2][0][0] % DAY == 3 * HOUR


FEDSCALE = {
    "1": {
        "duration": 7_200,
        "active": [3_600, 518_000],
        "inactive": [7_200, 521_613],
        "finish_time": 518_400,
        "model": "CPH1801",
    },
    "2": {"duration": 0, "active": [], "inactive": [], "finish_time": 518_400, "model": "x"},
}


def test_fedscale_clients_come_and_go_as_there(tmp_path: Path) -> None:
    first, second = loaded(tmp_path, json.dumps(FEDSCALE), "fedscale.json")
    truth = first.replay(start=MONDAY, days=8, utc_offset=0.0)
    period = 518_400.0
    ends = ((3_600.0, 7_200.0), (518_000.0, period), (period + 3_600, period + 7_200))
    assert truth.window.spans == tuple((MONDAY + b, MONDAY + e) for b, e in ends)
    assert not second.replay(start=MONDAY, days=8, utc_offset=0.0).window.spans
    local = first.replay(start=MONDAY, days=1, utc_offset=8 * HOUR)
    assert not local.window.spans, "one o'clock on Monday night is over in Shanghai"


def test_a_pickle_is_never_loaded(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (exec, ("raise SystemExit('loaded')",))

    (tmp_path / "trace").write_bytes(pickle.dumps({1: Trap()}))
    with pytest.raises(TraceUnreadable, match="is a pickle, which is never loaded here"):
        load_traces(tmp_path / "trace")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: the file is empty"),
        ("a,b,c,d\n", "line 1: give the columns phone,condition,start,end"),
        ("phone,condition,start,end\nx,window,1,2,3\n", "line 2: 5 cells where the header has 4"),
        ("phone,condition,start,end\n\nx,nap,1,2\n", "line 3: 'nap' is no condition; there are ch"),
        ("phone,condition,start,end\nx,window,2,2\n", "line 2: the end is not after the start"),
        ("phone,condition,start,end\nx,window,soon,2\n", "line 2: 'soon' is neither ISO 8601 nor"),
        ("phone,condition,start,end\nx,window,-1,2\n", "line 2: '-1' is neither"),
        ("phone,condition,start,end\nx,window,1,1e300\n", "line 2: '1e300' is neither"),
        ("phone,condition,start,end\n,window,1,2\n", "line 2: no phone is named"),
        ("phone,condition,start,end\nx,idle,1,2\n", "no row is about charging or unmetered"),
        ("phone,condition,start,end,zone\nx,window,1,2,Mars\n", "line 2: 'Mars' is no IANA"),
        ("phone,condition,start,end,zone\nx,window,1,2,../x\n", "line 2: '../x' is no IANA"),
        (
            "phone,condition,start,end,zone\nx,window,1,2,UTC\nx,window,5,6,Asia/Tokyo\n",
            "line 3: phone 'x' was in another zone before",
        ),
        (
            "phone,condition,start,end\nx,window,1,2\nx,idle,1,2\n",
            "rows of window and of its parts",
        ),
        ('{"1": 2', "line 1: not JSON"),
        ("{}", "line 1: no client is in it"),
        ('{"1": 2}', "client '1': an object with active, inactive and finish_time"),
        (
            '{"1": {"active": [1], "inactive": [], "finish_time": 9}}',
            "client '1': 1 active but 0 inactive moments",
        ),
        (
            '{"1": {"active": [5], "inactive": [1], "finish_time": 9}}',
            "client '1': active and inactive do not follow one another",
        ),
        ('{"1": {"active": ["x"], "inactive": [1], "finish_time": 9}}', "must be lists of seconds"),
        ('{"1": {"active": [], "inactive": [], "finish_time": 0}}', "a number of seconds above 0"),
        ("[" * 100_000, "line 1: give the columns"),
        ('{"1": ' * 100_000, "line 1: not JSON"),
    ],
)
def test_a_fault_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(tmp_path, text)


def test_what_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traces, "MAX_INTERVALS", 4)
    assert "line 7: over" in refusal(tmp_path, WHOLE)
    monkeypatch.setattr(traces, "MAX_BYTES", 100)
    assert "split the file" in refusal(tmp_path, WHOLE)
    with pytest.raises(TraceUnreadable, match="cannot read"):
        load_traces(tmp_path / "absent")


def test_phones_take_turns_and_live_where_their_traces_did(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text(
        "phone,condition,start,end,zone\n"
        "x,window,2024-06-03T01:00,2024-06-03T02:00,Asia/Tokyo\n"
        "y,window,2024-06-03T05:00,2024-06-03T06:00,America/Lima\n"
    )
    lives = Lives(Scenario(availability=file), seed=1, start=MONDAY, days=2, data=None)
    zones = [lives.of(phone).person.zone for phone in range(4)]
    assert zones == ["Asia/Tokyo", "America/Lima"] * 2
    first, third = lives.of(0), lives.of(2)
    assert first.truth == third.truth
    assert first.person != third.person
    assert [clock(b, "Asia/Tokyo") for b, _ in first.truth.window.spans] == [
        "Tue 01:00",
        "Wed 01:00",
    ]
