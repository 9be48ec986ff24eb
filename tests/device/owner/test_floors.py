"""The floors in force, and where they come from: `status` and `why` say both."""

from __future__ import annotations

import asyncio
from datetime import UTC
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from device.interfaces.home import open_phone as open_home
from device.interfaces.home import reach_phone
from device.interfaces.memory_views import why_lines
from device.interfaces.service import serving
from device.interfaces.views import floors_line, status_table
from device.memory.records import Layer
from device.phone import Phone
from device.recall.floors import Floors
from device.settings import Settings, save_settings
from device.vault import create_protector
from protocol.models import ROUTER
from protocol.params import Parameters
from tests.device.conftest import OpenPhone

PLAIN = "我养的花"
"""No rule is sure about it."""
POLICY = {"floor_working": 0.4, "floor_structured": 0.1, "floor_raw": 0.04}


def router_giving(working: float, structured: float, raw: float) -> Parameters:
    weights = {name: np.zeros(shape, np.float32) for name, shape in ROUTER.shapes.items()}
    wanted = np.asarray([working, structured, raw])
    weights[f"b{ROUTER.depth}"] = np.log(wanted / (1 - wanted)).astype(np.float32)
    return Parameters.of(weights, ROUTER, 3)


async def searched(phone: Phone) -> set[Layer]:
    """The layers that the phone's own recall looks into."""
    route = phone._recaller._router().route(PLAIN, 0.0)
    assert route.decided_by == "model"
    return set(route.layers)


async def test_the_release_in_use_decides(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    phone.shelf.lend(router_giving(0.3, 0.3, 0.05), POLICY)
    assert await searched(phone) == {Layer.STRUCTURED, Layer.RAW}
    expected = Floors(working=0.4, structured=0.1, raw=0.04, source="release")
    assert phone.floors == expected
    assert (await phone.status()).floors == expected
    assert (await phone.why(PLAIN)).floors == expected
    phone.shelf.lend(router_giving(0.3, 0.3, 0.05))
    assert await searched(phone) == {Layer.WORKING, Layer.STRUCTURED}
    assert phone.floors.source == "default"


async def test_the_owners_setting_wins(open_phone: OpenPhone) -> None:
    phone = await open_phone(layer_floor=0.1)
    phone.shelf.lend(router_giving(0.3, 0.3, 0.05), POLICY)
    assert await searched(phone) == {Layer.WORKING, Layer.STRUCTURED}
    assert (await phone.status()).floors == Floors(0.1, 0.1, 0.1, "settings")


async def test_an_id_is_looked_up_and_not_routed(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    turn = await phone.record("The ladder is behind the shed")
    assert (await phone.why(turn.id)).floors is None


@pytest.mark.parametrize(
    ("floors", "said"),
    [
        (
            Floors(),
            "layers not searched under working 0.10, structured 0.10, raw 0.10 (the default)",
        ),
        (Floors(0.4, 0.1, 0.04, "release"), "raw 0.04 (came with the router in use)"),
        (Floors(0.2, 0.2, 0.2, "settings"), "raw 0.20 (chosen in this phone's settings)"),
    ],
)
def test_where_they_come_from_is_said_in_words(floors: Floors, said: str) -> None:
    assert said in floors_line(floors)


async def test_people_see_them_in_status_and_in_why(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    phone.shelf.lend(router_giving(0.3, 0.3, 0.05), POLICY)
    await phone.record("我养的花开了")
    console = Console(width=200, record=True)
    console.print(status_table(await phone.status()))
    for line in why_lines(await phone.why(PLAIN), UTC):
        console.print(line)
    shown = console.export_text()
    assert shown.count("raw 0.04 (came with the router in use)") == 2


def test_they_cross_the_daemons_socket(tmp_path: Path) -> None:
    create_protector("keyfile", tmp_path, bits=np.random.default_rng(1).bytes)
    save_settings(tmp_path, Settings(budget="demo"))

    async def ask() -> tuple[Floors, Floors | None]:
        async with open_home(tmp_path) as phone, serving(phone, tmp_path):
            phone.shelf.lend(router_giving(0.3, 0.3, 0.05), POLICY)
            async with reach_phone(tmp_path) as far:
                return (await far.status()).floors, (await far.why(PLAIN)).floors

    expected = Floors(0.4, 0.1, 0.04, "release")
    assert asyncio.run(ask()) == (expected, expected)
