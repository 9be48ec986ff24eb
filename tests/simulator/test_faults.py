"""Plans, luck, disks, clocks and processes, each alone."""

import asyncio
from collections import Counter
from statistics import mean

import numpy as np
import pytest
from pydantic import ValidationError

from device.vault import StorageFull
from simulator.faults.clocks import PhoneClock
from simulator.faults.dice import Dice, moments
from simulator.faults.disk import Died, Disk, Handle
from simulator.faults.plan import UNITS, Fault, FaultPlan, account, silent
from simulator.faults.process import METER, Meter, install
from simulator.randomness import generator
from simulator.virtual import VirtualClock, VirtualLoop

DAY, HOUR = 86_400.0, 3_600.0


def test_an_ordinary_world_has_an_ordinary_networks_troubles_only() -> None:
    asked = {name: fault.rate for name, fault in FaultPlan().items() if fault.rate}
    assert asked == {"unreachable": 0.02, "cut": 0.004}
    assert FaultPlan().calm_after == 0.0


def test_a_storm_has_every_fault_and_ends_when_told() -> None:
    storm = FaultPlan.storm(to_day=1.5)
    assert all(fault.rate > 0 for _, fault in storm.items())
    assert {name for name, _ in storm.items()} == set(UNITS)
    assert storm.calm_after == 1.5
    assert FaultPlan.storm().calm_after is None
    assert all(fault.rate == 0 for _, fault in FaultPlan.storm(0.0).items())


@pytest.mark.parametrize(
    "wrong",
    [{"cut": 1.5}, {"cut": -0.1}, {"cuts": 0.1}, {"cut": {"rate": 0.1, "from_day": 2, "to_day": 1}},
     {"cut": {"rate": 0.1, "hours": (20, 30)}}],
)  # fmt: skip
def test_a_plan_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        FaultPlan.model_validate(wrong)


@pytest.mark.parametrize(
    ("hour", "rate"),
    [(23.0, 0.0), (24 + 21.9, 0.0), (24 + 22.0, 0.5), (48 + 5.9, 0.5), (48 + 6.0, 0.0), (73, 0.0)],
)
def test_a_schedule_may_pass_midnight(hour: float, rate: float) -> None:
    fault = Fault(rate=0.5, from_day=1, to_day=3, hours=(22, 6))
    assert fault.rate_at(hour * HOUR) == rate


def test_what_was_asked_for_and_never_came_is_named() -> None:
    plan = FaultPlan(kill=1.0)
    fired = Counter({"cut": 3})
    assert account(plan, fired)["cut"] == {"rate": 0.004, "fired": 3}
    assert silent(plan, fired) == ["unreachable", "kill"]


def test_one_fault_does_not_change_when_another_comes() -> None:
    def draws(plan: FaultPlan) -> list[bool]:
        dice = Dice(plan, 3, 1, lambda: 0.0)
        return [(dice.comes("loss"), dice.comes("delay"))[0] for _ in range(200)]

    alone = draws(FaultPlan(loss=0.3))
    assert draws(FaultPlan(loss=0.3, delay=0.5)) == alone
    assert 0.2 < mean(alone) < 0.4


def test_moments_come_as_often_as_asked_and_only_when_scheduled() -> None:
    plan = FaultPlan(kill={"rate": 4.0, "from_day": 10, "hours": (6, 12)})
    found = moments(plan, "kill", generator(1, "kill"), 410 * DAY)
    assert min(found) >= 10 * DAY
    assert all(6 <= at / HOUR % 24 < 12 for at in found)
    assert len(found) == pytest.approx(400, rel=0.2)


def test_what_was_synced_survives_a_power_loss_and_the_rest_may_tear() -> None:
    fates = set()
    for seed in range(60):
        disk = Disk()
        handle = Handle(disk, np.random.default_rng(seed))
        handle.append("log", b"a" * 100)
        handle.sync("log")
        handle.append("log", b"b" * 200)
        handle.append("new", b"c")
        disk.lose_power(np.random.default_rng(seed))
        left = bytes(disk.file("log"))
        assert left.startswith(b"a" * 100)
        fates.add((left == b"a" * 100, left == b"a" * 100 + b"b" * 200, "new" in disk.names("")))
    assert len(fates) >= 4


def test_the_power_goes_in_the_middle_of_a_write_and_the_dead_write_no_more() -> None:
    disk = Disk()
    handle = Handle(disk, np.random.default_rng(1))
    handle.append("log", b"x")
    disk.fuse = 1
    with pytest.raises(Died):
        handle.append("log", b"y" * 50)
    assert handle.power_lost
    for act in (lambda: handle.append("log", b"z"), lambda: handle.read("log")):
        with pytest.raises(Died):
            act()
    assert b"z" not in disk.file("log")


def test_a_full_disk_refuses_and_recovers() -> None:
    disk = Disk()
    handle = Handle(disk, np.random.default_rng(1))
    disk.full = True
    with pytest.raises(StorageFull):
        handle.replace("a", b"1")
    disk.full = False
    handle.replace("a", b"1")
    assert (handle.read("a"), disk.refused) == (b"1", 1)


def test_a_clock_is_off_drifts_and_is_set() -> None:
    loop = VirtualLoop()
    true = VirtualClock(loop, 1_000.0)
    clock = PhoneClock(true, offset=60.0, drift=0.01)
    loop.run_until(100.0)
    assert clock.now() == pytest.approx(1_100.0 + 60.0 + 1.0)
    clock.jump(-3_600.0)
    assert clock.now() == pytest.approx(1_161.0 - 3_600.0)
    loop.close()


def test_a_process_dies_at_the_chosen_await_with_all_its_tasks() -> None:
    loop = VirtualLoop()
    install(loop)
    seen: list[int] = []
    unwound: list[str] = []

    async def count() -> None:
        try:
            for number in range(100):
                seen.append(number)
                await asyncio.sleep(1.0)
        finally:
            unwound.append("child")

    async def life() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(count())

    async def world(last: int) -> Meter:
        meter = Meter(Handle(Disk(), np.random.default_rng(1)))
        meter.last = last
        token = METER.set(meter)
        task = loop.create_task(life())
        METER.reset(token)
        await asyncio.wait([task], timeout=50.0)
        await meter.bury()
        return meter

    meter = loop.run_until_complete(world(8))
    assert meter.killed
    assert seen == list(range(6)), "one step of its parent, then one for each number"
    assert unwound == ["child"]
    loop.close()
