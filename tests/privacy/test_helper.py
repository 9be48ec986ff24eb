"""The helper: what it refuses, that a refusal leaves no trace, and what a crash can do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from privacy import DEMO, PRODUCTION, BatchRefused
from privacy.errors import CertificateInvalid
from privacy.lattice import total_variance
from privacy.secagg import (
    Batch,
    BatchCertificate,
    Helper,
    MaskSum,
    MemoryHelperStore,
    report_key,
    report_query,
    reports_digest,
    share_hash,
    sharing_for,
)
from privacy.secagg.field import MODULUS
from tests.privacy.secagg_parts import (
    PUBLIC,
    SECRET,
    Sent,
    Terms,
    batch_of,
    leader_total,
    new_helper,
    phones,
    sealed,
    seeded_bits,
    send,
    terms_of,
)

USAGE, ROUTER = terms_of("usage"), terms_of("router", 16)
REPORTS = {terms.task: phones(terms, 45)[0] for terms in (USAGE, ROUTER)}
BOTH = pytest.mark.parametrize("terms", [USAGE, ROUTER], ids=["usage", "router"])


class CountedBits:
    """Random bits, counted: a refused batch must not have drawn any."""

    def __init__(self, seed: int = 0) -> None:
        self._bits = seeded_bits(seed)
        self.drawn = 0

    def __call__(self, size: int) -> bytes:
        self.drawn += size
        return self._bits(size)


class CountedStore(MemoryHelperStore):
    """A store that counts what is written."""

    records = 0

    def record(self, batch_id: bytes, report_ids: Sequence[bytes], reply: bytes) -> None:
        self.records += 1
        super().record(batch_id, report_ids, reply)


def refused(helper: Helper, batch: Batch) -> BatchRefused:
    with pytest.raises(BatchRefused) as caught:
        helper.sum_masks(batch)
    return caught.value


def refused_without_a_trace(batch: Batch, budget: Any = DEMO) -> BatchRefused:
    store, bits = CountedStore(), CountedBits()
    refusal = refused(new_helper(store, bits, budget), batch)
    assert (store.records, bits.drawn) == (0, 0)
    assert not store.seen(batch.report_ids)
    assert store.reply_for(batch.batch_id) is None
    return refusal


def joined(terms: Terms, sent: list[Sent], reply: MaskSum) -> np.ndarray:
    return sharing_for(terms).join(leader_total(terms, sent), reply.vector, reply.count)


@BOTH
def test_leader_and_helper_join_to_the_sum_and_the_helpers_noise(terms: Terms) -> None:
    sent, truth = phones(terms, 200, seed=9)
    reply = new_helper(bits=seeded_bits(4)).sum_masks(batch_of(terms, sent))
    noise = joined(terms, sent, MaskSum.decode(reply.encode())) - truth
    sigma = total_variance(terms.sigma, terms.scale) ** 0.5
    assert np.abs(noise).max() < 6 * sigma
    assert np.abs(noise).max() > 0.3 * sigma  # noise was added, to what will be joined


@BOTH
def test_under_n_min_nothing_is_answered(terms: Terms) -> None:
    few = batch_of(terms, REPORTS[terms.task][:19])
    assert refused_without_a_trace(few).reason == "too_few"
    assert new_helper().sum_masks(batch_of(terms, REPORTS[terms.task][:20])).count == 20


@BOTH
def test_below_its_own_floors_nothing_is_answered(terms: Terms) -> None:
    """Phones and leader agreed on a demo round; a production helper has no part in it."""
    batch = batch_of(terms, REPORTS[terms.task])
    assert refused_without_a_trace(batch, PRODUCTION).reason == "floor"
    for change in ({"n_min": 19}, {"sigma": terms.sigma * 0.99}, {"scale": 1 << 60}):
        changed = batch_of(terms, REPORTS[terms.task], **change)
        assert refused_without_a_trace(changed).reason == "floor"
    unknown = batch_of(terms, REPORTS[terms.task], task="location")
    assert refused_without_a_trace(unknown).reason == "floor"


CHANGES: list[dict[str, Any]] = [
    {"n_min": 25},
    {"sigma": 9.0},
    {"clip": 0.5},
    {"scale": 1 << 13},
    {"round": 2},
]


@BOTH
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_a_leader_changes_nothing_that_phones_sealed_to(
    terms: Terms, change: dict[str, Any]
) -> None:
    batch = batch_of(terms, REPORTS[terms.task][:30], **change)
    refusal = refused_without_a_trace(batch)
    assert refusal.reason == "seal"
    assert refusal.report_ids == batch.report_ids


@pytest.mark.parametrize("change", [{"task": "dedup"}, {"dimension": 15}])
def test_a_report_stays_in_its_task_and_shape(change: dict[str, Any]) -> None:
    batch = batch_of(ROUTER, REPORTS["router"][:20], **change)
    assert refused_without_a_trace(batch).reason == "seal"


@BOTH
@pytest.mark.parametrize("field", ["report_id", "share_hash", "sealed_seed"])
def test_a_report_that_does_not_open_is_named_and_the_rest_may_come_again(
    terms: Terms, field: str
) -> None:
    sent = REPORTS[terms.task][:25]
    shares = list(batch_of(terms, sent).shares)
    value = bytearray(getattr(shares[3], field))
    value[-1] ^= 1
    shares[3] = shares[3]._replace(**{field: bytes(value)})
    bad = refused_without_a_trace(batch_of(terms, sent, shares=tuple(shares)))
    assert (bad.reason, bad.report_ids) == ("seal", (shares[3].report_id,))
    rest = [report for i, report in enumerate(sent) if i != 3]
    assert new_helper().sum_masks(batch_of(terms, rest)).count == 24


def test_swapped_report_ids_do_not_open() -> None:
    shares = list(batch_of(USAGE, REPORTS["usage"][:20]).shares)
    one, other = shares[0], shares[1]
    shares[0] = one._replace(report_id=other.report_id)
    shares[1] = other._replace(report_id=one.report_id)
    bad = refused_without_a_trace(batch_of(USAGE, REPORTS["usage"][:20], shares=tuple(shares)))
    assert bad.reason == "seal"
    assert set(bad.report_ids) == {one.report_id, other.report_id}


def liar(make: Callable[[bytes], bytes]) -> Sent:
    """A phone that seals to its own words: `make` turns an honest share into what it sends."""
    bits = seeded_bits(77)
    honest = sharing_for(USAGE).split(np.zeros(32, np.int64), b"k" * 32, bits)
    return send(USAGE, np.zeros(32, np.int64), bits, share=make(honest))


def copied(_honest: bytes) -> bytes:
    return REPORTS["usage"][0].share


def silent(honest: bytes) -> bytes:
    return bytes(len(honest))


def own_words(honest: bytes) -> bytes:
    return honest


@pytest.mark.parametrize("make", [copied, silent, own_words])
def test_a_phone_that_proves_nothing_is_named_and_the_rest_may_come_again(
    make: Callable[[bytes], bytes],
) -> None:
    """Another phone's whole proof, nothing at all, a proof under another key."""
    sent, bad = REPORTS["usage"][:24], liar(make)
    refusal = refused_without_a_trace(batch_of(USAGE, [*sent[:7], bad, *sent[7:]]))
    assert (refusal.reason, refusal.report_ids) == ("invalid", (bad.report_id,))
    assert new_helper().sum_masks(batch_of(USAGE, sent)).count == 24


