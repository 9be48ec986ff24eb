"""The composition root of a world: one cloud, its hosts, and the borders where they meet."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from cloud.actors.runtime import InProcessRuntime, Runtime
from cloud.config import CloudConfig
from cloud.identity import signing_key
from cloud.service import Cloud
from simulator.cloudview import CloudView, stored_files, view_cloud
from simulator.faults.actors import RenewingRuntime
from simulator.faults.malice import liars_token
from simulator.faults.mishaps import Mishaps, befall_the_cloud
from simulator.faults.plan import Fired, account
from simulator.fleet_checks import check_counts, check_published
from simulator.garbage import Sweeper, seldom_collected, settle
from simulator.hosts import Hosts, LocalHosts
from simulator.laws import CANARY, Tally
from simulator.lives import Lives
from simulator.people import CANARY_PREFIX
from simulator.plan import Endpoint, WorldPlan
from simulator.randomness import KeyedBits
from simulator.replay import Listener, TraceEvent
from simulator.report import MODELS, build
from simulator.scenario import Scenario
from simulator.sentries import Sentry
from simulator.virtual import VirtualLoop
from simulator.virtual_phone import PhoneResult, WindowNote

__all__ = ["EPOCH", "Options", "run_world"]

EPOCH = 1_772_409_600.0
"""2026-03-02 00:00 UTC, a Monday: when every virtual world begins."""
WINDOW = 3600.0
"""Seconds of virtual time between two borders."""
_DAY = 86_400.0
_TOKEN_SECONDS = 365 * _DAY

_T = TypeVar("_T")

Progress = Callable[[float, int], None]
"""Told the virtual seconds that a phone has lived in the mean, and the violations so far."""


@dataclass(frozen=True)
class Options:
    """What the caller may choose."""

    phones: int
    days: int
    seed: int = 0
    data: Path | None = None
    runtime: Literal["inproc", "ray"] = "inproc"
    hosts: int = 1
    budget: Literal["demo", "production"] = "demo"
    aggregation: Literal["two-server", "local"] = "two-server"
    scenario: Scenario = field(default_factory=Scenario)
    """Who lives in the world and what goes wrong; the fields above hold over its own."""

    @classmethod
    def of(cls, scenario: Scenario, runtime: Literal["inproc", "ray"], hosts: int) -> Options:
        """A scenario, and where it is played."""
        return cls(
            scenario.phones,
            scenario.days,
            scenario.seed,
            scenario.data,
            runtime,
            hosts,
            scenario.budget,
            scenario.aggregation,
            scenario,
        )


def run_world(
    options: Options,
    progress: Progress = lambda *_: None,
    *,
    listener: Listener | None = None,
    sentries: Sequence[Sentry] = (),
) -> dict[str, Any]:
    """Play the world and return its report. In-process only are `listener`, told every event, and
    `sentries`, who watch this process while phones run.

    Raises:
        CorpusUnreadable: the data cannot be used.
        RayUnavailable: Ray was asked for and cannot be had.
    """
    began = time.perf_counter()
    # A wrong path is known before anything starts.
    days, data = options.days, options.data
    Lives(options.scenario, seed=options.seed, start=EPOCH, days=days, data=data)
    with tempfile.TemporaryDirectory(prefix="reverie-fleet-") as folder, seldom_collected():
        state = Path(folder) / "cloud"
        runtime, hosts = _places(options)
        loop = VirtualLoop()
        try:
            world = _World(options, state, loop, runtime, hosts, sentries)
            settle()
            if listener is not None:
                world.listen(listener)
            world.play(progress)
        finally:
            hosts.close()
            loop.run_until_complete(runtime.stop())
            loop.close()
        return world.report(began)


def _places(options: Options) -> tuple[Runtime, Hosts]:
    """Where the cloud's actors live, and where the phones."""
    if options.runtime == "inproc":
        return InProcessRuntime(inline=True), LocalHosts(options.phones, options.hosts)
    from simulator.remote import RayHosts, RayWorld

    world = RayWorld()
    return world, RayHosts(world, options.phones, options.hosts)


