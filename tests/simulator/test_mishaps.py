"""Parts of the cloud that begin anew, are away or down, each alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cloud.actors.runtime import ActorGone, InProcessRuntime
from cloud.gateway.core import GatewayCore
from cloud.helper_client import HelperUnavailable
from simulator.faults.actors import HELPER, RenewingRuntime
from simulator.faults.cloud import Spans, downs, gateway_restarts
from simulator.faults.disk import Disk, Handle
from simulator.faults.gateways import RestartingGateway
from simulator.faults.plan import FaultPlan
from simulator.faults.process import METER, Meter, apart
from simulator.randomness import KeyedBits

from .storms import storm

HOUR = 3600.0


class Counter:
    """An actor that counts in memory only."""

    def __init__(self, first: int) -> None:
        self.count = first
        self.closed = False

    def more(self) -> int:
        self.count += 1
        return self.count


async def test_an_actor_begins_anew_behind_the_same_handle() -> None:
    runtime = RenewingRuntime(InProcessRuntime(inline=True))
    ref = runtime.spawn("counter", Counter, 10)
    assert await ref.ask("more") == 11
    await runtime.renew()
    assert await ref.ask("more") == 11
    assert runtime.spawn("counter", Counter, 50) is ref
    assert await ref.ask("more") == 51


async def test_a_cloud_that_is_down_answers_nobody_until_it_is_composed_again() -> None:
    runtime = RenewingRuntime(InProcessRuntime(inline=True))
    ref = runtime.spawn("counter", Counter, 0)
    await runtime.go_down()
    with pytest.raises(ActorGone):
        await ref.ask("more")
    runtime.spawn("counter", Counter, 0)
    assert await ref.ask("more") == 1


async def test_a_helper_that_is_away_says_so_and_is_not_begun_anew_with_the_cloud() -> None:
    runtime = RenewingRuntime(InProcessRuntime(inline=True))
    helper = runtime.spawn(HELPER, Counter, 0)
    assert await helper.ask("more") == 1
    assert await runtime.helper_away(True) == 0
    with pytest.raises(HelperUnavailable):
        await helper.ask("more")
    assert await runtime.helper_away(False) == 1
    await runtime.renew()
    assert await helper.ask("more") == 2


def test_a_cloud_goes_down_at_one_border_and_is_there_again_at_another() -> None:
    plan = FaultPlan(cloud_down=0.05)
    found = downs(plan, 1, 100 * HOUR, 3 * HOUR)
    assert found.begins
    for begin in found.begins:
        assert begin % (3 * HOUR) == 0.0
        end = found.until(begin)
        assert end is not None
        assert end > begin
        assert end % (3 * HOUR) == 0.0
    assert set(found.begins) <= set(gateway_restarts(plan, 1, 100 * HOUR, 3 * HOUR))
    assert gateway_restarts(FaultPlan(), 1, 100 * HOUR, 3 * HOUR) == ()
    assert Spans().until(0.0) is None


def test_after_a_restart_another_gateway_answers_and_shows_the_same() -> None:
    now, lives, told = [0.0], [], []

    def make(life: int) -> GatewayCore:
        lives.append(life)
        nobody: Any = None
        return GatewayCore(nobody, nobody, nobody, nobody, KeyedBits(1, "gateway", life))

    gateway = RestartingGateway(make, (10.0, 20.0, 25.0), lambda: now[0], lambda: told.append(1))
    first, shown = gateway.core, gateway.snapshot
    now[0] = 12.0
    assert gateway.core is not first
    assert gateway.core.snapshot is shown
    now[0] = 30.0
    gateway.open_session(0.0)
    assert lives == [0, 1, 3]
    assert len(told) == 2


async def test_what_is_not_the_phones_is_neither_counted_nor_ended_with_it() -> None:
    meter = Meter(Handle(Disk(), np.random.default_rng(1)))
    seen: list[Meter | None] = []

    async def gateway() -> int:
        seen.append(METER.get())
        return 7

    token = METER.set(meter)
    assert await apart(gateway()) == 7
    assert METER.get() is meter
    METER.reset(token)
    assert seen == [None]
    assert meter.steps == 0


def test_rounds_wait_for_a_helper_that_is_away_and_lose_no_report() -> None:
    report = storm(3, FaultPlan(helper_away={"rate": 0.2, "to_day": 1.0}))
    assert report["invariants"]["violated"] == 0, report["invariants"]["violations"]
    assert report["faults"]["helper_away"]["fired"]
    told = report["rounds_by_task"]["usage"]
    assert told["closed"]
    assert told["reports"]


def test_a_cloud_composed_again_in_the_middle_goes_on_where_it_stopped() -> None:
    report = storm(3, FaultPlan(cloud_down={"rate": 0.2, "to_day": 1.0}, actor_restart=0.2))
    assert report["invariants"]["violated"] == 0, report["invariants"]["violations"]
    assert report["faults"]["cloud_down"]["fired"]
    assert report["uploads_acked"]
    assert report["rounds_by_task"]["usage"]["closed"]