def test_a_phone_out_of_range_by_one_bit_is_named() -> None:
    """An honest report whose leader's share has 1 added to its first bit: 2 or 1 of nothing."""
    sharing, bits = sharing_for(USAGE), seeded_bits(5)
    report_id, seed = bits(16), bits(32)
    share = sharing.split(np.ones(32, np.int64), report_key(seed, "usage", 1, report_id), bits)
    words = sharing.read(share).astype(object)
    words[0] = (words[0] + 1) % MODULUS
    data = words.astype(np.uint64).astype("<u8").tobytes()
    bad = Sent(report_id, data, sealed(USAGE, report_id, seed, data, bits))
    refusal = refused_without_a_trace(batch_of(USAGE, [*REPORTS["usage"][:20], bad]))
    assert (refusal.reason, refusal.report_ids) == ("invalid", (report_id,))


@pytest.mark.parametrize("verifier", [b"", bytes(16), b"\xff" * 16])
def test_a_leader_that_vouches_for_nothing_gets_nothing(verifier: bytes) -> None:
    batch = batch_of(USAGE, REPORTS["usage"][:20])
    shares = [batch.shares[0]._replace(verifier=verifier), *batch.shares[1:]]
    bad = refused_without_a_trace(batch_of(USAGE, REPORTS["usage"][:20], shares=tuple(shares)))
    assert (bad.reason, bad.report_ids) == ("invalid", (shares[0].report_id,))


