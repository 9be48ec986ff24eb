"""The commands: what they print, their exit codes, and one clear line for each user's error."""

from __future__ import annotations

import json
import signal
import socket
import sys
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cloud.cli import app
from cloud.serve import Listening
from tests.cloud.processes import running_process
from tests.cloud.world import Phone

run = CliRunner()


def _fails(*arguments: str) -> str:
    """The single line of a command that must end with exit code 2."""
    result = run.invoke(app, list(arguments))
    assert result.exit_code == 2
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1
    return lines[0]


def test_every_command_shows_an_example() -> None:
    for command in ("serve", "helper", "token", "status", "rounds", "releases", "devices"):
        result = run.invoke(app, [command, "--help"])
        assert result.exit_code == 0
        assert f"reverie-cloud {command}" in result.output


def test_a_busy_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        line = _fails("serve", "--state", str(tmp_path / "cloud"), "--port", port)
    assert f"127.0.0.1:{port} is in use" in line


def test_an_unusable_state_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for command in ("serve", "helper"):
        line = _fails(command, "--state", str(tmp_path / "file"), "--port", "0")
        assert "is not a folder" in line
        assert "not a folder" in _fails(command, "--state", str(tmp_path / "file" / "below"))


def test_an_address_beyond_this_machine(tmp_path: Path) -> None:
    state = str(tmp_path / "cloud")
    assert "--insecure" in _fails("serve", "--state", state, "--host", "0.0.0.0")
    assert "--insecure" in _fails("helper", "--state", state, "--host", "::")
    options = ["--host", "0.0.0.0", "--insecure", "--open-enrolment"]
    assert "loopback" in _fails("serve", "--state", state, *options)


def test_an_absent_helper(tmp_path: Path) -> None:
    state = str(tmp_path / "cloud")
    token = tmp_path / "helper.token"
    token.write_text("ab" * 32)
    options = ["--helper", "http://127.0.0.1:9", "--port", "0"]
    assert "--helper-token-file" in _fails("serve", "--state", state, *options)
    options += ["--helper-token-file", str(token)]
    assert "does not answer" in _fails("serve", "--state", state, *options)
    token.write_text("not a token")
    assert "holds no helper token" in _fails("serve", "--state", state, *options)
    token.unlink()
    assert "cannot read the token file" in _fails("serve", "--state", state, *options)
    assert "leave out --helper" in _fails(
        "serve", "--state", state, "--aggregation", "local", *options
    )


@pytest.mark.parametrize(
    "command", ["token", "status", "rounds", "releases", "devices", "operator list"]
)
def test_no_cloud_here(tmp_path: Path, command: str) -> None:
    assert "there is no cloud in" in _fails(*command.split(), "--state", str(tmp_path))


def test_a_damaged_key(tmp_path: Path) -> None:
    (tmp_path / "signing.key").write_bytes(b"short")
    line = _fails("serve", "--state", str(tmp_path), "--port", "0")
    assert "restore it from a backup" in line


def test_looking_after_a_cloud(state: Path) -> None:
    from cloud.actors.registry import Registry
    from cloud.config import CloudConfig

    where = ["--state", str(state), "--json"]
    token = json.loads(run.invoke(app, ["token", *where]).stdout)["token"]
    registry = Registry(CloudConfig(state=state).database_url)
    device_id = registry.enrol(token, Phone(1).key.public, 0.0)
    registry.close()
    (device,) = json.loads(run.invoke(app, ["devices", *where]).stdout)
    assert (device["device_id"], device["revoked"]) == (device_id, None)
    assert run.invoke(app, ["revoke", device_id, *where]).exit_code == 0
    (device,) = json.loads(run.invoke(app, ["devices", *where]).stdout)
    assert device["revoked"] > 0
    assert "no device has the id" in _fails("revoke", "nobody", "--state", str(state))
    status = json.loads(run.invoke(app, ["status", *where]).stdout)
    assert status["devices"] == {"enrolled": 1, "active": 0, "revoked": 1}
    assert status["reports"] == {"day": 0, "week": 0}
    assert {row["task"]: row["filled"] for row in status["rounds"]} == {
        "usage": 0,
        "router": 0,
        "dedup": 0,
    }
    assert status["alarms"] == []
    rounds = json.loads(run.invoke(app, ["rounds", *where]).stdout)
    assert {each["status"] for each in rounds} == {"open"}
    releases = json.loads(run.invoke(app, ["releases", *where]).stdout)
    assert [each["status"] for each in releases] == ["published", "published"]
    for command in ("status", "rounds", "releases", "devices"):
        table = run.invoke(app, [command, "--state", str(state)])
        assert table.exit_code == 0


