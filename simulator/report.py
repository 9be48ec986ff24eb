"""What a run is worth telling: `report.json`, from which the page and the summary are drawn.

Everything but ``wall_clock`` follows from the seed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from privacy.budget import BUDGETS
from protocol.rounds import LOCAL_TASK, SHARED_TASKS
from simulator.availability import fitted_window_share
from simulator.hosts import WorldPlan
from simulator.invariants import LAWS, Tally
from simulator.page import render
from simulator.virtual_phone import PhoneResult, WindowNote

__all__ = ["MODELS", "Release", "Round", "build", "write"]

MODELS = ("router", "dedup")

_HOUR = 3600.0
_DAY = 86_400.0
_HOURS = 24


@dataclass(frozen=True)
class Round:
    """One aggregation round as the cloud remembers it."""

    task: str
    number: int
    status: str
    reports: int


@dataclass(frozen=True)
class Release:
    """One published version. `accuracy` is on the cloud's held-out examples, 0 … 1."""

    model: str
    version: int
    published: float
    accuracy: float | None


def build(
    plan: WorldPlan,
    results: Sequence[PhoneResult],
    notes: Sequence[WindowNote],
    *,
    rounds: Sequence[Round],
    releases: Sequence[Release],
    tally: Tally,
    wall_seconds: float,
) -> dict[str, Any]:
    """The report, with keys and values that JSON can hold."""
    budget = BUDGETS[plan.budget]
    adopted = [(at, note.phone, m, v) for note in notes for at, m, v in note.adopted]
    kept = Counter(model for note in notes for _, model, _ in note.kept)
    spent = [result.epsilon for result in results]
    closed = [one for one in rounds if one.status == "closed"]
    return {
        "phones": plan.phones,
        "virtual_days": plan.days,
        "seed": plan.seed,
        "data": plan.data.name if plan.data else "the shipped sample",
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
        "releases": {m: _release_counts(releases, adopted, kept, m) for m in MODELS},
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
        "timeline": {
            "availability": _availability(plan, results),
            "uploads_per_hour": _per_hour(plan, [at for note in notes for at in note.acked_at]),
            "adoption": {m: _adoption(plan, releases, adopted, m) for m in MODELS},
            "epsilon_by_phone": spent,
            "bytes_by_phone": [(r.traffic.up + r.traffic.down) / plan.days for r in results],
        },
        "wall_clock": {"seconds": round(wall_seconds, 2)},
    }


def write(report: dict[str, Any], out: Path) -> None:
    """Write report.json and report.html into the folder `out`."""
    text = json.dumps(report, ensure_ascii=False, indent=2, allow_nan=False)
    (out / "report.json").write_text(text + "\n", encoding="utf-8")
    (out / "report.html").write_text(render(report), encoding="utf-8")


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
    releases: Sequence[Release],
    adopted: Sequence[tuple[float, int, str, int]],
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
        "versions": [
            {"version": one.version, "accuracy": one.accuracy, "phones": taken[one.version]}
            for one in mine
        ],
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
            law: {"checked": tally.checked[law], "violated": tally.violated[law]} for law in LAWS
        },
        "violations": tally.violations,
    }


def _availability(plan: WorldPlan, results: Sequence[PhoneResult]) -> dict[str, list[float]]:
    total = np.sum([one.window_by_hour for one in results], axis=0)
    share = total / (plan.phones * plan.days * _HOUR)
    return {
        "fitted": [round(float(value), 4) for value in fitted_window_share()],
        "simulated": [round(float(value), 4) for value in share],
    }


def _per_hour(plan: WorldPlan, moments: Sequence[float]) -> list[int]:
    counts = [0] * (plan.days * _HOURS)
    for at in moments:
        counts[min(len(counts) - 1, int((at - plan.start) // _HOUR))] += 1
    return counts


def _adoption(
    plan: WorldPlan,
    releases: Sequence[Release],
    adopted: Sequence[tuple[float, int, str, int]],
    model: str,
) -> list[dict[str, float]]:
    """Share of phones on the newest release at each hour since the first was published."""
    published = sorted((r.published, r.version) for r in releases if r.model == model)
    taken = sorted((at, phone, version) for at, phone, name, version in adopted if name == model)
    curve = []
    held: dict[int, int] = {}
    index = 0
    for hour in range(plan.days * _HOURS + 1):
        now = plan.start + hour * _HOUR
        while index < len(taken) and taken[index][0] <= now:
            held[taken[index][1]] = taken[index][2]
            index += 1
        out = [version for at, version in published if at < now]
        if out:
            share = sum(version >= out[-1] for version in held.values()) / plan.phones
            curve.append({"day": round(hour / _HOURS, 4), "share": round(share, 4)})
    return curve
