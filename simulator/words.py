"""Numbers as people say them, for the summary and the page."""

from __future__ import annotations

__all__ = ["count", "times"]


def count(number: int, noun: str) -> str:
    """`1 phone`, `1,200 phones`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def times(number: int) -> str:
    """`once`, `twice`, `11 times`."""
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")