def test_many_liars_are_all_named_at_once() -> None:
    sent, _ = phones(USAGE, 150, seed=3)
    shares = list(batch_of(USAGE, sent).shares)
    for place in (0, 63, 64, 149):
        shares[place] = shares[place]._replace(verifier=bytes(16))
    bad = refused_without_a_trace(batch_of(USAGE, sent, shares=tuple(shares)))
    assert bad.report_ids == tuple(shares[place].report_id for place in (0, 63, 64, 149))


def test_no_report_is_ever_summed_twice() -> None:
    helper, reports = new_helper(), REPORTS["router"]
    helper.sum_masks(batch_of(ROUTER, reports[:21], b"1" * 16))
    # the classic difference attack: everyone, then everyone but one
    assert refused(helper, batch_of(ROUTER, reports[:20], b"2" * 16)).reason == "overlap"
    assert refused(helper, batch_of(ROUTER, reports[20:40], b"2" * 16)).reason == "overlap"
    assert helper.sum_masks(batch_of(ROUTER, reports[21:45], b"2" * 16)).count == 24
    assert refused(helper, batch_of(ROUTER, reports[:20], b"1" * 16)).reason == "replay"


class TrustingStore(MemoryHelperStore):
    """Records anything: the helper itself must ask before it sums."""

    def record(self, batch_id: bytes, report_ids: Sequence[bytes], reply: bytes) -> None:
        self._replies[batch_id] = reply
        self._reports.update(report_ids)


def test_the_helper_asks_before_it_sums_whatever_its_store_accepts() -> None:
    helper = new_helper(TrustingStore())
    helper.sum_masks(batch_of(ROUTER, REPORTS["router"][:21], b"1" * 16))
    again = batch_of(ROUTER, REPORTS["router"][:20], b"2" * 16)
    assert refused(helper, again).reason == "overlap"


@BOTH
def test_an_identical_batch_gets_the_identical_bytes(terms: Terms) -> None:
    store = MemoryHelperStore()
    batch = batch_of(terms, REPORTS[terms.task])
    first = new_helper(store).sum_masks(batch)
    again = new_helper(store).sum_masks(Batch.decode(batch.encode()))  # after a restart
    assert first.encode() == again.encode()
    assert first.certificate == again.certificate
    fresh = new_helper().sum_masks(batch)  # a helper that forgot would draw new noise
    assert fresh.encode() != first.encode()


