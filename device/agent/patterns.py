"""How this user goes about an intent: counts, ratios, hours; no content (003, mended).

A pattern is a hint for planning; `device.agent.permission` never lets it grant anything.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, replace

from device.agent.policy import AgentPolicy
from device.agent.records import Confirmation, Pattern

__all__ = ["Habit", "corrected", "habit", "is_expired", "observed", "usual_confirmation"]

DAY_SECONDS = 86_400.0
STEPS_KEPT = 32
"""Newest step counts a pattern holds."""
HOURS = 24


@dataclass(frozen=True, slots=True)
class Habit:
    """What the patterns of one intent say when read together."""

    intent: str
    apps: tuple[tuple[str, float], ...]
    """(app, share of the runs), most used first, of this time of day where enough is known."""
    steps: float | None
    """Median steps of a run in the app used most."""
    steps_spread: float
    """Half the distance between the quartiles."""
    confirmation: Confirmation
    runs: int


def observed(
    pattern: Pattern, *, steps: int, confirmation: Confirmation, hour: int, at: float
) -> Pattern:
    """The pattern after one completed run begun at the local `hour` (0 … 23)."""
    counts = dict(pattern.confirmations)
    counts[confirmation] = counts.get(confirmation, 0) + 1
    hours = tuple(n + (place == hour % HOURS) for place, n in enumerate(pattern.hours))
    return replace(
        pattern,
        runs=pattern.runs + 1,
        steps=(*pattern.steps, steps)[-STEPS_KEPT:],
        confirmations=tuple(sorted(counts.items())),
        hours=hours,
        seen=max(pattern.seen, at),
    )


def corrected(pattern: Pattern, at: float) -> Pattern:
    """The pattern after the user said that it was not what they wanted: a run weighs less."""
    return replace(pattern, corrected=pattern.corrected + 1, seen=max(pattern.seen, at))


def is_expired(pattern: Pattern, now: float, policy: AgentPolicy) -> bool:
    """Not seen for so long that it says nothing any more."""
    return now - pattern.seen > policy.pattern_days * DAY_SECONDS


def usual_confirmation(patterns: Iterable[Pattern], policy: AgentPolicy) -> Confirmation:
    """How the user mostly met requests to confirm; NO_RECORD unless a clear share says it.

    Runs with no record count for nothing: not having asked is no preference.
    """
    counts: dict[Confirmation, int] = {}
    for pattern in patterns:
        for state, count in pattern.confirmations:
            if state is not Confirmation.NO_RECORD:
                counts[state] = counts.get(state, 0) + count
    total = sum(counts.values())
    if total < policy.pattern_evidence:
        return Confirmation.NO_RECORD
    most = max(counts, key=lambda state: (counts[state], state))
    return most if counts[most] >= policy.pattern_share * total else Confirmation.NO_RECORD


def habit(
    intent: str, patterns: Iterable[Pattern], *, now: float, hour: int, policy: AgentPolicy
) -> Habit | None:
    """The habit of one intent at a local hour; None when nothing recent is known."""
    live = [p for p in patterns if p.intent == intent and not is_expired(p, now, policy)]
    if not live:
        return None
    weights = {pattern.app: _weight(pattern, hour) for pattern in live}
    total = sum(weights.values())
    shares = [(app, weight / total if total else 0.0) for app, weight in weights.items()]
    apps = tuple(sorted(shares, key=lambda entry: (-entry[1], entry[0])))
    steps = next(pattern.steps for pattern in live if pattern.app == apps[0][0])
    return Habit(
        intent=intent,
        apps=apps,
        steps=statistics.median(steps) if steps else None,
        steps_spread=_spread(steps),
        confirmation=usual_confirmation(live, policy),
        runs=sum(pattern.runs for pattern in live),
    )


def _weight(pattern: Pattern, hour: int) -> float:
    """Runs that went well, those at this time of day (±2 h) counting twice."""
    near = sum(pattern.hours[(hour + shift) % HOURS] for shift in (-2, -1, 0, 1, 2))
    return max(pattern.runs + near - 2.0 * pattern.corrected, 0.0)


def _spread(steps: tuple[int, ...]) -> float:
    if len(steps) < 2:
        return 0.0
    low, _, high = statistics.quantiles(steps, n=4)
    return (high - low) / 2.0
