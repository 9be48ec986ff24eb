"""`reverie-fleet` as a user meets it: exit codes, and one clear line for each mistake."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from simulator import cli, world
from simulator.cloudview import CloudView, stored_files, view_cloud
from simulator.laws import ACKED_ONCE, CANARY
from simulator.people import CANARY_PREFIX

from .conftest import Report

OK, VIOLATED, USAGE = 0, 1, 2
FLEET = "from simulator.cli import main; main()"


def fleet(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """The real command in a process of its own."""
    command = [sys.executable, "-c", before + FLEET, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_json_is_all_that_goes_to_standard_output(tmp_path: Path) -> None:
    done = fleet(
        "run", "--phones", "1", "--days", "1", "--seed", "2", "--json", "--out", str(tmp_path)
    )
    assert done.returncode == OK, done.stderr
    assert json.loads(done.stdout) == json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert "Traceback" not in done.stderr
    assert "warning" not in done.stderr.lower()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "--phones", "0"], "--phones"),
        (["run", "--days", "-1"], "--days"),
        (["run", "--days", "soon"], "--days"),
        (["run", "--seed", "-1"], "--seed"),
        (["run", "--hosts", "0"], "--hosts"),
        (["run", "--budget", "free"], "--budget"),
        (["run", "--runtime", "spark"], "--runtime"),
        (["run", "--pones", "3"], "--pones"),
        (["walk"], "walk"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_arguments_that_cannot_be_used_are_named(arguments: list[str], says: str) -> None:
    result = CliRunner().invoke(cli.app, arguments)
    assert result.exit_code == USAGE
    assert says in result.output
    assert "Traceback" not in result.output


def refused(*arguments: str) -> str:
    """The one line with which `run` refuses."""
    result = CliRunner().invoke(cli.app, ["run", "--phones", "1", "--days", "1", *arguments])
    assert result.exit_code == USAGE, result.output
    (line,) = result.output.strip().splitlines()
    assert line.startswith("reverie-fleet: ")
    return line.removeprefix("reverie-fleet: ")


def test_absent_data_is_one_line(tmp_path: Path) -> None:
    line = refused("--data", "/no/such/file", "--out", str(tmp_path))
    assert line == "/no/such/file does not exist"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("broken.json", b"{"),
        ("binary.jsonl", b"\xff\xfe\x00"),
        ("other.json", b'{"x": 1}'),
        ("empty.jsonl", b""),
        ("silent.json", b'{"somebody": {"history": {}}}'),
        ("numbers.jsonl", b'{"at": "2026-03-02T08:15:00", "speaker": "a", "text": 5}'),
        ("toll.jsonl", b'{"at": "2026-03-02T08:15:00", "speaker": 1, "text": "hi"}'),
        ("nothing.json", b'[{"conversation": {"speaker_a": "x"}, "qa": []}]'),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_data_of_no_known_kind_is_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    line = refused("--data", str(file), "--out", str(tmp_path / "out"))
    assert str(file) in line


def test_a_folder_without_dialogues_is_one_line(tmp_path: Path) -> None:
    assert "holds no dialogues" in refused("--data", str(tmp_path), "--out", str(tmp_path / "o"))


def test_a_place_that_cannot_hold_the_report_is_one_line(
    report: Report, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(world, "run_world", lambda *_: report)
    taken = tmp_path / "file"
    taken.touch()
    assert refused("--out", str(taken)) == f"cannot write to {taken}: File exists"
    assert "cannot write to" in refused("--out", str(taken / "below"))
    (tmp_path / "out" / "report.json").mkdir(parents=True)
    line = refused("--out", str(tmp_path / "out"))
    assert line == f"cannot write to {tmp_path / 'out' / 'report.json'}: Is a directory"


def test_a_missing_part_says_what_to_install(tmp_path: Path) -> None:
    block = "import sys; sys.modules['sqlalchemy'] = None; "
    done = fleet("run", "--out", str(tmp_path), before=block)
    assert done.returncode == USAGE
    said = "sqlalchemy is not installed; run: pip install 'reverie[simulator]'"
    assert done.stdout + done.stderr == f"reverie-fleet: {said}\n"


def test_a_cloud_that_loses_and_leaks_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The watch over the whole fleet, end to end: planted in a real run, named in every output."""
    lost: list[bytes] = []

    def forgetful(url: str) -> CloudView:
        view = view_cloud(url)
        held = dict(view.held)
        lost.append(sorted(held)[0])
        del held[lost[0]]
        return replace(view, held=held)

    leak = {"blobs/leak": f"… {CANARY_PREFIX}0123 …".encode()}
    monkeypatch.setattr(world, "view_cloud", forgetful)
    monkeypatch.setattr(world, "stored_files", lambda folder: {**stored_files(folder), **leak})
    arguments = ["--phones", "3", "--days", "1", "--seed", "4", "--out", str(tmp_path)]
    result = CliRunner().invoke(cli.app, ["run", *arguments], env={"COLUMNS": "200"})
    assert result.exit_code == VIOLATED, result.output
    report: Report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    by_law = report["invariants"]["by_law"]
    assert {law for law, n in by_law.items() if n["violated"]} == {ACKED_ONCE, CANARY}
    assert report["invariants"]["violations"] == [
        f"law {ACKED_ONCE}: cloud: {lost[0].hex()} is held 0 times",
        f"law {CANARY}: cloud: a canary is in clear in blobs/leak",
    ]
    page = (tmp_path / "report.html").read_text("utf-8")
    for line in report["invariants"]["violations"]:
        assert line in result.output
        assert line in page
