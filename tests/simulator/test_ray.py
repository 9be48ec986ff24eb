"""The same world on Ray, and what is said where there is no Ray."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cloud.service import Cloud
from simulator import cli
from simulator.world import EPOCH, Options, run_world
from tests.cloud.world import QuickTrainer

from .conftest import Report

PHONES, DAYS, SEED = 24, 1, 4
"""Enough for the demo budget's rounds to close, so that the aggregation is compared too."""
HEAVY = ("torch", "opacus", "scipy", "ray.serve")
"""What no host needs: 300 MB each."""

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="ray is not installed: pip install ray"
)


@pytest.fixture(scope="module")
def quick() -> Iterator[None]:
    """Worlds whose cloud trains shortly: it is the same cloud everywhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simulator.world.Cloud", functools.partial(Cloud, trainer=QuickTrainer))
        yield


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """One local cluster for the worlds of this module, which join it as guests."""
    from cloud.actors.ray_cluster import Cluster

    joined = Cluster(None, "reverie-fleet")
    yield
    joined.leave()


@pytest.fixture(scope="module")
def plain(quick: None) -> Report:
    """The world in this process."""
    return run_world(Options(PHONES, DAYS, SEED))


@pytest.mark.ray
@pytest.mark.timeout(900)  # four worlds, a cluster of ten processes, and whatever else runs here
@needs_ray
@pytest.mark.parametrize("hosts", [1, 2, 4])
@pytest.mark.usefixtures("cluster", "quick")
def test_ray_and_this_process_give_the_same_report(
    hosts: int, plain: Report, timeless: Callable[[Report], Report]
) -> None:
    on_ray = run_world(Options(PHONES, DAYS, SEED, runtime="ray", hosts=hosts))
    assert timeless(on_ray) == timeless(plain)
    assert on_ray["rounds"] == 3
    assert on_ray["invariants"]["violated"] == 0


@pytest.mark.ray
@pytest.mark.timeout(900)
@needs_ray
@pytest.mark.usefixtures("cluster")
def test_a_host_loads_nothing_that_trains() -> None:
    from simulator.plan import Endpoint, WorldPlan
    from simulator.remote import RayHosts, RayWorld

    world = RayWorld()
    hosts = RayHosts(world, phones=1, count=1)
    plan = WorldPlan(1, 1, 0, EPOCH, None, "demo", "00" * 32, 3600.0)
    nowhere: Any = world.spawn("nobody", dict)
    hosts.begin(plan, Endpoint(nowhere, nowhere, nowhere, nowhere, nowhere, bytes(32)))
    try:
        assert hosts.loaded((*HEAVY, "device.phone")) == [["device.phone"]]
    finally:
        hosts.close()
        world.ray.kill(world._actors)


def test_without_ray_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    arguments = ["--runtime", "ray", "--phones", "1", "--days", "1", "--out", str(tmp_path)]
    result = CliRunner().invoke(cli.app, ["run", *arguments])
    assert result.exit_code == 2
    assert result.output.strip() == (
        "reverie-fleet: Ray is not installed; run: pip install 'reverie[ray]'"
    )
    assert list(tmp_path.iterdir()) == []
