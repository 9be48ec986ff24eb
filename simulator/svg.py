"""The parts charts are made of: a frame, axes, marks and words, as SVG text in user units.

Sizes are in the units of a frame of 520 by 220; colours come from the page's style sheet.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from simulator.words import Both

__all__ = [
    "BASE",
    "LEFT",
    "PLOT_WIDTH",
    "TOP",
    "Label",
    "axis_name",
    "bar_at",
    "figure",
    "frame",
    "gridlines",
    "joined",
    "nothing",
    "polyline",
    "span_of",
    "stairs",
    "text_at",
    "ticks_between",
    "x_mark",
    "x_ticks",
    "y_axis",
]

WIDTH, HEIGHT = 520, 220
LEFT, RIGHT, TOP, BOTTOM = 46, 24, 14, 34
PLOT_WIDTH = WIDTH - LEFT - RIGHT
PLOT_HEIGHT = HEIGHT - TOP - BOTTOM
BASE = TOP + PLOT_HEIGHT
_TICKS = 4
_X_TICKS = 6
_NICE_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_THOUSAND = 1000.0
_NONE_YET = Both("none yet", "暂无")

Label = str | Both


def y_axis(top: float, *, whole: bool = False) -> tuple[float, list[float]]:
    """Pixels per unit, and the tick values from 0 to just over `top`."""
    step = nice(top / _TICKS)
    if whole:
        step = float(math.ceil(step))
    count = math.ceil(top / step - 1e-9)
    ticks = [step * index for index in range(count + 1)]
    return PLOT_HEIGHT / ticks[-1], ticks


def nice(raw: float) -> float:
    magnitude = 10.0 ** math.floor(math.log10(raw))
    return next(step * magnitude for step in _NICE_STEPS if step * magnitude >= raw * 0.999)


def span_of(values: Sequence[float]) -> tuple[float, float]:
    """Round numbers around the values, never of no width."""
    low, high = min(values), max(values)
    if high - low < 1e-9 * max(1.0, abs(high)):
        pad = max(abs(high) * 0.1, 0.5)
        low, high = max(0.0, low - pad) if low >= 0.0 else low - pad, high + pad
    step = nice((high - low) / _X_TICKS)
    return math.floor(low / step) * step, (math.floor(high / step) + 1) * step


def ticks_between(low: float, high: float) -> list[float]:
    """Round numbers from `low` to `high`, about six."""
    step = nice((high - low) / _X_TICKS)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(step * index, 9) for index in range(first, last + 1)]


def x_ticks(last: float, *, whole: bool) -> list[float]:
    """Round numbers from 0 to `last`; where `whole`, whole ones from 1."""
    step = nice(last / _X_TICKS)
    if whole:
        step = float(math.ceil(step))
        return [1.0 + step * index for index in range(int((last - 1.0) / step) + 1)]
    return [step * index for index in range(int(last / step + 1e-9) + 1)]


def stairs(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """The points with a corner before each but the first: a value holds until the next."""
    previous: float | None = None
    for x, y in points:
        if previous is not None:
            yield x, previous
        yield x, y
        previous = y


def bar_at(x: float, width: float, height: float, said: str) -> str:
    """A bar on the base line, with what it says when pointed at."""
    return (
        f'<rect class="s1" x="{x:.1f}" y="{BASE - height:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" rx="1.5"><title>{escape(said)}</title></rect>'
    )


def joined(points: Sequence[tuple[float, float]]) -> str:
    """Points as an SVG list."""
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def polyline(points: Sequence[tuple[float, float]], colour: int, dashed: bool = False) -> str:
    """A line in one of the page's four colours."""
    dashes = " dashed" if dashed else ""
    return f'<polyline class="l{colour}{dashes}" points="{joined(points)}"/>'


def gridlines(ticks: Sequence[float], scale: float, unit: str) -> str:
    """A line and its number for every tick of the y axis."""
    rows = []
    for tick in ticks:
        y = BASE - tick * scale
        rows.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        )
        rows.append(text_at(LEFT - 6, y + 4, f"{figure(tick)}{unit}", anchor="end"))
    return "".join(rows)


def x_mark(x: float, text: Label) -> str:
    """A word under the base line."""
    return text_at(x, BASE + 16, text)


def axis_name(text: Label) -> str:
    """What the x axis counts, at its end."""
    return text_at(WIDTH - RIGHT, HEIGHT - 2, text, anchor="end")


def figure(value: float) -> str:
    """A number of three digits."""
    if value >= 10 * _THOUSAND:
        return f"{value / _THOUSAND:.0f}k"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"


def frame(title: Label, parts: Sequence[str], height: int = HEIGHT) -> str:
    """A whole chart; `title` is what a screen reader says."""
    name = title if isinstance(title, str) else f"{title.en} / {title.zh}"
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(name)}">'
        f"{''.join(parts)}</svg>"
    )


def nothing(title: Label) -> str:
    """A chart of nothing."""
    return frame(title, [text_at(WIDTH / 2, HEIGHT / 2, _NONE_YET)])


def text_at(x: float, y: float, text: Label, *, anchor: str = "middle") -> str:
    """One text, or one for each language, of which the page shows the reader's."""
    said = {"": text} if isinstance(text, str) else {"en": text.en, "zh": text.zh}
    return "".join(
        f'<text class="axis"{f" lang={chr(34)}{tongue}{chr(34)}" if tongue else ""} x="{x:.1f}" '
        f'y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
        for tongue, words in said.items()
        if words
    )
