"""The charts of `report.html`, in sections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simulator.availability import goodness_of_fit
from simulator.charts import Band, Series, bars, heat_map, histogram, lines
from simulator.words import Both

__all__ = ["Card", "Section", "sections"]

_HOURS = 24
_KIB = 1024.0
_PERCENT = 100.0
_MOST_DAYS = 8
_MOST_SPANS = 168
_WIDTHS = (1, 2, 3, 4, 6, 8, 12, 24)
"""Hours to a bar of the uploads' chart: one in the first week, more in longer worlds."""
_MOST_POINTS = 400
"""Of a line: longer ones are thinned, so that the page stays small for any fleet."""
_BINS = 24
_SIGMA_BINS, _SIGMA_SPAN = 32, (-4.0, 4.0)
_WEEK = tuple(
    Both(en, zh)
    for en, zh in zip(
        ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
        ("周一", "周二", "周三", "周四", "周五", "周六", "周日"),
        strict=True,
    )
)
_DAY_AXIS = Both("virtual day", "虚拟日")

Legend = Sequence[tuple[int, Both | str]]


@dataclass(frozen=True)
class Card:
    """One chart with its words; `legend` names colours 1–4."""

    title: Both
    text: Both
    body: str
    legend: Legend = ()


@dataclass(frozen=True)
class Section:
    """Cards under one heading; the template adds tables by `name`."""

    name: str
    title: Both
    cards: Sequence[Card]


def sections(r: dict[str, Any]) -> list[Section]:
    """Every section of a report."""
    privacy = [_epsilon(r)]
    if r["estimates"]["bins"]:
        privacy.insert(0, _calibration(r))
    return [
        Section("learning", Both("What the fleet learned", "机群学到了什么"),
                [_accuracy(r), _adoption(r), _staleness(r)]),
        Section("privacy", Both("What it said, and what that cost", "说了什么，代价多少"), privacy),
        Section("world", Both("The world", "世界"), [_week(r), _availability(r), _fit()]),
        Section("memory", Both("Memory and traffic", "记忆与流量"), [_uploads(r), _bytes(r)]),
    ]  # fmt: skip


def _week(r: dict[str, Any]) -> Card:
    rows = [
        [None if share is None else _PERCENT * share for share in row]
        for row in r["timeline"]["availability"]["by_weekday"]
    ]
    title = Both("When the window is open", "窗口何时打开")
    marks = {hour: f"{hour:02d}" for hour in range(0, _HOURS, 3)}
    body = heat_map(rows, _WEEK, title=title, unit=" %", marks=marks)
    top = max((share for row in rows for share in row if share is not None), default=0.0)
    return Card(
        title,
        Both(
            f"Share of time idle, charging and on unmetered Wi-Fi, by local weekday and hour; "
            f"the darkest is {top:.0f} %.",
            f"空闲、充电且在不计费 Wi-Fi 上的时间占比，按当地星期与小时；最深为 {top:.0f} %。",
        ),
        body,
    )


def _availability(r: dict[str, Any]) -> Card:
    hours = r["timeline"]["availability"]
    labels = [f"{hour:02d}" for hour in range(_HOURS)]
    fitted = Series("fitted", [(i, _PERCENT * y) for i, y in enumerate(hours["fitted"])])
    simulated = [_PERCENT * share for share in hours["simulated"]]
    title = Both("The window by hour", "按小时的窗口")
    body = bars(simulated, labels, title=title, unit="%", line=fitted)
    text = Both("Share of time open, by local hour.", "窗口打开的时间占比，按当地小时。")
    legend = [(1, Both("this fleet", "本机群")), (2, Both("real phones", "真实手机"))]
    return Card(title, text, body, legend)


def _fit() -> Card:
    """The shipped model of availability beside the trace it was fitted to."""
    told = goodness_of_fit()
    labels = [f"{hour:02d}" for hour in range(_HOURS)]
    hours = told["by_hour"]
    trace = Series("trace", [(hour, _PERCENT * y) for hour, y in enumerate(hours["trace"])])
    title = Both("The model of availability", "可用性模型")
    drawn = [_PERCENT * share for share in hours["drawn"]]
    body = bars(drawn, labels, title=title, unit="%", line=trace)
    gap = _PERCENT * max(abs(a - b) for a, b in zip(hours["drawn"], hours["trace"], strict=True))
    lengths = told["window_minutes"]["ks"]
    text = Both(
        f"Fitted to {told['phones']} real phones over {told['minutes']:,} minutes: at most "
        f"{gap:.1f} points off at an hour; Kolmogorov–Smirnov distance of window lengths "
        f"{lengths:.3f}.",
        f"以 {told['phones']} 部真实手机的 {told['minutes']:,} 分钟拟合：各小时最多相差 "
        f"{gap:.1f} 个百分点；窗口时长的 K–S 距离为 {lengths:.3f}。",
    )
    return Card(title, text, body, [(1, Both("drawn", "抽样")), (2, Both("the trace", "真实记录"))])


def _uploads(r: dict[str, Any]) -> Card:
    hourly = r["timeline"]["uploads_per_hour"]
    width = next((w for w in _WIDTHS if len(hourly) <= w * _MOST_SPANS), _WIDTHS[-1])
    starts = range(0, len(hourly), width)
    labels = [f"{hour // _HOURS + 1}, {hour % _HOURS:02d}:00" for hour in starts]
    values = [sum(hourly[start : start + width]) for start in starts]
    title = Both("Uploads over time", "上传随时间")
    body = bars(values, labels, title=title, whole=True, marks=_days(starts))
    span = Both("hour", "小时") if width == 1 else Both(f"{width} hours", f"{width} 小时")
    text = Both(f"Acknowledged per {span.en}, UTC.", f"每{span.zh}已确认的份数，UTC。")
    return Card(title, text, body)


