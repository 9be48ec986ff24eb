"""The page of `reverie-fleet compare`: two reports' charts drawn over each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from simulator.cards import Card
from simulator.charts import Series, lines
from simulator.compare import Comparison, told, verdict
from simulator.page import environment, style
from simulator.words import Both

__all__ = ["render_comparison"]

_HOURS = 24
_KIB = 1024.0
_PERCENT = 100.0
_MOST_POINTS = 400
_DAY = Both("virtual day", "虚拟日")
_PHONES = Both("percent of the phones", "手机的百分比")
_MODELS = {"router": Both("Router", "路由模型"), "dedup": Both("Dedup", "去重模型")}

Reports = tuple[Mapping[str, Any], Mapping[str, Any]]


def render_comparison(found: Comparison, reports: Reports, names: tuple[str, str]) -> str:
    """The page for two reports called `names`."""
    return (
        environment()
        .get_template("compare.html.j2")
        .render(
            css=style(),
            names=names,
            reports=reports,
            verdict=verdict(found),
            same=found.same_world,
            found=found,
            rows=[(each.key, *told(each)) for each in found.differences],
            cards=list(_cards(reports, names)),
        )
    )


def _cards(reports: Reports, names: tuple[str, str]) -> Iterable[Card]:
    for model, name in _MODELS.items():
        yield _over(
            Both(f"{name.en} adoption", f"{name.zh}的采用"),
            Both("Share of phones on the newest release.", "持有最新版本的手机占比。"),
            names,
            [_curve(r["timeline"]["adoption"].get(model, ()), "share", _PERCENT) for r in reports],
            _DAY, unit="%", top=_PERCENT,
        )  # fmt: skip
        yield _over(
            Both(f"{name.en} accuracy", f"{name.zh}的准确率"),
            Both("By version, on held-out examples.", "各版本，留出样本上。"),
            names,
            [_accuracy(r["releases"][model]["versions"]) for r in reports],
            Both("version", "版本"), unit="%", top=_PERCENT, whole=True,
        )  # fmt: skip
    yield _over(
        Both("Staleness", "陈旧程度"),
        Both("Days the median phone's router is behind.", "中位手机的路由模型落后的天数。"),
        names,
        [_curve(r["timeline"]["staleness"].get("router", ()), "median") for r in reports],
        _DAY,
    )
    yield _over(
        Both("Uploads", "上传"),
        Both("Acknowledged so far.", "累计已确认。"),
        names,
        [_running(r["timeline"]["uploads_per_hour"]) for r in reports],
        _DAY,
    )
    yield _over(
        Both("Bytes on the wire", "线上字节"),
        Both("KiB a day, phones in order.", "每日 KiB，手机按序排列。"),
        names,
        [_ordered(r["timeline"]["bytes_by_phone"], 1.0 / _KIB) for r in reports],
        _PHONES,
    )
    yield _over(
        Both("ε spent", "已花费的 ε"),
        Both("By the phones' ledgers, phones in order.", "按手机账本，手机按序排列。"),
        names,
        [_ordered(r["timeline"]["epsilon_by_phone"], 1.0) for r in reports],
        _PHONES,
    )


def _over(
    title: Both,
    text: Both,
    names: tuple[str, str],
    curves: Sequence[Sequence[tuple[float, float]]],
    x_label: Both,
    **how: Any,
) -> Card:
    series = [
        Series(name, points, colour=place + 1, dots=bool(how.get("whole")))
        for place, (name, points) in enumerate(zip(names, curves, strict=True))
    ]
    body = lines(series, title=title, x_label=x_label, **how)
    return Card(title, text, body, [(1, names[0]), (2, names[1])])


def _curve(
    points: Sequence[Mapping[str, float]], key: str, unit: float = 1.0
) -> list[tuple[float, float]]:
    return _thinned([(point["day"], unit * point[key]) for point in points])


def _accuracy(versions: Sequence[Mapping[str, Any]]) -> list[tuple[float, float]]:
    return _thinned(
        [
            (one["version"], _PERCENT * one["accuracy"])
            for one in versions
            if one["accuracy"] is not None
        ]
    )


def _running(hourly: Sequence[int]) -> list[tuple[float, float]]:
    so_far = accumulate(hourly)
    return _thinned([((hour + 1) / _HOURS, float(sent)) for hour, sent in enumerate(so_far)])


def _ordered(values: Sequence[float], unit: float) -> list[tuple[float, float]]:
    """The values in ascending order, over 0–100 % of the phones."""
    last = max(len(values) - 1, 1)
    return _thinned(
        [(_PERCENT * place / last, unit * value) for place, value in enumerate(sorted(values))]
    )


def _thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    every = -(-len(points) // _MOST_POINTS)
    return [*points[:-1:every], points[-1]] if every > 1 else points
