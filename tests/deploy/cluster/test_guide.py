"""The operations guide: its commands exist, its links lead somewhere, the incident section runs."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from cloud.cli import app
from privacy.cli import app as audit
from tests.cloud.conftest import published, state  # noqa: F401 (fixtures: a cloud after its first tick)
from tests.deploy.cluster.chart import DEPLOY
from tests.deploy.cluster.flags import PROGRAMS, refusal

GUIDE = DEPLOY / "README.md"
BLOCK = re.compile(r"^ *```sh\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#]+)\)")
INLINE = re.compile(r"`((?:reverie-cloud|reverie-device|reverie-audit) [^`…]+)`")


def commands() -> list[str]:
    """Every line of ours in a code block, and every whole command in the text."""
    text = GUIDE.read_text()
    lines = [line.strip() for block in BLOCK.findall(text) for line in block.splitlines()]
    ours = [line for line in lines if line.split(" ")[0] in PROGRAMS]
    return sorted({*ours, *INLINE.findall(text)})


@pytest.mark.parametrize("line", commands())
def test_a_command_of_the_guide_is_understood(line: str) -> None:
    program, *arguments = shlex.split(line)
    said = refusal(program, arguments)
    # A file of the reader's own is not here.
    assert said == "" or "does not exist" in said


def test_the_guide_has_commands() -> None:
    assert len(commands()) > 20
    assert refusal("reverie-cloud", ["halts", "router"]) != ""


@pytest.mark.parametrize("target", sorted(set(LINK.findall(GUIDE.read_text()))))
def test_a_link_leads_somewhere(target: str) -> None:
    assert target.startswith("https://") or (DEPLOY / target).exists(), target


def test_the_commands_of_an_incident_run(state: Path, tmp_path: Path) -> None:  # noqa: F811
    """In the guide's order, over a cloud with two published models and a phone."""
    here = ["--state", str(state)]

    def run(*arguments: str, code: int = 0) -> Result:
        done = CliRunner().invoke(app, [*arguments, *here])
        assert done.exit_code == code, f"{arguments}: {done.output}"
        assert "Traceback" not in done.output
        return done

    assert json.loads(run("status", "--json").stdout)
    # Nothing is on its way to all phones: said in one line, and nothing is changed.
    assert run("halt", "router", code=2).stderr.count("\n") == 1
    assert run("rollback", "router", code=2).stderr.count("\n") == 1
    assert run("revoke", "0f3a5c", code=2).stderr.count("\n") == 1
    run("devices")
    run("operator", "add", "lin", "--role", "operator")
    run("operator", "revoke", "lin")
    run("keys", "rotate", "targets")
    run("keys", "rotate-root", "--into", str(tmp_path / "usb"), "--root-keys", "3")
    run("rounds")
    run("alarms")
    assert run("forget", "0f3a5c", code=2).stderr.count("\n") == 1
    fleet = CliRunner().invoke(audit, ["fleet", "--cloud", str(state / "cloud.db"), "--json"])
    assert fleet.exit_code == 0, fleet.output
    file = tmp_path / "cloud.tar"
    run("backup", str(file))
    restored = CliRunner().invoke(app, ["restore", str(file), "--state", str(tmp_path / "again")])
    assert restored.exit_code == 0, restored.output
    assert (tmp_path / "again" / "signing.key").read_bytes() == (state / "signing.key").read_bytes()