def _days(starts: range) -> dict[int, str | Both]:
    """The days' names under the bars that begin at these hours; of a lone day, its hours."""
    if starts.stop <= _HOURS:
        return {index: f"{hour:02d}:00" for index, hour in enumerate(starts) if hour % 4 == 0}
    midnights = [index for index, hour in enumerate(starts) if hour % _HOURS == 0]
    every = math.ceil(len(midnights) / _MOST_DAYS)
    numbers = {index: starts[index] // _HOURS + 1 for index in midnights[::every]}
    return {index: Both(f"day {day}", f"第 {day} 日") for index, day in numbers.items()}


def _accuracy(r: dict[str, Any]) -> Card:
    series = [
        Series(
            model,
            _thinned(
                [
                    (entry["version"], _PERCENT * entry["accuracy"])
                    for entry in r["releases"][model]["versions"]
                    if entry["accuracy"] is not None
                ]
            ),
            dots=True,
        )
        for model in r["releases"]
    ]
    title = Both("Accuracy by version", "各版本的准确率")
    body = lines(series, title=title, x_label=Both("version", "版本"), unit="%", top=_PERCENT,
                 whole=True)  # fmt: skip
    text = Both("On held-out examples, in the cloud.", "云端，留出样本上。")
    return Card(title, text, body, _keys(series))


def _adoption(r: dict[str, Any]) -> Card:
    series = [
        Series(model, _thinned([(p["day"], p["share"] * _PERCENT) for p in points]), steps=True)
        for model, points in r["timeline"]["adoption"].items()
    ]
    title = Both("Adoption", "采用")
    text = Both(
        "Share of phones on the newest release; it falls when one is published.",
        "持有最新版本的手机占比；新版本发布时会下降。",
    )
    body = lines(series, title=title, x_label=_DAY_AXIS, unit="%", top=_PERCENT)
    return Card(title, text, body, _keys(series))


def _staleness(r: dict[str, Any]) -> Card:
    """The router's: median and last phone, with the nine tenths between as an area."""
    points = _thinned(r["timeline"]["staleness"].get("router", []))
    series = [
        Series("median", [(p["day"], p["median"]) for p in points], colour=1, dashed=False),
        Series("last", [(p["day"], p["max"]) for p in points], colour=2, dashed=True),
    ]
    band = Band([(p["day"], 0.0, p["p90"]) for p in points])
    title = Both("Staleness", "陈旧程度")
    text = Both(
        "Days since a newer router came out than the one a phone holds; 0 on the newest.",
        "自有比手机所持更新的路由模型发布以来的天数；持最新版本为 0。",
    )
    legend = [
        (1, Both("median; area: nine phones in ten", "中位数；面积：九成手机")),
        (2, Both("the last phone", "最落后的手机")),
    ]
    return Card(title, text, lines(series, title=title, x_label=_DAY_AXIS, band=band), legend)


def _calibration(r: dict[str, Any]) -> Card:
    told = r["estimates"]
    sigmas = [
        each["sigmas"]
        for one in told["rounds"]
        for bins in one["histograms"].values()
        for each in bins
        if each["sigmas"] is not None
    ]
    low, high = _SIGMA_SPAN
    scale = len(sigmas) * (high - low) / _SIGMA_BINS / math.sqrt(2.0 * math.pi)
    bell = [(x / 10.0, scale * math.exp(-((x / 10.0) ** 2) / 2.0)) for x in range(-40, 41)]
    title = Both("Error of published counts", "发布统计的误差")
    body = histogram(
        sigmas, title=title, bins=_SIGMA_BINS, span=_SIGMA_SPAN, curve=Series("normal", bell),
        x_label=Both("standard errors", "标准误"),
    )  # fmt: skip
    rms = "–" if told["rms_sigmas"] is None else f"{told['rms_sigmas']:.2f}"
    text = Both(
        f"Estimate minus truth in standard errors, every bin of every round; "
        f"root mean square {rms}, 1 where the intervals are honest.",
        f"估计减真相，以标准误计，含所有轮次的所有区间；均方根 {rms}，区间诚实时为 1。",
    )
    legend = [(1, Both("bins", "区间数")), (2, Both("what the noise promises", "噪声所承诺的"))]
    return Card(title, text, body, legend)


def _epsilon(r: dict[str, Any]) -> Card:
    title = Both("ε spent", "已花费的 ε")
    delta = f"{r['epsilon']['delta']:g}"
    text = Both(
        f"Phones by the ε their ledgers hold, at δ = {delta}.",
        f"按账本所记 ε 统计的手机数，δ = {delta}。",
    )
    spent = r["timeline"]["epsilon_by_phone"]
    return Card(title, text, histogram(spent, title=title, bins=_BINS, x_label="ε"))


def _bytes(r: dict[str, Any]) -> Card:
    daily = [each / _KIB for each in r["timeline"]["bytes_by_phone"]]
    title = Both("Bytes on the wire", "线上字节")
    text = Both("Phones by KiB a day, up and down.", "按每日 KiB（上下行合计）统计的手机数。")
    return Card(title, text, histogram(daily, title=title, bins=_BINS, x_label="KiB"))


def _keys(series: Sequence[Series]) -> Legend:
    return [(index + 1, one.name) for index, one in enumerate(s for s in series if s.points)]


def _thinned(points: Sequence[Any]) -> list[Any]:
    """Every n-th of many points, and the last."""
    every = math.ceil(len(points) / _MOST_POINTS)
    return [*points[:-1:every], points[-1]] if every > 1 else list(points)
