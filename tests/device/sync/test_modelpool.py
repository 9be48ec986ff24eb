"""Phones of one process share what they adopted, and nothing else."""

from __future__ import annotations

import gc
import os

import numpy as np
import pytest

from device.actors import SystemClock
from device.conditions import ScriptedConditions
from device.phone import Machine, Phone
from device.settings import Settings
from device.sync.adoption import Shelf
from device.sync.modelpool import ModelPool
from device.vault import MemoryStorage, StaticProtector
from protocol.identity import SigningKey
from protocol.params import Parameters, encode_full
from tests.device.sync.conftest import Vault
from tests.device.sync.test_adoption import manifest, parameters, step_from, take


@pytest.fixture
def pool() -> ModelPool:
    return ModelPool()


def copy_of(one: Parameters) -> Parameters:
    return Parameters(one.model, one.version, dict(one.arrays), dict(one.scales))


async def test_two_phones_that_adopt_the_same_release_share_one_array(
    vault: Vault, cloud_key: SigningKey, pool: ModelPool
) -> None:
    first, second = (Shelf(vault.log(name), pool=pool) for name in ("one", "two"))
    release = parameters(1)
    for shelf in (first, second):
        await take(shelf, manifest(release, cloud_key), cloud_key, encode_full(release))
    assert first.adopted("dedup") is second.adopted("dedup")
    mine, theirs = first.weights("dedup"), second.weights("dedup")
    assert mine is not None
    assert mine is theirs
    assert len(pool) == 1


async def test_what_one_phone_takes_next_never_shows_in_the_other(
    vault: Vault, cloud_key: SigningKey, pool: ModelPool
) -> None:
    first, second = (Shelf(vault.log(name), pool=pool) for name in ("one", "two"))
    one = parameters(1)
    two = step_from(one)
    for shelf in (first, second):
        await take(shelf, manifest(one, cloud_key), cloud_key, encode_full(one))
    before = {name: array.copy() for name, array in (second.weights("dedup") or {}).items()}
    await take(first, manifest(two, cloud_key), cloud_key, encode_full(two))
    assert (first.version("dedup"), second.version("dedup")) == (2, 1)
    held = second.weights("dedup")
    assert held is not None
    assert held is not first.weights("dedup")
    for name, array in before.items():
        np.testing.assert_array_equal(held[name], array)
    first.revert("dedup")
    assert first.weights("dedup") is held


def test_shared_arrays_cannot_be_written(pool: ModelPool) -> None:
    held = pool.hold(parameters(1))
    with pytest.raises(ValueError, match="read-only"):
        held.weights["b3"][0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        held.parameters.arrays["b3"][0] = 1


def test_a_version_or_a_value_makes_another_entry(pool: ModelPool) -> None:
    one = parameters(1)
    renamed = Parameters(one.model, 2, one.arrays, one.scales)
    held = [pool.hold(each) for each in (one, copy_of(one), renamed, step_from(one))]
    assert held[0] is held[1]
    assert len({id(each) for each in held}) == len(pool) == 3
    assert held[2].parameters.version == 2


def test_what_nobody_holds_is_let_go(pool: ModelPool) -> None:
    held = pool.hold(parameters(1))
    assert len(pool) == 1
    del held
    gc.collect()
    assert len(pool) == 0


async def test_a_phone_uses_the_pool_of_its_machine(pool: ModelPool) -> None:
    clock = SystemClock()
    machine = Machine(
        clock=clock,
        bits=os.urandom,
        storage=MemoryStorage(),
        protector=StaticProtector(b"k" * 32),
        conditions=ScriptedConditions.always(clock.now),
        rng=np.random.Generator(np.random.Philox(key=1)),
        models=pool,
    )
    phone = await Phone.open(machine, Settings())
    phone.shelf.lend(parameters(1))
    assert len(pool) == 1
    await phone.close()
