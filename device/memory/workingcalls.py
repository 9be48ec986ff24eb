"""What can be asked of the working layer: its requests and their answers."""

from __future__ import annotations

from dataclasses import dataclass

from device.actors import Request
from device.memory.records import Hit, Turn

__all__ = [
    "EndTask",
    "ForgetValue",
    "Lookup",
    "Note",
    "Remember",
    "Tasks",
    "Tidy",
    "Value",
    "Values",
    "WorkingSize",
    "WorkingStats",
]


@dataclass(frozen=True, slots=True)
class Value:
    """One remembered value; `source` is the id of the turn it came from."""

    key: str
    value: str
    source: str
    at: float
    uses: int = 0
    ended: float | None = None
    """Of a task's state: when the task ended, unix seconds; None while it runs."""


@dataclass(frozen=True)
class Remember(Request[None]):
    """Keep a value under a key (`name`, `address`, `task:<id>` …); the newest `at` wins."""

    key: str
    value: str
    source: str = ""
    at: float = 0.0


@dataclass(frozen=True)
class EndTask(Request[bool]):
    """The task under `key` (``task:<id>``) ended at `at`: its state stays for the decay window."""

    key: str
    at: float


@dataclass(frozen=True)
class Tasks(Request[list[Value]]):
    """The state of tasks under way or just ended by `now` (unix seconds), newest first."""

    now: float


@dataclass(frozen=True)
class Lookup(Request[list[Hit]]):
    """Answer from the values and the recent turns; best first, empty when neither fits."""

    query: str


@dataclass(frozen=True)
class Note(Request[None]):
    """A turn was just kept: put it in the ring and remember the values the user stated in it."""

    turn: Turn


@dataclass(frozen=True)
class Tidy(Request[None]):
    """Let go what has had its time by `now` (unix seconds), and make durable how often values were
    used. Part of a dream."""

    now: float


@dataclass(frozen=True)
class ForgetValue(Request[bool]):
    """Forget one value for good."""

    key: str


@dataclass(frozen=True)
class Values(Request[list[Value]]):
    """Every value held, by key: what a user lists."""


@dataclass(frozen=True)
class WorkingSize:
    """Sizes of the working layer."""

    turns: int
    values: int
    capacity: int


@dataclass(frozen=True)
class WorkingStats(Request[WorkingSize]):
    """How much the working layer holds."""
