"""Sharing: what is split joins again, and what one bad report can do is bounded."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy import DEMO, PRODUCTION, BatchRefused, RoundRefused
from privacy.estimation import total_noise
from privacy.lattice import share_variance
from privacy.secagg import ProvenSharing, RingSharing, Sharing, plausible, sharing_for
from privacy.secagg.field import MODULUS
from privacy.secagg.proof import BitProof
from tests.privacy.secagg_parts import Terms, seeded_bits, terms_of

SMALL = ProvenSharing(3, 8)
QUERY = b"q" * 32


def key(number: int) -> bytes:
    return number.to_bytes(32, "big")


def joined(sharing: Sharing, vectors: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    bits = seeded_bits(5)
    sent = [sharing.split(vector, key(i), bits) for i, vector in enumerate(vectors)]
    leader = sharing.total(sharing.read(data) for data in sent)
    helper = sharing.total(sharing.expand(key(i)) for i in range(len(vectors)))
    return sharing.join(leader, helper, len(vectors))


def holds(sharing: Sharing, data: bytes, number: int) -> bool:
    return sharing.accepts(
        sharing.verifier(sharing.read(data), QUERY),
        sharing.verifier(sharing.expand(key(number)), QUERY),
        QUERY,
    )


@given(st.lists(st.lists(st.integers(-8, 7), min_size=3, max_size=3), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_proven_shares_join_to_the_sum(vectors: list[list[int]]) -> None:
    values = np.array(vectors, dtype=np.int64)
    assert np.array_equal(joined(SMALL, values), values.sum(axis=0))


@given(
    st.lists(
        st.lists(st.integers(-(2**40), 2**40), min_size=3, max_size=3), min_size=1, max_size=12
    )
)
@settings(max_examples=60, deadline=None)
def test_ring_shares_join_to_the_sum_centred(vectors: list[list[int]]) -> None:
    values = np.array(vectors, dtype=np.int64)
    total = (values.sum(axis=0) + 2**31) % 2**32 - 2**31
    assert np.array_equal(joined(RingSharing(3), values), total)


@pytest.mark.parametrize("budget", [DEMO, PRODUCTION])
def test_honest_counts_are_accepted_at_the_ends_of_the_range(budget: object) -> None:
    sharing = sharing_for(terms_of("usage", budget=budget))  # type: ignore[arg-type]
    for value in (-sharing.bound, -1, 0, 1, sharing.bound - 1):
        vector = np.full(32, value, dtype=np.int64)
        data = sharing.split(vector, key(1), seeded_bits(1))
        assert len(data) == sharing.share_bytes
        assert holds(sharing, data, 1)
        assert np.array_equal(
            sharing.join(
                sharing.total([sharing.read(data)]), sharing.total([sharing.expand(key(1))]), 1
            ),
            vector,
        )


def test_noise_beyond_the_range_is_clamped_before_it_is_shared() -> None:
    noisy = np.array([-(10**6), 5, 10**6], dtype=np.int64)
    assert SMALL.clamp(noisy).tolist() == [-8, 5, 7]
    assert RingSharing(3).clamp(noisy) is noisy
    with pytest.raises(ValueError, match="clamp"):
        SMALL.split(noisy, key(1), seeded_bits(1))
    others: list[npt.NDArray[Any]] = [np.zeros(4, np.int64), np.zeros(3, np.int32)]
    for shape in others:
        with pytest.raises(ValueError):
            SMALL.split(shape, key(1), seeded_bits(1))
        with pytest.raises(ValueError):
            RingSharing(3).split(shape, key(1), seeded_bits(1))


@pytest.mark.parametrize("budget", [DEMO, PRODUCTION])
def test_the_range_holds_a_count_and_six_sigma_of_a_phones_noise(budget: object) -> None:
    terms = terms_of("usage", budget=budget)  # type: ignore[arg-type]
    bound = sharing_for(terms).bound
    sigma = math.sqrt(share_variance(terms.sigma, terms.scale, terms.n_min))
    assert bound & (bound - 1) == 0
    assert bound / 2 < terms.scale + 6 * sigma <= bound
    assert bound <= 16 * terms.scale  # one phone passes for at most sixteen


def test_what_is_proven_is_the_usage_task_and_nothing_else() -> None:
    assert isinstance(sharing_for(terms_of("usage")), ProvenSharing)
    for task in ("router", "dedup"):
        sharing = sharing_for(terms_of(task, 17))
        assert isinstance(sharing, RingSharing)
        assert (sharing.dimension, sharing.share_bytes, sharing.bound) == (17, 68, 2**31)
    assert sharing_for(terms_of("usage")) is sharing_for(terms_of("usage", number=9))


def test_a_lattice_too_fine_to_be_proven_is_refused() -> None:
    with pytest.raises(RoundRefused):
        sharing_for(Terms("usage", 1, 65_536, 256, 1.0, 2.0, 20))
    with pytest.raises(RoundRefused):
        sharing_for(Terms("usage", 1, 4_096, 1 << 40, 1.0, 2.0, 20))


def test_shares_of_the_wrong_length_or_encoding_are_malformed() -> None:
    honest = SMALL.split(np.zeros(3, np.int64), key(1), seeded_bits(1))
    top = (MODULUS - 1).to_bytes(8, "little")
    assert SMALL.read(top + honest[8:])[0] == MODULUS - 1
    for data in (b"", honest[:-1], honest + b"\0", MODULUS.to_bytes(8, "little") + honest[8:]):
        with pytest.raises(BatchRefused) as caught:
            SMALL.read(data)
        assert caught.value.reason == "malformed"
    for data in (b"", bytes(11), bytes(13)):
        with pytest.raises(BatchRefused):
            RingSharing(3).read(data)


def test_a_share_alone_is_the_keystreams_complement() -> None:
    """Equal values under two keys give unrelated shares; under one key, shares differ by rho."""
    zeros = np.zeros(3, np.int64)
    one, other = (SMALL.read(SMALL.split(zeros, key(i), seeded_bits(1))) for i in (1, 2))
    assert not np.any(one == other)
    ring = RingSharing(64)
    shares = [ring.read(ring.split(np.zeros(64, np.int64), key(i), seeded_bits(1))) for i in (1, 2)]
    assert np.sum(shares[0] == shares[1]) < 3


def test_keystream_words_that_are_no_elements_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both servers skip the same words, however many more must be drawn."""
    needed = SMALL.share_bytes // 8
    words = [MODULUS + i if i % 2 else i for i in range(4 * needed)]
    stream = np.array(words, dtype="<u8").tobytes()
    drawn: list[int] = []

    def keystream(_key: bytes, size: int) -> bytes:
        drawn.append(size)
        return stream[:size]

    monkeypatch.setattr("privacy.secagg.proven.keystream", keystream)
    assert SMALL.expand(key(1)).tolist() == list(range(0, 2 * needed, 2))
    assert len(drawn) > 1  # the spare words did not do
    data = SMALL.split(np.array([-8, 0, 7]), key(1), seeded_bits(1))
    total = SMALL.join(SMALL.total([SMALL.read(data)]), SMALL.total([SMALL.expand(key(1))]), 1)
    assert total.tolist() == [-8, 0, 7]


