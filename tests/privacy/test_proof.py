"""The proof that shared values are bits: complete, sound, and silent about the bits."""

from __future__ import annotations

import hashlib
import os
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy.secagg import field
from privacy.secagg.field import MODULUS, Elements
from privacy.secagg.proof import VERIFIER_BYTES, BitProof, random_element
from privacy.secagg.transform import interpolation
from tests.privacy.secagg_parts import seeded_bits

QUERY = b"q" * 32


class Shares(NamedTuple):
    """A proven vector split in two."""

    leader: Elements
    helper: Elements


def split(proven: Elements, seed: int = 0) -> Shares:
    rng = np.random.Generator(np.random.Philox(key=seed))
    helper = rng.integers(0, MODULUS, len(proven), dtype=np.uint64)
    return Shares(field.sub(proven, helper), helper)


def say(proof: BitProof, share: Elements, query: bytes = QUERY) -> bytes:
    points = np.array([proof.point(query)], dtype=np.uint64)
    said: bytes = proof.verifiers(share[None, :], points)[0].astype("<u8").tobytes()
    return said


def accepted(proof: BitProof, shares: Shares, query: bytes = QUERY) -> bool:
    return proof.accepts(
        say(proof, shares.leader, query), say(proof, shares.helper, query), proof.point(query)
    )


def bits_of(values: list[int]) -> Elements:
    return np.array(values, dtype=np.uint64)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=70), st.integers(0, MODULUS - 1))
@settings(max_examples=60, deadline=None)
def test_honest_bits_are_always_accepted(bits: list[int], rho: int) -> None:
    proof = BitProof(len(bits))
    proven = proof.prove(bits_of(bits), rho)
    assert proven.shape == (proof.words,)
    assert proven[: len(bits)].tolist() == bits
    assert accepted(proof, split(proven, seed=len(bits)), os.urandom(32))


@pytest.mark.parametrize("rho", [0, 1, MODULUS - 1, 2**63])
@pytest.mark.parametrize("bit", [0, 1])
@pytest.mark.parametrize("count", [1, 2, 3, 64, 65, 416])
def test_extremes_are_accepted(count: int, bit: int, rho: int) -> None:
    proof = BitProof(count)
    assert accepted(proof, split(proof.prove(bits_of([bit] * count), rho)))


def test_the_quotient_is_the_polynomial_it_claims_to_be() -> None:
    """q·Z = f² - f in coefficients, with Python integers."""
    proof, rho = BitProof(6), 12_345_678_901
    proven = proof.prove(bits_of([1, 0, 1, 1, 0, 1]), rho).tolist()
    size = proof.size
    padded = bits_of([*proven[:6], 0, 0])
    f = [*interpolation(size)(padded).tolist(), rho]
    f[0] -= rho
    q = proven[7:]
    left = [0] * (2 * size + 1)
    for i, a in enumerate(f):
        left[i] -= a
        for j, b in enumerate(f):
            left[i + j] += a * b
    right = [0] * (2 * size + 1)
    for i, a in enumerate(q):
        right[i + size] += a
        right[i] -= a
    assert [x % MODULUS for x in left] == [x % MODULUS for x in right]


@given(st.integers(0, 11), st.integers(2, MODULUS - 1), st.integers(0, MODULUS - 1))
@settings(max_examples=100, deadline=None)
def test_a_value_that_is_no_bit_is_refused(place: int, value: int, rho: int) -> None:
    proof = BitProof(12)
    bits = bits_of([0, 1] * 6)
    bits[place] = value
    assert not accepted(proof, split(proof.prove(bits, rho)), os.urandom(32))


@given(st.integers(0, BitProof(12).words - 1), st.integers(1, MODULUS - 1))
@settings(max_examples=80, deadline=None)
def test_one_changed_word_is_refused(place: int, change: int) -> None:
    """Bits, rho and every coefficient of q: on the leader's share as on the joined vector."""
    proof = BitProof(12)
    shares = split(proof.prove(bits_of([0, 1] * 6), 99))
    proven = field.add(shares.leader, shares.helper)
    proven[place] = (int(proven[place]) + change) % MODULUS
    still_bits = place < 12 and int(proven[place]) in (0, 1)
    assert not accepted(proof, split(proven)), "the proof of other bits" if still_bits else ""


