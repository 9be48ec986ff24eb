"""An owner puts a model's older parameters back, here and through a running daemon."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from device.interfaces.cli import app
from device.interfaces.service import Refused, reach, serving
from device.phone import Phone
from device.settings import save_settings
from device.sync.adoption import Outcome
from device.sync.calls import NothingToRevert
from protocol.models.forward import initial_weights
from protocol.models.spec import SPECS
from protocol.params import Parameters, encode_full
from tests.device.conftest import OpenPhone

DEDUP = SPECS["dedup"]


async def with_two_versions(open_phone: OpenPhone) -> Phone:
    phone = await open_phone()
    weights = initial_weights(DEDUP, np.random.Generator(np.random.Philox(1)))
    for version in (1, 2):
        parameters = Parameters.of(weights, DEDUP, version)
        held = phone.shelf._pool.hold(parameters)
        outcome = Outcome("dedup", version, True, "", 0.9)
        phone.shelf._adopt(held, encode_full(parameters), outcome, {})
    return phone


async def test_the_older_version_is_back_and_nothing_lies_behind_it(open_phone: OpenPhone) -> None:
    phone = await with_two_versions(open_phone)
    assert await phone.revert("dedup") == 1
    assert phone.shelf.version("dedup") == 1
    for model in ("dedup", "router", "../etc"):
        with pytest.raises(NothingToRevert, match="see `status`"):
            await phone.revert(model)


async def test_on_the_command_line_while_the_daemon_runs(
    open_phone: OpenPhone, tmp_path: Path
) -> None:
    phone = await with_two_versions(open_phone)
    save_settings(tmp_path, phone.settings)
    command = ["revert", "dedup", "--home", str(tmp_path), "--json"]
    async with serving(phone, tmp_path), reach(tmp_path, phone.settings) as served:
        done = await asyncio.to_thread(CliRunner().invoke, app, command)
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout) == {"model": "dedup", "version": 1}
        assert served is not None
        with pytest.raises(Refused, match="no older parameters"):
            await served.revert("dedup")
        again = await asyncio.to_thread(CliRunner().invoke, app, command)
        assert again.exit_code != 0
        assert "Traceback" not in again.output