class FaultyStore(MemoryHelperStore):
    """Fails once at a named step; "lost" keeps nothing, "kept" keeps the record."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault

    def reply_for(self, batch_id: bytes) -> bytes | None:
        self._fail("reply_for")
        return super().reply_for(batch_id)

    def seen(self, report_ids: Sequence[bytes]) -> tuple[bytes, ...]:
        self._fail("seen")
        return super().seen(report_ids)

    def record(self, batch_id: bytes, report_ids: Sequence[bytes], reply: bytes) -> None:
        self._fail("lost")
        fault, self.fault = self.fault, ""
        super().record(batch_id, report_ids, reply)
        self.fault = fault
        self._fail("kept")

    def _fail(self, step: str) -> None:
        if self.fault == step:
            self.fault = ""
            raise OSError("disk full")


@BOTH
@pytest.mark.parametrize("fault", ["reply_for", "seen", "lost", "kept"])
def test_a_crash_at_any_step_neither_loses_a_batch_nor_counts_it_twice(
    terms: Terms, fault: str
) -> None:
    store, batch = FaultyStore(fault), batch_of(terms, REPORTS[terms.task][:30])
    with pytest.raises(OSError):
        new_helper(store).sum_masks(batch)
    kept = store.reply_for(batch.batch_id)
    assert (kept is not None) == (fault == "kept")
    answer = new_helper(store).sum_masks(batch)  # after a restart
    if kept is not None:
        assert answer.encode() == kept
    assert new_helper(store).sum_masks(batch).encode() == answer.encode()
    others = batch_of(terms, REPORTS[terms.task][10:], b"2" * 16)
    assert refused(new_helper(store), others).reason == "overlap"


def test_the_store_refuses_what_it_knows() -> None:
    store = MemoryHelperStore()
    store.record(b"1" * 16, [b"a", b"b"], b"reply")
    for batch_id, ids, reason in ((b"1", [b"c"], "replay"), (b"2", [b"c", b"b"], "overlap")):
        with pytest.raises(BatchRefused) as caught:
            store.record(batch_id * 16, ids, b"reply")
        assert caught.value.reason == reason
    assert not store.seen([b"c"])
    assert store.reply_for(b"2" * 16) is None


def test_keys_are_derived_from_the_one_secret_and_differ() -> None:
    helper = new_helper()
    keys = [
        SECRET,
        helper.public_key,
        helper.signing_public_key,
        helper.query_key("usage", 1),
        helper.query_key("usage", 2),
        helper.query_key("router", 1),
    ]
    assert {len(key) for key in keys} == {32}
    assert len(set(keys)) == len(keys)
    assert helper.public_key == PUBLIC
    assert new_helper().query_key("usage", 1) == helper.query_key("usage", 1)
    other = Helper(b"\x07" * 32, MemoryHelperStore(), seeded_bits(1), DEMO)
    assert other.query_key("usage", 1) != helper.query_key("usage", 1)
    assert other.signing_public_key != helper.signing_public_key
    queries = {report_query(helper.query_key("usage", 1), bytes([i]) * 16) for i in range(20)}
    assert len(queries) == 20


@BOTH
def test_a_certificate_says_what_was_summed(terms: Terms) -> None:
    helper, batch = new_helper(), batch_of(terms, REPORTS[terms.task])
    reply = helper.sum_masks(batch)
    assert len(reply.certificate) <= 512
    said = BatchCertificate.open(reply.certificate, helper.signing_public_key)
    assert said == BatchCertificate(
        batch_id=batch.batch_id,
        batch_digest=batch.digest(),
        reports_digest=reports_digest(reversed(batch.report_ids)),
        half_digest=sha256(reply.vector.tobytes()).digest(),
        count=45,
        task=terms.task,
        round=1,
        dimension=terms.dimension,
        scale=terms.scale,
        clip=terms.clip,
        sigma=terms.sigma,
        n_min=20,
    )


def test_a_certificate_that_is_not_the_helpers_is_invalid() -> None:
    helper = new_helper()
    data = helper.sum_masks(batch_of(USAGE, REPORTS["usage"])).certificate
    with pytest.raises(CertificateInvalid):
        BatchCertificate.open(data, helper.public_key)
    with pytest.raises(CertificateInvalid):
        BatchCertificate.open(data, b"short")
    for place in range(0, len(data), 7):
        changed = bytes([*data[:place], data[place] ^ 1, *data[place + 1 :]])
        with pytest.raises(CertificateInvalid):
            BatchCertificate.open(changed, helper.signing_public_key)
    for odd in (b"", data[:64], data + b"\0", bytes(513)):
        with pytest.raises(CertificateInvalid):
            BatchCertificate.open(odd, helper.signing_public_key)


@pytest.mark.parametrize("body", [b"\xc1", b"\x01", b"\x91\x01", b"\x9b" + b"\x01" * 11])
def test_a_signed_body_of_another_shape_is_invalid(body: bytes) -> None:
    key = Ed25519PrivateKey.from_private_bytes(SECRET)
    data = key.sign(b"reverie/secagg/certificate/2" + body) + body
    with pytest.raises(CertificateInvalid, match="shape"):
        BatchCertificate.open(data, key.public_key().public_bytes_raw())


def test_the_hash_a_phone_seals_to_is_the_shares() -> None:
    report = REPORTS["usage"][0]
    assert batch_of(USAGE, [report]).shares[0].share_hash == share_hash(report.share)
