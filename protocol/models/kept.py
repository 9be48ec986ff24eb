"""What was worked out of a text is kept for a while.

One text is read again and again: when it is recorded, taken in by a dream, indexed, found and
judged. Only pure functions of their arguments are kept, so nobody can tell but by the clock. What
is kept is a copy of the owner's words outside the sealed logs: on a phone it is small, and a
forgetting drops it. A process of many phones that are told the same may be given more room.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Generic, ParamSpec, TypeVar

__all__ = ["KEPT_READINGS", "LONGEST_TEXT", "Kept", "kept", "kept_up_to"]

P = ParamSpec("P")
R = TypeVar("R")

KEPT_READINGS = 1_024
"""Readings of one kind that are kept, about 200 bytes each: a few days' talk."""
LONGEST_TEXT = 400
"""Characters of a text that is kept at most: chat turns are shorter, and documents read once."""


class Kept(Generic[P, R]):
    """A pure function of a text (its first argument) that keeps its newest answers."""

    __slots__ = ("_longest", "_read", "_readings", "_remembered")

    def __init__(self, read: Callable[P, R], readings: int, longest: int = LONGEST_TEXT) -> None:
        """`readings` answers are kept, of texts of up to `longest` characters."""
        self._read = read
        self._readings = readings
        self._longest = longest
        self._remembered = lru_cache(maxsize=readings)(read)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The answer; one that can be changed must be copied by who hands it on."""
        if len(args[0]) > self._longest:  # type: ignore[arg-type]
            return self._read(*args, **kwargs)
        return self._remembered(*args, **kwargs)  # type: ignore[arg-type]

    @property
    def held(self) -> int:
        """How many readings are kept now."""
        return self._remembered.cache_info().currsize

    @property
    def room(self) -> int:
        """How many readings may be kept."""
        return self._remembered.cache_info().maxsize or 0

    def forget(self) -> None:
        """Keep nothing of what was read so far."""
        self._remembered.cache_clear()

    def keep(self, readings: int | None) -> None:
        """Have room for so many readings from now on, None: as many as at first. Another room than
        before begins empty."""
        wanted = self._readings if readings is None else readings
        if wanted != self.room:
            self._remembered = lru_cache(maxsize=wanted)(self._read)


def kept(read: Callable[P, R]) -> Kept[P, R]:
    """Keep what `read` answers; its arguments must be hashable and its answer never changed."""
    return Kept(read, KEPT_READINGS)


def kept_up_to(
    readings: int, longest: int = LONGEST_TEXT
) -> Callable[[Callable[P, R]], Kept[P, R]]:
    """As `kept`, with room for so many readings of texts of up to `longest` characters."""
    return partial(Kept, readings=readings, longest=longest)
