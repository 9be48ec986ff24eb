"""A phone made by `reverie-device init`, healthy until a test breaks one thing."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from device.conditions import Finding, ScriptedConditions
from device.interfaces.cli import app
from device.interfaces.doctor import Patient, Report, examine
from device.interfaces.doctor.checks import CHECKS
from device.interfaces.doctor.keys import Remembering
from device.settings import Settings, load_settings
from device.vault import protector_from_file
from device.vault.anchor import STATE_VARIABLE
from device.vault.vault_file import VAULT_FILE

CHECK_OF = {"ledger": "budget", "packages": "versions", "protocol": "cloud"}
"""Finding → the check that makes it, where it has another name."""
PASSPHRASE = "four words in a row"


class Doctored:
    """A phone's folder, and what the doctor says of it."""

    def __init__(self, home: Path, state: Path) -> None:
        self.home = home
        self.environ = {"REVERIE_PASSPHRASE": PASSPHRASE, STATE_VARIABLE: str(state)}

    def command(self, *arguments: str, code: int = 0) -> str:
        """What a command of `reverie-device` prints."""
        done = CliRunner().invoke(
            app, [*arguments, "--home", str(self.home)], env=self.environ | {"LANG": "C"}
        )
        assert done.exit_code == code, (done.output, done.exception)
        return done.output

    def patient(self, **changes: Any) -> Patient:
        """The phone as it is, on a machine where all is well but for `changes`."""
        protector = Remembering(protector_from_file(self.home / VAULT_FILE, self.environ))
        fields: dict[str, Any] = {
            "home": self.home,
            "settings": load_settings(self.home),
            "now": time.time(),
            "environ": self.environ,
            "conditions": ScriptedConditions.always(time.time),
            "protector": protector,
        }
        return Patient(**(fields | changes))

    def report(self, **changes: Any) -> Report:
        """What all checks find."""
        return asyncio.run(examine(self.patient(**changes), CHECKS))

    def found(self, name: str, **changes: Any) -> Finding:
        """The one finding of this name; only the check that can make it runs."""
        check = CHECK_OF.get(name, name)
        chosen = tuple(each for each in CHECKS if each[0] == check)
        report = asyncio.run(examine(self.patient(**changes), chosen))
        (finding,) = [each for each in report.findings if each.name == name]
        return finding


MakePhone = Callable[..., Doctored]


@pytest.fixture
def make_phone(tmp_path: Path) -> MakePhone:
    """`init` with these options; protected by a passphrase unless told otherwise."""

    def make(*options: str, secure: bool = True) -> Doctored:
        phone = Doctored(tmp_path / "phone", tmp_path / "state")
        phone.command("init", *(["--passphrase"] if secure else []), *options)
        return phone

    return make


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A phone that works alone, with a memory in it."""
    folder = tmp_path_factory.mktemp("template")
    made = Doctored(folder / "phone", folder / "state")
    made.command("init", "--passphrase")
    made.command("record", "the spare key is under the blue pot")
    return made.home


@pytest.fixture
def phone(template: Path, tmp_path: Path) -> Doctored:
    """A copy of it to be broken."""
    shutil.copytree(template, tmp_path / "phone")
    return Doctored(tmp_path / "phone", tmp_path / "state")


def with_settings(phone: Doctored, **changes: object) -> Settings:
    """Its settings but for these."""
    return load_settings(phone.home).model_copy(update=changes)
