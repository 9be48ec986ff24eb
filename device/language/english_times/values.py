"""What the grammar finds: dates, runs of days, hours, moments, each still with its own meaning."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from device.language.spans import Prefer, Reference, exactly

__all__ = [
    "Bound",
    "Calendar",
    "Clock",
    "ClockRange",
    "Context",
    "Days",
    "Item",
    "Moment",
    "NthWeekday",
    "Part",
    "one_day",
]

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Context:
    """When the words were said, and on which side of it an open date lies."""

    now: Reference
    prefer: Prefer

    def __post_init__(self) -> None:
        if isinstance(self.now, datetime):
            object.__setattr__(self, "now", self.now.replace(microsecond=0))

    @property
    def today(self) -> date:
        """The speaker's date."""
        return self.now.date()

    @property
    def moment(self) -> datetime:
        """The moment itself, for who cannot do with the day."""
        return exactly(self.now)


@dataclass(frozen=True, slots=True)
class Calendar:
    """A day or month by its place in the calendar; what was not said is None.

    ``shift`` counts years from now ("next March" 1); ``weekday`` only helps to choose the year.
    """

    month: int | None
    day: int | None = None
    year: int | None = None
    shift: int | None = None
    weekday: int | None = None


@dataclass(frozen=True, slots=True)
class Days:
    """Whole days [first, stop).

    ``weekday``: named by its weekday alone. ``at``: the instant meant where this ends a range ("the
    end of 2007"). ``loose``: no year was said, another may be meant. ``relative``: from now.
    """

    first: date
    stop: date
    grain: str
    weekday: int | None = None
    at: date | None = None
    loose: bool = False
    relative: bool = False
    offset_unit: str = ""
    """The unit it was counted in: "in two months" names no exact day."""


@dataclass(frozen=True, slots=True)
class NthWeekday:
    """The n-th weekday (−1: the last) of a month that is said elsewhere."""

    n: int
    weekday: int


@dataclass(frozen=True, slots=True)
class Clock:
    """A time on the clock. ``open``: before or after noon; ``sure``: cannot be a mere number."""

    hour: int
    minute: int = 0
    second: int = 0
    open: bool = False
    sure: bool = True

    @property
    def grain(self) -> str:
        """How finely it was said."""
        return "second" if self.second else "minute" if self.minute else "hour"


@dataclass(frozen=True, slots=True)
class ClockRange:
    """From one time on the clock to another, or for a length."""

    first: Clock
    last: Clock | None = None
    length: timedelta | None = None

    @property
    def sure(self) -> bool:
        """Does either end show that these are hours?"""
        return self.length is not None or self.first.sure or bool(self.last and self.last.sure)


@dataclass(frozen=True, slots=True)
class Bound:
    """Before or after a time on the clock of a day said beside it."""

    word: str
    clock: Clock | Part


@dataclass(frozen=True, slots=True)
class Part:
    """Hours [first, last) of a day; last may pass 24.

    ``shift``: days from now when it names a day; ``onward``: not before now ("later today").
    """

    first: float
    last: float
    shift: int | None = None
    onward: bool = False


@dataclass(frozen=True, slots=True)
class Moment:
    """Absolute, complete in itself: now, in 5 minutes, the last three days."""

    start: datetime
    end: datetime
    grain: str


Item = Calendar | Days | NthWeekday | Clock | ClockRange | Bound | Part | Moment


def one_day(day: date, *, weekday: int | None = None, relative: bool = False) -> Days:
    """One whole day."""
    return Days(day, day + DAY, "day", weekday=weekday, relative=relative)
