"""What is made of something in use is made anew only when something else is in use."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Generic, TypeVar

__all__ = ["Latest"]

R = TypeVar("R")


class Latest(Generic[R]):
    """Keeps what was made last, for as long as it would be made of the very same objects."""

    __slots__ = ("_made", "_of")

    def __init__(self) -> None:
        self._of: tuple[object, ...] = ()
        self._made: R | None = None

    def of(self, inputs: tuple[object, ...], make: Callable[[], R]) -> R:
        """What `make` makes of `inputs`, which are compared by identity."""
        made = self._made
        if made is None or not all(map(is_, self._of, inputs)):
            made = make()
            self._of, self._made = inputs, made
        return made
