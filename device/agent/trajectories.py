"""A run as it may be kept: no typed text, ids or coordinates; repeats collapsed (000, 001)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from device.agent.policy import AgentPolicy
from device.agent.records import Outcome, Page, Result, Run, Step

__all__ = ["Kept", "prepared", "surplus"]

DAY_SECONDS = 86_400.0
MEGABYTE = 1_000_000
TYPED = "<text>"
TYPING = frozenset({"type", "input", "input_text", "set_text", "paste"})
SCROLLING = frozenset({"swipe", "scroll", "fling"})
WORDS_A_PAGE = 40
"""Visible and clickable texts kept of one screen."""
WORD_CHARACTERS = 60
TARGET_CHARACTERS = 200
MOST_STEPS = 200
_ID = re.compile(r"\b[\w.]*:?id/\w+|#\w{2,}|\b0x[0-9a-f]+\b", re.IGNORECASE)
_POINT = re.compile(r"[(\[（]\s*-?\d+(?:\.\d+)?\s*[,，]\s*-?\d+(?:\.\d+)?\s*[)\]）]")


@dataclass(frozen=True, slots=True)
class Kept:
    """What deciding about a kept run needs."""

    task: str
    started: float
    bytes: int


def prepared(run: Run) -> Run:
    """The run cleaned, shortened and marked; what a distiller and the log may see."""
    steps = [_clean(step) for step in run.steps[:MOST_STEPS]]
    return replace(run, steps=tuple(_marked(_collapsed(steps), run.outcome)))


def surplus(runs: Mapping[str, Kept], now: float, policy: AgentPolicy) -> list[str]:
    """Ids of runs beyond the limits of age, one task, number and bytes, oldest first."""
    oldest_first = sorted(runs, key=lambda i: (runs[i].started, i))
    old = now - policy.run_days * DAY_SECONDS
    a_task: Counter[str] = Counter()
    kept = bytes_kept = 0
    gone = []
    for identifier in reversed(oldest_first):
        run = runs[identifier]
        over = (
            run.started < old
            or a_task[run.task] >= policy.trajectories_a_task
            or kept >= policy.runs
            or bytes_kept + run.bytes > policy.run_megabytes * MEGABYTE
        )
        if over:
            gone.append(identifier)
            continue
        a_task[run.task] += 1
        kept += 1
        bytes_kept += run.bytes
    return gone[::-1]


def _clean(step: Step) -> Step:
    target = _words(step.target, TARGET_CHARACTERS)
    if step.action in TYPING:
        target = TYPED
    page = Page(
        title=_words(step.page.title, WORD_CHARACTERS),
        visible=_texts(step.page.visible),
        clickable=_texts(step.page.clickable),
        focused=_words(step.page.focused, WORD_CHARACTERS),
    )
    return replace(step, target=target, page=page)


def _words(text: str, most: int) -> str:
    """The text without control ids and coordinates, which hold on one device only."""
    bare = _POINT.sub("", _ID.sub("", text))
    return " ".join(bare.split())[:most]


def _texts(texts: Sequence[str]) -> tuple[str, ...]:
    cleaned = (_words(text, WORD_CHARACTERS) for text in texts)
    return tuple(dict.fromkeys(text for text in cleaned if text))[:WORDS_A_PAGE]


def _collapsed(steps: Sequence[Step]) -> list[Step]:
    """Scrolls in a row become one."""
    kept: list[Step] = []
    for step in steps:
        last = kept[-1] if kept else None
        if last is not None and step.action in SCROLLING and last.action in SCROLLING:
            kept[-1] = replace(last, result=step.result, repeats=last.repeats + 1)
        else:
            kept.append(step)
    return kept


def _marked(steps: Sequence[Step], outcome: Outcome) -> list[Step]:
    """Start, success, failure and anomaly (a step that failed and was not the end) marked."""
    last = len(steps) - 1
    ends = {Outcome.SUCCESS: "success", Outcome.FAILURE: "failure", Outcome.ABORTED: "anomaly"}
    marked = []
    for place, step in enumerate(steps):
        mark = "anomaly" if step.result is Result.FAILED else ""
        mark = "start" if place == 0 else mark
        mark = ends[outcome] if place == last else mark
        marked.append(replace(step, mark=mark))
    return marked
