"""Signed manifests: the checks of a phone before it adopts, in their order."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.errors import ReleaseRefused
from protocol.identity import SigningKey, open_envelope, signed_envelope
from protocol.messages import MAX_MANIFEST
from protocol.models import DEDUP, ROUTER
from protocol.packing import pack, unpack_map
from protocol.params import Parameters, encode_difference, encode_full, sha256_of
from protocol.policy import (
    DEFAULT_FLOOR,
    FLOOR_NAMES,
    HIGHEST_FLOOR,
    LOWEST_FLOOR,
    floors_of,
)
from protocol.release import (
    BlobInfo,
    Manifest,
    check_release,
    open_manifest,
    open_release,
    plan_fetch,
    seal_manifest,
)
from tests.protocol.samples import CLOUD_KEY, bits, nudged, random_parameters

NOW = 1_000_000.0
DAY = 86_400.0


def info(blob: bytes) -> BlobInfo:
    return BlobInfo(size=len(blob), sha256=hashlib.sha256(blob).digest())


BASE = random_parameters(1, 1)
TARGET = nudged(BASE, 2, 2)
FULL = encode_full(TARGET)
DIFFERENCE = encode_difference(BASE, TARGET)
MANIFEST = Manifest(
    model="router",
    version=2,
    parent=1,
    sha256=sha256_of(TARGET),
    full=info(FULL),
    differences={1: info(DIFFERENCE)},
    metrics={"accuracy": 0.9},
    epsilon=4.0,
    delta=1e-6,
    created=NOW,
    expires=NOW + 30 * DAY,
)


def changed(**changes: Any) -> Manifest:
    return MANIFEST.model_copy(update=changes)


def reason(call: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(ReleaseRefused) as caught:
        call(*args, **kwargs)
    return str(caught.value.reason)


def test_a_manifest_travels_signed() -> None:
    blob = seal_manifest(MANIFEST, CLOUD_KEY)
    assert len(blob) <= MAX_MANIFEST
    assert open_manifest(blob, CLOUD_KEY.public) == MANIFEST
    assert seal_manifest(open_manifest(blob, CLOUD_KEY.public), CLOUD_KEY) == blob


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_tampered_manifest_is_refused(place: int, change: int) -> None:
    blob = bytearray(seal_manifest(MANIFEST, CLOUD_KEY))
    blob[place % len(blob)] ^= change
    assert reason(open_manifest, bytes(blob), CLOUD_KEY.public) == "signature"


def test_another_key_or_a_malformed_payload_is_refused() -> None:
    other = SigningKey(bits(9)(32))
    assert reason(open_manifest, seal_manifest(MANIFEST, other), CLOUD_KEY.public) == "signature"
    fields = MANIFEST.model_dump() | {"differences": {}}
    for bad in (
        {"version": 0},
        {"surprise": 1},
        {"differences": {"01": {"size": 1, "sha256": bytes(32)}}},
        {"differences": {"x": {"size": 1, "sha256": bytes(32)}}},
        {"differences": [1]},
        {"epsilon": float("nan")},
    ):
        blob = signed_envelope(pack(fields | bad), CLOUD_KEY, purpose="release")
        assert reason(open_manifest, blob, CLOUD_KEY.public) == "shape"


def test_the_checks_before_adoption() -> None:
    good: dict[str, Any] = {"adopted_version": 1, "now": NOW, "spec": ROUTER}
    check_release(MANIFEST, **good)
    check_release(changed(created=NOW + DAY), **good)
    assert reason(check_release, MANIFEST, **(good | {"adopted_version": 2})) == "rollback"
    assert reason(check_release, MANIFEST, **(good | {"adopted_version": 3})) == "rollback"
    assert reason(check_release, MANIFEST, **(good | {"now": NOW + 30 * DAY})) == "expired"
    assert reason(check_release, changed(created=NOW + DAY + 1), **good) == "future"
    assert reason(check_release, MANIFEST, **(good | {"spec": DEDUP})) == "shape"
    assert reason(check_release, changed(feature_version=99), **good) == "shape"
    huge = BlobInfo(size=ROUTER.max_blob + 1, sha256=bytes(32))
    assert reason(check_release, changed(full=huge), **good) == "size"
    assert reason(check_release, changed(differences={1: huge}), **good) == "size"


def test_the_smallest_blob_is_fetched() -> None:
    assert plan_fetch(MANIFEST, 1) == 1
    assert plan_fetch(MANIFEST, 0) == 0
    assert plan_fetch(MANIFEST, 7) == 0
    assert plan_fetch(changed(differences={1: info(FULL)}), 1) == 0


def test_a_release_opens_from_the_full_blob_and_from_a_difference() -> None:
    for blob, base in ((FULL, None), (DIFFERENCE, BASE)):
        opened = open_release(MANIFEST, blob, base, ROUTER)
        assert (opened.model, opened.version) == ("router", 2)
        assert sha256_of(opened) == sha256_of(TARGET)


def test_a_blob_is_checked_before_it_is_decoded() -> None:
    swapped = bytes([FULL[0] ^ 1]) + FULL[1:]
    # Reason "hash" and not "shape": the decoder never saw it.
    assert reason(open_release, MANIFEST, swapped, None, ROUTER) == "hash"
    assert reason(open_release, MANIFEST, FULL + b"x", None, ROUTER) == "size"
    assert reason(open_release, MANIFEST, DIFFERENCE, nudged(BASE, 5, 3), ROUTER) == "hash"
    stranger = Parameters("router", 1, nudged(BASE, 5, 1).arrays, BASE.scales)
    assert reason(open_release, MANIFEST, DIFFERENCE, stranger, ROUTER) == "shape"


def test_the_result_is_checked_after_decoding() -> None:
    wrong = changed(sha256=bytes(32))
    assert reason(open_release, wrong, FULL, None, ROUTER) == "hash"
    junk = b"RVF1junk"
    assert reason(open_release, changed(full=info(junk)), junk, None, ROUTER) == "shape"
    big = bytes(ROUTER.max_blob + 1)
    assert reason(open_release, changed(full=info(big)), big, None, ROUTER) == "size"


# --- the retrieval policy ---

POLICY = {"floor_raw": 0.04, "floor_structured": 0.02, "floor_working": 0.5}


def test_a_policy_travels_and_none_leaves_no_trace() -> None:
    with_policy = changed(policy=POLICY)
    blob = seal_manifest(with_policy, CLOUD_KEY)
    assert open_manifest(blob, CLOUD_KEY.public) == with_policy
    assert seal_manifest(open_manifest(blob, CLOUD_KEY.public), CLOUD_KEY) == blob
    assert len(blob) - len(seal_manifest(MANIFEST, CLOUD_KEY)) < 90
    payload = open_envelope(seal_manifest(MANIFEST, CLOUD_KEY), CLOUD_KEY.public, purpose="release")
    assert "policy" not in unpack_map(payload, max_size=MAX_MANIFEST)


def test_one_policy_has_one_encoding() -> None:
    turned = changed(policy=dict(reversed(POLICY.items())))
    assert seal_manifest(turned, CLOUD_KEY) == seal_manifest(changed(policy=POLICY), CLOUD_KEY)


@pytest.mark.parametrize(
    ("model", "policy"),
    [
        ("router", {"floor_raw": 0.019}),
        ("router", {"floor_raw": 0.501}),
        ("router", {"floor_raw": "0.1"}),
        ("router", {"floor_raw": True}),
        ("router", {"surprise": 0.1}),
        ("router", {**POLICY, "surprise": 0.1}),
        ("router", [0.1]),
        ("router", None),
        ("dedup", {"floor_raw": 0.1}),
    ],
)
def test_a_policy_of_another_shape_is_refused(model: str, policy: object) -> None:
    fields = MANIFEST.model_dump() | {"differences": {}, "model": model, "policy": policy}
    blob = signed_envelope(pack(fields), CLOUD_KEY, purpose="release")
    assert reason(open_manifest, blob, CLOUD_KEY.public) == "shape"


def test_floors_that_a_policy_leaves_out_are_the_default_ones() -> None:
    assert floors_of({}) == dict.fromkeys(ROUTER.outputs, DEFAULT_FLOOR)
    assert floors_of({"floor_raw": 0.3})["raw"] == 0.3
    assert set(FLOOR_NAMES) == set(ROUTER.outputs)
    assert LOWEST_FLOOR <= DEFAULT_FLOOR <= HIGHEST_FLOOR
