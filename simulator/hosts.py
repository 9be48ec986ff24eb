"""Hosts: each owns a shard of the phones and one virtual loop.

Windows of virtual time are the only moments at which hosts and cloud meet: within a window no phone
can see what another did, because a gateway shows the plan of the last border. So a fleet gives the
same report on one host or many, in this process or on Ray.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from cloud.actors.runtime import Ref
from cloud.gateway.core import GatewayCore
from device.probing import Examiner
from device.settings import Settings
from protocol.identity import SigningKey
from simulator.faults.cloud import shaky
from simulator.faults.dice import Dice
from simulator.faults.plan import FaultPlan
from simulator.lives import Lives
from simulator.quiet import quiet
from simulator.randomness import KeyedBits
from simulator.replay import Listener
from simulator.scenario import Scenario
from simulator.virtual import VirtualClock, VirtualLoop
from simulator.virtual_phone import PhoneResult, VirtualPhone, WindowNote

__all__ = ["Endpoint", "Host", "Hosts", "LocalHosts", "RayHosts", "WindowReport", "WorldPlan"]


_VERDICTS = 128
"""Pairs of router and dedup versions whose examination a host remembers: phones that see the window
at other hours adopt in another order, and a verdict thrown away costs 0.3 s to play again."""


@dataclass(frozen=True)
class WorldPlan:
    """Everything that decides what happens in a world; picklable."""

    phones: int
    days: int
    seed: int
    start: float
    """Unix seconds at which virtual time begins."""
    data: Path | None
    budget: Literal["demo", "production"]
    cloud_key: str
    """The cloud's Ed25519 public key in hex."""
    tokens: tuple[str, ...]
    """One enrolment token per phone."""
    revisit: float
    """Seconds after which the cloud asks a phone back."""
    faults: FaultPlan = field(default_factory=FaultPlan)
    scenario: Scenario = field(default_factory=Scenario)
    """Who the phones' owners are; what is also named above holds as above."""

    @property
    def seconds(self) -> float:
        """Length of the virtual span."""
        return self.days * 86_400.0


@dataclass(frozen=True)
class Endpoint:
    """The cloud's actors, as a gateway needs them."""

    registry: Ref
    intake: Ref
    rounds: Ref
    publisher: Ref
    partials: Ref
    signing_seed: bytes
    """The cloud's key, so that every gateway can prove to a phone whose it is."""


@dataclass
class WindowReport:
    """What one host's phones did in one window, by phone."""

    notes: list[WindowNote]
    wakeups: int
    """Times virtual time moved, since the host began."""
    violations: int = 0
    """Laws broken so far."""


class Host:
    """A shard of phones on one virtual loop.

    No method is a coroutine: Ray would run the actor inside an event loop of its own.
    """

    def __init__(self, plan: WorldPlan, phones: Sequence[int], endpoint: Endpoint) -> None:
        self._plan = plan
        self._loop = VirtualLoop()
        self._clock = VirtualClock(self._loop, plan.start)
        self._endpoint = endpoint
        self._examiner = Examiner(remembered=_VERDICTS)
        self._lives_of = Lives(
            plan.scenario, seed=plan.seed, start=plan.start, days=plan.days, data=plan.data
        )
        self._gateways: list[GatewayCore] = []
        self._phones = [self._phone(number) for number in phones]
        self._lives = [
            self._loop.create_task(phone.live(), name=f"phone-{phone.number}")
            for phone in self._phones
        ]

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
                token=plan.tokens[number],
                budget=plan.budget,
                timezone=person.zone,
            ),
            gateway=self._gateway(number, dice),
            dice=dice,
            clock=self._clock,
            faults=plan.faults,
            seconds=plan.seconds,
            examiner=self._examiner,
        )

    def _gateway(self, number: int, dice: Dice) -> GatewayCore:
        """A gateway of the phone's own: what it draws and batches depends on no other phone."""
        metrics = self._gateways[0].metrics if self._gateways else None
        ends, plan = self._endpoint, self._plan
        reach = shaky(plan.faults, plan.seed, plan.seconds, dice)
        gateway = GatewayCore(
            reach(ends.registry),
            reach(ends.intake),
            ends.rounds,
            ends.publisher,
            KeyedBits(self._plan.seed, "gateway", number),
            sign=SigningKey(ends.signing_seed).sign,
            partials=reach(ends.partials),
            metrics=metrics,
            revisit=self._plan.revisit,
        )
        self._gateways.append(gateway)
        return gateway

    @property
    def phones(self) -> Sequence[VirtualPhone]:
        """The shard's phones."""
        return self._phones

    def run_until(self, moment: float) -> WindowReport:
        """Take the cloud's newest plan, then run to `moment` (virtual seconds)."""
        if self._gateways:
            first = self._gateways[0]
            self._loop.run_until_complete(first.refresh())
            for gateway in self._gateways:
                gateway.snapshot = first.snapshot
        self._loop.run_until(moment)
        for life in self._lives:
            if life.done():
                life.result()  # a phone that stopped living is a bug: show it
        broken = sum(phone.watch.tally.violated.total() for phone in self._phones)
        return WindowReport([phone.note() for phone in self._phones], self._loop.leaps, broken)

    def end(self) -> list[PhoneResult]:
        """Stop every phone where it stands and sum up."""
        ending = _end(self._phones, self._lives, self._gateways, self._clock.now())
        return self._loop.run_until_complete(ending)


