"""Law 7 with the real engine: a release that would lose a memory probe is kept out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from device.actors import SystemClock
from device.conditions import ScriptedConditions
from device.interfaces.home import open_phone as open_home
from device.phone import Machine, Phone
from device.probing import Examiner, Suite, load_suite
from device.settings import Settings, save_settings
from device.vault import MemoryStorage, StaticProtector, create_protector
from protocol.models import DEDUP, ROUTER, initial_weights
from protocol.params import Parameters
from simulator.hosts import Host
from simulator.plan import Endpoint, WorldPlan


def router_giving(working: float, structured: float, raw: float, version: int) -> Parameters:
    """A router that says the same of every query."""
    weights = {name: np.zeros(shape, np.float32) for name, shape in ROUTER.shapes.items()}
    wanted = np.asarray([working, structured, raw])
    weights[f"b{ROUTER.depth}"] = np.log(wanted / (1 - wanted)).astype(np.float32)
    return Parameters.of(weights, ROUTER, version)


def some() -> Suite:
    return load_suite().only(path="routing")


async def open_phone(examiner: Examiner | None) -> Phone:
    clock = SystemClock()
    machine = Machine(
        clock=clock,
        bits=os.urandom,
        storage=MemoryStorage(),
        protector=StaticProtector(b"k" * 32),
        conditions=ScriptedConditions.always(clock.now),
        rng=np.random.Generator(np.random.Philox(key=1)),
        examiner=examiner,
    )
    return await Phone.open(machine, Settings(budget="demo"))


async def test_a_router_that_stops_searching_loses_probes_and_an_equal_one_none() -> None:
    phone = await open_phone(Examiner(some))
    try:
        phone.shelf.lend(router_giving(0.9, 0.9, 0.9, version=1))
        before = await phone._examine(router_giving(0.9, 0.9, 0.9, version=1), {})
        same = await phone._examine(router_giving(0.9, 0.9, 0.9, version=2), {})
        narrow = await phone._examine(router_giving(0.02, 0.02, 0.9, version=2), {})
    finally:
        await phone.close()
    assert before == same
    assert before - narrow


async def test_a_policy_that_stops_searching_loses_probes_with_the_same_router() -> None:
    """The floors are judged as what they are: part of the release."""
    phone, router = await open_phone(Examiner(some)), router_giving(0.3, 0.3, 0.9, version=1)
    narrow = {"floor_working": 0.5, "floor_structured": 0.5, "floor_raw": 0.1}
    try:
        plain = await phone._examine(router, {})
        assert await phone._examine(router, dict.fromkeys(narrow, 0.2)) == plain
        assert plain - await phone._examine(router, narrow)
    finally:
        await phone.close()


async def test_a_dedup_release_is_probed_with_the_policy_in_use() -> None:
    phone = await open_phone(Examiner(some))
    rng = np.random.Generator(np.random.Philox(key=2))
    dedup = Parameters.of(initial_weights(DEDUP, rng), DEDUP, 1)
    narrow = {"floor_working": 0.5, "floor_structured": 0.5, "floor_raw": 0.1}
    try:
        phone.shelf.lend(router_giving(0.3, 0.3, 0.9, version=1))
        wide = await phone._examine(dedup, {})
        phone.shelf.lend(router_giving(0.3, 0.3, 0.9, version=1), narrow)
        assert wide - await phone._examine(dedup, {})
    finally:
        await phone.close()


async def test_probing_leaves_the_phone_as_it_was() -> None:
    phone = await open_phone(Examiner(some))
    try:
        turn = await phone.record("The ladder is behind the shed")
        status = await phone.status()
        await phone._examine(router_giving(0.9, 0.9, 0.9, version=2), {})
        assert await phone.status() == status
        assert [kept.id for kept in await phone.turns()] == [turn.id]
        assert phone.shelf.version("router") == 0
    finally:
        await phone.close()


async def test_a_real_phone_has_an_examiner(tmp_path: Path) -> None:
    """The machine's default is none, for tests."""
    create_protector("keyfile", tmp_path, bits=os.urandom)
    save_settings(tmp_path, Settings(budget="demo"))
    async with open_home(tmp_path) as phone:
        assert isinstance(phone._machine.examiner, Examiner)


def test_virtual_phones_of_one_host_share_an_examiner() -> None:
    plan = WorldPlan(
        phones=2,
        days=1,
        seed=1,
        start=1_772_409_600.0,
        data=None,
        budget="demo",
        cloud_key="00" * 32,
        revisit=3600.0,
    )
    nowhere: Any = None
    host = Host(plan, [0, 1], Endpoint(nowhere, nowhere, nowhere, nowhere, nowhere, bytes(32)))
    try:
        first, second = (phone._machine.examiner for phone in host._phones)
        assert isinstance(first, Examiner)
        assert first is second
    finally:
        host.close()
