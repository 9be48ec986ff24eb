"""`reverie-cloud keys`, `halt`, `rollback`: what they print, and one clear line for each error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cloud.cli import app
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
    for command in ("keys init", "keys show", "keys rotate", "keys rotate-root", "halt"):
        result = run.invoke(app, [*command.split(), "--help"])
        assert f"reverie-cloud {command}" in result.output


def test_halt_and_rollback(tmp_path: Path) -> None:
    service = Service(tmp_path, 20_000)
    state = str(tmp_path)
    service.publish(1, START)
    assert "no dedup release is on its way" in fails("halt", "dedup", "--state", state)
    assert "no earlier dedup" in fails("rollback", "dedup", "--state", state)
    service.publish(2, START + 1)
    withdrawn = shown("halt", "dedup", "--state", state)
    assert withdrawn == {"model": "dedup", "version": 2, "status": "withdrawn"}
    assert service.listed() == {"models/dedup/1": 100}
    service.publish(3, START + 2)
    result = run.invoke(app, ["rollback", "dedup", "--state", state])
    assert "dedup 3 is withdrawn" in result.stdout
    service.close()
