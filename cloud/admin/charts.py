"""Charts as inline SVG: no script, no style attribute (the content policy allows neither), colours
from the page's own sheet, and nothing that is not escaped.

Every chart of estimates draws the 95 % interval of each: a bar without its whisker would say more
than the noise lets anyone know.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final

from markupsafe import Markup

__all__ = ["Bar", "Line", "Mark", "Point", "fill", "over_time", "over_versions", "whiskers"]

_WIDTH: Final = 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 16, 20, 26
_HEIGHT: Final = 210
_ROW: Final = 26
_NAMES: Final = 112
"""Width kept for the names of bars."""
_FIGURES: Final = 62
"""Width kept for their values."""
_CAP: Final = 4
"""Half the height of a whisker's end."""
_COLOURS: Final = 5
_MOST_X_LABELS: Final = 6
_LEAST_SPAN: Final = 3_600.0
"""Seconds an axis of time shows at least."""
_DAY: Final = 86_400
_STEPS: Final = (
    *(hours * 3_600 for hours in (1, 2, 3, 6, 12)),
    *(days * _DAY for days in (1, 2, 7, 14, 28, 56, 112, 365)),
)
"""Seconds between two dates on an axis."""
_APART: Final = 5.0
"""Between the whiskers of two lines at one time, so that none hides another."""
_MARK_GAP: Final = 30.0
"""Two names of marks nearer than this are not both written."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bin: shares between 0 and 1; the estimate alone may lie outside."""

    name: str
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Point:
    """An estimate at `x`, with its interval where it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """Points joined in order."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at `x`: an upright line with a name."""

    x: float
    name: str


def whiskers(title: str, bars: Sequence[Bar]) -> Markup:
    """Bars of shares from 0 to 100 %, one below the other, each with its interval."""
    span = _WIDTH - _NAMES - _FIGURES
    height = _ROW * len(bars) + 4
    parts = [f'<line class="axis" x1="{_NAMES}" y1="0" x2="{_NAMES}" y2="{height}"/>']
    for index, bar in enumerate(bars):
        middle = _ROW * index + _ROW / 2 + 2
        low, high = _NAMES + _within(bar.low) * span, _NAMES + _within(bar.high) * span
        width = _within(bar.estimate) * span
        parts.append(
            f'<text class="name" x="{_NAMES - 8}" y="{middle + 4:.1f}">{_e(bar.name)}</text>'
        )
        parts.append(
            f'<rect class="bar" x="{_NAMES}" y="{middle - 7:.1f}" width="{width:.1f}" height="14" '
            f'rx="2"><title>{_e(bar.name)}: {_interval(bar)}</title></rect>'
        )
        parts.append(
            f'<path class="whisker" d="M{low:.1f} {middle - _CAP:.1f}v{2 * _CAP}'
            f'M{low:.1f} {middle:.1f}H{high:.1f}M{high:.1f} {middle - _CAP:.1f}v{2 * _CAP}"/>'
        )
        said = f"{100 * _within(bar.estimate):.0f} %"
        parts.append(f'<text class="value" x="{_WIDTH - 4}" y="{middle + 4:.1f}">{said}</text>')
    return _svg(title, height, parts)


def over_time(title: str, lines: Sequence[Line], marks: Sequence[Mark] = ()) -> Markup:
    """Shares over unix time, each point with its interval; `marks` stand at the foot."""
    xs = [point.x for line in lines for point in line.points] + [mark.x for mark in marks]
    if not xs:
        return Markup("")
    first, last = min(xs), max(xs)
    if last - first < _LEAST_SPAN:
        first, last = first - _LEAST_SPAN / 2, last + _LEAST_SPAN / 2
    margin = (last - first) * 0.04
    frame = _Frame(first - margin, last + margin, 0.0, 1.0)
    parts = [*_grid(frame, lambda share: f"{100 * share:.0f} %"), *_dates(frame)]
    parts += _marks(frame, marks)
    for index, line in enumerate(lines):
        aside = (index - (len(lines) - 1) / 2) * _APART
        parts += _drawn(frame, line, index % _COLOURS + 1, aside)
    return _svg(title, _HEIGHT, parts)


