"""Conditions that follow a script: for the simulator, for tests, and to try things out."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from device.conditions.source import Conditions

__all__ = ["Interval", "ScriptUnreadable", "ScriptedConditions"]


class ScriptUnreadable(ValueError):
    """The script file cannot be used; the message says why in one line."""


class Interval(BaseModel):
    """Conditions that stand from `start` (inclusive) to `end` (exclusive), in unix seconds UTC."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: float
    end: float
    idle: bool | None = True
    charging: bool | None = True
    unmetered: bool | None = True
    battery: float | None = Field(default=None, ge=0.0, le=1.0)


class ScriptedConditions:
    """Reads from a list of intervals; outside all of them nothing holds.

    It announces its changes (`AnnouncingSource`), so a phone asleep under virtual time costs no
    wake-up.
    """

    __slots__ = ("_bounds", "_intervals", "_now")

    def __init__(self, intervals: Iterable[Interval], now: Callable[[], float]) -> None:
        """`now` gives unix seconds. Raises ValueError when two intervals overlap."""
        self._intervals = tuple(sorted(intervals, key=lambda interval: interval.start))
        self._now = now
        bounds: list[float] = []
        for interval in self._intervals:
            if interval.end <= interval.start:
                raise ValueError("an interval must end after it starts")
            if bounds and interval.start < bounds[-1]:
                raise ValueError("intervals of a script must not overlap")
            bounds += (interval.start, interval.end)
        self._bounds = bounds

    @classmethod
    def always(cls, now: Callable[[], float]) -> ScriptedConditions:
        """A phone that is idle, charging and unmetered for ever."""
        return cls((Interval(start=float("-inf"), end=float("inf")),), now)

    @classmethod
    def from_json(cls, path: Path, now: Callable[[], float]) -> ScriptedConditions:
        """Load ``{"intervals": [{"start": …, "end": …, "idle": true, …}]}``.

        Times are unix seconds or ISO 8601 with an offset; a condition may be null (unknown).
        Raises `ScriptUnreadable`.
        """
        try:
            rows = json.loads(path.read_text(encoding="utf-8"))["intervals"]
            intervals = [Interval.model_validate(_with_seconds(row)) for row in rows]
            return cls(intervals, now)
        except OSError as error:
            raise ScriptUnreadable(f"{path}: {error.strerror}") from error
        except ValidationError as error:
            first = error.errors()[0]
            raise ScriptUnreadable(f"{path}: {first['loc']}: {first['msg']}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise ScriptUnreadable(f"{path}: not a script of intervals ({error})") from error

    async def read(self) -> Conditions:
        """The conditions the script gives for now."""
        return self.at(self._now())

    def at(self, moment: float) -> Conditions:
        """The conditions the script gives for `moment` (unix seconds)."""
        # Bounds alternate start, end: an odd count of passed bounds means inside an interval.
        # Where one ends and the next starts at once, both are passed and the count stays right.
        passed = bisect_right(self._bounds, moment)
        if passed % 2 == 0:
            return Conditions(False, False, False, None, read_at=moment)
        now = self._intervals[passed // 2]
        return Conditions(now.idle, now.charging, now.unmetered, now.battery, read_at=moment)

    def next_change(self, now: float) -> float | None:
        """The first bound after `now`; None when the script has ended."""
        passed = bisect_right(self._bounds, now)
        return self._bounds[passed] if passed < len(self._bounds) else None


def _with_seconds(row: object) -> dict[str, object]:
    """The row with ISO times as unix seconds."""
    if not isinstance(row, dict):
        raise TypeError("an interval must be an object")
    return {
        key: _seconds(value) if key in ("start", "end") else value for key, value in row.items()
    }


def _seconds(value: object) -> object:
    if not isinstance(value, str):
        return value
    moment = datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError(f"time {value} needs an offset such as +08:00")
    return moment.timestamp()
