"""Hosts: each owns a shard of the phones and one virtual loop.

The borders between windows of virtual time are the only moments at which hosts and cloud meet:
within a window no phone can see what another did, because a gateway shows the plan of the last
border; and a phone that is in no session sees nothing of the cloud at all, so it may be hours
ahead. So a fleet gives the same report on one host or many, in this process or on Ray.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache, partial
from itertools import pairwise
from math import ceil
from typing import Protocol

from cloud.gateway.core import Blobs, GatewayCore
from device.probing import Examiner, load_suite
from device.readings import keep_readings
from device.settings import Settings
from device.sync.modelpool import ModelPool
from protocol.identity import SigningKey
from simulator.calls import joined
from simulator.faults.cloud import downs, gateway_restarts, restarts, shaky
from simulator.faults.dice import Dice
from simulator.faults.gateways import RestartingGateway
from simulator.fidelity import lowered
from simulator.lanes import Lane, LaneLoop
from simulator.lives import Lives
from simulator.plan import Endpoint, WindowReport, WorldPlan
from simulator.randomness import KeyedBits
from simulator.replay import Listener, TraceEvent
from simulator.virtual import VirtualClock
from simulator.virtual_phone import PhoneResult, VirtualPhone

__all__ = ["Host", "Hosts", "LocalHosts", "shards"]


_VERDICTS = 128
"""Pairs of router and dedup versions whose examination a host remembers: phones that see the window
at other hours adopt in another order, and a verdict thrown away costs 0.3 s to play again."""


_AHEAD = 6 * 3_600.0
"""Virtual seconds that a phone lives in one go, unless it meets the cloud: among thousands each
visit finds it in no cache. More, and nobody would see how far a large world is."""


_READINGS = 8_192
"""Readings of one kind that a host's process keeps: its phones retell the same dialogues, a few
thousand texts, and each would be read again for every phone."""


class Host:
    """A shard of phones on one virtual loop.

    No method is a coroutine: Ray would run the actor inside an event loop of its own.
    """

    def __init__(self, plan: WorldPlan, phones: Sequence[int], endpoint: Endpoint) -> None:
        self._plan = plan
        self._loop = LaneLoop()
        self._loop.bring = partial(joined, ask_all=endpoint.ask_all)
        self._clock = VirtualClock(self._loop, plan.start)
        self._endpoint = endpoint.within(self._loop)
        keep_readings(_READINGS)
        self._examiner = Examiner(cache(load_suite), remembered=_VERDICTS)
        self._models = ModelPool()
        self._blobs: Blobs = OrderedDict()
        self._lives_of = Lives(
            plan.scenario, seed=plan.seed, start=plan.start, days=plan.days, data=plan.data
        )
        self._gateways: list[GatewayCore | RestartingGateway] = []
        # The same for every phone, so drawn once.
        ahead = plan.faults, plan.seed, plan.seconds
        self._restarts = restarts(*ahead).gateways
        self._downs = downs(*ahead, plan.border)
        self._again = gateway_restarts(*ahead, plan.border)
        self._phones = [self._phone(number) for number in phones]
        self._lanes = [Lane(0.0, partial(self._begin, phone)) for phone in self._phones]
        self._watched = self._cut = False

    def _begin(self, phone: VirtualPhone) -> asyncio.Task[None]:
        return self._loop.create_task(phone.live(), name=f"phone-{phone.number}")

    def _phone(self, number: int) -> VirtualPhone:
        plan, life = self._plan, self._lives_of.of(number)
        dice = Dice(plan.faults, plan.seed, number, self._loop.time)
        person = life.person
        return VirtualPhone(
            number,
            seed=plan.seed,
            start=plan.start,
            person=person,
            truth=life.truth,
            utc_offset=life.utc_offset,
            settings=Settings(
                cloud_url="virtual://cloud",
                cloud_key=plan.cloud_key,
                token=plan.token(number),
                budget=plan.budget,
                timezone=person.zone,
                **lowered(plan.scenario.fidelity),
            ),
            gateway=self._gateway(number, dice),
            dice=dice,
            clock=self._clock,
            faults=plan.faults,
            seconds=plan.seconds,
            revisit=plan.revisit,
            restarts=self._restarts,
            downs=self._downs,
            examiner=self._examiner,
            models=self._models,
            bound=self._loop.bound,
        )

    def _gateway(self, number: int, dice: Dice) -> GatewayCore | RestartingGateway:
        """A gateway of the phone's own: what it draws and batches depends on no other phone."""
        again = self._again
        gateway = (
            RestartingGateway(
                partial(self._core, number, dice),
                again,
                self._loop.time,
                partial(dice.happened, "gateway_restart", "another gateway"),
            )
            if again
            else self._core(number, dice)
        )
        self._gateways.append(gateway)
        return gateway

    def _core(self, number: int, dice: Dice, life: int = 0) -> GatewayCore:
        metrics = self._gateways[0].metrics if self._gateways else None
        ends, plan = self._endpoint, self._plan
        reach = shaky(plan.faults, plan.seed, plan.seconds, dice)
        named = ("gateway", number, life) if life else ("gateway", number)
        return GatewayCore(
            reach(ends.registry),
            reach(ends.intake),
            ends.rounds,
            ends.publisher,
            KeyedBits(self._plan.seed, *named),
            sign=SigningKey(ends.signing_seed).sign,
            partials=reach(ends.partials),
            metrics=metrics,
            revisit=self._plan.revisit,
            blobs=self._blobs,
        )

    def listen(self, listener: Listener) -> None:
        """Have every phone tell `listener` what happens to it, in the order in which it happens."""
        self._watched = True

        def hear(event: TraceEvent) -> bool:
            if not self._cut and listener(event):
                self._cut = True
                self._loop.stop()
            return self._cut

        for phone in self._phones:
            phone.listen(hear)

    def run_until(self, moment: float) -> WindowReport:
        """Take the cloud's newest plan, then run to `moment` (virtual seconds)."""
        if self._gateways and self._downs.until(self._loop.time()) is None:
            first = self._gateways[0]
            self._loop.run_until_complete(first.refresh())
            for gateway in self._gateways:
                gateway.snapshot = first.snapshot
        if self._watched:
            self._loop.run_in_order(self._lanes, moment, lambda: self._cut)
        else:
            ahead = min(self._plan.seconds, ceil(moment / _AHEAD) * _AHEAD)
            self._loop.run_lanes(self._lanes, moment, ahead)
        for lane in self._lanes:
            if lane.task is not None and lane.task.done():
                lane.task.result()  # a phone that stopped living is a bug: show it
        broken = sum(phone.watch.tally.violated.total() for phone in self._phones)
        notes = [phone.note() for phone in self._phones if phone.watch.events]
        lived = sum(max(moment, lane.now) for lane in self._lanes)
        return WindowReport(notes, broken, lived)

    def end(self, most: int | None = None) -> list[PhoneResult]:
        """Stop every phone where it stands, and sum up `most` of them, or all, that no earlier call
        has summed up. What is left of those is let go."""
        return self._loop.run_until_complete(self._end(len(self._phones) if most is None else most))

    async def _end(self, most: int) -> list[PhoneResult]:
        for life in (lane.task for lane in self._lanes if lane.task is not None):
            life.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await life
        self._lanes.clear()
        ending, self._phones = self._phones[:most], self._phones[most:]
        now, results = self._clock.now(), []
        ending.reverse()
        while ending:
            results.append(await ending.pop().end(now))
        if not self._phones:
            for gateway in self._gateways:
                await gateway.close()
            self._gateways.clear()
        return results

    def close(self) -> None:
        """Let go of everything, wherever the phones stand: a world may end in the middle."""
        if self._loop.is_closed():
            return
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.wait(left))
        for task in left:
            if not task.cancelled():
                task.exception()  # seen: how the world ended is known already
        self._loop.close()


