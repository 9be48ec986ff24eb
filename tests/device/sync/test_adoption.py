"""Law 7 on the phone: newer only, signed only, and never worse on its own probes."""

from __future__ import annotations

import asyncio
import os
from hashlib import sha256

import msgpack
import numpy as np
import pytest

from device.recall import Score
from device.sync.adoption import Examine, Offer, Outcome, Policy, Shelf
from protocol.errors import ReleaseRefused
from protocol.identity import SigningKey
from protocol.models import DEDUP, ROUTER, initial_weights
from protocol.params import Parameters, encode_difference, encode_full, sha256_of
from protocol.release import BlobInfo, Manifest, open_manifest, seal_manifest
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


async def take(
    shelf: Shelf,
    blob: bytes,
    key: SigningKey,
    payload: bytes,
    examine: Examine | None = None,
) -> tuple[Offer, Outcome]:
    offer = shelf.offer(blob, cloud_key=key.public, now=NOW)
    assert offer is not None
    return offer, await shelf.consider(
        offer, payload, probe=lambda model, weights: Score(1.0, 0.0), examine=examine
    )


async def test_full_then_difference_are_adopted_and_survive_a_restart(
    vault: Vault, cloud_key: SigningKey
) -> None:
    shelf = Shelf(vault.log("releases"))
    one = parameters(1)
    two = step_from(one)
    await take(shelf, manifest(one, cloud_key), cloud_key, encode_full(one))
    offer, outcome = await take(
        shelf, manifest(two, cloud_key, one), cloud_key, encode_difference(one, two)
    )
    assert offer.base == 1
    assert outcome.adopted
    reopened = Shelf(vault.log("releases"))
    assert reopened.version("dedup") == 2
    adopted = reopened.adopted("dedup")
    assert adopted is not None
    assert sha256_of(adopted) == sha256_of(two)


