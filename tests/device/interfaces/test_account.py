"""`reverie-device account`: what is printed, in both languages and as JSON, and what goes wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from device.account.calls import AccountCalls
from device.account.pairing import Code
from device.interfaces.cli import app
from device.interfaces.remote_account import ACCOUNT_CALLS, RemoteAccount

runner = CliRunner()


def account(home: Path, *words: str, language: str = "C") -> Result:
    arguments = ["account", words[0], "--home", str(home), *words[1:]]
    return runner.invoke(app, arguments, env={"LC_ALL": language})


@pytest.fixture
def phone(tmp_path: Path) -> Path:
    home = tmp_path / "phone"
    assert runner.invoke(app, ["init", "--home", str(home), "--budget", "demo"]).exit_code == 0
    return home


def test_an_account_is_made_and_shown(phone: Path) -> None:
    made = account(phone, "create", "--name", "my phone", "--json")
    assert made.exit_code == 0
    told = json.loads(made.stdout)
    assert [d["name"] for d in told["devices"]] == ["my phone"]
    shown = account(phone, "show")
    assert "my phone  (this one)" in shown.stdout
    assert told["account"][:8] in shown.stdout
    chinese = account(phone, "show", language="zh_CN.UTF-8")
    assert "（本机）" in chinese.stdout
    assert json.loads(account(phone, "show", "--json").stdout) == told


def test_what_goes_wrong_is_told_in_one_line(phone: Path) -> None:
    assert "in no account" in str(account(phone, "show").exception)
    assert "mistyped" in str(account(phone, "join", "00000-00000-0001").exception)
    assert account(phone, "create").exit_code == 0
    assert "already" in str(account(phone, "create").exception)
    assert "no device" in str(account(phone, "remove", "tablet").exception)
    assert "no cloud" in str(account(phone, "code").exception)
    left = account(phone, "leave")
    assert "no account any more" in left.stdout
    assert "in no account" in str(account(phone, "show").exception)


def test_join_without_a_cloud_says_so(phone: Path) -> None:
    code = str(Code.fresh(os.urandom))
    assert "no cloud" in str(account(phone, "join", code).exception)


@pytest.mark.parametrize("command", ["show", "create", "code", "join", "remove", "leave"])
def test_help_has_examples(command: str) -> None:
    asked = runner.invoke(app, ["account", command, "--help"], env={"COLUMNS": "200"})
    assert "Example" in asked.stdout


def test_a_daemon_serves_the_same_calls() -> None:
    calls = {name.removeprefix("account.") for name in ACCOUNT_CALLS}
    offered = {name for name in vars(RemoteAccount) if not name.startswith("_")}
    assert calls == offered
    assert offered < set(dir(AccountCalls))
