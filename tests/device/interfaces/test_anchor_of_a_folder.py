"""A phone's folder and its anchor: one place each, and a copied folder finds no anchor."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from device.actors import SystemClock
from device.interfaces.cli import app
from device.interfaces.home import open_phone
from device.phone import Phone
from device.vault.anchor import STATE_VARIABLE, FileAnchor, anchor_file
from privacy.streams import USAGE_DIMENSION
from tests.device.sync.conftest import descriptor


def report(phone: Phone, round_: int) -> tuple[str, ...]:
    now = SystemClock().now()
    about = descriptor(round_=round_, dimension=USAGE_DIMENSION)
    about = about.model_copy(update={"opens": now - 10, "closes": now + 86_400})
    return phone._contributions.make([about], records=1).rounds


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*")]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "phone"
    done = CliRunner().invoke(app, ["init", "--home", str(folder), "--budget", "demo"])
    assert done.exit_code == 0
    return folder


async def test_the_anchor_follows_the_ledger_outside_the_folder(
    home: Path, own_state: Path
) -> None:
    path = anchor_file(home, {STATE_VARIABLE: str(own_state)})
    async with open_phone(home) as phone:
        assert not path.exists(), "a phone that reported nothing leaves no trace"
        assert report(phone, 1) == ("usage/1",)
        mark = FileAnchor(path).read()
        assert mark is not None
        assert tuple(mark) == phone.ledger.head
    assert home not in path.parents
    assert not any("anchor" in name for name in names_in(home))
    async with open_phone(home) as again:
        assert again.ledger.suspicion == ""
        assert report(again, 2) == ("usage/2",)


async def test_a_folder_copied_or_moved_is_suspected(home: Path, tmp_path: Path) -> None:
    async with open_phone(home) as phone:
        assert report(phone, 1) == ("usage/1",)
    copied = tmp_path / "elsewhere"
    shutil.copytree(home, copied)
    async with open_phone(copied) as clone:
        assert (await clone.status()).budget.suspicion == "unmarked"
        assert report(clone, 2) == ()
    async with open_phone(home) as phone:
        assert (await phone.status()).budget.suspicion == ""


async def test_a_backup_put_back_in_its_place_is_suspected(home: Path, tmp_path: Path) -> None:
    async with open_phone(home) as phone:
        assert report(phone, 1) == ("usage/1",)
    backup = tmp_path / "backup"
    shutil.copytree(home, backup)
    async with open_phone(home) as phone:
        assert report(phone, 2) == ("usage/2",)
    shutil.rmtree(home)
    shutil.copytree(backup, home)
    async with open_phone(home) as restored:
        assert (await restored.status()).budget.suspicion == "rolled back"
        assert report(restored, 3) == ()
