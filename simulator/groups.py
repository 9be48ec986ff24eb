"""What each part of the population got: phones by the habits of their owners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulator.habits import habit_of
from simulator.plan import WorldPlan
from simulator.timelines import Release
from simulator.virtual_phone import PhoneResult

__all__ = ["groups"]

_HOUR = 3600.0
_DIGITS = 4


def groups(
    plan: WorldPlan, results: Sequence[PhoneResult], releases: Sequence[Release]
) -> dict[str, dict[str, Any]]:
    """The report's ``groups``, by habit; none where the phones follow a trace of real ones."""
    if plan.scenario.availability not in ("fitted", "daily"):
        return {}
    members: dict[str, list[PhoneResult]] = {}
    for result in results:
        habit = habit_of(plan.scenario.population, plan.seed, result.phone)
        members.setdefault(str(habit), []).append(result)
    newest: dict[str, int] = {}
    for release in releases:
        newest[release.model] = max(release.version, newest.get(release.model, 0))
    return {habit: _group(phones, newest) for habit, phones in sorted(members.items())}


def _group(phones: Sequence[PhoneResult], newest: Mapping[str, int]) -> dict[str, Any]:
    return {
        "phones": len(phones),
        "window_hours": round(sum(one.window_seconds for one in phones) / _HOUR, 1),
        "uploads_acked": sum(len(one.acked) for one in phones),
        "answered": sum(one.answered for one in phones),
        "useful": sum(one.useful for one in phones),
        "on_newest": {
            model: round(
                sum(one.versions.get(model, 0) >= version for one in phones) / len(phones), _DIGITS
            )
            for model, version in sorted(newest.items())
        },
    }
