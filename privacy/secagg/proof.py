"""A secret-shared vector holds only zeros and ones, and two servers can tell without seeing it.

Statement. A phone splits ``count`` field elements x (the bits of its noisy values) additively
between two servers. N = 2^k ≥ count, ω a root of unity of order N, Z(t) = t^N - 1; x is padded
with zeros, which are not sent. With ρ uniform in the field,

    f = (the polynomial of degree < N through x_i at ω^i) + ρ·Z,     q = (f² - f) / Z,

and the phone shares ρ and the N + 1 coefficients of q beside x. Shares of f(r) and q(r) are
linear in shares of (x, ρ, q), so each server computes its own at a point r that it derives from a
query key no phone sees and the report's id; r is never a root of Z. Accept exactly when

    f(r)² - f(r) = q(r)·Z(r).

Complete: f² - f vanishes on every ω^i when all x_i are 0 or 1, so q exists and the equation holds.

Sound, both servers honest: whatever bytes a phone sends, they fix some x, ρ, q before r is known.
If some x_i is not a bit, f² - f - q·Z is not the zero polynomial (at ω^i it is x_i² - x_i) and has
at most 2N roots: a report of garbage passes with probability ≤ 2N/(p - N), 2^-53 at N = 1,024. A
passing report is therefore count bits, and moves each value by no more than its bits can say.

Zero-knowledge, one server curious: its own share is uniform (a keystream, or x minus one). It
learns besides only the other's shares of f(r) and q(r). f(r) = F(r) + ρ·Z(r) with Z(r) ≠ 0 and ρ
uniform, so f(r) is uniform whatever x is, and q(r) = (f(r)² - f(r))/Z(r) is a function of it: a
simulator that knows nothing of x draws both. That holds for ONE r a report: the servers must use
one query key a round (the second point would give a linear equation in x). A leader that shifts
its verifier to probe learns whether f(r) is some value it guesses: 1/p, and nothing about x.

The fully linear proof for one repeated gate, here x² - x, of Boneh, Boyle, Corrigan-Gibbs, Gilboa
and Ishai, "Zero-Knowledge Proofs on Secret-Shared Data via Fully Linear PCPs", CRYPTO 2019; the
shape of Prio3 (draft-irtf-cfrg-vdaf) without joint randomness, which one gate does not need.
"""

from __future__ import annotations

import hashlib

import numpy as np

from privacy.bits import BitSource, draw
from privacy.secagg import field
from privacy.secagg.field import GENERATOR, MODULUS, WORD_BYTES, Elements
from privacy.secagg.transform import evaluation, interpolation

__all__ = ["VERIFIER_BYTES", "BitProof", "random_element"]

VERIFIER_BYTES = 2 * WORD_BYTES
"""f(r) and q(r), little-endian."""

_POINT_LABEL = b"reverie/secagg/point/1"


class BitProof:
    """Proves and verifies that ``count`` shared elements are bits. Immutable.

    A proven vector is uint64[words]: the bits, ρ, the coefficients of q.
    """

    __slots__ = ("count", "size", "words")

    def __init__(self, count: int) -> None:
        if count < 1:
            raise ValueError("there is nothing to prove")
        self.count = count
        self.size = 1 << max(1, (count - 1).bit_length())
        self.words = count + 1 + self.size + 1

    def prove(self, bits: Elements, rho: int) -> Elements:
        """The proven vector of uint64[count] bits; ``rho`` uniform in the field, used once.

        With F the interpolation alone, q = (F² - F)/Z + 2ρ·F + ρ²·Z - ρ. The first two have degree
        < N: they are taken on the coset g·ω^i, where Z is the constant z = g^N - 1, as
        F·(F + 2ρ·z - 1)/z.
        """
        values = np.zeros(self.size, dtype=np.uint64)
        values[: self.count] = bits
        shifted = evaluation(self.size, GENERATOR)(interpolation(self.size)(values))
        vanishing = pow(GENERATOR, self.size, MODULUS) - 1
        summand = field.element(2 * rho * vanishing - 1)
        quotients = interpolation(self.size, GENERATOR, pow(vanishing, -1, MODULUS))
        square = rho * rho % MODULUS
        q = np.empty(self.size + 1, dtype=np.uint64)
        q[:-1] = quotients(field.mul(shifted, field.add(shifted, summand)))
        q[0] = (int(q[0]) - square - rho) % MODULUS
        q[-1] = square
        return np.concatenate([bits, field.element(rho), q])

    def point(self, query: bytes) -> int:
        """The point r of a report's ``query``: uniform among the elements that are no root of Z."""
        block = query
        while True:
            block = hashlib.sha256(_POINT_LABEL + block).digest()
            for start in range(0, len(block), WORD_BYTES):
                r = int.from_bytes(block[start : start + WORD_BYTES], "little")
                if r < MODULUS and pow(r, self.size, MODULUS) != 1:
                    return r

    def verifiers(self, shares: Elements, points: Elements) -> Elements:
        """Shares of (f(r), q(r)), uint64[reports, 2], of shares uint64[reports, words]."""
        values = np.zeros((len(shares), self.size), dtype=np.uint64)
        values[:, : self.count] = shares[:, : self.count]
        powers = field.powers(points, self.size + 1)
        f = field.dot(interpolation(self.size)(values), powers[:, :-1])
        vanishing = field.sub(powers[:, -1], field.element(1))
        f = field.add(f, field.mul(shares[:, self.count], vanishing))
        q = field.dot(shares[:, self.count + 1 :], powers)
        return np.stack([f, q], axis=-1)

    def accepts(self, one: bytes, other: bytes, point: int) -> bool:
        """Whether two verifiers of one report prove it; False for bytes of any other kind."""
        if len(one) != VERIFIER_BYTES or len(other) != VERIFIER_BYTES:
            return False
        words = np.frombuffer(one + other, dtype="<u8").astype(np.uint64, copy=False)
        if not field.canonical(words):
            return False
        f_one, q_one, f_other, q_other = (int(word) for word in words)
        f, q = f_one + f_other, q_one + q_other
        return (f * f - f - q * (pow(point, self.size, MODULUS) - 1)) % MODULUS == 0


def random_element(bits: BitSource) -> int:
    """A uniform field element: words that are no element are drawn again."""
    while True:
        word = int.from_bytes(draw(bits, WORD_BYTES), "little")
        if word < MODULUS:
            return word
