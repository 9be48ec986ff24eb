"""What was read of a text is kept for a while.

One text is read again and again: when it is recorded, taken in by a dream, indexed, found and
judged. Only pure functions of their arguments are kept, so nobody can tell but by the clock. What
is kept is a copy of the owner's words outside the sealed logs: it is small, and `forget` drops it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Generic, ParamSpec, TypeVar

__all__ = ["Kept", "kept"]

P = ParamSpec("P")
R = TypeVar("R")

KEPT_READINGS = 1_024
"""Readings of one kind that are kept, about 200 bytes each: a few days' talk, or what the phones
of a simulated fleet retell."""
LONGEST_TEXT = 400
"""Characters of a text that is kept at most: chat turns are shorter, and documents read once."""


class Kept(Generic[P, R]):
    """A pure function of a text (its first argument) that keeps its newest answers."""

    __slots__ = ("_read", "_remembered")

    def __init__(self, read: Callable[P, R], readings: int) -> None:
        self._read = read
        self._remembered = lru_cache(maxsize=readings)(read)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The answer; one that can be changed must be copied by who hands it on."""
        if len(args[0]) > LONGEST_TEXT:  # type: ignore[arg-type]
            return self._read(*args, **kwargs)
        return self._remembered(*args, **kwargs)  # type: ignore[arg-type]

    @property
    def held(self) -> int:
        """How many readings are kept now."""
        return self._remembered.cache_info().currsize

    def forget(self) -> None:
        """Keep nothing of what was read so far."""
        self._remembered.cache_clear()


def kept(read: Callable[P, R]) -> Kept[P, R]:
    """Keep what `read` answers; its arguments must be hashable and its answer never changed."""
    return Kept(read, KEPT_READINGS)
