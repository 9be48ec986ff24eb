"""The composition root of a world: one cloud, its hosts, and the borders where they meet."""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from cloud.actors.runtime import InProcessRuntime, Runtime
from cloud.config import CloudConfig
from cloud.identity import signing_key
from cloud.service import Cloud
from simulator.cloudview import CloudView, stored_files, view_cloud
from simulator.faults.plan import Fired, account
from simulator.hosts import Endpoint, Hosts, LocalHosts, RayHosts, WorldPlan
from simulator.invariants import check_counts, check_published
from simulator.laws import CANARY, Tally
from simulator.lives import Lives
from simulator.people import CANARY_PREFIX
from simulator.randomness import KeyedBits, stream_key
from simulator.replay import Listener, TraceEvent
from simulator.report import MODELS, build
from simulator.scenario import Scenario
from simulator.virtual import VirtualLoop
from simulator.virtual_phone import PhoneResult, WindowNote

__all__ = ["EPOCH", "Options", "run_world"]

EPOCH = 1_772_409_600.0
"""2026-03-02 00:00 UTC, a Monday: when every virtual world begins."""
WINDOW = 3600.0
"""Seconds of virtual time between two borders."""
_DAY = 86_400.0
_TOKEN_SECONDS = 365 * _DAY

Progress = Callable[[float, int], None]
"""Told the virtual seconds that have passed, and the violations so far."""


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
    options: Options, progress: Progress = lambda *_: None, *, listener: Listener | None = None
) -> dict[str, Any]:
    """Play the world and return its report. `listener`: told every event, in-process only.

    Raises:
        CorpusUnreadable: the data cannot be used.
        RayUnavailable: Ray was asked for and cannot be had.
    """
    began = time.perf_counter()
    # A wrong path is known before anything starts.
    days, data = options.days, options.data
    Lives(options.scenario, seed=options.seed, start=EPOCH, days=days, data=data)
    with tempfile.TemporaryDirectory(prefix="reverie-fleet-") as folder:
        state = Path(folder) / "cloud"
        runtime = _runtime(options.runtime)
        loop = VirtualLoop()
        try:
            world = _World(options, state, loop, runtime)
            if listener is not None:
                world.listen(listener)
            world.play(progress)
        finally:
            loop.run_until_complete(runtime.stop())
            loop.close()
        return world.report(began)


def _runtime(name: Literal["inproc", "ray"]) -> Runtime:
    if name == "inproc":
        return InProcessRuntime(inline=True)
    from cloud.actors.ray_runtime import RayRuntime

    return RayRuntime(blocking=True)


class _World:
    def __init__(self, options: Options, state: Path, loop: VirtualLoop, runtime: Runtime) -> None:
        self._state, self._loop = state, loop
        config = CloudConfig(
            state=state,
            budget=options.budget,
            seed=options.seed,
            aggregation=options.aggregation,
        )
        self._database_url = config.database_url
        bits = KeyedBits(options.seed, "cloud")
        self._cloud = Cloud(config, runtime, bits=bits, now=EPOCH)
        loop.run_until_complete(self._cloud.start())
        self._endpoint = _endpoint(self._cloud)
        tokens = tuple(
            stream_key(options.seed, "token", number).hex() for number in range(options.phones)
        )
        loop.run_until_complete(self._admit(tokens))
        self._tick(EPOCH)
        self._plan = WorldPlan(
            phones=options.phones,
            days=options.days,
            seed=options.seed,
            start=EPOCH,
            data=options.data.absolute() if options.data else None,
            budget=options.budget,
            cloud_key=self._cloud.public_key.hex(),
            tokens=tokens,
            revisit=config.revisit_after,
            scenario=options.scenario,
            faults=options.scenario.faults,
        )
        kind = LocalHosts if options.runtime == "inproc" else RayHosts
        self._hosts: Hosts = kind(self._plan, self._endpoint, options.hosts)
        self._notes: list[WindowNote] = []
        self._results: list[PhoneResult] = []
        self._cut = False

    def listen(self, listener: Listener) -> None:
        """Have every phone tell `listener` what happens to it, until it says stop."""

        def hear(event: TraceEvent) -> bool:
            if not self._cut and listener(event):
                self._cut = True
                asyncio.get_running_loop().stop()
            return self._cut

        if isinstance(self._hosts, LocalHosts):
            self._hosts.listen(hear)

    def play(self, progress: Progress) -> None:
        """Window by window: phones first, then one tick of the cloud."""
        borders = round(self._plan.seconds / WINDOW)
        for border in range(1, borders + 1):
            moment = border * WINDOW
            reports = self._hosts.run_until(moment)
            if self._cut:
                break
            for report in reports:
                self._notes += report.notes
            self._tick(EPOCH + moment)
            progress(moment, sum(report.violations for report in reports))
        self._results = self._hosts.end()
        self._loop.run_until_complete(self._cloud.stop())
        self._view = view_cloud(self._database_url)
        self._tally = _settle(self._results, self._view, self._state)

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
            faults=account(self._plan.faults, _fired(self._results)),
            wall_seconds=time.perf_counter() - began,
        )

    async def _admit(self, tokens: Sequence[str]) -> None:
        for token in tokens:
            digest = hashlib.sha256(token.encode()).hexdigest()
            await self._endpoint.registry.ask("add_token", digest, EPOCH, _TOKEN_SECONDS)

    def _tick(self, now: float) -> None:
        self._loop.run_until_complete(self._cloud.tick(now))


def _fired(results: Sequence[PhoneResult]) -> Fired:
    return sum((result.fired for result in results), Counter())


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
    )
    for model in MODELS:
        check_published(tally, model, [r.version for r in view.releases if r.model == model])
    for name, content in stored_files(state).items():
        clean = CANARY_PREFIX.encode() not in content
        tally.check(CANARY, clean, "cloud", f"a canary is in clear in {name}")
    return tally
