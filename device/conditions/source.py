"""What a phone knows about its situation, and where it asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

__all__ = ["FREE_FLOOR", "AnnouncingSource", "ConditionSource", "Conditions"]

FREE_FLOOR = 50 * 10**6
"""Bytes that must be free for work, where that is measured (AOSP FederatedCompute's floor)."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """One reading. Each condition is yes, no, or None for unknown; unknown never opens a window."""

    idle: bool | None
    charging: bool | None
    unmetered: bool | None
    battery: float | None
    """Charge, 0 … 1; None when there is no battery or it cannot be read."""
    read_at: float
    """Unix seconds, UTC, at which the reading was taken."""
    hot: bool | None = None
    """Warm to Android's thermal status MODERATE or beyond; None where nothing tells."""
    free: int | None = None
    """Bytes free where the phone's store lies; None when not measured."""
    reasons: tuple[str, ...] = field(default=(), compare=False)
    """Why a condition is unknown, or what else is in the way: a line each, with what to do."""

    @property
    def all_hold(self) -> bool:
        """Idle and charging and on an unmetered network, each known to be so."""
        return self.idle is True and self.charging is True and self.unmetered is True


class ConditionSource(Protocol):
    """Somewhere conditions can be read; reading never raises for a device's own trouble."""

    async def read(self) -> Conditions:
        """The conditions now; whatever cannot be learned is None."""
        ...


@runtime_checkable
class AnnouncingSource(Protocol):
    """A source that knows when its next change comes, so that nobody has to poll it; a reading of
    it never takes time."""

    async def read(self) -> Conditions:
        """The conditions now."""
        ...

    def next_change(self, now: float) -> float | None:
        """Unix seconds of the first change after `now`; None when nothing changes any more."""
        ...
