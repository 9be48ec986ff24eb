"""`reverie-cloud keys`, `halt`, `rollback`: what they print, and one clear line for each error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cloud import console
from cloud.cli import app
from cloud.releases.card import FORMAT
from cloud.releases.repository import Repository
from tests.cloud.test_rollout import Service
from tests.cloud.world import START

run = CliRunner()


def shown(*arguments: str) -> dict[str, Any]:
    """The JSON of a command that must succeed."""
    result = run.invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def fails(*arguments: str) -> str:
    """The single line of a command that must end with exit code 2."""
    result = run.invoke(app, list(arguments))
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    return line


def by_role(found: dict[str, Any]) -> dict[str, tuple[int, int, int, int]]:
    return {
        row["role"]: (row["version"], row["keys"], row["threshold"], row["here"])
        for row in found["roles"]
    }


def test_a_root_kept_offline_from_the_start(tmp_path: Path) -> None:
    state, usb = str(tmp_path / "cloud"), str(tmp_path / "usb")
    made = shown("keys", "init", "--state", state, "--root", usb, "--root-keys", "3")
    assert by_role(made)["root"] == (1, 3, 2, 3)
    assert by_role(made)["targets"] == (1, 1, 1, 1)
    again = shown("keys", "init", "--state", state, "--root", usb)
    assert again == made
    assert by_role(shown("keys", "show", "--state", state))["root"] == (1, 3, 2, 0)
    assert "--root" in fails("keys", "rotate", "timestamp", "--state", state)
    rotated = shown("keys", "rotate", "timestamp", "--state", state, "--root", usb)
    assert by_role(rotated)["root"] == (2, 3, 2, 3)
    assert by_role(rotated)["timestamp"] == (2, 1, 1, 1)
    assert rotated["root_sha256"] == made["root_sha256"], "the pin is the first root's"
    assert len(list((tmp_path / "cloud" / "keys").glob("timestamp.*.key"))) == 1


def test_root_moves_offline_later(tmp_path: Path) -> None:
    state, usb = str(tmp_path / "cloud"), str(tmp_path / "usb")
    shown("keys", "init", "--state", state)
    moved = shown(
        "keys", "rotate-root", "--state", state, "--into", usb, "--root-keys", "2"
    )  # fmt: skip
    assert by_role(moved)["root"] == (2, 2, 2, 2)
    assert len(list((tmp_path / "usb").iterdir())) == 2
    replaced = shown("keys", "rotate-root", "--state", state, "--root", usb)
    assert by_role(replaced)["root"] == (3, 1, 1, 1)
    assert len(list((tmp_path / "usb").iterdir())) == 1


def test_a_rotation_that_fails_leaves_the_old_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = str(tmp_path / "cloud")
    made = shown("keys", "init", "--state", state)

    def crash(*_: object) -> None:
        raise OSError("power went out")

    with monkeypatch.context() as patch:
        patch.setattr(Repository, "sign", crash)
        result = run.invoke(app, ["keys", "rotate", "targets", "--state", state])
        assert isinstance(result.exception, OSError)
    assert by_role(shown("keys", "show", "--state", state)) == by_role(made)


def test_the_table_is_for_people(tmp_path: Path) -> None:
    state = str(tmp_path / "cloud")
    result = run.invoke(app, ["keys", "init", "--state", state])
    assert result.exit_code == 0
    assert shown("keys", "show", "--state", state)["root_sha256"] in result.stdout


def test_no_cloud_here(tmp_path: Path) -> None:
    state = str(tmp_path / "none")
    for command in (["keys", "show"], ["keys", "rotate-root"], ["halt", "router"]):
        assert "there is no cloud" in fails(*command, "--state", state)


def test_every_command_shows_an_example() -> None:
    commands = ("keys init", "keys show", "keys rotate", "keys rotate-root", "halt", "rollback")
    for command in (*commands, "advance", "releases", "card", "publish release"):
        result = run.invoke(app, [*command.split(), "--help"])
        assert f"reverie-cloud {command}" in result.output


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """20,000 phones, of which all may take dedup 1."""
    made = Service(tmp_path, 20_000)
    made.publish(1, START)
    yield made
    made.close()


def test_halt_and_rollback(service: Service, tmp_path: Path) -> None:
    state = str(tmp_path)
    assert "no dedup release is on its way" in fails("halt", "dedup", "--state", state)
    assert "no earlier dedup" in fails("rollback", "dedup", "--state", state)
    service.publish(2, START + 1)
    withdrawn = shown("halt", "dedup", "--state", state)
    assert withdrawn == {"model": "dedup", "version": 2, "status": "withdrawn", "percent": 0}
    assert service.listed() == {"models/dedup/1": 100}
    service.publish(3, START + 2)
    assert "3 is" in fails("rollback", "dedup", "--state", state, "--version", "2")
    result = run.invoke(app, ["rollback", "dedup", "--state", state])
    assert "dedup 3 is withdrawn" in result.stdout
    assert {one["by"] for one in service.events("steered")} == {"cli"}


def test_advance(service: Service, tmp_path: Path) -> None:
    state = str(tmp_path)
    assert "on its way to all phones" in fails("advance", "dedup", "--state", state)
    service.publish(2, START + 1)
    result = run.invoke(app, ["advance", "dedup", "--state", state])
    assert "dedup 2 goes to every phone now" in result.stdout
    assert service.listed() == {"models/dedup/2": 100}


def test_publish_release(service: Service, tmp_path: Path) -> None:
    state = str(tmp_path)
    assert "no dedup candidate waits" in fails("publish", "release", "dedup", "--state", state)
    service.candidate(2)
    result = run.invoke(app, ["publish", "release", "dedup", "--state", state])
    assert "dedup 2 is approved: the next tick publishes it" in result.stdout
    service.candidate(3)
    for blob in service.blobs.iterdir():
        blob.unlink()
    assert "parameters are lost" in fails("publish", "release", "dedup", "--state", state)


def test_releases_fit_a_hundred_characters(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = str(tmp_path)
    service.candidate(2)
    run.invoke(app, ["halt", "dedup", "--state", state])
    service.candidate(3)
    monkeypatch.setattr(console.out, "_width", 100)
    for command in ("releases", "status"):
        result = run.invoke(app, [command, "--state", state])
        assert "approval" in result.stdout
        assert "…" not in result.stdout
        assert max(len(line) for line in result.stdout.splitlines()) <= 100
    result = run.invoke(app, ["releases", "--state", state])
    assert "dedup 2 rejected: rejected by cli" in result.stdout
    listed = json.loads(run.invoke(app, ["releases", "--state", state, "--json"]).stdout)
    assert [line["waiting"] for line in listed] == [None, None, "approval"]
    assert listed[0]["card"]["format"] == FORMAT


def test_card(service: Service, tmp_path: Path) -> None:
    state = str(tmp_path)
    assert "there is no router release" in fails("card", "router", "--state", state)
    assert "there is no dedup 9" in fails("card", "dedup", "9", "--state", state)
    found = shown("card", "dedup", "--state", state)
    assert (found["version"], found["status"], found["format"]) == (1, "published", FORMAT)
    page = run.invoke(app, ["card", "dedup", "--markdown", "--state", state])
    assert page.exit_code == 0
    assert page.stdout.startswith("# dedup 1\n")
    table = run.invoke(app, ["card", "dedup", "1", "--state", state])
    assert table.exit_code == 0
    assert "Intended use" in table.stdout
