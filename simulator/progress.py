"""The terminal while a fleet plays: how far virtual time is, how fast, and what went wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

__all__ = ["Told", "following"]

_HOUR = 3600.0
_DAY = 86_400.0
_SETTLED = 1.0
"""Seconds of real time before a rate is shown."""

Told = Callable[[float, int], None]
"""Told the virtual seconds that a phone has lived in the mean, and the violations so far."""


@contextmanager
def following(
    console: Console,
    phones: int,
    days: int,
    where: str = "",
    *,
    now: Callable[[], float] = time.perf_counter,
    memory: Callable[[], int] = lambda: 0,
) -> Iterator[Told]:
    """A bar with phones, virtual time, phone-days a second, memory, violations and the time left.

    Nothing is shown where the console is no terminal.

    Args:
        where: the world is played, said at the beginning.
        now: seconds of real time.
        memory: bytes in use; 0 where that is not known.
    """
    if not console.is_terminal:
        yield lambda _seconds, _violations: None
        return
    columns: list[ProgressColumn] = [
        TextColumn("{task.fields[when]}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.fields[rate]}", style="progress.data.speed"),
        TextColumn("{task.fields[memory]}", style="progress.filesize"),
        _Violations(),
        TextColumn("left"),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=console, transient=True) as bar:
        said = f"{phones:,} phones: starting the cloud" + (f"; {where}" if where else "")
        task = bar.add_task("", total=days * _DAY, when=said, rate="", memory="", violations=0)
        rate = _Rate(phones, now)

        def told(seconds: float, violations: int) -> None:
            day, rest = divmod(seconds, _DAY)
            when = f"{phones:,} phones, day {int(day) + 1} of {days}, {int(rest // _HOUR):02d}:00"
            bar.update(
                task,
                completed=seconds,
                when=when,
                rate=rate.at(seconds),
                memory=_gibibytes(memory()),
                violations=violations,
            )

        yield told


def _gibibytes(size: int) -> str:
    return f"{size / 2**30:.1f} GiB" if size else ""


class _Rate:
    """Phone-days a second since the first step was over: the cloud's start is not the phones'."""

    def __init__(self, phones: int, now: Callable[[], float]) -> None:
        self._phones, self._now = phones, now
        self._first: tuple[float, float] | None = None

    def at(self, seconds: float) -> str:
        """The rate at `seconds` of virtual time, once there is one."""
        now = self._now()
        if self._first is None:
            self._first = (now, seconds)
        began, there = self._first
        if now - began < _SETTLED:
            return ""
        rate = self._phones * (seconds - there) / _DAY / (now - began)
        return f"{rate:,.3g} phone-days/s"


class _Violations(ProgressColumn):
    """How often a law was broken so far."""

    def render(self, task: Task) -> Text:
        """Nothing while all laws hold."""
        count = int(task.fields["violations"])
        if not count:
            return Text("")
        return Text(f"{count:,} violation{'s' if count > 1 else ''}", style="bold red")
