"""Section H: what is kept of a run, and for how long."""

from __future__ import annotations

from device.agent.policy import AgentPolicy
from device.agent.records import Outcome, Page, Result, Step
from device.agent.trajectories import Kept, prepared, surplus
from tests.device.agent.parts import DAY, NOW, run

POLICY = AgentPolicy()


def test_typed_text_is_redacted() -> None:
    typed = Step(NOW, "type", "my password is hunter2")
    kept = prepared(run("tap the field", steps=(typed,)))
    assert kept.steps[0].target == "<text>"
    assert "hunter2" not in repr(kept)


def test_ids_and_coordinates_are_dropped_and_the_screens_words_stay() -> None:
    page = Page(
        "Home #a1b2", ("Bookmarks com.app:id/title", "Search (540, 2257)"), ("Search",), "x"
    )
    kept = prepared(
        run(steps=(Step(NOW, "click", "the Search button com.app:id/go (1, 2)", page),))
    )
    assert kept.steps[0].target == "the Search button"
    assert kept.steps[0].page == Page("Home", ("Bookmarks", "Search"), ("Search",), "x")


def test_repeated_scrolls_collapse() -> None:
    steps = [Step(NOW + n, action, "up") for n, action in enumerate(["swipe", "scroll", "swipe"])]
    kept = prepared(run(steps=(*steps, Step(NOW + 9, "click", "a button"))))
    assert [(step.action, step.repeats) for step in kept.steps] == [("swipe", 3), ("click", 1)]


def test_start_success_failure_and_anomaly_are_marked() -> None:
    steps = (
        Step(NOW, "open", "the app", result=Result.OK),
        Step(NOW, "click", "a button", result=Result.FAILED),
        Step(NOW, "click", "a menu", result=Result.OK),
    )
    assert [s.mark for s in prepared(run(steps=steps)).steps] == ["start", "anomaly", "success"]
    failed = prepared(run(steps=steps, outcome=Outcome.FAILURE))
    assert failed.steps[-1].mark == "failure"


def test_30_runs_a_task_50_in_all_7_days_100_megabytes() -> None:
    a_task = {f"mem:{n}": Kept("t", NOW - n, 10) for n in range(35)}
    assert surplus(a_task, NOW, POLICY) == [f"mem:{n}" for n in range(34, 29, -1)]
    in_all = {f"mem:{n}": Kept(f"t{n}", NOW - n, 10) for n in range(53)}
    assert surplus(in_all, NOW, POLICY) == ["mem:52", "mem:51", "mem:50"]
    aged = {"old": Kept("t", NOW - 7 * DAY - 1, 1), "new": Kept("t", NOW - 7 * DAY, 1)}
    assert surplus(aged, NOW, POLICY) == ["old"]
    large = {"old": Kept("t", NOW - 2, 60_000_000), "new": Kept("u", NOW - 1, 60_000_000)}
    assert surplus(large, NOW, POLICY) == ["old"]
