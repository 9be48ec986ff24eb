"""Two phones and a whole cloud: pairing and exchange over real sessions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from device.account.errors import AccountError
from tests.device.conftest import OpenPhone
from tests.laws.world import Wire, World

CANARY = "zanzibar-canary-8842"


@asynccontextmanager
async def started(folder: Path) -> AsyncIterator[World]:
    """A cloud that has trained nothing yet: mail needs no release."""
    made = World(folder, "two-server")
    await made.cloud.start()
    try:
        yield made
    finally:
        for phone in made.phones:
            await phone.close()
        await made.cloud.stop()
        await made.runtime.stop()


async def test_phones_meet_and_exchange_over_sessions(tmp_path: Path) -> None:
    async with started(tmp_path) as w:
        wires = Wire(), Wire()
        phone, tablet = [await w.phone(wire=wire) for wire in wires]
        await phone.account.create("phone")
        await phone.record(f"My favourite tea is {CANARY}.", speaker="user")
        await phone.record("The dentist appointment is tomorrow at nine.", speaker="user")
        await phone.consolidate()
        # Neither has ever synced: the first call enrols.
        shown = await phone.account.show_code()
        assert await phone.account.device_came() is None
        await tablet.account.join(shown.code, "tablet")
        met = await phone.account.device_came()
        joined = await tablet.account.joined()
        assert met is not None
        assert joined is not None
        assert met.fingerprint == joined.fingerprint
        assert joined.name == "phone"
        # It has everything at once; from here on every sync carries the mail.
        assert {i.text for i in await tablet.items()} == {i.text for i in await phone.items()}
        assert await tablet.items()
        await tablet.record("I like long walks.", speaker="user")
        await tablet.consolidate()
        assert (await tablet.sync_now()).problems == []
        assert (await phone.sync_now()).problems == []
        assert {i.text for i in await tablet.items()} == {i.text for i in await phone.items()}
        assert any("walks" in i.text for i in await phone.items())
        # Taken out, it is told so, and syncs on as a phone of its own.
        await phone.account.remove("tablet")
        await phone.sync_now()
        problems = (await tablet.sync_now()).problems
        assert any("no longer in the account" in problem for problem in problems)
        crossed = [frame for wire in wires for frame in (*wire.up, *wire.down)]
        assert len(crossed) > 50
        assert not [frame for frame in crossed if CANARY.encode() in frame]
        assert not _files_with(tmp_path, CANARY.encode())


async def test_without_a_cloud_it_says_so(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    await phone.account.create("phone")
    with pytest.raises(AccountError, match="no cloud"):
        await phone.account.show_code()


def _files_with(folder: Path, text: bytes) -> list[Path]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if text in path.read_bytes()]
