"""A stretch of a layer's index as bytes, so that it can be sealed and read back instead of rebuilt.

Hashed terms, int8 vectors, times and numbers: no word, but enough to guess words from, so it only
ever leaves RAM through a sealed log (law 5).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Any

import msgpack
import numpy as np
from numpy.typing import NDArray

from device.recall.postings import Postings

__all__ = ["Part"]

_DTYPES = {
    "numbers": np.int32,
    "starts": np.float64,
    "lasting": np.float32,
    "episodes": np.int32,
    "sessions": np.uint32,
    "past": np.bool_,
    "asks": np.bool_,
    "lengths": np.float32,
    "scales": np.float32,
    "rows": np.int8,
}


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive slots of a `LayerIndex`, none of them removed; one row a memory."""

    numbers: NDArray[np.int32]
    starts: NDArray[np.float64]
    lasting: NDArray[np.float32]
    """Seconds from start to end."""
    episodes: NDArray[np.int32]
    sessions: NDArray[np.uint32]
    """Hash of the session's name; 0 without one."""
    past: NDArray[np.bool_]
    asks: NDArray[np.bool_]
    lengths: NDArray[np.float32]
    scales: NDArray[np.float32]
    rows: NDArray[np.int8]
    """Vectors (n, dimension)."""
    postings: Postings | None
    """Slots counted from 0 at the part's first."""

    def __len__(self) -> int:
        return len(self.numbers)

    def without(self, numbers: Collection[int]) -> Part:
        """The part with these memories left out, and nothing of them left in it."""
        mask = ~np.isin(self.numbers, np.fromiter(numbers, np.int64, len(numbers)))
        kept = {name: getattr(self, name)[mask] for name in _DTYPES}
        return replace(self, **kept, postings=self.postings and self.postings.keep(mask))

    def pack(self) -> tuple[bytes, bytes]:
        """Everything but the rows, and the rows."""
        columns = {name: getattr(self, name).tobytes() for name in _DTYPES if name != "rows"}
        if self.postings is not None:
            held = self.postings
            terms = (held.terms.tobytes(), held.starts.tobytes(), held.data.tobytes())
            columns["postings"] = [held.base, *terms]
        packed: bytes = msgpack.packb(columns)
        return packed, self.rows.tobytes()

    @classmethod
    def unpack(cls, packed: bytes, rows: bytes) -> Part:
        """Inverse of `pack`."""
        columns: dict[str, Any] = msgpack.unpackb(packed)
        held = columns.pop("postings", None)
        arrays: dict[str, Any] = {
            name: np.frombuffer(data, _DTYPES[name]) for name, data in columns.items()
        }
        size = len(arrays["numbers"])
        arrays["rows"] = np.frombuffer(rows, np.int8).reshape(size, -1 if rows else 0)
        return cls(**arrays, postings=_postings(*held) if held else None)


def _postings(base: int, terms: bytes, starts: bytes, data: bytes) -> Postings:
    return Postings(
        base,
        np.frombuffer(terms, np.uint32),
        np.frombuffer(starts, np.uint32),
        np.frombuffer(data, np.uint8),
    )


assert {field.name for field in fields(Part)} == {*_DTYPES, "postings"}
