"""The whole loop: real phones against the real cloud, also over a bad network."""

from __future__ import annotations

import pytest

from simulator.availability import fitted_window_share
from simulator.faults.plan import FaultPlan
from simulator.laws import ACKED_ONCE, CONVERGED, LAWS, OCCASIONAL, SAME_BYTES
from simulator.scenario import Scenario
from simulator.world import Options, run_world

from .conftest import SMALL, Report

HOURS = 24


def test_the_loop_closes(report: Report) -> None:
    assert report["phones"] == SMALL.phones
    assert report["virtual_days"] == SMALL.days
    assert report["records"] > 100
    assert report["recall"]["answered"] > 4 * SMALL.phones
    assert sum(report["recall"]["by_layer"].values()) == report["recall"]["answered"]
    assert report["uploads_acked"] > 0
    for model in ("router", "dedup"):
        release = report["releases"][model]
        assert release["published"] >= 1
        assert 0.3 < release["accuracy"][0] <= 1.0
        assert release["adopted"] + release["kept_older"] >= SMALL.phones - 1
    assert report["epsilon"]["max"] >= report["epsilon"]["median"] > 0.0
    assert report["bytes_per_device_day"]["up"] > 0


def test_every_law_was_checked_and_none_broken(report: Report) -> None:
    laws = report["invariants"]
    assert laws["violated"] == 0, laws["violations"]
    everywhere = [law for law in LAWS if law not in OCCASIONAL or law.startswith("8")]
    assert list(laws["by_law"]) == everywhere
    unseen = {name for name, law in laws["by_law"].items() if not law["checked"]}
    assert unseen <= {CONVERGED}, "a day is too short to tell who has caught up"


def test_availability_in_the_report_is_the_fleets_own(report: Report) -> None:
    hours = report["timeline"]["availability"]
    assert hours["fitted"] == [round(float(share), 4) for share in fitted_window_share()]
    simulated = sum(hours["simulated"]) * SMALL.phones * SMALL.days
    assert simulated == pytest.approx(report["window_hours"], rel=0.01)


def test_a_bad_network_delays_but_loses_and_doubles_nothing() -> None:
    bad = FaultPlan(unreachable=0.2, cut=0.08)
    report = run_world(Options(phones=4, days=2, seed=6, scenario=Scenario(faults=bad)))
    laws = report["invariants"]
    assert report["network"]["cuts"] > 10
    assert report["network"]["unreachable"] > 0
    assert report["uploads_acked"] > 0
    assert laws["violated"] == 0, laws["violations"]
    assert laws["by_law"][ACKED_ONCE]["checked"] > report["uploads_acked"]
    # An uncut upload of one chunk is checked twice; whatever is above that was sent again.
    assert laws["by_law"][SAME_BYTES]["checked"] > 2 * report["uploads_acked"]