def test_changed_verifiers_are_refused() -> None:
    proof = BitProof(12)
    shares = split(proof.prove(bits_of([1] * 12), 7))
    one, other, point = say(proof, shares.leader), say(proof, shares.helper), proof.point(QUERY)
    assert proof.accepts(one, other, point)
    for place in range(VERIFIER_BYTES):
        changed = bytes([*one[:place], one[place] ^ 1, *one[place + 1 :]])
        assert not proof.accepts(changed, other, point)
        assert not proof.accepts(other, changed, point)
    assert not proof.accepts(one, other, proof.point(b"another"))
    assert not proof.accepts(one, one, point)
    nothing, same = bytes(VERIFIER_BYTES), MODULUS.to_bytes(8, "little") + bytes(8)
    assert proof.accepts(nothing, nothing, point)  # 0² - 0 = 0
    assert not proof.accepts(same, nothing, point)  # 0 written another way
    for odd in (b"", one[:-1], one + b"\0", b"\xff" * VERIFIER_BYTES):
        assert not proof.accepts(odd, other, point)
        assert not proof.accepts(one, odd, point)


def test_servers_that_ask_different_points_accept_nothing() -> None:
    proof = BitProof(12)
    shares = split(proof.prove(bits_of([1] * 12), 7))
    assert not proof.accepts(
        say(proof, shares.leader, b"a"), say(proof, shares.helper, b"b"), proof.point(b"a")
    )


def test_points_are_field_elements_outside_the_domain_and_differ() -> None:
    proof = BitProof(416)
    points = [proof.point(number.to_bytes(32, "little")) for number in range(500)]
    assert len(set(points)) == 500
    assert all(pow(point, proof.size, MODULUS) != 1 for point in points)
    assert all(0 < point < MODULUS for point in points)


def test_a_point_on_the_domain_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One word in 2^55 is a root of unity: here a digest holds two, and two non-elements."""
    proof, root, real = BitProof(3), pow(2, 48, MODULUS), hashlib.sha256
    assert pow(root, proof.size, MODULUS) == 1
    bad = (1).to_bytes(8, "little") + root.to_bytes(8, "little") + b"\xff" * 16
    seen: list[bytes] = []

    class Digest:
        def __init__(self, data: bytes) -> None:
            seen.append(data)

        def digest(self) -> bytes:
            return bad if len(seen) == 1 else real(seen[-1]).digest()

    monkeypatch.setattr("privacy.secagg.proof.hashlib.sha256", Digest)
    point = proof.point(QUERY)
    assert len(seen) == 2
    assert seen[1].endswith(bad)
    assert point == int.from_bytes(real(seen[1]).digest()[:8], "little")


def test_verifiers_come_out_alike_one_by_one_and_together() -> None:
    proof = BitProof(20)
    vectors = [split(proof.prove(bits_of([i >> b & 1 for b in range(20)]), i), i) for i in range(9)]
    queries = [bytes([i]) * 32 for i in range(9)]
    points = np.array([proof.point(query) for query in queries], dtype=np.uint64)
    together = proof.verifiers(np.stack([shares.leader for shares in vectors]), points)
    for shares, query, row in zip(vectors, queries, together, strict=True):
        assert row.astype("<u8").tobytes() == say(proof, shares.leader, query)


BUCKETS = 16
LARGEST_CHI_SQUARE = 37.7
"""The 0.1 % tail of chi-square with BUCKETS - 1 degrees of freedom."""


def said(bits: list[int], draws: int, seed: int) -> npt.NDArray[np.int64]:
    """Counts of the top bits of f(r), as a curious helper learns it, over many reports."""
    proof, source = BitProof(len(bits)), seeded_bits(seed)
    point = np.array([proof.point(QUERY)], dtype=np.uint64)
    vectors = np.stack([proof.prove(bits_of(bits), random_element(source)) for _ in range(draws)])
    pairs = proof.verifiers(vectors, np.repeat(point, draws))
    for f, q in pairs[:20].tolist():  # q(r) follows from f(r): it says nothing more
        assert (f * f - f - q * (pow(int(point[0]), proof.size, MODULUS) - 1)) % MODULUS == 0
    return np.bincount((pairs[:, 0] >> np.uint64(60)).astype(np.int64), minlength=BUCKETS)


def test_what_a_server_learns_does_not_depend_on_the_bits() -> None:
    """The joined f(r) is uniform for either input: chi-square, fixed seeds, alpha = 0.001."""
    draws = 1_600
    zeros, ones = said([0] * 8, draws, 1), said([1] * 8, draws, 2)
    expected = draws / BUCKETS
    for counts in (zeros, ones):
        assert np.sum((counts - expected) ** 2 / expected) < LARGEST_CHI_SQUARE
    assert np.sum((zeros - ones) ** 2 / (zeros + ones)) < LARGEST_CHI_SQUARE


def test_random_elements_skip_words_that_are_none() -> None:
    source = iter([b"\xff" * 8, MODULUS.to_bytes(8, "little"), (5).to_bytes(8, "little")])
    assert random_element(lambda _size: next(source)) == 5


def test_there_is_something_to_prove() -> None:
    with pytest.raises(ValueError):
        BitProof(0)
