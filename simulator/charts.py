"""Small charts as inline SVG: no script, no external asset, colours from the page's variables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["Series", "bars", "lines"]

_WIDTH, _HEIGHT = 520, 220
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 24, 14, 34
_PLOT_WIDTH = _WIDTH - _LEFT - _RIGHT
_PLOT_HEIGHT = _HEIGHT - _TOP - _BOTTOM
_BASE = _TOP + _PLOT_HEIGHT
_TICKS = 4
_X_TICKS = 6
_MAX_LABELS = 8
_ABOVE, _BELOW = -9, 18
_BAR_SHARE = 0.78
_WIDEST_BAR = 56
_DOT, _DOT_STEP, _LEAST_DOT = 5.0, 1.5, 2.0
"""Radius of the first series' dots; each later one is smaller, so none hides another."""
_NICE_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_THOUSAND = 1000.0


@dataclass(frozen=True)
class Series:
    """One named line: points (x, y), drawn straight or as steps."""

    name: str
    points: Sequence[tuple[float, float]]
    steps: bool = False
    dots: bool = False


def bars(
    values: Sequence[float],
    labels: Sequence[str],
    *,
    title: str,
    unit: str = "",
    line: Series | None = None,
    whole: bool = False,
    marks: Mapping[int, str] | None = None,
) -> str:
    """Vertical bars over equal slots, with an optional line across their middles (x = slot).

    `whole`: the values count things, so the axis has no fractions. `marks`: what the x axis says
    under which slot; by default every n-th of the labels.
    """
    if not any(values):
        return _nothing(title)
    top = max([*values, *(y for _, y in (line.points if line else ()))])
    scale, ticks = _axis(top, whole=whole)
    slot = _PLOT_WIDTH / len(values)
    parts = [_grid(ticks, scale, unit)]
    for index, value in enumerate(values):
        height = value * scale
        width = min(slot * _BAR_SHARE, _WIDEST_BAR)
        x = _LEFT + slot * (index + 0.5) - width / 2
        parts.append(
            f'<rect class="s1" x="{x:.1f}" y="{_BASE - height:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" rx="1.5"><title>{escape(labels[index])}: '
            f"{_number(value)}{escape(unit)}</title></rect>"
        )
    if line:
        points = [(_LEFT + slot * (x + 0.5), _BASE - y * scale) for x, y in line.points]
        parts.append(_path(points, 2))
    if marks is None:
        every = math.ceil(len(labels) / _MAX_LABELS)
        marks = {index: labels[index] for index in range(0, len(labels), every)}
    parts += [_x_label(_LEFT + slot * (index + 0.5), said) for index, said in marks.items()]
    return _svg(title, parts)


def lines(
    series: Sequence[Series],
    *,
    title: str,
    x_label: str,
    unit: str = "",
    top: float | None = None,
    whole: bool = False,
) -> str:
    """Lines over a shared numeric x axis.

    It starts at 0; where `whole`, x numbers things from 1, each in the middle of a slot.
    """
    shown = [one for one in series if one.points]
    if not shown:
        return _nothing(title)
    scale, ticks = _axis(top or max(y for one in shown for _, y in one.points) or 1.0)
    last = max(x for one in shown for x, _ in one.points) or 1.0

    def across(x: float) -> float:
        return _LEFT + (x - 0.5 if whole else x) / last * _PLOT_WIDTH

    parts = [_grid(ticks, scale, unit)]
    for index, one in enumerate(shown):
        colour = index % 4 + 1
        points = [(across(x), _BASE - y * scale) for x, y in one.points]
        # Dashes let a line show that an equal later one would hide.
        parts.append(_path(list(_stairs(points)) if one.steps else points, colour, index > 0))
        if one.dots or len(points) == 1:
            parts += _dots(one, points, colour, unit)
    parts += [_x_label(across(t), _number(t)) for t in _x_ticks(last, whole=whole)]
    parts.append(
        f'<text class="axis" x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 2}" '
        f'text-anchor="end">{escape(x_label)}</text>'
    )
    return _svg(title, parts)


def _dots(
    one: Series, places: Sequence[tuple[float, float]], colour: int, unit: str
) -> Iterator[str]:
    """A mark on every point, with its value beside it."""
    radius = max(_LEAST_DOT, _DOT - _DOT_STEP * (colour - 1))
    for (px, py), (x, y) in zip(places, one.points, strict=True):
        said = f"{escape(one.name)}, {_number(x)}: {_number(y)}{escape(unit)}"
        yield f'<circle class="f{colour}" cx="{px:.1f}" cy="{py:.1f}" r="{radius}">'
        yield f"<title>{said}</title></circle>"
        if len(places) <= _MAX_LABELS:
            # The first series is labelled above, the others below: close lines stay legible.
            yield _text(px, py + (_ABOVE if colour == 1 else _BELOW), f"{_number(y)}{unit}")


def _axis(top: float, *, whole: bool = False) -> tuple[float, list[float]]:
    """Pixels per unit, and the tick values from 0 to just over `top`."""
    step = _nice(top / _TICKS)
    if whole:
        step = float(math.ceil(step))
    count = math.ceil(top / step - 1e-9)
    ticks = [step * index for index in range(count + 1)]
    return _PLOT_HEIGHT / ticks[-1], ticks


def _nice(raw: float) -> float:
    magnitude = 10.0 ** math.floor(math.log10(raw))
    return next(step * magnitude for step in _NICE_STEPS if step * magnitude >= raw * 0.999)


def _x_ticks(last: float, *, whole: bool) -> list[float]:
    step = _nice(last / _X_TICKS)
    if whole:
        step = float(math.ceil(step))
        return [1.0 + step * index for index in range(int((last - 1.0) / step) + 1)]
    return [step * index for index in range(int(last / step + 1e-9) + 1)]


def _stairs(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    previous: float | None = None
    for x, y in points:
        if previous is not None:
            yield x, previous
        yield x, y
        previous = y


def _path(points: Sequence[tuple[float, float]], colour: int, dashed: bool = False) -> str:
    where = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline class="l{colour}{" dashed" if dashed else ""}" points="{where}"/>'


def _grid(ticks: Sequence[float], scale: float, unit: str) -> str:
    rows = []
    for tick in ticks:
        y = _BASE - tick * scale
        rows.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>')
        rows.append(
            f'<text class="axis" x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{_number(tick)}{escape(unit)}</text>"
        )
    return "".join(rows)


def _x_label(x: float, text: str) -> str:
    return _text(x, _BASE + 16, text)


def _number(value: float) -> str:
    if value >= 10 * _THOUSAND:
        return f"{value / _THOUSAND:.0f}k"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"


def _svg(title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )


def _nothing(title: str) -> str:
    return _svg(title, [_text(_WIDTH / 2, _HEIGHT / 2, "none yet")])


def _text(x: float, y: float, text: str) -> str:
    return f'<text class="axis" x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{escape(text)}</text>'
