"""A growing numpy column: amortised append, and removal that leaves nothing behind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Column"]

LEAST_ROOM_ROWS = 4
"""Rows a full column grows by at least; an empty one takes no RAM."""
ROOM = 8
"""A full column grows by an eighth: where pages are huge, room not used yet is RAM all the same."""


class Column:
    """Rows of one dtype, ``width`` values each (0 = scalars)."""

    __slots__ = ("_length", "_rows")

    def __init__(self, dtype: DTypeLike, width: int = 0) -> None:
        self._rows = _none(np.dtype(dtype), width)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def view(self) -> NDArray[Any]:
        """The rows in use; valid until the next change."""
        return self._rows[: self._length]

    def extend(self, rows: Sequence[float] | NDArray[Any]) -> None:
        """Append rows."""
        needed = self._length + len(rows)
        if needed > len(self._rows):
            capacity = max(needed, self._length + max(self._length // ROOM, LEAST_ROOM_ROWS))
            grown = np.empty((capacity, *self._rows.shape[1:]), self._rows.dtype)
            grown[: self._length] = self.view
            self._rows = grown
        self._rows[self._length : needed] = rows
        self._length = needed

    def keep(self, mask: NDArray[np.bool_]) -> None:
        """Drop every row whose mask is False; the old buffer is released, not reused."""
        self._rows = self.view[mask]
        self._length = len(self._rows)


@cache
def _none(dtype: np.dtype[Any], width: int) -> NDArray[Any]:
    """No rows; one for all empty columns of a kind, of which a process has a great many."""
    return np.empty((0, width) if width else 0, dtype)
