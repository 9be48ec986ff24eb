"""Small stormy worlds that are cheap to play: the cloud's first training is done once a process."""

from __future__ import annotations

import functools
from typing import Any, ClassVar, Literal

import pytest

from cloud.service import Cloud
from cloud.training.usage import UsageMix
from protocol.models import Weights
from simulator.faults.plan import FaultPlan
from simulator.scenario import Scenario
from simulator.world import Options, run_world
from tests.cloud.world import QuickTrainer

PHONES, DAYS = 4, 2
STORM_DAYS = 1.0
"""After which it is calm, so that phones can be seen to catch up."""
HOURS = 3.0
"""Between two borders: a cloud that ticks every three hours is a third of the work."""


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


def storm(seed: int, faults: FaultPlan | None = None, phones: int = PHONES) -> dict[str, Any]:
    """The report of one stormy world."""
    plan = FaultPlan.storm(to_day=STORM_DAYS) if faults is None else faults
    scenario = Scenario(phones=phones, days=DAYS, seed=seed, faults=plan)
    runtime: Literal["inproc"] = "inproc"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simulator.world.Cloud", functools.partial(Cloud, trainer=OnceTrained))
        patch.setattr("simulator.world.WINDOW", HOURS * 3600.0)
        return run_world(Options.of(scenario, runtime, 1))
