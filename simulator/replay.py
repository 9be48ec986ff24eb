"""A world event by event, cut at any of them: the same seed tells the same story again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Final, Protocol

from device.observer import PhoneEvent

__all__ = ["Listener", "TraceEvent", "Until", "told", "until"]

_DAY: Final = 86_400.0
_HOUR: Final = 3_600.0
_MINUTE: Final = 60.0
_HOUR_COUNT: Final = 24
_SHOWN_BYTES: Final = 4


@dataclass(frozen=True)
class TraceEvent:
    """Something that happened to one phone."""

    at: float
    """Seconds since the world began, true time."""
    phone: int
    kind: str
    """``fault`` and its name, ``law`` and its name, or what the phone says of itself."""
    detail: str = ""

    def line(self) -> str:
        """One line to read."""
        day, rest = divmod(self.at, _DAY)
        hour, rest = divmod(rest, _HOUR)
        minute, second = divmod(rest, _MINUTE)
        when = f"day {int(day) + 1} {int(hour):02d}:{int(minute):02d}:{second:06.3f}"
        return f"{when}  phone {self.phone}  {self.kind}  {self.detail}".rstrip()


Listener = Callable[[TraceEvent], bool]
"""Told every event; True leaves the world as it stands there."""


def told(event: PhoneEvent) -> str:
    """What a phone's own account says beside its kind; ids and hashes by their first bytes."""
    parts = []
    for field in fields(event):
        value = getattr(event, field.name)
        if field.name == "at" or value in (b"", "", ()):
            continue
        shown = value[:_SHOWN_BYTES].hex() if isinstance(value, bytes) else str(value)
        parts.append(f"{field.name} {shown}")
    return ", ".join(parts)


class Until(Protocol):
    """Whether to stop at an event."""

    def __call__(self, event: TraceEvent) -> bool:
        """Stop here?"""
        ...


def until(wanted: str) -> Until:
    """What `--until` means: a time ``DAY:HOUR:MINUTE`` (from day 1), or words of an event.

    Raises:
        ValueError: it looks like a time and is none.
    """
    parts = wanted.split(":")
    if len(parts) > 1 and all(part.strip().isdigit() for part in parts):
        return _at(parts)
    words = wanted.lower().split()
    if not words:
        raise ValueError("say an event, such as 'fault kill', or a time DAY:HOUR:MINUTE")
    return lambda event: all(word in event.line().lower() for word in words)


def _at(parts: list[str]) -> Until:
    day, hour, minute, *more = [int(part) for part in parts] + [0] * (3 - len(parts))
    if more or day < 1 or hour >= _HOUR_COUNT or minute >= _MINUTE:
        raise ValueError("a time is DAY:HOUR:MINUTE, the first day is 1")
    moment = (day - 1) * _DAY + hour * _HOUR + minute * _MINUTE
    return lambda event: event.at >= moment