def test_every_report_draws_its_own_blinding() -> None:
    """Without a fresh rho, a verifier would be a linear function of the bits."""
    values = np.array([-8, 0, 7])
    sent = [SMALL.split(values, key(1), seeded_bits(seed)) for seed in range(20)]
    assert len({SMALL.verifier(SMALL.read(data), QUERY) for data in sent}) == 20
    assert {data[: 8 * 12] for data in sent} == {sent[0][: 8 * 12]}  # the bits are the same
    assert all(holds(SMALL, data, 1) for data in sent)


@pytest.mark.parametrize("sharing", [SMALL, RingSharing(3)])
def test_noise_is_added_with_its_sign(sharing: Sharing) -> None:
    noise = np.array([-(2**30), 0, 2**30], dtype=np.int64)
    data = sharing.split(np.array([1, -2, 3]), key(1), seeded_bits(1))
    helper = sharing.add(sharing.total([sharing.expand(key(1))]), noise)
    total = sharing.join(sharing.total([sharing.read(data)]), helper, 1)
    assert total.tolist() == [1 - 2**30, -2, 3 + 2**30]


@pytest.mark.parametrize("sharing", [SMALL, RingSharing(3)])
def test_sums_of_nothing_or_of_another_round_are_refused(sharing: Sharing) -> None:
    with pytest.raises(ValueError, match="nothing"):
        sharing.total([])
    total = sharing.total([sharing.expand(key(1))])
    for other in (total[:2], total.astype(np.uint8)):
        with pytest.raises(BatchRefused):
            sharing.join(total, other, 1)
        with pytest.raises(BatchRefused):
            sharing.join(other, total, 1)


def test_the_order_of_phones_changes_no_bit() -> None:
    for sharing in (SMALL, RingSharing(3)):
        shares = [sharing.expand(key(i)) for i in range(50)]
        assert np.array_equal(sharing.total(shares), sharing.total(reversed(shares)))


def test_verifiers_of_the_ring_are_empty() -> None:
    ring = RingSharing(3)
    assert ring.verifiers([ring.expand(key(1))] * 2, [QUERY] * 2) == [b"", b""]
    assert ring.verifier(ring.expand(key(1)), QUERY) == b""
    assert ring.accepts(b"", b"", QUERY)
    assert not ring.accepts(b"x", b"", QUERY)
    assert not ring.accepts(b"x", b"x", QUERY)


