"""Masks, seals, the helper's refusals, and whole rounds with dropouts."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacy import DEMO, BatchRefused
from privacy.bits import BitSource
from privacy.estimation import estimate_histograms, mean_update, total_noise
from privacy.secagg import (
    Batch,
    Helper,
    MaskSum,
    MemoryHelperStore,
    add_mask,
    expand_mask,
    seal_seed,
    sum_masked,
    unmask,
)
from privacy.secagg.mask import SEALED_SEED_BYTES, open_seed
from privacy.streams import USAGE_HISTOGRAMS, usage_vector
from tests.privacy.parts import (
    HELPER_KEY,
    Round,
    batch_of,
    demo_reports,
    raw_helper_key,
    round_of,
    seeded_bits,
)

ROUND = round_of(DEMO, "router", dimension=16)
REPORTS = demo_reports(ROUND, np.zeros((45, 16)))


def new_helper(store: MemoryHelperStore | None = None, bits: BitSource = os.urandom) -> Helper:
    return Helper(HELPER_KEY, store or MemoryHelperStore(), bits)


def refused(helper: Helper, batch: Batch) -> BatchRefused:
    with pytest.raises(BatchRefused) as caught:
        helper.sum_masks(batch)
    return caught.value


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=50), st.binary(min_size=32))
@settings(max_examples=100, deadline=None)
def test_masks_cancel_modulo_two_to_the_32(values: list[int], seed: bytes) -> None:
    mask = expand_mask(seed[:32], "router", 1, b"r" * 16, len(values))
    back = unmask(add_mask(np.array(values), mask), mask)
    assert back.tolist() == [(v + 2**31) % 2**32 - 2**31 for v in values]


def test_masks_differ_by_seed_task_round_and_report() -> None:
    seed, report = b"s" * 32, b"r" * 16
    masks = [
        expand_mask(seed, "router", 1, report, 64),
        expand_mask(b"t" * 32, "router", 1, report, 64),
        expand_mask(seed, "dedup", 1, report, 64),
        expand_mask(seed, "router", 2, report, 64),
        expand_mask(seed, "router", 1, b"q" * 16, 64),
    ]
    for i, one in enumerate(masks):
        for other in masks[i + 1 :]:
            assert np.sum(one == other) < 3
    assert np.array_equal(masks[0], expand_mask(seed, "router", 1, report, 64))


def test_a_seal_opens_only_under_its_own_context_and_key() -> None:
    helper = new_helper()
    sealed = seal_seed(b"s" * 32, helper.public_key, b"context", seeded_bits(1))
    assert len(sealed) == SEALED_SEED_BYTES
    assert open_seed(sealed, raw_helper_key(), b"context") == b"s" * 32
    for broken in (sealed[:-1], bytes(SEALED_SEED_BYTES), sealed[:-1] + bytes([sealed[-1] ^ 1])):
        with pytest.raises(BatchRefused):
            open_seed(broken, raw_helper_key(), b"context")
    with pytest.raises(BatchRefused):
        open_seed(sealed, raw_helper_key(), b"other context")
    with pytest.raises(ValueError):
        seal_seed(b"s" * 32, bytes(32), b"context", seeded_bits(1))  # a point of low order


def test_under_n_min_nothing_is_answered_and_nothing_is_remembered() -> None:
    helper = new_helper()
    assert refused(helper, batch_of(ROUND, REPORTS[:19])).reason == "too_few"
    assert helper.sum_masks(batch_of(ROUND, REPORTS[:20])).count == 20


def test_a_leader_cannot_lower_n_min_or_change_what_phones_agreed_to() -> None:
    changes: list[dict[str, Any]] = [
        {"n_min": 2},
        {"sigma": ROUND.sigma / 100},
        {"clip": 9.0},
        {"scale": ROUND.scale * 2},
        {"round": 2},
        {"task": "dedup"},
        {"dimension": 15},
    ]
    for change in changes:
        assert refused(new_helper(), batch_of(ROUND, REPORTS[:20], **change)).reason == "seal"


def test_reports_that_do_not_open_are_named_and_the_rest_may_come_again() -> None:
    helper = new_helper()
    batch = batch_of(ROUND, REPORTS[:25])
    shares = list(batch.shares)
    shares[3] = shares[3]._replace(masked_hash=bytes(32))
    bad = refused(helper, batch_of(ROUND, REPORTS[:25], shares=tuple(shares)))
    assert bad.reason == "seal"
    assert bad.report_ids == (shares[3].report_id,)
    rest = [report for i, report in enumerate(REPORTS[:25]) if i != 3]
    assert helper.sum_masks(batch_of(ROUND, rest)).count == 24


def test_no_report_is_ever_summed_twice() -> None:
    helper = new_helper()
    helper.sum_masks(batch_of(ROUND, REPORTS[:21], b"1" * 16))
    # the classic difference attack: everyone, then everyone but one
    assert refused(helper, batch_of(ROUND, REPORTS[:20], b"2" * 16)).reason == "overlap"
    one_old = [*REPORTS[20:40]]
    assert refused(helper, batch_of(ROUND, one_old, b"2" * 16)).reason == "overlap"
    assert helper.sum_masks(batch_of(ROUND, REPORTS[21:45], b"2" * 16)).count == 24
    assert refused(helper, batch_of(ROUND, REPORTS[:20], b"1" * 16)).reason == "replay"


class TrustingStore(MemoryHelperStore):
    """Records anything: the helper itself must ask before it sums."""

    def record(self, batch_id: bytes, report_ids: Sequence[bytes], reply: bytes) -> None:
        self._replies[batch_id] = reply
        self._reports.update(report_ids)


def test_the_helper_asks_before_it_sums_whatever_its_store_accepts() -> None:
    helper = new_helper(TrustingStore())
    helper.sum_masks(batch_of(ROUND, REPORTS[:21], b"1" * 16))
    assert refused(helper, batch_of(ROUND, REPORTS[:20], b"2" * 16)).reason == "overlap"


def test_a_report_twice_in_one_batch_is_malformed() -> None:
    with pytest.raises(BatchRefused, match="twice"):
        batch_of(ROUND, [*REPORTS[:20], REPORTS[0]])


def test_an_identical_batch_gets_the_identical_bytes_noise_included() -> None:
    store = MemoryHelperStore()
    batch = batch_of(ROUND, REPORTS[:20])
    first = new_helper(store).sum_masks(batch).encode()
    again = new_helper(store).sum_masks(Batch.decode(batch.encode())).encode()  # after a restart
    assert first == again
    fresh = new_helper().sum_masks(batch).encode()  # a helper that forgot would draw new noise
    assert fresh != first


class FailingStore(MemoryHelperStore):
    def record(self, batch_id: bytes, report_ids: Sequence[bytes], reply: bytes) -> None:
        raise OSError("disk full")


def test_without_a_durable_record_there_is_no_reply() -> None:
    with pytest.raises(OSError):
        new_helper(FailingStore()).sum_masks(batch_of(ROUND, REPORTS[:20]))


def test_the_store_refuses_what_it_knows() -> None:
    store = MemoryHelperStore()
    store.record(b"1" * 16, [b"a", b"b"], b"reply")
    with pytest.raises(BatchRefused):
        store.record(b"1" * 16, [b"c"], b"reply")
    with pytest.raises(BatchRefused):
        store.record(b"2" * 16, [b"c", b"b"], b"reply")
    assert not store.seen([b"c"])
    assert store.reply_for(b"2" * 16) is None


def test_messages_survive_the_wire_and_nothing_else_does() -> None:
    batch = batch_of(ROUND, REPORTS[:20])
    assert Batch.decode(batch.encode()) == batch
    reply = new_helper().sum_masks(batch)
    assert MaskSum.decode(reply.encode()).encode() == reply.encode()
    assert pickle.loads(pickle.dumps(BatchRefused("seal", "x", [b"a"]))).report_ids == (b"a",)
    for junk in (b"", b"\xc1", b"\x90", reply.encode(), batch.encode()[:-1], batch.encode() + b"x"):
        with pytest.raises(BatchRefused) as caught:
            Batch.decode(junk)
        assert caught.value.reason == "malformed"
    with pytest.raises(BatchRefused):
        MaskSum.decode(batch.encode())


@given(st.binary(max_size=200), st.integers(0, 400))
@settings(max_examples=200, deadline=None)
def test_damaged_messages_are_decoded_or_refused(noise: bytes, at: int) -> None:
    data = batch_of(ROUND, REPORTS[:3]).encode()
    damaged = data[:at] + noise + data[at + len(noise) :]
    with contextlib.suppress(BatchRefused):  # nothing else may come out of hostile bytes
        Batch.decode(damaged)


def test_sums_of_nothing_or_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError):
        sum_masked([])
    with pytest.raises(ValueError):
        sum_masked([np.zeros(3, np.uint32), np.zeros(4, np.uint32)])
    with pytest.raises(ValueError):
        unmask(np.zeros(3, np.uint32), np.zeros(4, np.uint32))


def answers(phone: int) -> dict[str, str]:
    return {h.name: h.bins[(phone * (i + 1)) % len(h.bins)] for i, h in enumerate(USAGE_HISTOGRAMS)}


@pytest.mark.parametrize("dropped", [0, 70])
def test_two_hundred_phones_end_to_end(dropped: int) -> None:
    """Gate → leader → helper → estimate; phones that vanish simply are not in the sum."""
    round_ = round_of(DEMO, "usage", dimension=32)
    phones = range(200 - dropped)
    vectors = np.stack([usage_vector(answers(phone)) for phone in phones])
    reports = demo_reports(round_, vectors, seed=1_000)
    reply = new_helper(bits=seeded_bits(3)).sum_masks(batch_of(round_, reports))
    total = unmask(sum_masked(r.masked for r in reports), reply.vector)
    n = len(reports)
    sigma = total_noise(round_.sigma, n, round_.n_min)
    estimates = estimate_histograms(total, n, round_.scale, sigma)
    truth = vectors.mean(axis=0)
    inside = sum(e.low <= t <= e.high for e, t in zip(estimates, truth, strict=True))
    assert inside >= 27  # of 32 at 95 %: fewer has probability 0.2 %, and the seeds are fixed
    errors = (np.array([e.estimate for e in estimates]) - truth) / (sigma / n)
    assert np.mean(errors**2) == pytest.approx(1.0, abs=1.0)
    assert all(0 <= e.low <= e.high <= 1 for e in estimates)


def test_the_order_of_phones_changes_no_bit() -> None:
    forward = sum_masked(r.masked for r in REPORTS)
    backward = sum_masked(r.masked for r in reversed(REPORTS))
    assert np.array_equal(forward, backward)


def test_a_mean_update_comes_with_its_noise() -> None:
    rng = np.random.Generator(np.random.Philox(key=4))
    updates = rng.standard_normal((45, 600)) * 0.01 + 0.02  # norm about 0.55: unclipped
    round_ = Round("router", 1, 600, 4096, 1.0, DEMO.terms("router").sigma, 20, budget="demo")
    reports = demo_reports(round_, updates, seed=2_000)
    reply = new_helper(bits=seeded_bits(8)).sum_masks(batch_of(round_, reports))
    total = unmask(sum_masked(r.masked for r in reports), reply.vector)
    sigma = total_noise(round_.sigma, 45, 20)
    mean, noise = mean_update(total, 45, round_.scale, sigma)
    residual = np.std(mean - updates.mean(axis=0))
    assert residual == pytest.approx(noise, rel=0.12)
    assert noise == pytest.approx(sigma / 45)
    with pytest.raises(ValueError):
        mean_update(total, 0, 1)
    with pytest.raises(ValueError):
        estimate_histograms(total, 45, 1, 1.0)
