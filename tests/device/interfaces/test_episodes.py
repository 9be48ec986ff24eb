"""Recorded episodes become runs; hostile files become one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from device.agent.records import Outcome, Result
from device.interfaces.episodes import EpisodesUnreadable, read_episodes

NOW = 1_770_000_000.0
OURS: dict[str, Any] = {
    "goal": "find a lamp",
    "app": "shop",
    "outcome": "success",
    "started": NOW,
    "steps": [
        {"at": NOW + 1, "action": "click", "target": "the search icon", "result": "ok",
         "page": {"title": "Home", "clickable": ["Search"]}},
        {"action": "type", "target": "lamp"},
    ],
}  # fmt: skip
CONTROL: dict[str, Any] = {
    "goal": "Open the Zoho Meet app and view the meetings.",
    "is_successful": True,
    "episode_id": 1,
    "steps": [
        {"action_content": {"action": "open", "text": "Zoho Meet"}, "step_instruction": "Open it"},
        {"action_content": {"action": "wait", "time": 2}, "step_instruction": "wait"},
        {"action_content": {"action": "click", "coordinate": [1, 2]},
         "step_instruction": "click on the menu button"},
    ],
}  # fmt: skip
PATHS = {
    "gallery": {
        "x": {
            "task": "Sort folders",
            "path": "Click on <button text='More options'></button>\n"
            "Click on <button>Sort by</button>\nCheck <checkbox checked=False>Name</checkbox>\n",
        }
    }
}


def written(folder: Path, text: str) -> Path:
    path = folder / "episodes.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def test_our_own_format(tmp_path: Path) -> None:
    (run,) = read_episodes(written(tmp_path, json.dumps(OURS)), until=NOW)
    assert (run.goal, run.app, run.outcome, run.started) == (
        "find a lamp",
        "shop",
        Outcome.SUCCESS,
        NOW,
    )
    assert [step.action for step in run.steps] == ["click", "type"]
    assert run.steps[0].page.clickable == ("Search",)
    assert run.steps[0].result is Result.OK


def test_androidcontrol_episodes_one_hour_apart(tmp_path: Path) -> None:
    lines = "\n".join([json.dumps(CONTROL)] * 2)
    first, second = read_episodes(written(tmp_path, lines), until=NOW)
    assert (first.app, second.started, second.started - first.started) == ("zoho meet", NOW, 3_600)
    assert [step.action for step in first.steps] == ["open", "click"], "waiting is no step"


def test_the_app_is_taken_from_the_goal_when_none_is_opened(tmp_path: Path) -> None:
    closed = CONTROL | {"goal": "In the Reminder app, add a note", "steps": CONTROL["steps"][2:]}
    (run,) = read_episodes(written(tmp_path, json.dumps(closed)), until=NOW)
    assert run.app == "reminder"


def test_autodroids_task_memory(tmp_path: Path) -> None:
    (run,) = read_episodes(written(tmp_path, json.dumps(PATHS)), until=NOW)
    assert run.app == "gallery"
    assert [step.target for step in run.steps] == [
        "click on the More options button",
        "click on the Sort by button",
        "click on the Name checkbox",
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("not json", "1 to"),
        ("[]", "1 to"),
        ('{"a": 1}', "1 to"),
        ('{"goal": 3, "outcome": "success", "steps": []}', "episode 1: goal"),
        ('{"goal": "g", "outcome": "won", "steps": []}', "episode 1: outcome"),
        (json.dumps(OURS | {"steps": [{}]}), "episode 1: steps.0.action"),
        (json.dumps(OURS | {"started": 1e300}), "episode 1: started"),
        (json.dumps(OURS) + "\nbroken", "episode 2"),
        ("[" * 100_000, "1 to"),
    ],
)
def test_a_bad_file_is_one_clear_line(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(EpisodesUnreadable, match=why) as caught:
        list(read_episodes(written(tmp_path, text), until=NOW))
    assert "\n" not in str(caught.value)


def test_a_file_that_is_missing_binary_or_huge(tmp_path: Path) -> None:
    with pytest.raises(EpisodesUnreadable, match="cannot read"):
        list(read_episodes(tmp_path / "absent", until=NOW))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(EpisodesUnreadable, match="UTF-8"):
        list(read_episodes(tmp_path / "binary", until=NOW))
    with (tmp_path / "huge").open("wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(EpisodesUnreadable, match="split"):
        list(read_episodes(tmp_path / "huge", until=NOW))


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["goal", "steps", "app", "outcome", "path", "task", "is_successful"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(values=st.lists(json_values, max_size=4))
def test_no_json_makes_a_traceback(tmp_path: Path, values: list[object]) -> None:
    text = "\n".join(json.dumps(value) for value in values)
    told = ""
    try:
        list(read_episodes(written(tmp_path, text), until=NOW))
    except EpisodesUnreadable as error:
        told = str(error)
    assert "\n" not in told


def test_real_episodes(shared_data: Path, tmp_path: Path) -> None:
    runs = list(read_episodes(shared_data / "gui" / "android_control_0.jsonl", until=NOW))
    assert len(runs) == 925
    assert sum(bool(run.app) for run in runs) > 500
    tasks = list(read_episodes(shared_data / "gui" / "ex_mem.json", until=NOW))
    assert len({run.app for run in tasks}) == 13
    assert all(run.steps for run in tasks)