class Hosts(Protocol):
    """Several hosts driven as one."""

    def begin(self, plan: WorldPlan, endpoint: Endpoint) -> None:
        """Let them begin to build the phones, while the cloud is founded."""
        ...

    def ready(self) -> None:
        """Return once all phones are built."""
        ...

    def run_until(self, moment: float) -> list[WindowReport]:
        """All hosts run to the same border."""
        ...

    def end(self) -> list[PhoneResult]:
        """Results by phone number."""
        ...

    def close(self) -> None:
        """Let go of what is left, also of a world that ended in the middle."""
        ...


class LocalHosts:
    """Hosts in this process, one after the other."""

    def __init__(self, phones: int, count: int) -> None:
        self._shards = shards(phones, count)
        self._hosts: list[Host] = []
        self._given: tuple[WorldPlan, Endpoint]

    def begin(self, plan: WorldPlan, endpoint: Endpoint) -> None:
        """Keep what is given: in one process the cloud is founded first."""
        self._given = plan, endpoint

    def ready(self) -> None:
        """Build the phones."""
        plan, endpoint = self._given
        self._hosts = [Host(plan, shard, endpoint) for shard in self._shards]

    def listen(self, listener: Listener) -> None:
        """Have every phone tell `listener` what happens to it."""
        for host in self._hosts:
            host.listen(listener)

    def run_until(self, moment: float) -> list[WindowReport]:
        """All hosts run to the same border."""
        return [host.run_until(moment) for host in self._hosts]

    def end(self) -> list[PhoneResult]:
        """Results by phone number."""
        results = [one for host in self._hosts for one in host.end()]
        return sorted(results, key=lambda result: result.phone)

    def close(self) -> None:
        """Let go of what is left, also of a world that ended in the middle."""
        for host in self._hosts:
            host.close()


def shards(phones: int, count: int) -> list[range]:
    """As many phones to each host: neighbours, for every few phones retell the same stories, and
    every second of them would be all the talkative ones."""
    count = min(count, phones)
    edges = [phones * number // count for number in range(count + 1)]
    return [range(first, end) for first, end in pairwise(edges)]
