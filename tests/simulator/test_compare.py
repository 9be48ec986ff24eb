"""Two reports side by side."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from simulator import cli
from simulator.compare import compare, verdict

from .conftest import Report
from .test_report import LOADS, Loads

SAME, DIFFERENT, USAGE = 0, 1, 2


def ask(*arguments: str | Path) -> Result:
    given = ["compare", *(str(each) for each in arguments)]
    return CliRunner().invoke(cli.app, given, env={"COLUMNS": "200"})


def kept(folder: Path, report: Report) -> Path:
    folder.mkdir()
    (folder / "report.json").write_text(json.dumps(report), encoding="utf-8")
    return folder


@pytest.fixture
def other(report: Report) -> Report:
    """Another world: more phones answered, one version better, faults."""
    changed = deepcopy(report)
    changed |= {"seed": report["seed"] + 1, "digest": "0" * 64, "records": report["records"] * 2}
    changed["uploads_waiting"] = report["uploads_waiting"] + 3
    changed["releases"]["router"]["versions"][0]["accuracy"] = 0.5
    changed["faults"] = {"kill": {"rate": 1.0, "fired": 4}}
    changed["wall_clock"] = {"seconds": 1.0}
    return changed


def test_a_world_played_twice_is_one(report: Report) -> None:
    again = deepcopy(report)
    again["wall_clock"] = {"seconds": 1e6}
    found = compare(report, again)
    assert (found.equal, found.same_world, found.same_seed) == (True, True, True)
    assert [each.key for each in found.differences] == ["wall_clock.seconds"]
    assert verdict(found).en.startswith("The same world")


def test_what_differs_is_told_with_its_change(report: Report, other: Report) -> None:
    found = compare(report, other)
    assert not found.equal
    assert not found.same_seed
    told = {each.key: each for each in found.differences}
    records = told["records"]
    assert (records.change, records.relative) == (report["records"], 1.0)
    waiting = told["uploads_waiting"]
    assert waiting.change == 3
    assert waiting.relative == (3 / waiting.a if waiting.a else None)  # type: ignore[operator]
    assert told["releases.router.versions.1.accuracy"].b == 0.5
    assert told["digest"].change is None
    assert "recall.answered" not in told


def test_a_figure_only_one_has_is_told_too(report: Report, other: Report) -> None:
    report.pop("faults", None)
    told = {each.key: each for each in compare(report, other).differences}
    assert (told["faults.kill.fired"].a, told["faults.kill.fired"].b) == (None, 4)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"digest": "0" * 64}, "One seed, two worlds"),
        ({"records": 1}, "The same seed and the same bytes"),
        ({"seed": 99}, "Two seeds, two worlds"),
    ],
)
def test_whether_it_is_one_world_is_said(report: Report, changes: Report, said: str) -> None:
    assert verdict(compare(report, {**report, **changes})).en.startswith(said)


def test_the_command_compares_folders(report: Report, other: Report, tmp_path: Path) -> None:
    a, b = kept(tmp_path / "before", report), kept(tmp_path / "after", other)
    alike = ask(a, a / "report.json")
    assert alike.exit_code == SAME, alike.output
    assert "The same world" in alike.output
    apart = ask(a, b)
    assert apart.exit_code == DIFFERENT
    assert "Two seeds, two worlds" in apart.output
    assert "before" in apart.output
    assert "+100.0 %" in apart.output


def test_json_is_all_that_is_printed(report: Report, other: Report, tmp_path: Path) -> None:
    result = ask(kept(tmp_path / "a", report), kept(tmp_path / "b", other), "--json")
    assert result.exit_code == DIFFERENT
    told = json.loads(result.stdout)
    assert told["same_world"] is False
    assert {each["key"] for each in told["differences"]} >= {"records", "digest", "seed"}


def test_the_page_stands_alone_and_trusts_no_name(
    report: Report, other: Report, tmp_path: Path
) -> None:
    a, b = kept(tmp_path / "<b>a", report), kept(tmp_path / "b", other)
    page = tmp_path / "page.html"
    assert ask(a, b, "--html", page).exit_code == DIFFERENT
    written = page.read_text("utf-8")
    parser = Loads()
    parser.feed(written)
    assert (parser.loads, parser.open) == ([], [])
    assert LOADS
    assert "<b>a" not in written
    assert written.count("<svg") == 8


@pytest.mark.parametrize("broken", ["first", "second", "page"])
def test_what_cannot_be_read_or_written_is_one_line(
    report: Report, tmp_path: Path, broken: str
) -> None:
    good, absent = kept(tmp_path / "a", report), tmp_path / "none"
    result = {
        "first": lambda: ask(absent, good),
        "second": lambda: ask(good, absent),
        "page": lambda: ask(good, good, "--html", absent / "page.html"),
    }[broken]()
    assert result.exit_code == USAGE
    (line,) = result.output.splitlines()
    assert line.startswith("reverie-fleet: ")
    assert str(absent) in line
