"""Sharing over the field, bit by bit and proven: usage counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from privacy.bits import BitSource
from privacy.errors import BatchRefused
from privacy.secagg import field
from privacy.secagg.field import MODULUS, WORD_BYTES
from privacy.secagg.mask import keystream
from privacy.secagg.proof import BitProof, random_element
from privacy.secagg.share import (
    Share,
    check_length,
    check_shape,
    check_totals,
    some_total,
    words,
)

__all__ = ["ProvenSharing"]

_SPARE_WORDS = 8
"""Keystream words drawn beyond those needed; one in 2^32 is no field element."""

_LIMB = np.uint64(32)
_LIMB_MASK = np.uint64((1 << 32) - 1)


class ProvenSharing:
    """Vectors as bits over the field of field.py, with the proof of proof.py.

    A value v in [-half, half) is shared as the bits of v + half; ``half``, a power of two, is the
    ``bound``. Honest noise leaves the range with probability 2·10^-9 a value and is clamped. The
    leader's share is (bits, ρ, q) minus the keystream, 8 bytes an element, each below p.

    What a liar can do: move every coordinate by up to ``bound`` lattice units, bound/scale
    devices, and no more: the range must hold a phone's own noise, so the fewer phones share the
    noise, the wider it is. In the production budget that is 12.8 devices at n_min 100 and 6.4 at
    750, beside noise of sigma 18.8 on the sum; in the demo budget 6.4 at n_min 20.
    """

    __slots__ = ("_proof", "_width", "bound", "dimension")

    def __init__(self, dimension: int, half: int) -> None:
        if half & (half - 1) or half < 1:
            raise ValueError("the range of a value is a power of two")
        self.dimension = dimension
        self.bound = half
        self._width = half.bit_length()
        self._proof = BitProof(dimension * self._width)

    @property
    def share_bytes(self) -> int:
        """8 an element: all bits, ρ, and the coefficients of q."""
        return WORD_BYTES * self._proof.words

    def clamp(self, noisy: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Into [-half, half)."""
        return np.clip(noisy, -self.bound, self.bound - 1)

    def split(self, noisy: npt.NDArray[np.int64], key: bytes, bits: BitSource) -> bytes:
        """Bits, proof and all, minus keystream; draws ρ from ``bits``."""
        check_shape(noisy, self.dimension)
        if noisy.min() < -self.bound or noisy.max() >= self.bound:
            raise ValueError("a value is outside the provable range: clamp it first")
        shifted = (noisy + self.bound).astype(np.uint64)
        places = np.arange(self._width, dtype=np.uint64)
        spread = (shifted[:, None] >> places & np.uint64(1)).reshape(-1)
        proven = self._proof.prove(spread, random_element(bits))
        share = field.sub(proven, self.expand(key))
        return share.astype("<u8", copy=False).tobytes()

    def expand(self, key: bytes) -> Share:
        """The first elements of the keystream; words that are none (one in 2^32) are left out."""
        needed, spare = self._proof.words, _SPARE_WORDS
        while True:
            drawn = words(keystream(key, WORD_BYTES * (needed + spare)), "<u8", np.uint64)
            elements = drawn[drawn < np.uint64(MODULUS)]
            if len(elements) >= needed:
                return elements[:needed]
            spare *= 2

    def read(self, data: bytes) -> Share:
        """uint64[elements], each below p."""
        check_length(data, self.share_bytes)
        share = words(data, "<u8", np.uint64)
        if not field.canonical(share):
            raise BatchRefused("malformed", "a share holds a word that is no field element")
        return share

    def verifier(self, share: Share, query: bytes) -> bytes:
        """This server's share of f(r) and q(r), 16 bytes."""
        return self.verifiers([share], [query])[0]

    def verifiers(self, shares: Sequence[Share], queries: Sequence[bytes]) -> list[bytes]:
        """16 bytes each."""
        points = np.array([self._proof.point(query) for query in queries], dtype=np.uint64)
        pairs = self._proof.verifiers(np.stack(shares), points)
        return [pair.astype("<u8", copy=False).tobytes() for pair in pairs]

    def accepts(self, leader: bytes, helper: bytes, query: bytes) -> bool:
        """Whether f(r)² - f(r) = q(r)·(r^N - 1)."""
        return self._proof.accepts(leader, helper, self._proof.point(query))

    def total(self, shares: Iterable[Share]) -> Share:
        """Σ over reports of Σ_b 2^b·bit_b mod p, uint64[d]: linear in the bits."""
        count, low, high = self._proof.count, None, None
        for share in shares:
            part = share[:count]
            if low is None or high is None:
                low, high = part & _LIMB_MASK, part >> _LIMB
            else:
                low += part & _LIMB_MASK
                high += part >> _LIMB
        sums = field.join_limbs(some_total(low), some_total(high)).reshape(
            self.dimension, self._width
        )
        return field.dot(sums, np.uint64(1) << np.arange(self._width, dtype=np.uint64))

    def join(self, leader_total: Share, helper_total: Share, count: int) -> npt.NDArray[np.int64]:
        """Centred in (-p/2, p/2), the offsets of ``count`` reports taken off."""
        check_totals(leader_total, helper_total, np.uint64, self.dimension)
        total = field.add(leader_total, helper_total)
        total = field.sub(total, field.element(count * self.bound))
        negative = total > np.uint64(MODULUS // 2)
        return np.where(negative, total - np.uint64(MODULUS), total).astype(np.int64)

    def add(self, total: Share, noise: npt.NDArray[np.int64]) -> Share:
        """(total + noise) mod p."""
        magnitude = np.abs(noise).astype(np.uint64)
        return np.where(noise < 0, field.sub(total, magnitude), field.add(total, magnitude))