async def _end(
    phones: Sequence[VirtualPhone],
    lives: Sequence[asyncio.Task[None]],
    gateways: Sequence[GatewayCore],
    now: float,
) -> list[PhoneResult]:
    for life in lives:
        life.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await life
    results = [await phone.end(now) for phone in phones]
    for gateway in gateways:
        await gateway.close()
    return results


class _RayHost(Host):
    """A host in a worker process, whose logging nobody else sets up."""

    def __init__(self, plan: WorldPlan, phones: Sequence[int], endpoint: Endpoint) -> None:
        quiet()
        super().__init__(plan, phones, endpoint)


class Hosts(Protocol):
    """Several hosts driven as one."""

    def run_until(self, moment: float) -> list[WindowReport]:
        """All hosts run to the same border."""
        ...

    def end(self) -> list[PhoneResult]:
        """Results by phone number."""
        ...


class LocalHosts:
    """Hosts in this process, one after the other."""

    def __init__(self, plan: WorldPlan, endpoint: Endpoint, count: int) -> None:
        self._hosts = [Host(plan, shard, endpoint) for shard in _shards(plan.phones, count)]

    def listen(self, listener: Listener) -> None:
        """Have every phone tell `listener` what happens to it."""
        for phone in (phone for host in self._hosts for phone in host.phones):
            phone.listen(listener)

    def run_until(self, moment: float) -> list[WindowReport]:
        """All hosts run to the same border."""
        return [host.run_until(moment) for host in self._hosts]

    def end(self) -> list[PhoneResult]:
        """Results by phone number."""
        return _by_number([host.end() for host in self._hosts])


class RayHosts:
    """Hosts as Ray actors, running side by side between two borders."""

    def __init__(self, plan: WorldPlan, endpoint: Endpoint, count: int) -> None:
        self._ray: Any = importlib.import_module("ray")
        remote = self._ray.remote(_RayHost).options(num_cpus=0)
        self._hosts = [
            remote.remote(plan, shard, endpoint) for shard in _shards(plan.phones, count)
        ]

    def run_until(self, moment: float) -> list[WindowReport]:
        """All hosts run to the same border."""
        reports: list[WindowReport] = self._ask("run_until", moment)
        return reports

    def end(self) -> list[PhoneResult]:
        """Results by phone number."""
        results = _by_number(self._ask("end"))
        for host in self._hosts:
            self._ray.kill(host)
        return results

    def _ask(self, method: str, *args: Any) -> list[Any]:
        answers: list[Any] = self._ray.get(
            [getattr(host, method).remote(*args) for host in self._hosts]
        )
        return answers


def _shards(phones: int, count: int) -> list[range]:
    """Every count-th phone to one host."""
    return [range(first, phones, count) for first in range(min(count, phones))]


def _by_number(results: list[list[PhoneResult]]) -> list[PhoneResult]:
    return sorted((one for shard in results for one in shard), key=lambda result: result.phone)
