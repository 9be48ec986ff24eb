"""Masks, seals, the two messages, and whole rounds with dropouts."""

from __future__ import annotations

import contextlib
import pickle
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy import DEMO, BatchRefused
from privacy.estimation import estimate_histograms, mean_update, total_noise
from privacy.lattice import share_variance
from privacy.mechanisms import gaussian_table
from privacy.secagg import (
    Batch,
    MaskSum,
    plausible,
    report_digest,
    report_key,
    seal_seed,
    sharing_for,
)
from privacy.secagg.batch import LARGEST_BATCH_BYTES
from privacy.secagg.field import MODULUS
from privacy.secagg.mask import SEALED_SEED_BYTES, keystream, open_seed
from privacy.streams import USAGE_HISTOGRAMS, usage_vector
from tests.privacy.secagg_parts import (
    PUBLIC,
    SECRET,
    Terms,
    batch_of,
    leader_total,
    new_helper,
    phones,
    seeded_bits,
    send,
    terms_of,
)

USAGE, ROUTER = terms_of("usage"), terms_of("router", 16)
BOTH = pytest.mark.parametrize("terms", [USAGE, ROUTER], ids=["usage", "router"])


def test_keys_differ_by_seed_task_round_and_report() -> None:
    seed, report = b"s" * 32, b"r" * 16
    keys = [
        report_key(seed, "router", 1, report),
        report_key(b"t" * 32, "router", 1, report),
        report_key(seed, "dedup", 1, report),
        report_key(seed, "router", 2, report),
        report_key(seed, "router", 1, b"q" * 16),
    ]
    assert len(set(keys)) == len(keys)
    assert {len(key) for key in keys} == {32}
    assert keys[0] == report_key(seed, "router", 1, report)


def test_a_longer_keystream_begins_with_the_shorter() -> None:
    stream = keystream(b"k" * 32, 1_000)
    assert keystream(b"k" * 32, 64) == stream[:64]
    assert len(set(stream)) > 200
    assert keystream(b"l" * 32, 64) != stream[:64]


def test_a_digest_covers_every_field_of_a_report() -> None:
    fields: list[Any] = ["usage", 1, b"r" * 16, b"share", b"sealed"]
    others = ["router", 2, b"q" * 16, b"Share", b"Sealed"]
    digests = {report_digest(*fields)}
    for place, other in enumerate(others):
        digests.add(report_digest(*[*fields[:place], other, *fields[place + 1 :]]))
    assert len(digests) == 6
    assert {len(digest) for digest in digests} == {32}


def test_a_seal_opens_only_under_its_own_context_and_key() -> None:
    private = X25519PrivateKey.from_private_bytes(SECRET)
    sealed = seal_seed(b"s" * 32, PUBLIC, b"context", seeded_bits(1))
    assert len(sealed) == SEALED_SEED_BYTES
    assert open_seed(sealed, private, b"context") == b"s" * 32
    for broken in (sealed[:-1], bytes(SEALED_SEED_BYTES), sealed[:-1] + bytes([sealed[-1] ^ 1])):
        with pytest.raises(BatchRefused):
            open_seed(broken, private, b"context")
    with pytest.raises(BatchRefused):
        open_seed(sealed, private, b"other context")
    with pytest.raises(BatchRefused):
        open_seed(sealed, X25519PrivateKey.from_private_bytes(b"\x07" * 32), b"context")
    with pytest.raises(ValueError):
        seal_seed(b"s" * 32, bytes(32), b"context", seeded_bits(1))  # a point of low order


def test_a_report_twice_in_one_batch_is_malformed() -> None:
    sent, _ = phones(ROUTER, 20)
    with pytest.raises(BatchRefused, match="twice"):
        batch_of(ROUTER, [*sent, sent[0]])


@BOTH
def test_messages_survive_the_wire_and_nothing_else_does(terms: Terms) -> None:
    batch = batch_of(terms, phones(terms, 20)[0])
    assert Batch.decode(batch.encode()) == batch
    reply = new_helper().sum_masks(batch)
    back = MaskSum.decode(reply.encode())
    assert back.encode() == reply.encode()
    assert back.vector.dtype == reply.vector.dtype
    assert np.array_equal(back.vector, reply.vector)
    assert pickle.loads(pickle.dumps(BatchRefused("seal", "x", [b"a"]))).report_ids == (b"a",)
    large = bytes(LARGEST_BATCH_BYTES + 1)
    for junk in (b"", b"\xc1", b"\x90", reply.encode(), batch.encode()[:-1], large):
        with pytest.raises(BatchRefused) as caught:
            Batch.decode(junk)
        assert caught.value.reason == "malformed"
    with pytest.raises(BatchRefused):
        MaskSum.decode(batch.encode())


