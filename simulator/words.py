"""Numbers as people say them, and labels in both languages, for the summary and the pages."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Both", "bytes_said", "count", "days_said", "times"]

_KIB = 1024.0
_DAY_HOURS = 24.0
_SMALL = 10.0


class Both(NamedTuple):
    """The same said in English and in Chinese."""

    en: str
    zh: str


def count(number: int, noun: str) -> str:
    """`1 phone`, `1,200 phones`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def times(number: int) -> str:
    """`once`, `twice`, `11 times`."""
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def bytes_said(size: float) -> str:
    """`512 B`, `9.8 KiB`, `1,204 KiB`."""
    if size < _KIB:
        return f"{size:.0f} B"
    kib = size / _KIB
    return f"{kib:.1f} KiB" if kib < _SMALL else f"{kib:,.0f} KiB"


def days_said(days: float) -> Both:
    """`5 h` and `5 小时` below two days, `3.4 days` and `3.4 天` above."""
    hours = days * _DAY_HOURS
    if hours < 2 * _DAY_HOURS:
        return Both(f"{hours:.1f} h", f"{hours:.1f} 小时")
    return Both(f"{days:.1f} days", f"{days:.1f} 天")
