"""The nouns of what an agent learns, and how each is kept as an item of the structured layer.

A *fact* says how an app behaves, a *skill* how a task is done, a *pattern* how this user goes about
an intent, a *run* is one recorded trajectory. Each is an `Item`: the words in ``text``, the app in
``subject``, the rest in ``detail``; listing, provenance, forgetting and sealing are those of all.
Times are unix seconds, UTC.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

__all__ = [
    "Confirmation",
    "Fact",
    "FactKind",
    "Outcome",
    "Page",
    "Pattern",
    "Result",
    "Run",
    "Skill",
    "Step",
    "Trigger",
]


class FactKind(StrEnum):
    """What a fact depends on (001): only a convention holds where the control does not exist."""

    ANCHOR = "anchor"
    """A control id or a coordinate."""
    CONVENTION = "convention"
    """How the interface behaves."""
    SYSTEM = "system"
    """How the agent's tools and the phone behave."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One short declarative sentence about an app."""

    app: str
    """Package name; empty for the phone itself."""
    content: str
    kind: FactKind
    confidence: float
    verified: float
    """When it was last seen to hold."""
    used: float
    """When it was last injected."""
    sources: tuple[str, ...] = ()
    """Ids of the runs it was learnt from, oldest first."""
    confirmations: int = 0
    refutations: int = 0
    pending: bool = False
    """Contradicts a surer fact: kept, never injected until it is confirmed."""
    rivals: tuple[str, ...] = ()
    """Ids of facts that contradict it with like confidence: all are injected."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """When a skill applies: any app, any page feature, any task type named."""

    apps: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Skill:
    """How a class of tasks is done, in 2 to 5 steps."""

    name: str
    trigger: Trigger
    steps: tuple[str, ...]
    successes: int = 0
    failures: int = 0
    average_steps: float = 0.0
    """Steps that runs with it took."""
    used: float = 0.0
    enabled: bool = True
    distilled: bool = False
    """Made from runs, not written by a person."""
    sources: tuple[str, ...] = ()


class Confirmation(StrEnum):
    """How the user met a request to confirm: four states, none counts as another (003)."""

    CONFIRMED = "confirmed"
    NOT_NEEDED = "not_needed"
    REFUSED = "refused"
    NO_RECORD = "no_record"


@dataclass(frozen=True, slots=True)
class Pattern:
    """How this user goes about one intent in one app: counts only, no content (003)."""

    intent: str
    app: str
    runs: int = 0
    steps: tuple[int, ...] = ()
    """Step counts of the newest runs, oldest first."""
    confirmations: tuple[tuple[Confirmation, int], ...] = ()
    hours: tuple[int, ...] = field(default_factory=lambda: (0,) * 24)
    """Runs begun in each local hour."""
    corrected: int = 0
    """Times the user said that it was not right."""
    seen: float = 0.0


class Result(StrEnum):
    """How one step went."""

    OK = "ok"
    FAILED = "failed"
    UNKNOWN = "unknown"


class Outcome(StrEnum):
    """How a run ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class Page:
    """What was on the screen before a step: words only, neither ids nor coordinates (001)."""

    title: str = ""
    visible: tuple[str, ...] = ()
    clickable: tuple[str, ...] = ()
    focused: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One action of a run."""

    at: float
    action: str
    """click | type | swipe | open | back | wait | long_press | …"""
    target: str
    """What it was done to, in words; typed text never."""
    page: Page = field(default_factory=Page)
    result: Result = Result.UNKNOWN
    mark: str = ""
    """start | success | failure | anomaly"""
    repeats: int = 1
    """Like steps in a row that this one stands for."""


@dataclass(frozen=True, slots=True)
class Run:
    """One task as it was carried out."""

    task: str
    """Whose task it was: runs of one task share it."""
    goal: str
    app: str
    steps: tuple[Step, ...]
    outcome: Outcome
    started: float
    intents: tuple[str, ...] = ()

    @property
    def ended(self) -> float:
        """When its last step was taken."""
        return max((step.at for step in self.steps), default=self.started)