class _World:
    def __init__(
        self,
        options: Options,
        state: Path,
        loop: VirtualLoop,
        runtime: Runtime,
        hosts: Hosts,
        sentries: Sequence[Sentry],
    ) -> None:
        self._sentries = sentries
        self._state, self._loop, self._hosts = state, loop, hosts
        config = CloudConfig(
            state=state,
            budget=options.budget,
            seed=options.seed,
            aggregation=options.aggregation,
        )
        self._database_url = config.database_url
        self._config, self._clouds = config, 0
        faults = options.scenario.faults
        renewing = RenewingRuntime(runtime) if befall_the_cloud(faults) else None
        self._runtime = renewing or runtime
        loop.run_until_complete(self._compose(0.0))
        self._endpoint = _endpoint(self._cloud)
        self._plan = WorldPlan(
            phones=options.phones,
            days=options.days,
            seed=options.seed,
            start=EPOCH,
            data=options.data.absolute() if options.data else None,
            budget=options.budget,
            cloud_key=self._cloud.public_key.hex(),
            revisit=config.revisit_after,
            scenario=options.scenario,
            faults=faults,
            border=WINDOW,
        )
        self._mishaps = None if renewing is None else self._befall(renewing)
        loop.run_until_complete(self._admit())
        hosts.begin(self._plan, self._endpoint)
        self._tick(EPOCH)
        hosts.ready()
        self._sweeper = Sweeper(self._plan.seconds)
        self._notes: list[WindowNote] = []
        self._results: list[PhoneResult] = []
        self._cut = False

    def listen(self, listener: Listener) -> None:
        """Have every phone tell `listener` what happens to it, until it says stop."""

        def hear(event: TraceEvent) -> bool:
            self._cut = self._cut or listener(event)
            return self._cut

        if isinstance(self._hosts, LocalHosts):
            self._hosts.listen(hear)

    def play(self, progress: Progress) -> None:
        """Window by window: phones first, then one tick of the cloud."""
        borders = round(self._plan.seconds / WINDOW)
        progress(0.0, 0)
        for border in range(1, borders + 1):
            moment = border * WINDOW
            with ExitStack() as watched:
                for sentry in self._sentries:
                    watched.enter_context(sentry.on_duty())
                reports = self._hosts.run_until(moment)
            if self._cut:
                break
            for report in reports:
                self._notes += report.notes
            if self._mishaps is None or self._run(self._mishaps.let(moment)):
                self._tick(EPOCH + moment)
            self._sweeper.passed(moment)
            lived = sum(report.lived for report in reports) / self._plan.phones
            progress(lived, sum(report.violations for report in reports))
        self._results = self._hosts.end()
        if self._mishaps is not None:
            self._run(self._mishaps.end())
        self._loop.run_until_complete(self._cloud.stop())
        self._view = view_cloud(self._database_url)
        self._tally = _settle(self._results, self._view, self._state)
        for sentry in self._sentries:
            self._tally.merge(sentry.tally)

    def report(self, began: float) -> dict[str, Any]:
        """Everything worth telling; `began` is the wall clock's start."""
        self._notes.sort(key=lambda note: note.phone)
        return build(
            self._plan,
            self._results,
            self._notes,
            sums=self._view.sums,
            rounds=self._view.rounds,
            releases=self._view.releases,
            tally=self._tally,
            faults=account(self._plan.faults, self._fired()),
            wall_seconds=time.perf_counter() - began,
        )

    async def _admit(self) -> None:
        """Let every phone enrol."""
        plan = self._plan
        digests = [
            hashlib.sha256(plan.token(phone).encode()).hexdigest() for phone in range(plan.phones)
        ]
        if plan.faults.malicious_phone.rate:
            lying = (liars_token(plan.seed, phone) for phone in range(plan.phones))
            digests += [hashlib.sha256(token.encode()).hexdigest() for token in lying]
        await self._endpoint.registry.ask("add_tokens", digests, EPOCH, _TOKEN_SECONDS)

    def _tick(self, now: float) -> None:
        self._run(self._cloud.tick(now))

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return self._loop.run_until_complete(work)

    async def _compose(self, moment: float) -> None:
        """A cloud from its folder; none draws what an earlier one drew."""
        names = ("cloud", self._clouds) if self._clouds else ("cloud",)
        self._clouds += 1
        bits = KeyedBits(self._config.seed or 0, *names)
        self._cloud = Cloud(self._config, self._runtime, bits=bits, now=EPOCH + moment)
        await self._cloud.start()

    def _befall(self, runtime: RenewingRuntime) -> Mishaps:
        plan = self._plan
        return Mishaps(
            plan.faults,
            plan.seed,
            seconds=plan.seconds,
            border=plan.border,
            runtime=runtime,
            stop=lambda: self._cloud.stop(),
            start=self._compose,
        )

    def _fired(self) -> Fired:
        fired: Fired = Counter() if self._mishaps is None else self._mishaps.fired
        return sum((result.fired for result in self._results), fired)


def _endpoint(cloud: Cloud) -> Endpoint:
    seed = signing_key(cloud.config.signing_key).seed
    actors = (cloud.registry, cloud.intake, cloud.rounds, cloud.publisher, cloud.partials)
    return Endpoint(*actors, seed)


def _settle(results: Sequence[PhoneResult], view: CloudView, state: Path) -> Tally:
    """Merge what the phones' watches saw with what only the whole fleet can tell."""
    tally = Tally()
    for result in results:
        tally.merge(result.tally)
    check_counts(
        tally,
        acked=[upload for result in results for upload in result.acked],
        released=(report for result in results for report in result.released),
        held=view.held,
        counted=view.counted,
        held_by_round=view.held_by_round,
        lies=[lie for result in results for lie in result.lies],
        summed=view.summed,
    )
    for model in MODELS:
        check_published(tally, model, [r.version for r in view.releases if r.model == model])
    for name, content in stored_files(state).items():
        clean = CANARY_PREFIX.encode() not in content
        tally.check(CANARY, clean, "cloud", f"a canary is in clear in {name}")
    return tally