def test_a_range_is_a_power_of_two() -> None:
    for half in (0, 3, 12):
        with pytest.raises(ValueError):
            ProvenSharing(3, half)


WORDS = st.one_of(st.integers(0, 1), st.integers(0, MODULUS - 1))


@given(
    st.lists(st.integers(0, 1), min_size=12, max_size=12),
    st.lists(st.tuples(st.integers(0, 1_000), WORDS), max_size=3),
    st.integers(0, MODULUS - 1),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_whatever_is_accepted_moves_each_coordinate_by_at_most_the_bound(
    bits: list[int], changes: list[tuple[int, int]], rho: int, proven_after: bool
) -> None:
    """A phone that writes any words into its bits, rho and q, before or after it proves."""
    proof = BitProof(12)
    words = np.array(bits, dtype=np.uint64)
    if proven_after:
        for place, word in changes:
            words[place % len(words)] = word
    vector = proof.prove(words, rho)
    if not proven_after:
        for place, word in changes:
            vector[place % len(vector)] = word
    helper = SMALL.expand(key(1))
    leader = (vector.astype(object) - helper.astype(object)) % MODULUS
    data = leader.astype(np.uint64).astype("<u8").tobytes()
    honest = np.all(vector == proof.prove(np.array(vector[:12] & np.uint64(1)), int(vector[12])))
    accepted = holds(SMALL, data, 1)
    assert accepted == honest
    if accepted:
        moved = SMALL.join(SMALL.total([SMALL.read(data)]), SMALL.total([helper]), 1)
        assert np.all(np.abs(moved) <= SMALL.bound)


@given(st.binary(min_size=SMALL.share_bytes, max_size=SMALL.share_bytes))
@settings(max_examples=100, deadline=None)
def test_random_bytes_are_malformed_or_unproven(data: bytes) -> None:
    with contextlib.suppress(BatchRefused):  # `read`, for a word that is no field element
        assert not holds(SMALL, data, 1)


def honest_sum(terms: Terms, count: int, seed: int) -> tuple[npt.NDArray[np.int64], float]:
    """Every phone at the clip, all alike: the largest sum that honest phones can give."""
    rng = np.random.Generator(np.random.Philox(key=seed))
    sigma = total_noise(terms.sigma, count, terms.n_min)
    peak = np.zeros(terms.dimension)
    if terms.task == "usage":
        peak[[0, 4, 8, 12, 17, 21, 26, 29]] = count * terms.scale
    else:
        peak[:] = count * terms.clip * terms.scale / math.sqrt(terms.dimension)
    noise = rng.normal(0, sigma * terms.scale, terms.dimension)
    return np.rint(peak + noise).astype(np.int64), sigma


@pytest.mark.parametrize("terms", [terms_of("usage"), terms_of("router", 1_300)])
def test_honest_sums_are_plausible_and_garbage_is_not(terms: Terms) -> None:
    rng = np.random.Generator(np.random.Philox(key=3))
    for seed in range(20):
        total, sigma = honest_sum(terms, 45, seed)
        assert plausible(total, 45, terms, sigma)
        garbage = rng.integers(-(2**31), 2**31, terms.dimension)
        wrapped = (total + garbage + 2**31) % 2**32 - 2**31
        assert not plausible(wrapped, 45, terms, sigma)


def test_a_sum_is_refused_by_its_peak_and_by_its_length() -> None:
    terms = terms_of("router", 1_300)
    sigma = total_noise(terms.sigma, 45, terms.n_min)
    unit = terms.scale
    peaked = np.zeros(1_300, np.int64)
    peaked[7] = math.ceil(unit * (45 * terms.clip + 12 * sigma)) + 1
    assert not plausible(peaked, 45, terms, sigma)
    peaked[7] -= 2
    assert plausible(peaked, 45, terms, sigma)
    length = unit * (45 * terms.clip + (math.sqrt(1_300) + 12) * sigma) / math.sqrt(1_300)
    assert plausible(np.full(1_300, int(length), np.int64), 45, terms, sigma)
    assert not plausible(np.full(1_300, int(length) + 1, np.int64), 45, terms, sigma)
    with pytest.raises(ValueError):
        plausible(np.zeros(3, np.int64), 45, terms, sigma)


def test_plausible_counts_go_by_devices_not_by_the_clip() -> None:
    """A usage bin holds at most one device a phone, though the clip is sqrt(8)."""
    terms = terms_of("usage")
    sigma = 0.01
    total = np.zeros(32, np.int64)
    total[0] = 45 * terms.scale
    assert plausible(total, 45, terms, sigma)
    total[0] = 2 * 45 * terms.scale
    assert not plausible(total, 45, terms, sigma)
