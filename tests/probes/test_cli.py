"""`reverie-device probe`: what it prints, what it returns, whose parameters it plays."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from device.interfaces.cli import app
from device.interfaces.commands import probe as command
from device.interfaces.home import open_phone
from device.interfaces.service import serving
from device.probing import Models, Suite, play
from device.settings import Settings, save_settings
from device.vault import create_protector
from protocol.models import ROUTER, initial_weights
from protocol.params import Parameters, sha256_of

runner = CliRunner()


@pytest.fixture
def asked(tiny: Suite, monkeypatch: pytest.MonkeyPatch) -> list[Models]:
    """The command asks the tiny suite; the parameters it asks with are noted."""
    models: list[Models] = []

    def noted(suite: Suite, given: Models) -> object:
        models.append(given)
        return play(suite, given)

    monkeypatch.setattr(command, "load_suite", lambda: tiny)
    monkeypatch.setattr(command, "play", noted)
    return models


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "phone"
    folder.mkdir(mode=0o700)
    create_protector("keyfile", folder, bits=os.urandom)
    save_settings(folder, Settings(budget="demo"))
    return folder


def a_router() -> Parameters:
    rng = np.random.Generator(np.random.Philox(key=3))
    return Parameters.of(initial_weights(ROUTER, rng), ROUTER, version=4)


def test_json_counts_and_names_what_failed(asked: list[Models], tmp_path: Path) -> None:
    done = runner.invoke(app, ["probe", "--home", str(tmp_path / "none"), "--json"])
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    assert (report["total"], report["passed"]) == (3, 2)
    assert [f["id"] for f in report["failed"]] == ["en-shed/wrong"]
    assert set(report["failed"][0]) == {"id", "kind", "language", "path", "reason"}
    assert asked == [Models()]
    assert not (tmp_path / "none").exists()


def test_a_table_by_path_and_language_for_people(asked: list[Models], tmp_path: Path) -> None:
    done = runner.invoke(app, ["probe", "--home", str(tmp_path / "none")])
    assert done.exit_code == 1
    assert "1/2" in done.stdout
    assert "1/1" in done.stdout
    assert "in the attic" in done.stdout
    assert "2 of 3 probes passed" in done.stdout


def test_filters_and_success(asked: list[Models], tmp_path: Path) -> None:
    chosen = ["--language", "zh", "--path", "raw"]
    done = runner.invoke(app, ["probe", "--home", str(tmp_path / "none"), *chosen])
    assert done.exit_code == 0
    assert "1 of 1 probes passed" in done.stdout


def test_an_unknown_path_names_the_known_ones(asked: list[Models], tmp_path: Path) -> None:
    done = runner.invoke(app, ["probe", "--home", str(tmp_path / "none"), "--path", "sky"])
    assert done.exit_code != 0
    assert isinstance(done.exception, command.NoSuchProbes)
    assert "raw" in str(done.exception)
    assert asked == []


@pytest.mark.parametrize("daemon", [False, True])
def test_plays_the_parameters_the_phone_has_adopted(
    asked: list[Models], tiny: Suite, home: Path, daemon: bool
) -> None:
    async def play_it() -> None:
        async with open_phone(home) as phone:
            phone.shelf.lend(a_router())
            if daemon:
                async with serving(phone, home):
                    await command._ask(home, tiny)
            else:
                asked.append(Models(router=phone.shelf.adopted("router")))

    asyncio.run(play_it())
    (given,) = asked
    assert given.router is not None
    assert given.dedup is None
    assert given.router.version == 4
    assert sha256_of(given.router) == sha256_of(a_router())
