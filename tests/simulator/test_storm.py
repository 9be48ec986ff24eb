"""The storm: every fault at once over small worlds, and bugs planted for it to find.

`REVERIE_STORMS=200` plays as many seeds, and looks for each bug in as many.
"""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from collections.abc import Callable

import pytest

from simulator.faults.plan import Fault, FaultPlan, silent
from simulator.laws import (
    ACKED_ONCE,
    CANARY,
    CHARGED,
    FORGED,
    GIVEN,
    KEPT,
    RISING,
    SMALL,
    UNSUSPECTED,
    VERIFIED,
    WINDOW,
)
from simulator.scenario import Scenario
from simulator.world import Options, run_world

from . import planted
from .conftest import Report
from .storms import storm

SEEDS = int(os.environ.get("REVERIE_STORMS", "2"))
FIRST = 1
MANY = 100
"""Seeds from which on every fault of the storm must have fired."""
WITHIN = 200
"""Seeds within which a planted bug must be found."""


def test_the_laws_hold_in_every_storm() -> None:
    fired: Counter[str] = Counter()
    for seed in range(FIRST, FIRST + SEEDS):
        report = storm(seed)
        laws = report["invariants"]
        assert laws["violated"] == 0, (seed, laws["violations"])
        fired.update({name: told["fired"] for name, told in report["faults"].items()})
    assert {"kill", "cut", "loss"} <= {name for name, count in fired.items() if count}
    if SEEDS >= MANY:
        assert not silent(FaultPlan.storm(), fired)


@pytest.mark.parametrize("hosts", [1, 2, 4])
def test_a_storm_is_the_same_bit_for_bit_on_any_number_of_hosts(
    hosts: int, timeless: Callable[[Report], Report]
) -> None:
    seed = FIRST + 1
    assert timeless(storm(seed, hosts=hosts)) == timeless(storm(seed))


@pytest.mark.ray
@pytest.mark.timeout(900)
@pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="ray is not installed: pip install ray"
)
def test_a_storm_on_ray_is_the_same(timeless: Callable[[Report], Report]) -> None:
    world = Scenario(phones=6, days=1, seed=7, faults=FaultPlan.storm(2.0))
    on_ray = run_world(Options.of(world, "ray", 2))
    assert timeless(on_ray) == timeless(run_world(Options.of(world, "inproc", 1)))
    assert on_ray["faults"]["actor_restart"]["fired"]


BACKUPS = FaultPlan(
    restored_backup=Fault(rate=4.0, to_day=1.0),
    unreachable=Fault(rate=0.1),
    lost_ack=Fault(rate=0.6, to_day=1.0),
    cut=Fault(rate=0.1, to_day=1.0),
)
"""A storm of backups alone: in the one that mixes all, a charge that no receipt knows is rare."""
BUGS = [
    (planted.not_syncing_the_ledger, UNSUSPECTED),
    (planted.believing_any_ledger, CHARGED),
    (planted.charging_after_release, CHARGED),
    (planted.ignoring_the_window, WINDOW),
    (planted.never_letting_go, ACKED_ONCE),
    (planted.not_syncing_the_memory, KEPT),
    (planted.not_checking_proofs, FORGED),
    (planted.decoding_before_verifying, VERIFIED),
    (planted.writing_in_clear, CANARY),
    (planted.taking_randomness, GIVEN),
    (planted.adopting_anything, RISING),
    (planted.never_resting, SMALL),
]


@pytest.mark.parametrize(
    "seed",
    [
        # Once its disk had been full, a phone did not sync again until it was restarted.
        140,
        # A backup brings a report back that was acknowledged since.
        151,
    ],
)
def test_what_once_broke_a_law_stays_mended(seed: int) -> None:
    laws = storm(seed)["invariants"]
    assert laws["violated"] == 0, laws["violations"]


@pytest.mark.parametrize(
    ("plant", "law"), BUGS, ids=lambda value: value.__name__ if callable(value) else ""
)
def test_a_planted_bug_is_found(
    monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None], law: str
) -> None:
    plant(monkeypatch)
    faults = BACKUPS if plant is planted.believing_any_ledger else None
    assert _found(law, faults), f"no storm found it: {law}"


def _found(law: str, faults: FaultPlan | None) -> bool:
    seeds = range(FIRST, FIRST + WITHIN)
    return any(_violated(storm(seed, faults), law) for seed in seeds)


def _violated(report: Report, law: str) -> bool:
    told = report["invariants"]["by_law"].get(law)
    return told is not None and told["violated"] > 0
