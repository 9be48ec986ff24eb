"""Small stormy worlds that are cheap to play: the cloud's first training is done once a process."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, ClassVar, Final, Literal

import pytest

from cloud.service import Cloud
from cloud.training.usage import UsageMix
from device.sync.adoption import Models
from privacy.budget import BUDGETS, DEMO, Stream
from protocol.models import Weights
from simulator.faults.plan import FaultPlan
from simulator.scenario import Scenario
from simulator.sentries import Decoders, Machine
from simulator.world import Options, run_world
from tests.cloud.world import QuickTrainer

PHONES, DAYS = 4, 2
STORM_DAYS = 1.0
"""After which it is calm, so that phones can be seen to catch up."""
HOURS = 3.0
"""Between two borders: a cloud that ticks every three hours is a third of the work."""
FEWEST: Final = 2
"""Reports of a round that is summed."""
CADENCE: Final = 12 * 3_600.0
"""Seconds between two rounds of one task."""


class OnceTrained(QuickTrainer):
    """The real trainer, which does each descent once a process: worlds differ in their phones."""

    known: ClassVar[dict[tuple[str, str], Weights]] = {}

    def _descend(
        self, start: Weights, mix: UsageMix, steps: int, rate: float, purpose: str
    ) -> Weights:
        key = (self._spec.name, purpose)
        if key not in self.known:
            self.known[key] = super()._descend(start, mix, steps, rate, purpose)
        return self.known[key]


class Unexamined:
    """In place of the examiner, whose whole recalls would be most of a storm's work."""

    def __init__(self, *args: object, **settings: object) -> None:
        del args, settings

    async def passed(self, models: Models) -> frozenset[str]:
        """No probe is played."""
        del models
        return frozenset()


def _few(stream: Stream) -> Stream:
    """Rounds that a handful of phones can close, several times a day."""
    return replace(stream, n_min=FEWEST, cadence=CADENCE, yearly=16 * stream.yearly)


FEW: Final = replace(DEMO, streams=tuple(_few(stream) for stream in DEMO.streams))


def storm(
    seed: int, faults: FaultPlan | None = None, phones: int = PHONES, hosts: int = 1
) -> dict[str, Any]:
    """The report of one stormy world."""
    plan = FaultPlan.storm(to_day=STORM_DAYS) if faults is None else faults
    scenario = Scenario(phones=phones, days=DAYS, seed=seed, faults=plan)
    runtime: Literal["inproc"] = "inproc"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simulator.world.Cloud", functools.partial(Cloud, trainer=OnceTrained))
        patch.setattr("simulator.world.WINDOW", HOURS * 3600.0)
        patch.setattr("simulator.hosts.Examiner", Unexamined)
        patch.setitem(BUDGETS, "demo", FEW)
        watch = (Decoders(), Machine())
        return run_world(Options.of(scenario, runtime, hosts), sentries=watch)
