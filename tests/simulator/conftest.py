from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from simulator import cli
from simulator.world import Options

Report = dict[str, Any]

SMALL = Options(phones=6, days=1, seed=4)
"""The one world most tests look at: playing it costs about 5 s, nearly all of it training."""


@dataclass(frozen=True)
class Played:
    """What `reverie-fleet run` left: its folder and what it printed."""

    out: Path
    printed: str

    @property
    def page(self) -> str:
        return (self.out / "report.html").read_text("utf-8")


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """The small world, played once by the command line."""
    out = tmp_path_factory.mktemp("fleet")
    arguments = ["--phones", str(SMALL.phones), "--days", str(SMALL.days), "--seed"]
    result = CliRunner().invoke(cli.app, ["run", *arguments, str(SMALL.seed), "--out", str(out)])
    assert result.exit_code == 0, result.output
    return Played(out, result.output)


@pytest.fixture
def report(played: Played) -> Report:
    """A fresh copy of its report."""
    loaded: Report = json.loads((played.out / "report.json").read_text("utf-8"))
    return loaded


@pytest.fixture(scope="session")
def timeless() -> Callable[[Report], Report]:
    """A report as JSON holds it, without the wall clock: what a seed decides."""

    def strip(report: Report) -> Report:
        loaded: Report = json.loads(json.dumps(report))
        del loaded["wall_clock"]
        return loaded

    return strip
