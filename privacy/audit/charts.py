"""The report's charts as inline SVG: no script, no external asset, colours from the page's style.

Every text that reaches a chart is escaped here. Labels on axes are numbers and dates, which read
the same in both of the page's languages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from typing import Literal

__all__ = ["Bar", "Series", "bar_chart", "number", "time_chart"]

_WIDTH, _HEIGHT = 560, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 18, 16, 30
_PLOT_WIDTH = _WIDTH - _LEFT - _RIGHT
_PLOT_HEIGHT = _HEIGHT - _TOP - _BOTTOM
_FLOOR = _TOP + _PLOT_HEIGHT
_DAY = 86_400.0
_Y_TICKS = 4
_X_TICKS = 3
_MOST_POINTS = 1_500
"""More points than pixels tell nothing; the newest is always kept."""
_NICE = (1.0, 2.0, 2.5, 5.0, 10.0)
_BAR, _BAR_GAP, _BAR_LEFT, _BAR_RIGHT = 22, 10, 150, 64


@dataclass(frozen=True, slots=True)
class Series:
    """Points (seconds UTC, value) drawn as steps that hold until the next, or as single stems.

    ``colour``: 1 to 4, a colour of the page. ``hollow``: indices of stems drawn as rings.
    """

    name: str
    colour: int
    points: Sequence[tuple[float, float]]
    kind: Literal["steps", "stems"] = "steps"
    dashed: bool = False
    hollow: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Bar:
    """One horizontal bar. ``label``: SVG-safe text is made here; ``colour``: 1 to 4."""

    label: str
    value: float
    colour: int


def time_chart(
    series: Sequence[Series],
    *,
    title: str,
    unit: str = "",
    limit: float | None = None,
    marks: Sequence[float] = (),
) -> str:
    """Values over time. ``limit``: a line not to be crossed. ``marks``: dates drawn as bars."""
    shown = [one for one in series if one.points]
    if not shown:
        return _svg(_HEIGHT, title, [_text(_WIDTH / 2, _HEIGHT / 2, "—", "middle")])
    dates = [at for one in shown for at, _ in one.points] + list(marks)
    first, last = min(dates), max(dates)
    if last - first < _DAY:
        first, last = first - _DAY, last + _DAY
    top, ticks = _axis(max([y for one in shown for _, y in one.points] + [limit or 0.0]))

    def place(at: float, value: float) -> tuple[float, float]:
        across = _LEFT + (at - first) / (last - first) * _PLOT_WIDTH
        return across, _FLOOR - value / top * _PLOT_HEIGHT

    parts = _grid(ticks, top, unit) + _dates(first, last)
    for at in marks:
        x, _ = place(at, 0.0)
        parts.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_FLOOR}"/>')
    if limit is not None:
        _, y = place(first, limit)
        parts.append(
            f'<line class="limit" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
    for one in shown:
        places = [place(at, value) for at, value in _thin(one.points)]
        parts += _stems(one, places) if one.kind == "stems" else [_steps(one, places)]
    return _svg(_HEIGHT, title, parts)


def bar_chart(bars: Sequence[Bar], *, title: str) -> str:
    """Horizontal bars with their values beside them, on one scale from zero."""
    top = max((bar.value for bar in bars), default=0.0) or 1.0
    height = _TOP + len(bars) * (_BAR + _BAR_GAP)
    room = _WIDTH - _BAR_LEFT - _BAR_RIGHT
    parts = []
    for index, bar in enumerate(bars):
        y = _TOP / 2 + index * (_BAR + _BAR_GAP)
        middle = y + _BAR / 2 + 4
        width = max(1.0, bar.value / top * room)
        parts.append(_text(_BAR_LEFT - 8, middle, bar.label, "end"))
        parts.append(
            f'<rect class="f{bar.colour}" x="{_BAR_LEFT}" y="{y:.1f}" width="{width:.1f}" '
            f'height="{_BAR}" rx="2"/>'
        )
        parts.append(_text(_BAR_LEFT + width + 6, middle, number(bar.value), "start"))
    return _svg(height, title, parts)


def number(value: float) -> str:
    """Three significant figures, without exponent for what people meet."""
    if value >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.3g}"


def _thin(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    every = math.ceil(len(points) / _MOST_POINTS)
    kept = list(points[::every])
    return kept if kept[-1] == points[-1] else [*kept, points[-1]]


def _steps(one: Series, places: Sequence[tuple[float, float]]) -> str:
    corners: list[tuple[float, float]] = []
    for x, y in places:
        corners.append((x, corners[-1][1] if corners else _FLOOR))
        corners.append((x, y))
    where = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    dashed = " dashed" if one.dashed else ""
    return (
        f'<polyline class="l{one.colour}{dashed}" points="{where}">'
        f"<title>{escape(one.name)}</title></polyline>"
    )


def _stems(one: Series, places: Sequence[tuple[float, float]]) -> list[str]:
    parts = []
    for index, (x, y) in enumerate(places):
        ring = index in one.hollow and len(places) == len(one.points)
        shape = f"r{one.colour}" if ring else f"f{one.colour}"
        parts.append(
            f'<line class="l{one.colour} thin" x1="{x:.1f}" x2="{x:.1f}" '
            f'y1="{_FLOOR}" y2="{y:.1f}"/>'
            f'<circle class="{shape}" cx="{x:.1f}" cy="{y:.1f}" r="3.5">'
            f"<title>{escape(one.name)}</title></circle>"
        )
    return parts


def _axis(largest: float) -> tuple[float, list[float]]:
    """The value at the top of the plot, and the ticks from 0 to it."""
    raw = (largest or 1.0) / _Y_TICKS
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(nice * magnitude for nice in _NICE if nice * magnitude >= raw * 0.999)
    count = math.ceil(largest / step - 1e-9) or 1
    return step * count, [step * index for index in range(count + 1)]


def _grid(ticks: Sequence[float], top: float, unit: str) -> list[str]:
    parts = []
    for tick in ticks:
        y = _FLOOR - tick / top * _PLOT_HEIGHT
        parts.append(
            f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        parts.append(_text(_LEFT - 6, y + 4, f"{number(tick)}{unit}", "end"))
    return parts


def _dates(first: float, last: float) -> list[str]:
    parts = []
    for index in range(_X_TICKS + 1):
        share = index / _X_TICKS
        date = datetime.fromtimestamp(max(0.0, first + share * (last - first)), UTC)
        anchor = "start" if index == 0 else "end" if index == _X_TICKS else "middle"
        parts.append(_text(_LEFT + share * _PLOT_WIDTH, _FLOOR + 18, f"{date:%Y-%m-%d}", anchor))
    return parts


def _text(x: float, y: float, text: str, anchor: str) -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="axis" {where}>{escape(text)}</text>'


def _svg(height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )
