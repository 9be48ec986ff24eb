"""`report.html`: one self-contained page, light and dark, drawn from the report alone."""

from __future__ import annotations

import math
from collections import Counter
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined

from simulator.charts import Series, bars, lines
from simulator.words import count

__all__ = ["render"]

_HOURS = 24
_KIB = 1024.0
_PERCENT = 100.0
_MOST_BARS = 100
_MOST_DAYS = 8
_MOST_SPANS = 168
_WIDTHS = (1, 2, 3, 4, 6, 8, 12, 24)
"""Hours to a bar of the uploads' chart: one in the first week, more in longer worlds."""


def render(report: dict[str, Any]) -> str:
    """The page for a report as `simulator.report.build` makes it."""
    source = resources.files("simulator").joinpath("report.html.j2").read_text("utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    return environment.from_string(source).render(
        r=report,
        tiles=_tiles(report),
        cards=_cards(report),
        phones=count(report["phones"], "phone"),
        days=count(report["virtual_days"], "virtual day"),
        violations=count(report["invariants"]["violated"], "violation"),
    )


def _tiles(r: dict[str, Any]) -> list[tuple[str, str]]:
    recall, sent = r["recall"], r["bytes_per_device_day"]
    useful = _PERCENT * recall["useful"] / recall["answered"] if recall["answered"] else 0.0
    releases = r["releases"]
    return [
        (f"{r['records']:,}", "records kept"),
        (f"{recall['answered']:,}", f"recalls answered, {useful:.0f} % held what was asked for"),
        (f"{r['uploads_acked']:,}", "uploads acknowledged"),
        (f"{r['rounds']}", "aggregation rounds closed"),
        (
            f"{releases['router']['published']} + {releases['dedup']['published']}",
            "router and dedup versions published",
        ),
        (
            f"{releases['router']['adopted']} + {releases['dedup']['adopted']}",
            "adoptions by phones",
        ),
        (
            f"{(sent['up'] + sent['down']) / _KIB:.1f} KiB",
            f"per phone and day: {sent['up'] / _KIB:.1f} up, {sent['down'] / _KIB:.1f} down",
        ),
        (
            f"{r['invariants']['checked']:,}",
            f"checks, {count(r['invariants']['violated'], 'violation')}",
        ),
    ]


def _cards(r: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        _availability(r),
        _uploads(r),
        _accuracy(r),
        _adoption(r),
        _epsilon(r),
        _bytes(r),
    ]


def _card(
    title: str, text: str, svg: str, keys: list[tuple[int, str]] | None = None
) -> dict[str, Any]:
    return {"title": title, "text": text, "svg": svg, "legend": keys or []}


def _availability(r: dict[str, Any]) -> dict[str, Any]:
    hours = r["timeline"]["availability"]
    labels = [f"{hour:02d}" for hour in range(_HOURS)]
    fitted = Series("fitted", [(i, _PERCENT * y) for i, y in enumerate(hours["fitted"])])
    simulated = [_PERCENT * share for share in hours["simulated"]]
    svg = bars(simulated, labels, title="Share of time open, by hour", unit="%", line=fitted)
    text = "Share of time with all three conditions, by local hour."
    return _card("When the window is open", text, svg, [(1, "this fleet"), (2, "real phones")])


def _uploads(r: dict[str, Any]) -> dict[str, Any]:
    hourly = r["timeline"]["uploads_per_hour"]
    width = next((w for w in _WIDTHS if len(hourly) <= w * _MOST_SPANS), _WIDTHS[-1])
    starts = range(0, len(hourly), width)
    labels = [f"day {hour // _HOURS + 1}, {hour % _HOURS:02d}:00" for hour in starts]
    values = [sum(hourly[start : start + width]) for start in starts]
    svg = bars(
        values, labels, title="Uploads acknowledged over time", whole=True, marks=_days(starts)
    )
    span = "hour" if width == 1 else f"{width} hours"
    return _card("Uploads over time", f"Acknowledged per {span}, UTC.", svg)


def _days(starts: range) -> dict[int, str]:
    """The days' names under the bars that begin at these hours; of a lone day, its hours."""
    if starts.stop <= _HOURS:
        return {index: f"{hour:02d}:00" for index, hour in enumerate(starts) if hour % 4 == 0}
    midnights = [index for index, hour in enumerate(starts) if hour % _HOURS == 0]
    every = math.ceil(len(midnights) / _MOST_DAYS)
    return {index: f"day {starts[index] // _HOURS + 1}" for index in midnights[::every]}


def _accuracy(r: dict[str, Any]) -> dict[str, Any]:
    series = [
        Series(
            model,
            [
                (entry["version"], _PERCENT * entry["accuracy"])
                for entry in r["releases"][model]["versions"]
                if entry["accuracy"] is not None
            ],
            dots=True,
        )
        for model in r["releases"]
    ]
    shown = [one for one in series if one.points]
    svg = lines(
        shown, title="Accuracy by version", x_label="version", unit="%", top=_PERCENT, whole=True
    )
    keys = [(i + 1, one.name) for i, one in enumerate(shown)]
    return _card("Accuracy by version", "On held-out examples, in the cloud.", svg, keys)


def _adoption(r: dict[str, Any]) -> dict[str, Any]:
    series = [
        Series(model, [(p["day"], p["share"] * _PERCENT) for p in points], steps=True)
        for model, points in r["timeline"]["adoption"].items()
    ]
    shown = [one for one in series if one.points]
    text = "Share of phones on the newest release; it falls when one is published."
    svg = lines(shown, title="Adoption", x_label="virtual day", unit="%", top=_PERCENT)
    return _card("Adoption", text, svg, [(i + 1, one.name) for i, one in enumerate(shown)])


def _epsilon(r: dict[str, Any]) -> dict[str, Any]:
    counts = Counter(f"{spent:.3g}" for spent in r["timeline"]["epsilon_by_phone"])
    ordered = sorted(counts.items(), key=lambda pair: float(pair[0]))
    labels, phones = [label for label, _ in ordered], [count for _, count in ordered]
    svg = bars(phones, labels, title="Phones by epsilon spent", whole=True)
    text = f"Phones by the ε their ledgers hold, at δ = {r['epsilon']['delta']:g}."
    return _card("ε spent", text, svg)


def _bytes(r: dict[str, Any]) -> dict[str, Any]:
    daily = r["timeline"]["bytes_by_phone"]
    values = sorted((each / _KIB for each in daily), reverse=True)
    shown = range(0, len(values), math.ceil(len(values) / _MOST_BARS))
    labels = [f"{index + 1}" for index in shown]
    svg = bars([values[index] for index in shown], labels, title="KiB per day, by phone")
    whom = "phones sorted" if shown.step == 1 else f"phones sorted, one in {shown.step} shown"
    return _card("Bytes on the wire", f"KiB a day, up and down; {whom}.", svg)
