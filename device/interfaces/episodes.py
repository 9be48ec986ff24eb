"""Recorded GUI episodes become runs: our JSONL, AndroidControl's JSONL, AutoDroid's task memory.

The format is detected from the content. Nothing is kept here of what was typed or of where on the
screen something lay; `device.agent.trajectories` cleans again. Episodes without times are given
times one hour apart, the last one at `until`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from device.actors import DomainError
from device.agent.records import Outcome, Page, Result, Run, Step
from device.faults import first_fault

__all__ = ["EpisodesUnreadable", "read_episodes"]

MAX_BYTES = 64 << 20
MAX_EPISODES = 20_000
MAX_STEPS = 500
APART_SECONDS = 3_600.0
STEP_SECONDS = 2.0
MIN_TIME, MAX_TIME = 0.0, 4_102_444_800.0
"""1970 … 2100, unix seconds."""
Text = Field(default="", max_length=2_000)
_GOAL_APP = re.compile(
    r"\b(?:[Oo]pen|[Ll]aunch|[Ii]n|[Oo]n|[Uu]sing|[Uu]se|[Ff]rom|[Vv]ia) (?:the |my )?"
    r"([A-Z][\w&.' -]{0,30}?)(?: app| application)\b"
)
_CONTROL = re.compile(r"<(?P<tag>\w+)[^>]*?(?: text='(?P<text>[^']*)')?[^>]*>(?P<inner>[^<]*)<")
_TAP = re.compile(r"^(?:click|tap|check|uncheck|select|long click)", re.IGNORECASE)


class EpisodesUnreadable(DomainError):
    """A file that holds no episodes we know; the message says where and why."""


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


class _Page(_Lenient):
    title: str = Text
    visible: list[str] = Field(default=[], max_length=1_000)
    clickable: list[str] = Field(default=[], max_length=1_000)
    focused: str = Text


class _Step(_Lenient):
    at: float | None = Field(default=None, ge=MIN_TIME, le=MAX_TIME)
    action: str = Field(max_length=40)
    target: str = Text
    result: Result = Result.UNKNOWN
    page: _Page = _Page()


class _Episode(_Lenient):
    task: str = Text
    goal: str = Field(max_length=2_000)
    app: str = Text
    started: float | None = Field(default=None, ge=MIN_TIME, le=MAX_TIME)
    outcome: Outcome
    steps: list[_Step] = Field(max_length=MAX_STEPS)


class _Action(_Lenient):
    action: str = Field(max_length=40)
    text: str = Text


class _ControlStep(_Lenient):
    action_content: _Action
    step_instruction: str | None = Text


class _ControlEpisode(_Lenient):
    goal: str = Field(max_length=2_000)
    is_successful: bool
    steps: list[_ControlStep] = Field(max_length=MAX_STEPS)


class _Path(_Lenient):
    task: str = Field(max_length=2_000)
    path: str = Field(max_length=20_000)


def read_episodes(path: Path, *, until: float) -> Iterator[Run]:
    """Runs of a file, in its order.

    Raises:
        EpisodesUnreadable: too large, no known format, or a damaged episode (with its number).
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise EpisodesUnreadable(f"{path}: over {MAX_BYTES >> 20} MiB; split the file")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise EpisodesUnreadable(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise EpisodesUnreadable(f"{path} is not UTF-8 text") from None
    values = _values(path, text)
    start = until - APART_SECONDS * len(values)
    for number, value in enumerate(values, start=1):
        try:
            yield _run(value, f"{path.stem}-{number}", start + APART_SECONDS * number)
        except ValidationError as error:
            field, said = first_fault(error)
            raise EpisodesUnreadable(
                f"{path}: episode {number}: {field}: {said}; nothing more was read"
            ) from None


def _values(path: Path, text: str) -> list[Any]:
    """One JSON value an episode, whichever the format."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise EpisodesUnreadable(f"{path}: the file is empty")
    first = _parsed(lines[0])
    if isinstance(first, dict) and "goal" in first:
        values = [_parsed(line) for line in lines]
    else:
        values = _task_memory(_parsed(text))
    if not values or len(values) > MAX_EPISODES:
        raise EpisodesUnreadable(
            f"{path}: give 1 to {MAX_EPISODES:,} episodes: our JSONL (goal, outcome, steps), "
            "AndroidControl's JSONL or AutoDroid's task memory"
        )
    return values


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _task_memory(value: Any) -> list[Any]:
    """AutoDroid's tasks, app by app: (app, task) pairs."""
    apps = value.items() if isinstance(value, dict) else ()
    return [
        (app, task) for app, tasks in apps if isinstance(tasks, dict) for task in tasks.values()
    ]


def _run(value: Any, task: str, at: float) -> Run:
    if isinstance(value, tuple):
        return _of_path(value[0], _Path.model_validate(value[1]), task, at)
    if isinstance(value, dict) and "is_successful" in value:
        return _of_control(_ControlEpisode.model_validate(value), task, at)
    return _of_ours(_Episode.model_validate(value), task, at)


def _of_ours(episode: _Episode, task: str, at: float) -> Run:
    started = at if episode.started is None else episode.started
    steps = tuple(
        Step(
            at=started + STEP_SECONDS * place if step.at is None else step.at,
            action=step.action,
            target=step.target,
            page=Page(
                step.page.title,
                tuple(step.page.visible),
                tuple(step.page.clickable),
                step.page.focused,
            ),
            result=step.result,
        )
        for place, step in enumerate(episode.steps)
    )
    name = episode.task or task
    return Run(name, episode.goal, episode.app, steps, episode.outcome, started)


def _of_control(episode: _ControlEpisode, task: str, at: float) -> Run:
    steps = tuple(
        Step(
            at=at + STEP_SECONDS * place,
            action=step.action_content.action,
            target=step.step_instruction or "",
            result=Result.OK if episode.is_successful else Result.UNKNOWN,
        )
        for place, step in enumerate(episode.steps)
        if step.action_content.action != "wait"
    )
    opened = [s.action_content.text for s in episode.steps if s.action_content.action == "open"]
    named = _GOAL_APP.search(episode.goal)
    app = opened[0] if opened else named[1] if named else ""
    outcome = Outcome.SUCCESS if episode.is_successful else Outcome.FAILURE
    return Run(task, episode.goal, _app_name(app), steps, outcome, at)


def _of_path(app: str, path: _Path, task: str, at: float) -> Run:
    lines = [line.strip() for line in path.path.splitlines() if line.strip()]
    steps = tuple(
        Step(
            at=at + STEP_SECONDS * place,
            action="click" if _TAP.match(line) else "type",
            target=_control_words(line),
            result=Result.OK,
        )
        for place, line in enumerate(lines[:MAX_STEPS])
    )
    return Run(task, path.task, _app_name(app), steps, Outcome.SUCCESS, at)


def _control_words(line: str) -> str:
    r"""'Click on <button>Sort by</button>' → 'click on the Sort by button'."""
    found = _CONTROL.search(line)
    if found is None:
        return ""
    name = (found["inner"] or found["text"] or "").strip()
    return f"click on the {name} {found['tag']}" if name else ""


def _app_name(app: str) -> str:
    return " ".join(app.casefold().split())
