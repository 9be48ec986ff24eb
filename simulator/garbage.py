"""Python's garbage collector while a world plays.

Nearly all that a phone makes and drops dies by counting references. What founding and phones make
to keep would be looked through again and again, up to a fifth of a world's time. So what is alive
before the first window is set aside, young objects are looked through a hundred times more seldom,
and old ones only where a `Sweeper` does. No result depends on it: nothing in a world is decided by
when an object goes.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["Sweeper", "seldom_collected", "settle"]

_YOUNG: Final = 70_000
"""New containers before the youngest are looked through."""
_MIDDLE: Final = 20
_NEVER: Final = 1_000_000
"""Rounds of the middle generation before the collector looks through everything by itself."""
_DAY: Final = 86_400.0


def settle() -> None:
    """What is alive now stays; the collector need not look at it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _NEVER)


@contextmanager
def seldom_collected() -> Iterator[None]:
    """Inside, the collector comes seldom; afterwards it is as it was."""
    before = gc.get_threshold()
    gc.set_threshold(_YOUNG, _MIDDLE, _NEVER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


class Sweeper:
    """Collects what the young generations let through, at borders of virtual days.

    A look through everything costs as much as there is, so it is taken when a world is young, and
    then each time twice as many days have passed: a quarter of a world's garbage at most is old.
    """

    def __init__(self, end: float) -> None:
        """`end`: virtual seconds after which nothing more is made, so nothing is looked through."""
        self._due, self._end = 1.0, end

    def passed(self, seconds: float) -> None:
        """So many virtual seconds have passed."""
        days = seconds / _DAY
        if days >= self._due and seconds < self._end:
            self._due = 2.0 * days
            gc.collect()
