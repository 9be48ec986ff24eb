"""How a phone's noisy lattice vector is split between leader and helper, and joined as a sum.

Both ways share one idea: the helper's share of a report is the keystream of its key, the leader's
is the vector minus that; each server adds up its shares, and only the two sums are ever joined.

- `RingSharing` (ring.py; model updates): values modulo 2^32, 4 bytes each, no proof. One phone can
  shift any coordinate by anything, so the leader holds the SUM against what honest phones can
  give (`leader.plausible`) and the mean is projected onto the clip ball.
- `ProvenSharing` (proven.py; usage counts): the bits of every value, with a proof that they are
  bits (proof.py). Whatever an accepted phone sends, each coordinate moves by at most ``bound``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from privacy.bits import BitSource
from privacy.errors import RoundRefused
from privacy.lattice import RoundParameters, share_variance
from privacy.secagg.proven import ProvenSharing
from privacy.secagg.ring import RingSharing
from privacy.secagg.share import Share

__all__ = ["ProvenSharing", "RingSharing", "Share", "Sharing", "sharing_for"]

_PROVEN_SIGMAS = 6
"""Noise of one phone, in sigmas, that the provable range holds: beyond it lies 2·10^-9."""

_LARGEST_PROOF = 1 << 15
"""Bits one report may prove: its leader's share is then 512 KiB; a usage report has hundreds."""

_CACHED_SHARINGS = 32
"""Shapes kept: a fleet uses a handful."""


class Sharing(Protocol):
    """One way to split vectors. Pure: equal inputs and bits give equal bytes."""

    @property
    def dimension(self) -> int:
        """Values of a vector, d."""
        ...

    @property
    def share_bytes(self) -> int:
        """Length of the leader's share on the wire."""
        ...

    @property
    def bound(self) -> int:
        """An accepted report moves each coordinate of the sum by at most this; lattice units."""
        ...

    def clamp(self, noisy: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """``noisy`` int64[d] moved into the range that can be shared (post-processing)."""
        ...

    def split(self, noisy: npt.NDArray[np.int64], key: bytes, bits: BitSource) -> bytes:
        """The leader's share of clamped int64[d]; the helper's is ``expand(key)``.

        ``key``: 32 bytes, used for one report (`mask.report_key`). ValueError outside the range.
        """
        ...

    def expand(self, key: bytes) -> Share:
        """The helper's share of the report with this key."""
        ...

    def read(self, data: bytes) -> Share:
        """The leader's share off the wire; BatchRefused("malformed") for any other bytes."""
        ...

    def verifier(self, share: Share, query: bytes) -> bytes:
        """What a server says of its share for a query (`mask.report_query`); b"" on the ring.

        One query a report, ever: two would reveal a linear function of its bits, so a leader
        keeps the first query key a helper gives it for a round.
        """
        ...

    def verifiers(self, shares: Sequence[Share], queries: Sequence[bytes]) -> list[bytes]:
        """`verifier` of each, many at once: a few dozen a call is fastest."""
        ...

    def accepts(self, leader: bytes, helper: bytes, query: bytes) -> bool:
        """Whether the two servers' verifiers of a report prove it to be in range."""
        ...

    def total(self, shares: Iterable[Share]) -> Share:
        """The server's share of the sum of vectors, [d]; ValueError for no shares."""
        ...

    def join(self, leader_total: Share, helper_total: Share, count: int) -> npt.NDArray[np.int64]:
        """The noisy sum over ``count`` reports, int64[d], lattice units, centred."""
        ...

    def add(self, total: Share, noise: npt.NDArray[np.int64]) -> Share:
        """A total with ``noise`` int64[d] added to what it will join to."""
        ...


def sharing_for(parameters: RoundParameters) -> Sharing:
    """The sharing of a round, the same on phone, leader and helper.

    Raises RoundRefused for a usage round whose lattice is too fine to be proven.
    """
    if parameters.task != "usage":
        return _ring(parameters.dimension)
    variance = share_variance(parameters.sigma, parameters.scale, parameters.n_min)
    return _proven(parameters.dimension, parameters.scale, variance)


@lru_cache(maxsize=_CACHED_SHARINGS)
def _ring(dimension: int) -> RingSharing:
    return RingSharing(dimension)


@lru_cache(maxsize=_CACHED_SHARINGS)
def _proven(dimension: int, scale: int, variance: int) -> ProvenSharing:
    """A count is at most ``scale``; its noise, 6 sigma beside it, must fit the range too."""
    half = 1 << (scale - 1).bit_length()
    while (half - scale) ** 2 < _PROVEN_SIGMAS**2 * variance:
        half *= 2
    if dimension * half.bit_length() > _LARGEST_PROOF:
        raise RoundRefused("round has a lattice too fine for its reports to be proven")
    return ProvenSharing(dimension, half)
