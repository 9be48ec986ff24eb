"""Law 7 on the phone: newer only, signed only, and never worse on its own probes."""

from __future__ import annotations

import os
from hashlib import sha256

import numpy as np
import pytest

from device.recall import Score
from device.sync.adoption import Shelf
from protocol.errors import ReleaseRefused
from protocol.identity import SigningKey
from protocol.models import DEDUP, initial_weights
from protocol.params import Parameters, encode_difference, encode_full, sha256_of
from protocol.release import BlobInfo, Manifest, seal_manifest
from tests.device.sync.conftest import NOW, Vault

DAY = 86_400.0


def parameters(version: int) -> Parameters:
    rng = np.random.Generator(np.random.Philox(key=version))
    return Parameters.of(initial_weights(DEDUP, rng), DEDUP, version)


def step_from(base: Parameters) -> Parameters:
    """The next version: a few weights moved by one step of the grid."""
    arrays = {name: array.copy() for name, array in base.arrays.items()}
    arrays["b3"] = arrays["b3"] + np.int8(1)
    return Parameters(base.model, base.version + 1, arrays, base.scales)


def info(blob: bytes) -> BlobInfo:
    return BlobInfo(size=len(blob), sha256=sha256(blob).digest())


def manifest(
    target: Parameters, key: SigningKey, *bases: Parameters, expires: float = NOW + DAY
) -> bytes:
    return seal_manifest(
        Manifest(
            model="dedup",
            version=target.version,
            parent=max((base.version for base in bases), default=0),
            sha256=sha256_of(target),
            full=info(encode_full(target)),
            differences={base.version: info(encode_difference(base, target)) for base in bases},
            metrics={"accuracy": 0.9},
            epsilon=1.0,
            delta=1e-6,
            created=NOW,
            expires=expires,
        ),
        key,
    )


def take(shelf: Shelf, blob: bytes, key: SigningKey, payload: bytes, score: float = 1.0):  # type: ignore[no-untyped-def]
    offer = shelf.offer(blob, cloud_key=key.public, now=NOW)
    assert offer is not None
    return offer, shelf.consider(
        offer, payload, probe=lambda model, weights: Score(score, 1.0 - score)
    )


def test_full_then_difference_are_adopted_and_survive_a_restart(
    vault: Vault, cloud_key: SigningKey
) -> None:
    shelf = Shelf(vault.log("releases"))
    one = parameters(1)
    two = step_from(one)
    take(shelf, manifest(one, cloud_key), cloud_key, encode_full(one))
    offer, outcome = take(
        shelf, manifest(two, cloud_key, one), cloud_key, encode_difference(one, two)
    )
    assert offer.base == 1
    assert outcome.adopted
    reopened = Shelf(vault.log("releases"))
    assert reopened.version("dedup") == 2
    adopted = reopened.adopted("dedup")
    assert adopted is not None
    assert sha256_of(adopted) == sha256_of(two)


def test_worse_on_own_probes_keeps_the_old_and_does_not_ask_again(
    vault: Vault, cloud_key: SigningKey
) -> None:
    shelf = Shelf(vault.log("releases"))
    one, two = parameters(1), parameters(2)
    take(shelf, manifest(one, cloud_key), cloud_key, encode_full(one))
    offer = shelf.offer(manifest(two, cloud_key), cloud_key=cloud_key.public, now=NOW)
    assert offer is not None
    target = two.weights()["w1"]
    # More of them right, yet the less likely story: the loss decides.
    worse, better = Score(accuracy=0.9, loss=0.7), Score(accuracy=0.8, loss=0.6)
    outcome = shelf.consider(
        offer,
        encode_full(two),
        probe=lambda model, weights: worse if np.array_equal(weights["w1"], target) else better,
    )
    assert not outcome.adopted
    assert "probes" in outcome.reason
    for shelf_now in (shelf, Shelf(vault.log("releases"))):
        assert shelf_now.version("dedup") == 1
        again = shelf_now.offer(manifest(two, cloud_key), cloud_key=cloud_key.public, now=NOW)
        assert again is None


@pytest.mark.parametrize("reason", ["signature", "rollback", "expired"])
def test_what_is_not_to_be_trusted_is_refused(
    vault: Vault, cloud_key: SigningKey, reason: str
) -> None:
    shelf = Shelf(vault.log("releases"))
    two = parameters(2)
    take(shelf, manifest(two, cloud_key), cloud_key, encode_full(two))
    offered = {
        "signature": manifest(parameters(3), SigningKey.generate(os.urandom)),
        "rollback": manifest(parameters(1), cloud_key),
        "expired": manifest(parameters(3), cloud_key, expires=NOW + 1),
    }[reason]
    with pytest.raises(ReleaseRefused) as refused:
        shelf.offer(offered, cloud_key=cloud_key.public, now=NOW + 2)
    assert refused.value.reason == reason
    assert shelf.version("dedup") == 2


def test_tampered_bytes_are_refused_before_decoding(vault: Vault, cloud_key: SigningKey) -> None:
    shelf = Shelf(vault.log("releases"))
    one = parameters(1)
    blob = bytearray(encode_full(one))
    blob[-1] ^= 1
    _, outcome = take(shelf, manifest(one, cloud_key), cloud_key, bytes(blob))
    assert not outcome.adopted
    assert shelf.version("dedup") == 0
