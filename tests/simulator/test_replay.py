import pytest

from simulator.faults.plan import FaultPlan
from simulator.replay import TraceEvent, until
from simulator.scenario import Scenario
from simulator.world import Options, run_world

EVENT = TraceEvent(86_400.0 + 3 * 3_600 + 30 * 60, 4, "fault kill", "at step 12")


@pytest.mark.parametrize(
    ("wanted", "stops"),
    [
        ("fault kill", True),
        ("kill phone 4", True),
        ("FAULT KILL", True),
        ("fault torn_write", False),
        ("2:03:30", True),
        ("2:03", True),
        ("2:3:31", False),
        ("3:0", False),
    ],
)
def test_what_until_means(wanted: str, stops: bool) -> None:
    assert until(wanted)(EVENT) is stops


@pytest.mark.parametrize("wanted", ["0:01", "1:24:00", "1:00:60", "1:1:1:1", " "])
def test_a_time_that_is_none_is_refused(wanted: str) -> None:
    with pytest.raises(ValueError, match="DAY:HOUR:MINUTE"):
        until(wanted)


def test_an_event_is_one_line() -> None:
    assert EVENT.line() == "day 2 03:30:00.000  phone 4  fault kill  at step 12"


def test_a_world_is_cut_at_an_event_and_the_same_seed_tells_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("simulator.world._World._tick", lambda _self, _now: None)
    scenario = Scenario(phones=3, days=1, seed=5, faults=FaultPlan(kill=6.0))

    def story(wanted: str) -> list[str]:
        lines: list[str] = []
        stops = until(wanted)

        def listen(event: TraceEvent) -> bool:
            lines.append(event.line())
            return stops(event)

        run_world(Options.of(scenario, "inproc", 1), listener=listen)
        return lines

    told = story("fault kill")
    assert "fault kill" in told[-1]
    assert not any("fault kill" in line for line in told[:-1])
    assert story("fault kill") == told
