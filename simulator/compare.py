"""Two reports side by side: whether they are one world, and which of their numbers differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from simulator.words import Both, count

__all__ = ["Comparison", "Difference", "as_json", "compare", "say", "told", "verdict"]

_REAL = "wall_clock"
"""What two runs of one world need not share."""
_PERCENT = 100.0
_ABSENT = "–"
_SHOWN = 60
"""Rows in the terminal; --json and --html have them all."""

Value = float | int | str | bool | None


@dataclass(frozen=True)
class Difference:
    """One figure that differs. `change` is b − a and `relative` that over a; null where there is
    no number, or a is 0."""

    key: str
    a: Value
    b: Value
    change: float | None
    relative: float | None


@dataclass(frozen=True)
class Comparison:
    """What two reports have in common.

    `same_seed`: both began alike. `same_world`: seed and digest are equal, so the phones sent the
    same bytes. `equal`: nothing differs but the wall clock. `figures`: how many were compared.
    """

    same_seed: bool
    same_world: bool
    equal: bool
    figures: int
    differences: tuple[Difference, ...]


def compare(a: Mapping[str, Any], b: Mapping[str, Any]) -> Comparison:
    """Compare two reports as `simulator.report_files.read_report` gives them."""
    left, right = dict(_figures(a)), dict(_figures(b))
    keys = [*left, *(key for key in right if key not in left)]
    differing = tuple(
        _difference(key, left.get(key), right.get(key))
        for key in keys
        if left.get(key) != right.get(key)
    )
    same_seed = a["seed"] == b["seed"]
    return Comparison(
        same_seed=same_seed,
        same_world=same_seed and a["digest"] == b["digest"],
        equal=_timeless(a) == _timeless(b),
        figures=len(keys),
        differences=differing,
    )


def verdict(found: Comparison) -> Both:
    """Whether it is one world, in a sentence."""
    if found.equal:
        return Both(
            "The same world: everything is equal but the wall clock.",
            "同一个世界：除实际耗时外完全相同。",
        )
    if found.same_world:
        return Both(
            "The same seed and the same bytes from the phones, told differently.",
            "种子相同，手机发出的字节也相同，但报告有别。",
        )
    if found.same_seed:
        return Both(
            "One seed, two worlds: their options or the code differ.",
            "同一种子，两个世界：选项或代码不同。",
        )
    return Both("Two seeds, two worlds.", "两个种子，两个世界。")


def as_json(found: Comparison) -> dict[str, Any]:
    """The comparison as JSON holds it."""
    return asdict(found) | {"differences": [asdict(each) for each in found.differences]}


def say(found: Comparison, names: tuple[str, str], console: Console) -> None:
    """The comparison for a person."""
    console.print(verdict(found).en, style="bold")
    if not found.differences:
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("")
    for name in (*names, "change", "%"):
        table.add_column(Text(name), justify="right", overflow="fold")
    for each in found.differences[:_SHOWN]:
        table.add_row(Text(each.key), *(Text(words) for words in told(each)))
    console.print(table)
    more = len(found.differences) - _SHOWN
    if more > 0:
        console.print(f"… and {more} more: see --json or --html", style="dim")
    differ = count(len(found.differences), "figure")
    console.print(f"{differ} of {found.figures:,} differ.", style="dim")


def told(each: Difference) -> tuple[str, str, str, str]:
    """A difference in words: a, b, change, change in percent."""
    change = "" if each.change is None else f"{each.change:+,.4g}"
    share = "" if each.relative is None else f"{_PERCENT * each.relative:+,.1f} %"
    return _said(each.a), _said(each.b), change, share


def _said(value: Value) -> str:
    if value is None:
        return _ABSENT
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.4g}"
    return value if isinstance(value, str) else f"{value:,.0f}"


def _difference(key: str, a: Value, b: Value) -> Difference:
    if not (_is_number(a) and _is_number(b)):
        return Difference(key, a, b, None, None)
    assert isinstance(a, int | float)
    assert isinstance(b, int | float)
    return Difference(key, a, b, b - a, (b - a) / a if a else None)


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _figures(report: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    """Every figure of a report by its dotted key: single values as they are, the versions' by
    number, and of a timeline its end or its median."""
    for key, value in report.items():
        if key == "timeline":
            yield from _timelines(value)
        elif key == "estimates":
            yield from ((f"{key}.{name}", each) for name, each in value.items() if name != "rounds")
        else:
            yield from _leaves(key, value)


def _leaves(key: str, value: Any) -> Iterator[tuple[str, Value]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(f"{key}.{name}", inner)
    elif isinstance(value, list):
        yield from _listed(key, value)
    else:
        yield key, value


def _listed(key: str, values: Sequence[Any]) -> Iterator[tuple[str, Value]]:
    for place, each in enumerate(values):
        if isinstance(each, Mapping):
            yield from _leaves(f"{key}.{each.get('version', place + 1)}", each)
        elif not isinstance(each, str):
            yield f"{key}.{place + 1}", each
    if any(isinstance(each, str) for each in values):
        yield key, len(values)


def _timelines(timeline: Mapping[str, Any]) -> Iterator[tuple[str, Value]]:
    for name in ("adoption", "staleness"):
        for model, points in timeline[name].items():
            for part, value in (points[-1] if points else {}).items():
                yield f"{name}.{model}.end.{part}", value
    for name in ("epsilon_by_phone", "bytes_by_phone"):
        yield f"{name}.median", median(timeline[name])
        yield f"{name}.max", max(timeline[name])


def _timeless(report: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in report.items() if key != _REAL}
