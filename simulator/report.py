"""What a run is worth telling: `report.json`, from which the page and the summary are drawn.

Everything but ``wall_clock`` follows from the seed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from privacy.budget import BUDGETS
from protocol.rounds import LOCAL_TASK, SHARED_TASKS
from simulator.estimates import UsageSum, estimates
from simulator.fidelity import said
from simulator.groups import groups
from simulator.laws import LAWS, OCCASIONAL, Tally
from simulator.plan import WorldPlan
from simulator.report_files import write
from simulator.report_schema import SCHEMA_VERSION
from simulator.timelines import (
    Release,
    Taken,
    adoption,
    availability,
    per_hour,
    staleness,
    told_versions,
)
from simulator.virtual_phone import PhoneResult, WindowNote

__all__ = ["MODELS", "Release", "Round", "build", "write"]

MODELS = ("router", "dedup")

_HOUR = 3600.0


@dataclass(frozen=True)
class Round:
    """One aggregation round as the cloud remembers it."""

    task: str
    number: int
    status: str
    reports: int


def build(
    plan: WorldPlan,
    results: Sequence[PhoneResult],
    notes: Sequence[WindowNote],
    *,
    rounds: Sequence[Round],
    releases: Sequence[Release],
    tally: Tally,
    wall_seconds: float,
    sums: Sequence[UsageSum] = (),
    faults: Mapping[str, Mapping[str, float]] | None = None,
) -> dict[str, Any]:
    """The report, with keys and values that JSON can hold, as `simulator.report_schema` has it.

    `faults`: fault → its rate and how often it fired; None where none could.
    """
    budget = BUDGETS[plan.budget]
    adopted = [(at, note.phone, m, v) for note in notes for at, m, v in note.adopted]
    kept = Counter(model for note in notes for _, model, _ in note.kept)
    spent = [result.epsilon for result in results]
    closed = [one for one in rounds if one.status == "closed"]
    report = {
        "schema_version": SCHEMA_VERSION,
        "phones": plan.phones,
        "virtual_days": plan.days,
        "seed": plan.seed,
        "data": plan.data.name if plan.data else "the shipped sample",
        "scenario": plan.scenario.name or None,
        "window_hours": round(sum(one.window_seconds for one in results) / _HOUR, 1),
        "records": sum(one.records for one in results),
        "items": sum(one.items for one in results),
        "recall": {
            "answered": sum(one.answered for one in results),
            "useful": sum(one.useful for one in results),
            "by_layer": _summed(one.by_layer for one in results),
            "decided_by": _summed(one.decided_by for one in results),
        },
        "uploads_acked": sum(len(one.acked) for one in results),
        "uploads_waiting": sum(one.waiting for one in results),
        "rounds": len(closed),
        "rounds_by_task": {task: _round_counts(rounds, task) for task in _tasks(rounds)},
        "releases": {m: _release_counts(plan, releases, adopted, kept, m) for m in MODELS},
        "bytes_per_device_day": _bytes_a_day(plan, results),
        "network": {
            "sessions": sum(one.traffic.sessions for one in results),
            "cuts": sum(one.traffic.cuts for one in results),
            "unreachable": sum(one.traffic.unreachable for one in results),
        },
        "epsilon": {"max": max(spent), "median": median(spent), "delta": budget.delta},
        "budget": {
            "name": budget.name,
            "private": budget.private,
            "says": BUDGETS["production"].allows(plan.phones),
        },
        "invariants": _invariants(tally),
        "digest": f"{sum(one.digest for one in results) % 2**256:064x}",
        "groups": groups(plan, results, releases),
        "estimates": estimates(sums, dict(one for note in notes for one in note.tallied)),
        "timeline": {
            "availability": availability(
                plan,
                [one.window_by_hour for one in results],
                [(one.utc_offset, one.window_by_week) for one in results],
            ),
            "uploads_per_hour": per_hour(plan, (at for note in notes for at in note.acked_at)),
            "adoption": {m: adoption(plan, releases, adopted, m) for m in MODELS},
            "staleness": {m: staleness(plan, releases, adopted, m) for m in MODELS},
            "epsilon_by_phone": spent,
            "bytes_by_phone": [(r.traffic.up + r.traffic.down) / plan.days for r in results],
        },
        "wall_clock": {"seconds": round(wall_seconds, 2)},
    }
    if fidelity := said(plan.scenario.fidelity):
        report["fidelity"] = fidelity
    if faults is not None:
        report["faults"] = {name: dict(told) for name, told in sorted(faults.items())}
    return report


def _summed(counts: Any) -> dict[str, int]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return dict(sorted(total.items()))


def _tasks(rounds: Sequence[Round]) -> tuple[str, ...]:
    """The tasks worth a line: those of two servers, and the local one where it is asked for."""
    asked = {one.task for one in rounds}
    if LOCAL_TASK not in asked:
        return SHARED_TASKS
    return (LOCAL_TASK, *(task for task in SHARED_TASKS if task in asked))


def _round_counts(rounds: Sequence[Round], task: str) -> dict[str, int]:
    mine = [one for one in rounds if one.task == task]
    ended = Counter(one.status for one in mine)
    return {
        "closed": ended["closed"],
        "reports": sum(one.reports for one in mine if one.status == "closed"),
        "expired": ended["expired"],
        "refused": ended["refused"],
        "open": ended["open"] + ended["closing"],
    }


def _release_counts(
    plan: WorldPlan,
    releases: Sequence[Release],
    adopted: Sequence[Taken],
    kept: Counter[str],
    model: str,
) -> dict[str, Any]:
    mine = [one for one in releases if one.model == model]
    taken = Counter(version for _, _, name, version in adopted if name == model)
    return {
        "published": len(mine),
        "adopted": sum(taken.values()),
        "kept_older": kept[model],
        "accuracy": [one.accuracy for one in mine if one.accuracy is not None],
        "versions": told_versions(plan, mine, adopted, taken),
    }


def _bytes_a_day(plan: WorldPlan, results: Sequence[PhoneResult]) -> dict[str, float]:
    device_days = plan.phones * plan.days
    return {
        "up": round(sum(one.traffic.up for one in results) / device_days, 1),
        "down": round(sum(one.traffic.down for one in results) / device_days, 1),
    }


def _invariants(tally: Tally) -> dict[str, Any]:
    return {
        "checked": sum(tally.checked.values()),
        "violated": sum(tally.violated.values()),
        "by_law": {
            law: {"checked": tally.checked[law], "violated": tally.violated[law]}
            for law in LAWS
            if law not in OCCASIONAL or tally.checked[law]
        },
        "violations": tally.violations,
    }
