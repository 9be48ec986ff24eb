"""From rows to what the pages show: one function a page, each over one snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection

from cloud.admin.charts import Bar, Line, Mark, Point, fill, over_time, over_versions, whiskers
from cloud.admin.desk import Counts
from cloud.admin.words import Words
from cloud.storage import facts
from privacy import BUDGETS
from privacy.streams import USAGE_HISTOGRAMS
from protocol.models.spec import SPECS

__all__ = [
    "alarm_of",
    "alarms",
    "budgets",
    "card",
    "devices",
    "documents",
    "events",
    "overview",
    "releases",
    "rounds",
    "usage",
]

WEEKS: Final = 26
"""Usage rounds drawn over time."""
VERSIONS: Final = 60
"""Releases whose accuracy is drawn."""
_ADOPTED: Final = ("adopted", "refused")

Context = dict[str, Any]


def overview(connection: Connection, words: Words, counts: Counts, by_hand: bool) -> Context:
    """Fleet, open rounds, newest releases, alarms, what waits for the helper."""
    shown = []
    for row in counts.open_rounds:
        said = words("overview.fill", filled=row["filled"], n_min=row["n_min"])
        shown.append({**row, "bar": fill(said, row["filled"] / max(1, row["n_min"])), "said": said})
    return {
        "rounds": shown,
        "releases": [_release(row, by_hand) for row in facts.newest_releases(connection)],
        "alarms": [alarm_of(row, words) for row in counts.alarms],
        "stuck": facts.stuck_rounds(connection),
    }


def rounds(connection: Connection, words: Words, after: str) -> Context:
    """A page of rounds, each with what to do where something is to be done."""
    page = facts.rounds_page(connection, after)
    rows = [{**row, "todo": words.name("todo", row["status"])} for row in page.rows]
    for row in rows:
        row["todo"] = "" if row["todo"] == row["status"] else row["todo"]
    return {"rows": rows, "after": page.after}


def releases(connection: Connection, words: Words, after: str, by_hand: bool) -> Context:
    """A page of releases, and of each model how phones took it and how accurate it is."""
    page = facts.releases_page(connection, after)
    recent = facts.releases_page(connection, limit=VERSIONS).rows[::-1]
    series = facts.usage_series(connection, WEEKS)
    charts = [_model_charts(model, recent, series, words) for model in sorted(SPECS)]
    newest = [_release(row, by_hand) for row in facts.newest_releases(connection)]
    rows = [_release(row, by_hand) for row in page.rows]
    return {"rows": rows, "after": page.after, "charts": charts, "newest": newest}


def card(connection: Connection, model: str, version: int, by_hand: bool) -> Context | None:
    """One release with its model card; None when there is no such release."""
    row = facts.release(connection, model, version)
    if row is None:
        return None
    return {
        "row": _release(row, by_hand),
        "card": _flat(row["card"] or {}),
        "metrics": _flat(row["metrics"]),
    }


def usage(connection: Connection, words: Words) -> Context:
    """Each histogram as the newest round that has it tells it, and over time."""
    series = facts.usage_series(connection, WEEKS)
    shown = []
    for histogram in USAGE_HISTOGRAMS:
        told = [(row, bins) for row in series if (bins := _bins(row, histogram.name))]
        if not told:
            continue
        row, bins = told[-1]
        title = words.name("histogram", histogram.name)
        names = [words.name("bin", name) for name in bins]
        bars = [_bar(said, entry) for said, entry in zip(names, bins.values(), strict=True)]
        lines = [
            Line(
                said, [_point(one["created"], found[name]) for one, found in told if name in found]
            )
            for name, said in zip(bins, names, strict=True)
        ]
        charts = {
            "bars": whiskers(title, bars),
            "over_time": over_time(title, lines) if len(told) > 1 else "",
        }
        shown.append({"name": title, "row": row, "bins": bars, "answers": names} | charts)
    return {"histograms": shown}


def budgets(_connection: Connection, _words: Words, phones: int) -> Context:
    """Each budget: ε by task and span, and what it allows a fleet of this size."""
    shown = []
    for budget in BUDGETS.values():
        rows = []
        for task in budget.tasks:
            stream = budget.stream(task)
            plan = budget.local if task == budget.local.task else stream
            row = {"task": task, "spent": budget.guarantee(task), "noise": stream.noise}
            row |= {"local": plan is budget.local}
            rows.append(row | {"n_min": plan.n_min, "cadence": plan.cadence})
        allows = budget.allowance(max(1, phones))
        shown.append({"budget": budget, "rows": rows, "allows": allows})
    return {"budgets": shown}


def devices(connection: Connection, _words: Words, after: str) -> Context:
    """A page of enrolled phones."""
    page = facts.devices_page(connection, after)
    return {"rows": page.rows, "after": page.after}


def documents(connection: Connection, _words: Words, after: str) -> Context:
    """A page of published documents."""
    page = facts.documents_page(connection, after)
    return {"rows": page.rows, "after": page.after}


def alarms(connection: Connection, words: Words) -> Context:
    """Alarms that hold, and those that were cleared last."""
    rows = [alarm_of(row, words) for row in facts.alarms_page(connection)]
    return {
        "holding": [row for row in rows if row["cleared"] is None],
        "cleared": [row for row in rows if row["cleared"] is not None],
    }


def events(connection: Connection, words: Words, after: str) -> Context:
    """A page of the journal."""
    page = facts.events_page(connection, after)
    rows = [
        {**row, "what": words.name("event", row["kind"]), "detail": _flat(row["detail"])}
        for row in page.rows
    ]
    return {"rows": rows, "after": page.after}


def alarm_of(row: Mapping[str, Any], words: Words) -> dict[str, Any]:
    """An alarm as a sentence: its key names the kind and what it is about."""
    kind, _, about = str(row["key"]).partition(":")
    told = words.name("histogram", about)
    key = f"alarm.{kind}"
    known = words.name("alarm", kind) != kind
    said = words(key, about=told) if known else words("alarm.other", kind=kind, about=about)
    return {**row, "said": said, "figures": _flat(row["detail"])}


# --- parts ------------------------------------------------------------------------------------


def _release(row: Mapping[str, Any], by_hand: bool) -> dict[str, Any]:
    """A release with its accuracy, and "waiting" for a candidate that passed and needs a word."""
    metrics = row["metrics"]
    passed = row["status"] == "candidate" and metrics.get("passed") == 1.0
    waits = passed and by_hand and row["approved"] is None
    shown = "waiting" if waits else "passed" if passed else row["status"]
    return {**row, "shown": shown, "accuracy": metrics.get("accuracy")}


def _model_charts(
    model: str, rows: Sequence[Mapping[str, Any]], series: Sequence[Mapping[str, Any]], words: Words
) -> Context:
    mine = [row for row in rows if row["model"] == model]
    told = [(row, bins) for row in series if (bins := _bins(row, f"{model}_adoption"))]
    lines = [
        Line(
            words(name), [_point(row["created"], bins[name]) for row, bins in told if name in bins]
        )
        for name in _ADOPTED
    ]
    marks = [Mark(row["published"], f"v{row['version']}") for row in mine if row["published"]]
    scored = [
        Point(row["version"], row["metrics"]["accuracy"])
        for row in sorted(mine, key=lambda one: int(one["version"]))
        if row["metrics"].get("accuracy") is not None
    ]
    title = words("releases.accuracy", model=model)
    return {
        "model": model,
        "adoption": over_time(words("releases.adoption", model=model), lines, marks)
        if told
        else "",
        "accuracy": over_versions(title, Line(model, scored), lambda y: f"{100 * y:.0f} %"),
        "legend": [words(name) for name in _ADOPTED],
    }


def _bins(row: Mapping[str, Any], histogram: str) -> dict[str, Mapping[str, Any]]:
    """Bin → its estimate in one round, in the order of the histogram."""
    return {
        entry["bin"]: entry
        for entry in row["estimates"].get("histograms", ())
        if entry["histogram"] == histogram
    }


def _bar(name: str, entry: Mapping[str, Any]) -> Bar:
    return Bar(name, entry["estimate"], entry["low"], entry["high"])


def _point(at: float, entry: Mapping[str, Any]) -> Point:
    return Point(at, entry["estimate"], entry["low"], entry["high"])


def _flat(found: Mapping[str, Any], above: str = "") -> list[tuple[str, Any]]:
    """Nested objects as (dotted name, value), for a list of facts."""
    flat: list[tuple[str, Any]] = []
    for name, value in found.items():
        said = f"{above}{name}"
        if isinstance(value, Mapping):
            flat += _flat(value, f"{said}.")
        elif value not in ("", None):
            flat.append((said, value))
    return flat
