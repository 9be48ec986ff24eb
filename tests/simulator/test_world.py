"""The whole loop: real phones against the real cloud, twice, and from the command line."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from simulator import cli
from simulator.availability import fitted_window_share
from simulator.invariants import LAWS
from simulator.world import Options, run_world

PHONES, DAYS, SEED = 6, 1, 4
RAY_PHONES = 24
"""Enough for the demo budget's rounds to close, so that the aggregation is compared too."""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """One small world played by `reverie-fleet run`: its folder and what it printed."""
    out = tmp_path_factory.mktemp("fleet")
    arguments = ["run", "--phones", str(PHONES), "--days", str(DAYS), "--seed", str(SEED)]
    result = CliRunner().invoke(cli.app, [*arguments, "--out", str(out)])
    assert result.exit_code == 0, result.output
    return out, result.output


@pytest.fixture(scope="module")
def report(played: tuple[Path, str]) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((played[0] / "report.json").read_text("utf-8"))
    return loaded


def test_the_loop_closes(report: dict[str, Any]) -> None:
    assert report["phones"] == PHONES
    assert report["virtual_days"] == DAYS
    assert report["records"] > 100
    assert report["recall"]["answered"] > 4 * PHONES
    assert sum(report["recall"]["by_layer"].values()) == report["recall"]["answered"]
    assert report["uploads_acked"] > 0
    for model in ("router", "dedup"):
        release = report["releases"][model]
        assert release["published"] >= 1
        assert 0.3 < release["accuracy"][0] <= 1.0
        assert release["adopted"] + release["kept_older"] >= PHONES - 1
    assert report["epsilon"]["max"] >= report["epsilon"]["median"] > 0.0
    assert report["budget"]["name"] == "demo"
    assert str(PHONES) in report["budget"]["says"]
    assert report["bytes_per_device_day"]["up"] > 0


def test_every_law_was_checked_and_none_broken(report: dict[str, Any]) -> None:
    laws = report["invariants"]
    assert laws["violated"] == 0, laws["violations"]
    assert list(laws["by_law"]) == list(LAWS)
    assert all(law["checked"] > 0 for law in laws["by_law"].values())


def test_the_same_seed_gives_the_same_report_on_more_hosts(report: dict[str, Any]) -> None:
    again = run_world(Options(PHONES, DAYS, SEED, hosts=4))
    again = json.loads(json.dumps(again))
    assert _timeless(again) == _timeless(report)


def test_the_page_stands_alone(played: tuple[Path, str]) -> None:
    page = (played[0] / "report.html").read_text("utf-8")
    assert page.count("<svg") == 6
    assert not re.search(r"(src|href)=|url\(|@import|<script", page)
    assert "prefers-color-scheme: dark" in page
    assert "protects nobody" in page
    assert "ε = " in page


def test_the_summary_speaks_to_a_person(played: tuple[Path, str]) -> None:
    summary = played[1]
    for word in ("phones", "records", "Recalls", "Uploads", "Rounds", "Router", "Dedup", "ε"):
        assert word.lower() in summary.lower().replace("turns kept", "records")
    assert "no violation" in summary


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--phones", "0"],
        ["run", "--days", "-1"],
        ["run", "--budget", "free"],
        ["run", "--data", "/no/such/file"],
        ["run", "--out", "/dev/null/out"],
        ["walk"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_used_is_refused(arguments: list[str], tmp_path: Path) -> None:
    if "--out" not in arguments and arguments[0] == "run":
        arguments = [*arguments, "--out", str(tmp_path)]
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    if "--data" in arguments:
        assert result.output.strip() == "reverie-fleet: /no/such/file does not exist"


def test_a_violated_law_fails_the_command(
    report: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    law = LAWS[0]
    bad = json.loads(json.dumps(report))
    bad["invariants"] |= {"violated": 1, "violations": [f"law {law}: phone 3: it was released"]}
    monkeypatch.setattr("simulator.world.run_world", lambda *_: bad)
    result = CliRunner().invoke(cli.app, ["run", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "phone 3: it was released" in result.output
    assert "phone 3: it was released" in (tmp_path / "report.html").read_text("utf-8")


def test_json_is_all_that_goes_to_standard_output(
    report: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("simulator.world.run_world", lambda *_: report)
    result = CliRunner().invoke(cli.app, ["run", "--json", "--out", str(tmp_path)])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == report


def test_availability_in_the_report_is_the_fleets_own(report: dict[str, Any]) -> None:
    hours = report["timeline"]["availability"]
    assert hours["fitted"] == [round(float(share), 4) for share in fitted_window_share()]
    simulated = sum(hours["simulated"]) / 24 * PHONES * DAYS * 24
    assert simulated == pytest.approx(report["window_hours"], rel=0.01)


@pytest.mark.ray
def test_ray_and_this_process_give_the_same_report() -> None:
    plain = run_world(Options(RAY_PHONES, DAYS, SEED))
    on_ray = run_world(Options(RAY_PHONES, DAYS, SEED, runtime="ray", hosts=2))
    assert _timeless(on_ray) == _timeless(plain)
    assert on_ray["rounds"] == 3


def _timeless(report: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in report.items() if key != "wall_clock"}