async def test_worse_on_own_probes_keeps_the_old_and_does_not_ask_again(
    vault: Vault, cloud_key: SigningKey
) -> None:
    shelf = Shelf(vault.log("releases"))
    one, two = parameters(1), parameters(2)
    await take(shelf, manifest(one, cloud_key), cloud_key, encode_full(one))
    offer = shelf.offer(manifest(two, cloud_key), cloud_key=cloud_key.public, now=NOW)
    assert offer is not None
    target = two.weights()["w1"]
    # More of them right, yet the less likely story: the loss decides.
    worse, better = Score(accuracy=0.9, loss=0.7), Score(accuracy=0.8, loss=0.6)
    outcome = await shelf.consider(
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
async def test_what_is_not_to_be_trusted_is_refused(
    vault: Vault, cloud_key: SigningKey, reason: str
) -> None:
    shelf = Shelf(vault.log("releases"))
    two = parameters(2)
    await take(shelf, manifest(two, cloud_key), cloud_key, encode_full(two))
    offered = {
        "signature": manifest(parameters(3), SigningKey.generate(os.urandom)),
        "rollback": manifest(parameters(1), cloud_key),
        "expired": manifest(parameters(3), cloud_key, expires=NOW + 1),
    }[reason]
    with pytest.raises(ReleaseRefused) as refused:
        shelf.offer(offered, cloud_key=cloud_key.public, now=NOW + 2)
    assert refused.value.reason == reason
    assert shelf.version("dedup") == 2


async def test_tampered_bytes_are_refused_before_decoding(
    vault: Vault, cloud_key: SigningKey
) -> None:
    shelf = Shelf(vault.log("releases"))
    one = parameters(1)
    blob = bytearray(encode_full(one))
    blob[-1] ^= 1
    _, outcome = await take(shelf, manifest(one, cloud_key), cloud_key, bytes(blob))
    assert not outcome.adopted
    assert shelf.version("dedup") == 0


def examining(passed: dict[int, set[str]], asked: list[int]) -> Examine:
    """Memory probes passed by version."""

    async def examine(parameters: Parameters, policy: Policy) -> frozenset[str]:
        asked.append(parameters.version)
        return frozenset(passed[parameters.version])

    return examine


@pytest.mark.parametrize(
    ("now_passed", "adopted", "says"),
    [
        ({"a", "b"}, True, ""),
        ({"a", "b", "c"}, True, ""),
        ({"a", "c", "d", "e"}, False, "pass: b"),
        (set(), False, "pass: a, b"),
    ],
)
async def test_a_release_that_loses_a_memory_probe_is_refused_with_that_reason(
    vault: Vault, cloud_key: SigningKey, now_passed: set[str], adopted: bool, says: str
) -> None:
    shelf = Shelf(vault.log("releases"))
    one, two = parameters(1), parameters(2)
    asked: list[int] = []
    examine = examining({1: {"a", "b"}, 2: now_passed}, asked)
    await take(shelf, manifest(one, cloud_key), cloud_key, encode_full(one), examine)
    assert asked == [], "a first release has nothing to lose against"
    _, outcome = await take(shelf, manifest(two, cloud_key), cloud_key, encode_full(two), examine)
    assert outcome.adopted is adopted
    assert says in outcome.reason
    assert shelf.version("dedup") == (2 if adopted else 1)
    assert Shelf(vault.log("releases")).last_outcome("dedup") == outcome


async def test_many_lost_probes_are_counted_not_listed(vault: Vault, cloud_key: SigningKey) -> None:
    shelf = Shelf(vault.log("releases"))
    one, two = parameters(1), parameters(2)
    examine = examining({1: {f"p{n}" for n in range(9)}, 2: set()}, [])
    await take(shelf, manifest(one, cloud_key), cloud_key, encode_full(one), examine)
    _, outcome = await take(shelf, manifest(two, cloud_key), cloud_key, encode_full(two), examine)
    assert outcome.reason.endswith("p0, p1, p2 and 6 more")


async def test_a_stop_during_the_memory_probes_changes_nothing(
    vault: Vault, cloud_key: SigningKey
) -> None:
    shelf = Shelf(vault.log("releases"))
    one, two = parameters(1), parameters(2)
    await take(shelf, manifest(one, cloud_key), cloud_key, encode_full(one))

    async def examine(parameters: Parameters, policy: Policy) -> frozenset[str]:
        await asyncio.Event().wait()
        return frozenset()

    blob = manifest(two, cloud_key)
    task = asyncio.create_task(take(shelf, blob, cloud_key, encode_full(two), examine))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    for shelf_now in (shelf, Shelf(vault.log("releases"))):
        assert shelf_now.version("dedup") == 1
        assert shelf_now.offer(blob, cloud_key=cloud_key.public, now=NOW) is not None


def test_lent_parameters_are_in_use_and_never_written(vault: Vault) -> None:
    shelf = Shelf(vault.log("releases"))
    shelf.lend(parameters(7))
    assert shelf.version("dedup") == 7
    assert shelf.weights("dedup") is not None
    assert Shelf(vault.log("releases")).version("dedup") == 0


# --- the retrieval policy travels with the router ---

POLICY = {"floor_raw": 0.04, "floor_structured": 0.1, "floor_working": 0.35}


def router(version: int) -> Parameters:
    rng = np.random.Generator(np.random.Philox(key=version))
    return Parameters.of(initial_weights(ROUTER, rng), ROUTER, version)


def with_policy(target: Parameters, key: SigningKey, policy: dict[str, float]) -> bytes:
    opened = open_manifest(manifest(target, key), key.public)
    return seal_manifest(opened.model_copy(update={"model": "router", "policy": policy}), key)


async def adopt(
    shelf: Shelf,
    version: int,
    policy: dict[str, float],
    key: SigningKey,
    examine: Examine | None = None,
) -> Outcome:
    target = router(version)
    blob = with_policy(target, key, policy)
    return (await take(shelf, blob, key, encode_full(target), examine))[1]


async def test_a_policy_is_adopted_with_its_router_and_survives_a_restart(
    vault: Vault, cloud_key: SigningKey
) -> None:
    shelf = Shelf(vault.log("releases"))
    assert shelf.policy("router") == {}
    assert (await adopt(shelf, 1, POLICY, cloud_key)).adopted
    assert shelf.policy("router") == POLICY
    assert shelf.policy("dedup") == {}
    assert Shelf(vault.log("releases")).policy("router") == POLICY


async def test_a_router_without_a_policy_puts_the_default_back(
    vault: Vault, cloud_key: SigningKey
) -> None:
    shelf = Shelf(vault.log("releases"))
    await adopt(shelf, 1, POLICY, cloud_key)
    await adopt(shelf, 2, {}, cloud_key)
    for now in (shelf, Shelf(vault.log("releases"))):
        assert (now.version("router"), now.policy("router")) == (2, {})


async def test_going_back_takes_the_policy_along(vault: Vault, cloud_key: SigningKey) -> None:
    shelf = Shelf(vault.log("releases"))
    other = {**POLICY, "floor_raw": 0.3}
    await adopt(shelf, 1, POLICY, cloud_key)
    await adopt(shelf, 2, other, cloud_key)
    assert shelf.policy("router") == other
    assert shelf.revert("router") is not None
    for now in (shelf, Shelf(vault.log("releases"))):
        assert (now.version("router"), now.policy("router")) == (1, POLICY)


async def test_a_withdrawn_only_router_leaves_no_policy(
    vault: Vault, cloud_key: SigningKey
) -> None:
    shelf = Shelf(vault.log("releases"))
    await adopt(shelf, 1, POLICY, cloud_key)
    shelf._leave("router")
    for now in (shelf, Shelf(vault.log("releases"))):
        assert (now.version("router"), now.policy("router")) == (0, {})


async def test_parameters_and_policy_are_probed_together(
    vault: Vault, cloud_key: SigningKey
) -> None:
    """What loses a memory probe may be the floors alone: then both stay out."""
    shelf = Shelf(vault.log("releases"))
    asked: list[tuple[int, dict[str, float]]] = []

    async def examine(parameters: Parameters, policy: Policy) -> frozenset[str]:
        asked.append((parameters.version, dict(policy)))
        return frozenset({"a"} if policy.get("floor_raw", 0.1) <= 0.3 else set())

    await adopt(shelf, 1, POLICY, cloud_key, examine)
    bad = {**POLICY, "floor_raw": 0.5}
    refused = await adopt(shelf, 2, bad, cloud_key, examine)
    assert not refused.adopted
    assert refused.reason.endswith("pass: a")
    assert (shelf.version("router"), shelf.policy("router")) == (1, POLICY)
    assert asked == [(1, POLICY), (2, bad)], "each with the policy it comes with"
    good = await adopt(shelf, 3, {**POLICY, "floor_raw": 0.3}, cloud_key, examine)
    assert good.adopted


@pytest.mark.parametrize(
    "policy",
    [
        {"floor_raw": 0.01},
        {"floor_raw": 0.51},
        {"floor_raw": -0.1},
        {"floor_unknown": 0.1},
        {"raw": 0.1},
    ],
)
async def test_a_policy_out_of_bounds_or_of_unknown_parts_is_refused(
    vault: Vault, cloud_key: SigningKey, policy: dict[str, float]
) -> None:
    shelf = Shelf(vault.log("releases"))
    with pytest.raises(ReleaseRefused) as refused:
        await adopt(shelf, 1, policy, cloud_key)
    assert refused.value.reason == "shape"
    assert (shelf.version("router"), shelf.policy("router")) == (0, {})


async def test_what_was_adopted_before_there_were_policies_is_still_in_use(
    vault: Vault, cloud_key: SigningKey
) -> None:
    log = vault.log("releases")
    old = router(4)
    log.append(msgpack.packb(["adopted", "router", 4, 0.9, encode_full(old)]))
    shelf = Shelf(log)
    assert (shelf.version("router"), shelf.policy("router")) == (4, {})
    await adopt(shelf, 5, POLICY, cloud_key)
    assert shelf.revert("router") is not None
    assert (shelf.version("router"), shelf.policy("router")) == (4, {})
