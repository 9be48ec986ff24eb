"""Small charts as inline SVG: no script, no external asset, colours from the page's variables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from simulator.svg import (
    BASE,
    LEFT,
    PLOT_WIDTH,
    TOP,
    Label,
    axis_name,
    bar_at,
    figure,
    frame,
    gridlines,
    joined,
    nothing,
    polyline,
    span_of,
    stairs,
    text_at,
    ticks_between,
    x_mark,
    x_ticks,
    y_axis,
)
from simulator.words import Both

__all__ = ["Band", "Series", "bars", "heat_map", "histogram", "lines"]

_MAX_LABELS = 8
_ABOVE, _BELOW = -9, 18
_BAR_SHARE = 0.78
_WIDEST_BAR = 56
_DOT, _DOT_STEP, _LEAST_DOT = 5.0, 1.5, 2.0
"""Radius of the first series' dots; each later one is smaller, so none hides another."""
_CELL = 22
"""Height of a row of the heat map; its columns share the plot's width."""
_FAINTEST = 0.06


@dataclass(frozen=True)
class Series:
    """One named line: points (x, y), drawn straight or as steps. `colour` 1–4; None takes the
    next."""

    name: str
    points: Sequence[tuple[float, float]]
    steps: bool = False
    dots: bool = False
    colour: int | None = None
    dashed: bool | None = None


@dataclass(frozen=True)
class Band:
    """An area between two lines: points (x, low, high)."""

    points: Sequence[tuple[float, float, float]]
    colour: int = 1


def bars(
    values: Sequence[float],
    labels: Sequence[str],
    *,
    title: Label,
    unit: str = "",
    line: Series | None = None,
    whole: bool = False,
    marks: Mapping[int, Label] | None = None,
) -> str:
    """Vertical bars over equal slots, with an optional line across their middles (x = slot).

    `whole`: the values count things, so the axis has no fractions. `marks`: what the x axis says
    under which slot; by default every n-th of the labels.
    """
    if not any(values):
        return nothing(title)
    top = max([*values, *(y for _, y in (line.points if line else ()))])
    scale, ticks = y_axis(top, whole=whole)
    slot = PLOT_WIDTH / len(values)
    parts = [gridlines(ticks, scale, unit)]
    for index, value in enumerate(values):
        width = min(slot * _BAR_SHARE, _WIDEST_BAR)
        x = LEFT + slot * (index + 0.5) - width / 2
        parts.append(bar_at(x, width, value * scale, f"{labels[index]}: {figure(value)}{unit}"))
    if line:
        points = [(LEFT + slot * (x + 0.5), BASE - y * scale) for x, y in line.points]
        parts.append(polyline(points, 2))
    if marks is None:
        every = math.ceil(len(labels) / _MAX_LABELS)
        marks = {index: labels[index] for index in range(0, len(labels), every)}
    parts += [x_mark(LEFT + slot * (index + 0.5), said) for index, said in marks.items()]
    return frame(title, parts)


def histogram(
    values: Sequence[float],
    *,
    title: Label,
    bins: int,
    span: tuple[float, float] | None = None,
    curve: Series | None = None,
    x_label: Label = "",
) -> str:
    """How often the values fall into equal bins over `span` (default: theirs), on a numeric axis.

    `curve`: a line over the same axis, in counts. What lies outside the span is in the last bin.
    """
    if not values:
        return nothing(title)
    low, high = span or span_of(values)
    width = (high - low) / bins
    counts = [0] * bins
    for value in values:
        counts[min(max(int((value - low) / width), 0), bins - 1)] += 1
    top = max([*counts, *(y for _, y in (curve.points if curve else ()))])
    scale, ticks = y_axis(top, whole=True)
    slot = PLOT_WIDTH / bins
    parts = [gridlines(ticks, scale, "")]
    for index, count in enumerate(counts):
        if count:
            edges = f"{figure(low + index * width)} – {figure(low + (index + 1) * width)}"
            x = LEFT + slot * index + 0.75
            parts.append(bar_at(x, slot - 1.5, count * scale, f"{edges}: {count:,}"))
    if curve:
        across = [(LEFT + (x - low) / (high - low) * PLOT_WIDTH, y) for x, y in curve.points]
        parts.append(polyline([(x, BASE - y * scale) for x, y in across], 2))
    parts += [
        x_mark(LEFT + (tick - low) / (high - low) * PLOT_WIDTH, figure(tick))
        for tick in ticks_between(low, high)
    ]
    parts.append(axis_name(x_label))
    return frame(title, parts)


