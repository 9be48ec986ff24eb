"""The same world on Ray, and what is said where there is no Ray."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from simulator import cli
from simulator.world import Options, run_world

from .conftest import Report

PHONES, DAYS, SEED = 24, 1, 4
"""Enough for the demo budget's rounds to close, so that the aggregation is compared too."""


@pytest.mark.ray
@pytest.mark.timeout(900)  # two worlds, a cluster of ten processes, and whatever else runs here
@pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="ray is not installed: pip install ray"
)
def test_ray_and_this_process_give_the_same_report(timeless: Callable[[Report], Report]) -> None:
    plain = run_world(Options(PHONES, DAYS, SEED))
    on_ray = run_world(Options(PHONES, DAYS, SEED, runtime="ray", hosts=2))
    assert timeless(on_ray) == timeless(plain)
    assert on_ray["rounds"] == 3
    assert on_ray["invariants"]["violated"] == 0


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
