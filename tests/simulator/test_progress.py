"""The terminal while a fleet plays."""

from __future__ import annotations

import io
from collections.abc import Iterator

from rich.console import Console

from simulator.progress import following

DAY = 86_400.0


def watched(*steps: tuple[float, int], terminal: bool = True) -> str:
    """What is shown of a fleet of 40 phones over two days, in which a step takes ten seconds."""
    clock: Iterator[float] = iter(range(0, 10_000, 10))
    console = Console(file=io.StringIO(), force_terminal=terminal, width=160)
    with following(console, 40, 2, now=lambda: next(clock)) as told:
        for seconds, violations in steps:
            told(seconds, violations)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_it_tells_phones_time_rate_and_what_is_left() -> None:
    shown = watched((DAY / 2, 0), (DAY, 0), (1.5 * DAY, 0))
    assert "40 phones, day 2 of 2, 12:00" in shown
    assert "75 %" in shown
    assert "phone-days/s" in shown
    assert "left" in shown
    assert "violation" not in shown


def test_violations_are_told_as_they_happen() -> None:
    assert "1 violation" in watched((DAY, 1))
    assert "12 violations" in watched((DAY, 12))


def test_where_nobody_watches_nothing_is_written() -> None:
    assert watched((DAY, 3), terminal=False) == ""


def test_memory_and_where_the_world_is_played() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    where = "2 hosts on Ray: a big world"
    with following(console, 40, 2, where, memory=lambda: 3 << 30) as told:
        told(DAY, 0)
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    assert "starting the cloud; 2 hosts on Ray: a big world" in shown
    assert "3.0 GiB" in shown