def heat_map(
    rows: Sequence[Sequence[float | None]],
    names: Sequence[Both],
    *,
    title: Label,
    unit: str,
    marks: Mapping[int, str],
) -> str:
    """A row of cells a name, darker for more; None leaves a cell empty. `marks`: column → label.

    The values are in `unit`; the darkest cell is the largest value of all.
    """
    known = [value for row in rows for value in row if value is not None]
    if not known or not max(known):
        return nothing(title)
    top, slot = max(known), PLOT_WIDTH / len(rows[0])
    parts = []
    for index, (row, name) in enumerate(zip(rows, names, strict=True)):
        y = TOP + index * _CELL
        parts.append(text_at(LEFT - 6, y + _CELL * 0.72, name, anchor="end"))
        for column, value in enumerate(row):
            if value is None:
                continue
            depth = _FAINTEST + (1.0 - _FAINTEST) * value / top
            said = escape(f"{name.zh} {name.en} {column:02d}:00: {figure(value)}{unit}")
            parts.append(
                f'<rect class="s1" x="{LEFT + column * slot + 0.6:.1f}" y="{y + 0.6:.1f}" '
                f'width="{slot - 1.2:.1f}" height="{_CELL - 1.2:.1f}" rx="2" '
                f'fill-opacity="{depth:.2f}"><title>{said}</title></rect>'
            )
    base = TOP + len(rows) * _CELL
    parts += [text_at(LEFT + (at + 0.5) * slot, base + 15, said) for at, said in marks.items()]
    return frame(title, parts, base + 22)


def lines(
    series: Sequence[Series],
    *,
    title: Label,
    x_label: Label,
    unit: str = "",
    top: float | None = None,
    whole: bool = False,
    band: Band | None = None,
) -> str:
    """Lines over a shared numeric x axis.

    It starts at 0; where `whole`, x numbers things from 1, each in the middle of a slot.
    """
    shown = [one for one in series if one.points]
    if not shown:
        return nothing(title)
    highest = [y for one in shown for _, y in one.points]
    highest += [y for _, _, y in (band.points if band else ())]
    scale, ticks = y_axis(top or max(highest) or 1.0)
    last = max(x for one in shown for x, _ in one.points) or 1.0

    def across(x: float) -> float:
        return LEFT + (x - 0.5 if whole else x) / last * PLOT_WIDTH

    parts = [gridlines(ticks, scale, unit)]
    if band and len(band.points) > 1:
        there = [(across(x), BASE - y * scale) for x, _, y in band.points]
        back = [(across(x), BASE - y * scale) for x, y, _ in reversed(band.points)]
        parts.append(f'<polygon class="b{band.colour}" points="{joined([*there, *back])}"/>')
    for index, one in enumerate(shown):
        colour = one.colour or index % 4 + 1
        points = [(across(x), BASE - y * scale) for x, y in one.points]
        # Dashes let a line show that an equal later one would hide.
        dashed = index > 0 if one.dashed is None else one.dashed
        parts.append(polyline(list(stairs(points)) if one.steps else points, colour, dashed))
        if one.dots or len(points) == 1:
            parts += _dots(one, points, colour, unit)
    parts += [x_mark(across(t), figure(t)) for t in x_ticks(last, whole=whole)]
    parts.append(axis_name(x_label))
    return frame(title, parts)


def _dots(
    one: Series, places: Sequence[tuple[float, float]], colour: int, unit: str
) -> Iterator[str]:
    """A mark on every point, with its value beside it."""
    radius = max(_LEAST_DOT, _DOT - _DOT_STEP * (colour - 1))
    for (px, py), (x, y) in zip(places, one.points, strict=True):
        said = f"{escape(one.name)}, {figure(x)}: {figure(y)}{escape(unit)}"
        yield f'<circle class="f{colour}" cx="{px:.1f}" cy="{py:.1f}" r="{radius}">'
        yield f"<title>{said}</title></circle>"
        if len(places) <= _MAX_LABELS:
            # The first series is labelled above, the others below: close lines stay legible.
            yield text_at(px, py + (_ABOVE if colour == 1 else _BELOW), f"{figure(y)}{unit}")