def over_versions(title: str, line: Line, said: Callable[[float], str]) -> Markup:
    """A figure of each version; the axis is cut to where the figures lie."""
    if not line.points:
        return Markup("")
    low, high = min(point.y for point in line.points), max(point.y for point in line.points)
    margin = max(0.02, (high - low) * 0.25)
    first, last = line.points[0].x, line.points[-1].x
    frame = _Frame(first - 0.5, last + 0.5, max(0.0, low - margin), min(1.0, high + margin))
    parts = list(_grid(frame, said))
    every = max(1, math.ceil(len(line.points) / _MOST_X_LABELS))
    parts += [
        _text("tick", frame.x(point.x), _HEIGHT - 8, f"v{point.x:.0f}")
        for point in line.points[::every]
    ]
    parts += _drawn(frame, line, 1)
    return _svg(title, _HEIGHT, parts)


def fill(title: str, share: float) -> Markup:
    """A bar that fills up to 1; more than that is full."""
    width = 120 * _within(share)
    whole = "full" if share >= 1.0 else "part"
    return Markup(  # noqa: S704 - what comes from outside is escaped above
        f'<svg class="fill" viewBox="0 0 120 8" role="img" aria-label="{_e(title)}">'
        f'<rect class="trough" width="120" height="8" rx="4"/>'
        f'<rect class="{whole}" width="{width:.1f}" height="8" rx="4"/></svg>'
    )


# --- parts ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Frame:
    """Where values lie in the picture."""

    first: float
    last: float
    low: float
    high: float
    base: float = field(default=float(_HEIGHT - _BOTTOM))

    def x(self, value: float) -> float:
        share = (value - self.first) / (self.last - self.first)
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def y(self, value: float) -> float:
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.base - share * (self.base - _TOP)


def _grid(frame: _Frame, said: Callable[[float], str]) -> Iterator[str]:
    for step in range(5):
        value = frame.low + (frame.high - frame.low) * step / 4
        y = frame.y(value)
        kind = "axis" if step == 0 else "grid"
        yield (
            f'<line class="{kind}" x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}"/>'
        )
        yield _text("side", _LEFT - 6, y + 4, said(value))


def _dates(frame: _Frame) -> Iterator[str]:
    """Whole days, or whole hours where the axis is short."""
    span = frame.last - frame.first
    step = next((one for one in _STEPS if span / one <= _MOST_X_LABELS), span)
    form = "%m-%d" if step >= _DAY else "%d %H:%M"
    for number in range(math.ceil(frame.first / step), math.floor(frame.last / step) + 1):
        at = number * step
        yield _text("tick", frame.x(at), _HEIGHT - 8, time.strftime(form, time.gmtime(at)))


def _marks(frame: _Frame, marks: Sequence[Mark]) -> Iterator[str]:
    written = -math.inf
    for mark in sorted(marks, key=lambda one: one.x):
        x = frame.x(mark.x)
        yield (
            f'<line class="mark" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{frame.base:.1f}">'
            f"<title>{_e(mark.name)}</title></line>"
        )
        if x - written >= _MARK_GAP:
            written = x
            yield _text("tick", x, _TOP - 7, mark.name)


def _drawn(frame: _Frame, line: Line, colour: int, aside: float = 0.0) -> Iterator[str]:
    places = [(frame.x(point.x) + aside, frame.y(point.y)) for point in line.points]
    if len(places) > 1:
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        yield f'<path class="line s{colour}" d="{path}"/>'
    for (x, y), point in zip(places, line.points, strict=True):
        if point.low is not None and point.high is not None:
            low, high = frame.y(point.low), frame.y(point.high)
            yield (
                f'<path class="whisker s{colour}" d="M{x - _CAP:.1f} {high:.1f}h{2 * _CAP}'
                f'M{x:.1f} {high:.1f}V{low:.1f}M{x - _CAP:.1f} {low:.1f}h{2 * _CAP}"/>'
            )
        yield (
            f'<circle class="dot f{colour}" cx="{x:.1f}" cy="{y:.1f}" r="3.5">'
            f"<title>{_e(line.name)}: {100 * point.y:.1f} %</title></circle>"
        )


def _text(kind: str, x: float, y: float, said: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{_e(said)}</text>'


def _interval(bar: Bar) -> str:
    return f"{100 * bar.estimate:.1f} % ({100 * bar.low:.1f}–{100 * bar.high:.1f} %)"


def _within(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def _e(said: str) -> str:
    return escape(said, quote=True)


def _svg(title: str, height: float, parts: Sequence[str]) -> Markup:
    return Markup(  # noqa: S704 - every text went through `_e`
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {height:.0f}" role="img" '
        f'aria-label="{_e(title)}">{"".join(parts)}</svg>'
    )
