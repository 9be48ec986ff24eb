"""The load test itself: open every phone, let all live, sum up."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from device.actors import SystemClock
from device.settings import Settings
from device.sync.root import CloudRoot
from device.sync.websocket import websocket
from privacy import BitSource
from simulator.deployed.clock import SpedClock
from simulator.deployed.door import Target, knock, read_tokens, shown_root, trust_of
from simulator.deployed.phone import LoadedPhone, Shared
from simulator.deployed.report import load_report
from simulator.fidelity import lowered
from simulator.lives import Lives
from simulator.scenario import Scenario

__all__ = ["LoadOptions", "load"]

_DAY: Final = 86_400.0
_STEPS: Final = 100
"""How often progress is told."""

Progress = Callable[[float, int], None]
"""Told the virtual seconds that have passed, and the violations so far."""


@dataclass(frozen=True)
class LoadOptions:
    """What the caller may choose.

    Attributes:
        scenario: who the phones' owners are, how many, how many days. Its faults are not played:
            this network is real.
        speed: virtual seconds in a real one.
        at_once: sessions that may be open together.
    """

    target: Target
    scenario: Scenario
    speed: float
    at_once: int


def load(
    options: LoadOptions, progress: Progress = lambda *_: None, bits: BitSource = os.urandom
) -> dict[str, Any]:
    """Run the load test and return its report.

    Raises:
        CloudRefused: it cannot begin; one line says why.
        CorpusUnreadable, TraceUnreadable, EpisodesUnreadable: a file of the scenario cannot be
            used.
    """
    trust = trust_of(options.target)
    root = shown_root(options.target, trust)
    tokens = read_tokens(options.target, root, options.scenario.phones)
    return asyncio.run(_Load(options, root, tokens, bits).run(progress))


class _Load:
    def __init__(
        self, options: LoadOptions, root: CloudRoot, tokens: Sequence[str], bits: BitSource
    ) -> None:
        self._options, self._root, self._tokens, self._bits = options, root, tokens, bits

    async def run(self, progress: Progress) -> dict[str, Any]:
        """Open, live, end."""
        options, scenario = self._options, self._options.scenario
        trust = trust_of(options.target)
        # Phones take a while to open; time passes when all are.
        start = SystemClock().now()
        lives = Lives(
            scenario, seed=scenario.seed, start=start, days=scenario.days, data=scenario.data
        )
        clock = SpedClock(start, options.speed)
        shared = Shared(
            websocket(options.target.address, trust), clock, self._bits, options.at_once
        )
        phones = [self._phone(number, lives, shared) for number in range(scenario.phones)]
        first, *others = phones
        await knock(
            options.target,
            trust,
            self._root,
            identity=(await first.open()).identity,
            token=self._tokens[0],
            bits=self._bits,
        )
        for phone in others:
            await phone.open()
        async with clock.running():
            await self._live(phones, clock, progress)
            left = [await phone.end() for phone in phones]
            return load_report(
                options.target.address, scenario, clock, shared.meter, phones, left, self._root
            )

    def _phone(self, number: int, lives: Lives, shared: Shared) -> LoadedPhone:
        life = lives.of(number)
        settings = Settings(
            cloud_url=self._options.target.address,
            cloud_key=self._root.public_key,
            root_sha256=self._root.root_sha256,
            helper_key=self._options.target.helper,
            token=self._tokens[number],
            budget="demo" if self._root.budget == "demo" else "production",
            timezone=life.person.zone,
            **lowered(self._options.scenario.fidelity),
        )
        return LoadedPhone(number, self._options.scenario.seed, life, settings, shared)

    async def _live(
        self, phones: Sequence[LoadedPhone], clock: SpedClock, progress: Progress
    ) -> None:
        seconds = self._options.scenario.days * _DAY
        lives = [asyncio.create_task(phone.live()) for phone in phones]
        try:
            for step in range(1, _STEPS + 1):
                moment = seconds * step / _STEPS
                await clock.until(moment)
                for life in lives:
                    if life.done():
                        life.result()  # a phone that stopped living is a bug: show it
                progress(moment, sum(one.watch.tally.violated.total() for one in phones))
        finally:
            for life in lives:
                life.cancel()
            for life in lives:
                with contextlib.suppress(asyncio.CancelledError):
                    await life
