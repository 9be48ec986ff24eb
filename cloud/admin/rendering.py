"""Templates to HTML: everything is escaped, every blank must be filled."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from cloud.admin.words import Words

__all__ = ["STYLE", "Asset", "asset", "html"]

DAY: Final = 86_400
HOUR: Final = 3_600
MINUTE: Final = 60
KIB: Final = 1_024.0
_LONGEST_VALUE: Final = 300
"""Characters of a value in a list of facts."""


class Asset:
    """A file of the package as browsers cache it."""

    def __init__(self, name: str, kind: str) -> None:
        self.body = resources.files("cloud.admin").joinpath("pages", name).read_bytes()
        self.kind = kind
        self.tag = f'"{sha256(self.body).hexdigest()[:16]}"'


STYLE: Final = {
    "/admin/admin.css": ("admin.css", "text/css"),
    "/admin/icon.svg": ("icon.svg", "image/svg+xml"),
}
"""Address → file and kind of all that the pages load."""


@cache
def asset(path: str) -> Asset:
    """The file served at `path`, one of `STYLE`."""
    return Asset(*STYLE[path])


def html(template: str, words: Words, context: Mapping[str, Any]) -> str:
    """The page `<template>.html.j2` in the language of `words`."""
    said = {"w": words, "span": lambda seconds: _span(words, seconds)}
    return _environment().get_template(f"{template}.html.j2").render({**said, **context})


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("cloud.admin", "pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(at=_at, figure=_figure, percent=_percent, kib=_kib, value=_value)
    return environment


def _at(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(seconds))


def _figure(value: float | None) -> str:
    """Three figures, never in scientific notation where that can be avoided."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _kib(size: float) -> str:
    return f"{size / KIB:,.1f} KiB"


def _value(value: object) -> str:
    said = f"{value:.4g}" if isinstance(value, float) else str(value)
    return said if len(said) <= _LONGEST_VALUE else f"{said[:_LONGEST_VALUE]}…"


def _span(words: Words, seconds: float) -> str:
    whole = int(seconds)
    days, hours, minutes = whole // DAY, whole // HOUR, whole // MINUTE
    if days and not hours % 24:
        return words("span.whole_days", days=days)
    if days:
        return words("span.days", days=days, hours=hours % 24)
    if hours:
        return words("span.hours", hours=hours, minutes=minutes % 60)
    return words("span.minutes", minutes=minutes)
