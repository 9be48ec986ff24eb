"""Sharing on the ring of integers modulo 2^32: model updates, 4 bytes a value, no proof."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from privacy.bits import BitSource
from privacy.secagg.mask import keystream
from privacy.secagg.share import (
    Share,
    check_length,
    check_shape,
    check_totals,
    some_total,
    words,
)

__all__ = ["RingSharing"]

_RING_BYTES = 4
_RING_BOUND = 1 << 31


class RingSharing:
    """Vectors modulo 2^32: the whole ring, so a share is uniform and a sum needs no reduction."""

    __slots__ = ("dimension",)

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension

    @property
    def share_bytes(self) -> int:
        """4 a value."""
        return _RING_BYTES * self.dimension

    @property
    def bound(self) -> int:
        """Half the ring: nothing is proven of a single report."""
        return _RING_BOUND

    def clamp(self, noisy: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Unchanged."""
        return noisy

    def split(self, noisy: npt.NDArray[np.int64], key: bytes, bits: BitSource) -> bytes:
        """Values minus keystream as little-endian uint32."""
        del bits  # nothing is proven, so nothing is drawn
        check_shape(noisy, self.dimension)
        share = noisy.astype(np.uint32) - self.expand(key)
        return share.astype("<u4", copy=False).tobytes()

    def expand(self, key: bytes) -> Share:
        """The keystream as little-endian uint32[d]."""
        return words(keystream(key, self.share_bytes), "<u4", np.uint32)

    def read(self, data: bytes) -> Share:
        """uint32[d]: every string of the right length is canonical."""
        check_length(data, self.share_bytes)
        return words(data, "<u4", np.uint32)

    def verifier(self, share: Share, query: bytes) -> bytes:
        """Empty."""
        del share, query
        return b""

    def verifiers(self, shares: Sequence[Share], queries: Sequence[bytes]) -> list[bytes]:
        """Empty, once a share."""
        del queries
        return [b""] * len(shares)

    def accepts(self, leader: bytes, helper: bytes, query: bytes) -> bool:
        """True for the two empty verifiers."""
        del query
        return leader == helper == b""

    def total(self, shares: Iterable[Share]) -> Share:
        """Σ shares mod 2^32, uint32[d]."""
        total: Share | None = None
        for share in shares:
            if total is None:
                total = share.copy()
            else:
                np.add(total, share, out=total)
        return some_total(total)

    def join(self, leader_total: Share, helper_total: Share, count: int) -> npt.NDArray[np.int64]:
        """Centred in [-2^31, 2^31)."""
        del count  # values are shared as they are
        check_totals(leader_total, helper_total, np.uint32, self.dimension)
        total: npt.NDArray[np.uint32] = leader_total + helper_total
        return total.view(np.int32).astype(np.int64)

    def add(self, total: Share, noise: npt.NDArray[np.int64]) -> Share:
        """(total + noise) mod 2^32."""
        summed: npt.NDArray[np.uint32] = total + noise.astype(np.uint32)
        return summed