def test_a_mask_sum_holds_field_elements_of_a_known_width() -> None:
    vector = np.array([MODULUS - 1], dtype=np.uint64)
    good = MaskSum(b"b" * 16, b"d" * 32, 1, vector, b"")
    assert MaskSum.decode(good.encode()).vector.tolist() == [MODULUS - 1]
    for bad in (
        MaskSum(b"b" * 16, b"d" * 32, 1, vector + np.uint64(1), b""),
        MaskSum(b"b" * 16, b"d" * 32, 1, vector[:0], b""),
        MaskSum(b"b" * 16, b"d" * 32, 1, vector, bytes(513)),
        MaskSum(b"b", b"d" * 32, 1, vector, b""),
        MaskSum(b"b" * 16, b"d", 1, vector, b""),
    ):
        with pytest.raises(BatchRefused):
            MaskSum.decode(bad.encode())
    odd = good.encode().replace(b"\x01\x08\xc4", b"\x01\x02\xc4")
    with pytest.raises(BatchRefused, match="width"):
        MaskSum.decode(odd)


@given(st.binary(max_size=200), st.integers(0, 400))
@settings(max_examples=200, deadline=None)
def test_damaged_messages_are_decoded_or_refused(noise: bytes, at: int) -> None:
    for data, decode in MESSAGES:
        damaged = data[:at] + noise + data[at + len(noise) :]
        with contextlib.suppress(BatchRefused):  # nothing else may come out of hostile bytes
            decode(damaged)


_SAMPLE = batch_of(USAGE, phones(USAGE, 20)[0])
MESSAGES: list[tuple[bytes, Any]] = [
    (_SAMPLE.encode(), Batch.decode),
    (new_helper().sum_masks(_SAMPLE).encode(), MaskSum.decode),
]


def answers(phone: int) -> dict[str, str]:
    return {h.name: h.bins[(phone * (i + 1)) % len(h.bins)] for i, h in enumerate(USAGE_HISTOGRAMS)}


def noisy(terms: Terms, vectors: np.ndarray, seed: int) -> np.ndarray:
    """Lattice values with every phone's share of the noise, as a gate makes them."""
    table = gaussian_table(share_variance(terms.sigma, terms.scale, terms.n_min))
    noise = table.sample(vectors.size, seeded_bits(seed)).reshape(vectors.shape)
    values: np.ndarray = np.rint(vectors * terms.scale).astype(np.int64) + noise
    return values


@pytest.mark.parametrize("dropped", [0, 70])
def test_two_hundred_phones_end_to_end(dropped: int) -> None:
    """Phone → leader → helper → estimate; phones that vanish simply are not in the sum."""
    vectors = np.stack([usage_vector(answers(phone)) for phone in range(200 - dropped)])
    bits = seeded_bits(1_000)
    sent = [send(USAGE, values, bits) for values in noisy(USAGE, vectors, 6)]
    reply = new_helper(bits=seeded_bits(3)).sum_masks(batch_of(USAGE, sent))
    n = len(sent)
    total = sharing_for(USAGE).join(leader_total(USAGE, sent), reply.vector, n)
    sigma = total_noise(USAGE.sigma, n, USAGE.n_min)
    assert plausible(total, n, USAGE, sigma)
    estimates = estimate_histograms(total, n, USAGE.scale, sigma)
    truth = vectors.mean(axis=0)
    inside = sum(e.low <= t <= e.high for e, t in zip(estimates, truth, strict=True))
    assert inside >= 27  # of 32 at 95 %: fewer has probability 0.2 %, and the seeds are fixed
    errors = (np.array([e.estimate for e in estimates]) - truth) / (sigma / n)
    assert np.mean(errors**2) == pytest.approx(1.0, abs=1.0)


def test_a_mean_update_comes_with_its_noise() -> None:
    terms = terms_of("router", 600)
    rng = np.random.Generator(np.random.Philox(key=4))
    updates = rng.standard_normal((45, 600)) * 0.01 + 0.02
    bits = seeded_bits(2_000)
    sent = [send(terms, values, bits) for values in noisy(terms, updates, 7)]
    reply = new_helper(bits=seeded_bits(8)).sum_masks(batch_of(terms, sent))
    total = sharing_for(terms).join(leader_total(terms, sent), reply.vector, 45)
    sigma = total_noise(terms.sigma, 45, DEMO.terms("router").n_min)
    assert plausible(total, 45, terms, sigma)
    mean, noise = mean_update(total, 45, terms.scale, sigma)
    assert np.std(mean - updates.mean(axis=0)) == pytest.approx(noise, rel=0.12)
    assert noise == pytest.approx(sigma / 45)
