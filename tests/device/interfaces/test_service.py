"""One daemon owns the phone; other processes of its user ask it."""

from __future__ import annotations

import asyncio
import json
import stat
from pathlib import Path

import pytest

from device.interfaces.service import SOCKET, CannotListen, Refused, reach, serving
from device.memory import Archive
from tests.device.conftest import OpenPhone


async def test_every_call_reaches_the_phone_and_comes_back_whole(
    open_phone: OpenPhone, tmp_path: Path
) -> None:
    phone = await open_phone()
    async with serving(phone, tmp_path), reach(tmp_path, phone.settings) as served:
        assert served is not None
        await phone.record("I prefer the aisle seat")
        assert (await served.dream()).consolidated == 1
        answer = await served.recall("aisle seat")
        assert answer.hits == (await phone.recall("aisle seat")).hits
        await served.feedback(answer, [answer.hits[0].id])
        assert len(phone.examples.training_set("router")[0]) == 1
        assert await served.items() == await phone.items()
        turns = await served.turns()
        assert turns == await phone.turns()
        assert (await served.status()).memory.turns == 1
        assert await served.forget([turns[0].id]) > 0
        assert await phone.turns() == []


async def test_seeing_and_erasing_reach_the_phone_too(
    open_phone: OpenPhone, tmp_path: Path
) -> None:
    phone = await open_phone()
    for text in ("My name is Ann Bell", "I like green tea", "I fly to Oslo next Wednesday"):
        await phone.record(text)
    async with serving(phone, tmp_path), reach(tmp_path, phone.settings) as served:
        assert served is not None
        assert await served.consolidate() == 3
        page = await served.browse(None, False, 0, 2)
        assert page == await phone.browse(None, False, 0, 2)
        identifier = page.items[0].id
        shown, same = await served.show(identifier), await phone.show(identifier)
        assert (shown.item, shown.sources) == (same.item, same.sources)
        assert (await served.why("green tea")).reasons == (await phone.why("green tea")).reasons
        assert await served.values() == await phone.values()
        assert await served.unknown() == await phone.unknown()
        await phone._structured.ask(Archive([identifier]))
        assert await served.archived() == await phone.archived()
        assert await served.unarchive([identifier]) == [identifier]
        assert await served.plan_forget_query("Oslo") == await phone.plan_forget_query("Oslo")
        plan = await served.plan_forget(["value:name"])
        assert (await served.forget_planned(plan.ids)).turns == 1
        assert (await served.forget_query("Oslo")).turns == 1
        with pytest.raises(Refused, match="mem:99"):
            await served.show("mem:99")
        assert (await served.forget_everything()).turns == 1
        assert await phone.turns() == []


async def test_a_refusal_is_told_in_the_daemons_words(
    open_phone: OpenPhone, tmp_path: Path
) -> None:
    phone = await open_phone()
    async with serving(phone, tmp_path), reach(tmp_path, phone.settings) as served:
        assert served is not None
        with pytest.raises(Refused, match="init --cloud"):
            await served.sync_now()


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"no json",
        b"[]",
        b'{"call":"close","with":[]}',
        b'{"call":"recall","with":["a"]}',
        b'{"call":"recall","with":["a","b"]}',
        b'{"call":"__init__","with":[]}',
    ],
)
async def test_a_bad_request_is_refused_and_the_next_served(
    open_phone: OpenPhone, tmp_path: Path, line: bytes
) -> None:
    phone = await open_phone()
    async with serving(phone, tmp_path):
        reader, writer = await asyncio.open_unix_connection(tmp_path / SOCKET)
        writer.write(line + b"\n")
        assert "error" in json.loads(await reader.readline())
        writer.write(b'{"call":"turns","with":[-1,10]}\n')
        assert json.loads(await reader.readline()) == {"value": []}
        writer.close()


async def test_only_the_owner_may_connect_and_nobody_after_the_end(
    open_phone: OpenPhone, tmp_path: Path
) -> None:
    phone = await open_phone()
    async with serving(phone, tmp_path):
        assert stat.S_IMODE((tmp_path / SOCKET).stat().st_mode) == 0o600
    async with reach(tmp_path, phone.settings) as served:
        assert served is None


async def test_a_folder_too_deep_for_a_socket_is_one_clear_line(
    open_phone: OpenPhone, tmp_path: Path
) -> None:
    deep = tmp_path / ("x" * 110)
    deep.mkdir()
    phone = await open_phone()
    with pytest.raises(CannotListen, match="a folder with a shorter path"):
        async with serving(phone, deep):
            raise AssertionError("it cannot listen there")