def test_lists_come_in_pages(state: Path) -> None:
    from sqlalchemy import insert

    from cloud.config import CloudConfig
    from cloud.storage import Database
    from cloud.storage.tables import devices

    database = Database(CloudConfig(state=state).database_url)
    rows = [{"device_id": f"{n:032x}", "public_key": bytes(32), "enrolled": 0.0} for n in range(5)]
    with database.write() as connection:
        connection.execute(insert(devices), rows)
    database.close()
    where = ["devices", "--state", str(state), "--limit", "2", "--json"]
    first = run.invoke(app, where)
    assert [row["device_id"] for row in json.loads(first.stdout)] == [f"{n:032x}" for n in (0, 1)]
    assert f"--after {1:032x}" in first.stderr
    rest = run.invoke(app, [*where[:-2], "10", "--json", "--after", f"{1:032x}"])
    assert len(json.loads(rest.stdout)) == 3
    assert rest.stderr == ""
    assert "--after" in _fails("rounds", "--state", str(state), "--after", "nonsense")


def test_operators_are_added_listed_and_revoked(state: Path) -> None:
    where = ["--state", str(state), "--json"]
    added = run.invoke(app, ["operator", "add", "lin", "--role", "operator", "--days", "2", *where])
    made = json.loads(added.stdout)
    assert (made["name"], made["role"], len(made["token"])) == ("lin", "operator", 64)
    assert "lin has a token already" in _fails("operator", "add", "lin", "--state", str(state))
    assert "letters, digits" in _fails("operator", "add", "l i n", "--state", str(state))
    plain = run.invoke(app, ["operator", "add", "kim", "--state", str(state)])
    assert len(plain.stdout.strip()) == 64
    listed = run.invoke(app, ["operator", "list", *where]).stdout
    assert made["token"] not in listed
    assert [(row["name"], row["role"], row["state"]) for row in json.loads(listed)] == [
        ("kim", "viewer", "active"),
        ("lin", "operator", "active"),
    ]
    assert json.loads(run.invoke(app, ["operator", "revoke", "lin", *where]).stdout) == {
        "revoked": "lin"
    }
    assert "revoked" in run.invoke(app, ["operator", "list", "--state", str(state)]).stdout
    assert "no operator nobody" in _fails("operator", "revoke", "nobody", "--state", str(state))


def test_traces_without_their_packages_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    assert "reverie[telemetry]" in _fails("serve", "--state", str(tmp_path), "--port", "0")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_announces_answers_and_stops(state: Path, number: signal.Signals) -> None:
    with running_process("serve", "--state", str(state), "--port", "0") as process:
        said = process.said
        assert said["embedded_helper"] is True
        with urllib.request.urlopen(said["url"] + "/v1/root", timeout=10) as answer:
            root = json.loads(answer.read())
        assert root["public_key"] == said["public_key"]
        assert root["open_enrolment"] is False
        code, errors = process.end(number)
    assert code == 0
    for line in errors.splitlines():
        json.loads(line)
    assert said["token"] not in errors


def test_serve_says_who_must_be_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def announce_only(_config: object, _options: object, announce: object) -> None:
        assert callable(announce)
        announce(Listening("http://127.0.0.1:1", "ab", "cd", "ef", "5167"))

    monkeypatch.setattr("cloud.cli.serve_cloud", announce_only)
    where = ["serve", "--state", str(tmp_path), "--budget", "demo"]
    alone = " ".join(run.invoke(app, where).output.split())
    assert "no gain in trust" in alone
    assert "two servers, helper in this process" in alone
    assert "not private" in alone
    remote = run.invoke(app, [*where, "--helper", "http://x", "--helper-token-file", "y"]).output
    assert "no gain" not in remote
    assert "helper of another operator, http://x" in remote
    assert "5167" in remote
    local = run.invoke(app, [*where, "--aggregation", "local"]).output
    assert "no gain" not in local
    assert "local: no helper" in local
