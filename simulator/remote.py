"""A world on Ray: the cloud's actors in one worker, and every host in a worker of its own.

The workers begin to load while the driver still opens the state folder, and the hosts load while
the cloud is founded. The actors of a deployed cloud each have a process; here one process has all:
a world's cloud is a small part of its work, twelve interpreters are not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from cloud.actors.ray_cluster import Cluster
from cloud.actors.ray_host import Answer
from cloud.actors.ray_host import Host as ActorHost
from cloud.actors.runtime import ActorGone, Ref
from simulator.calls import Call, Outcome
from simulator.garbage import Sweeper, settle
from simulator.hosts import Host, shards
from simulator.plan import Endpoint, WindowReport, WorldPlan
from simulator.quiet import quiet
from simulator.virtual_phone import PhoneResult

__all__ = ["RayHosts", "RayWorld"]

_NAMESPACE: Final = "reverie-fleet"
_ENDED_AT_ONCE: Final = 2_000
"""Phones whose results travel in one message: a few megabytes."""


class RayWorld:
    """A local Ray cluster, or one this process is connected to, with the actors of one cloud.

    It is a `Runtime` whose calls wait inside the coroutine, so that virtual time stands still.

    Raises:
        RayUnavailable: Ray was asked for and cannot be had.
    """

    def __init__(self, bits: Callable[[int], bytes] = os.urandom) -> None:
        self._cluster = Cluster(None, _NAMESPACE, bits)
        self.ray = self._cluster.ray
        # No CPU is asked for: on a small machine two of these would fill it.
        self._actors = self.ray.remote(_Actors).options(num_cpus=0).remote()

    def spawn(self, name: str, cls: Callable[..., Any], *args: Any, **kwargs: Any) -> Ref:
        """Start an actor; a failing constructor is raised by the first `ask`."""
        self._actors.spawn.remote(name, cls, args, kwargs)
        return _PackedRef(name, self._actors)

    async def stop(self) -> None:
        """End the actors, and the cluster if it was started here."""
        self.ray.kill(self._actors)
        if not self._cluster.guest:
            self._cluster.leave()


class _Actors:
    """All actors of one cloud."""

    def __init__(self) -> None:
        quiet()
        self._hosts: dict[str, ActorHost] = {}

    def spawn(
        self, name: str, cls: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        """Build the actor `name`."""
        self._hosts[name] = ActorHost(name, cls, args, kwargs)
        quiet()

    def call_all(self, calls: Sequence[tuple[str, str, tuple[Any, ...]]]) -> list[Answer]:
        """Run methods of actors, given as (actor, method, arguments), one after the other."""
        return [self._hosts[name].call(method, args) for name, method, args in calls]

    def tell(self, name: str, method: str, args: tuple[Any, ...]) -> None:
        """Run a method of the actor `name` for a caller that does not wait."""
        self._hosts[name].tell(method, args)


class _PackedRef:
    """A handle on one actor among others; it may travel."""

    def __init__(self, name: str, actors: Any) -> None:
        self._name, self._actors = name, actors

    async def ask(self, method: str, *args: Any) -> Any:
        """Call and wait; the actor's own exception arrives as it was raised."""
        [(value, error)] = _PackedRef.ask_all([Call(self, method, args)])
        if error is not None:
            raise error
        return value

    @staticmethod
    def ask_all(calls: Sequence[Call]) -> list[Outcome]:
        """Ask several of them with one message, and wait."""
        import ray

        refs: list[Any] = [call.ref for call in calls]
        named = [(ref._name, call.method, call.args) for ref, call in zip(refs, calls, strict=True)]
        try:
            answers = ray.get(refs[0]._actors.call_all.remote(named))
        except ray.exceptions.RayError as error:
            reason = str(error).strip().rpartition("\n")[2].strip()
            gone = ActorGone(f"the actor {refs[0]._name} does not answer: {reason}")
            gone.__cause__ = error
            return [(None, gone)] * len(calls)
        return [(value, None) if done else (None, value) for done, value in answers]

    def tell(self, method: str, *args: Any) -> None:
        """Call and forget; the actor logs a failure."""
        self._actors.tell.remote(self._name, method, args)


class RayHosts:
    """Hosts as Ray actors, running side by side between two borders; they load at once."""

    def __init__(self, world: RayWorld, phones: int, count: int) -> None:
        self._ray = world.ray
        remote = self._ray.remote(_Worker).options(num_cpus=0)
        self._shards = shards(phones, count)
        self._workers = [remote.remote() for _ in self._shards]
        self._beginning: list[Any] = []

    def begin(self, plan: WorldPlan, endpoint: Endpoint) -> None:
        """Begin to build the phones; the plan is shared between the hosts of a machine."""
        given = self._ray.put((plan, replace(endpoint, ask_all=_PackedRef.ask_all)))
        self._beginning = [
            worker.begin.remote(given, shard)
            for worker, shard in zip(self._workers, self._shards, strict=True)
        ]

    def ready(self) -> None:
        """Return once all phones are built."""
        self._ray.get(self._beginning)

    def run_until(self, moment: float) -> list[WindowReport]:
        """All hosts run to the same border."""
        return self._ask("run_until", moment)

    def end(self) -> list[PhoneResult]:
        """Results by phone number."""
        results: list[PhoneResult] = []
        while some := [one for part in self._ask("end", _ENDED_AT_ONCE) for one in part]:
            results += some
        for worker in self._workers:
            self._ray.kill(worker)
        return sorted(results, key=lambda result: result.phone)

    def close(self) -> None:
        """Let go of what is left, also of a world that ended in the middle."""
        for worker in self._workers:
            self._ray.kill(worker)

    def loaded(self, names: Sequence[str]) -> list[list[str]]:
        """By host, which of the modules `names` it has imported."""
        return self._ask("loaded", names)

    def _ask(self, method: str, *args: Any) -> list[Any]:
        answers: list[Any] = self._ray.get(
            [getattr(worker, method).remote(*args) for worker in self._workers]
        )
        return answers


class _Worker:
    """A host in a process of its own. Only `begin` needs to know of which world."""

    def __init__(self) -> None:
        quiet()
        self._host: Host | None = None
        self._sweeper: Sweeper

    def begin(self, given: tuple[WorldPlan, Endpoint], phones: Sequence[int]) -> None:
        """Build the phones; what is loaded by then stays."""
        plan, endpoint = given
        self._host = Host(plan, phones, endpoint)
        self._sweeper = Sweeper(plan.seconds)
        settle()

    def run_until(self, moment: float) -> WindowReport:
        """As `Host.run_until`."""
        report = self._begun.run_until(moment)
        self._sweeper.passed(moment)
        return report

    def end(self, most: int) -> list[PhoneResult]:
        """As `Host.end`."""
        return self._begun.end(most)

    def loaded(self, names: Sequence[str]) -> list[str]:
        """Which of the modules `names` this process has imported."""
        return [name for name in names if name in sys.modules]

    @property
    def _begun(self) -> Host:
        assert self._host is not None
        return self._host
