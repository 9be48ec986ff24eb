"""Public documents before their owner: listed, dropped, taken again, shown for what they are."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from device.interfaces.cli import app
from device.interfaces.mcp_server import _Tools
from device.interfaces.memory_views import why_lines
from device.interfaces.service import Refused, reach, serving
from device.interfaces.views import answer_table
from device.owner.knowledge import UnknownDocument
from device.phone import Phone
from device.settings import save_settings
from protocol.documents import describe
from tests.device.conftest import OpenPhone
from tests.device.recall.rig import START
from tests.device.recall.shelf import METRO, document, facts

TICKET = "what does a metro ticket cost"


async def with_metro(open_phone: OpenPhone) -> Phone:
    phone = await open_phone(timezone="UTC")
    content = document(facts(METRO, source="City transport"))
    public = phone._recaller._public
    assert public is not None
    await public.take(describe("metro", 3, content), content, START, START)
    return phone


def shown(renderable: object) -> str:
    console = Console(width=300, record=True, markup=False)
    console.print(renderable)
    return console.export_text()


async def test_an_answer_says_what_is_public(
    open_phone: OpenPhone, monkeypatch: pytest.MonkeyPatch
) -> None:
    phone = await with_metro(open_phone)
    answer = await phone.recall(TICKET)
    monkeypatch.setenv("LC_ALL", "C")
    table = shown(answer_table(answer, phone.settings.zone))
    assert "PUBLIC, not your memory: metro version 3 (fare)" in table
    assert "City transport" in table
    why = await phone.why(TICKET)
    assert any("PUBLIC" in line.plain for line in why_lines(why, phone.settings.zone))
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "公开资料，不是你的记忆：metro 第 3 版" in shown(
        answer_table(answer, phone.settings.zone)
    )


async def test_an_agent_is_told_the_layer_and_the_origin(open_phone: OpenPhone) -> None:
    phone = await with_metro(open_phone)
    recalled = await _Tools(phone, lambda: START).recall(TICKET, 5, "en")
    (best, *_) = recalled.memories
    assert (best.id, best.layer, best.turns) == ("pub:metro/fare", "public", [])
    assert best.origin.startswith("public: from the document metro, version 3")


async def test_the_daemon_passes_all_of_it_on(open_phone: OpenPhone, tmp_path: Path) -> None:
    phone = await with_metro(open_phone)
    async with serving(phone, tmp_path), reach(tmp_path, phone.settings) as served:
        assert served is not None
        assert (await served.recall(TICKET)).hits == (await phone.recall(TICKET)).hits
        assert await served.knowledge() == await phone.knowledge()
        with pytest.raises(Refused, match="knowledge list"):
            await served.drop_knowledge("other")
        await served.drop_knowledge("metro")
        assert (await phone.recall(TICKET)).hits == ()
        with pytest.raises(UnknownDocument):
            await phone.drop_knowledge("metro")
        await served.want_knowledge("metro")
        with pytest.raises(Refused, match="was dropped"):
            await served.want_knowledge("metro")
        assert await served.knowledge() == []


async def test_list_drop_and_take_on_the_command_line(
    open_phone: OpenPhone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    phone = await with_metro(open_phone)
    save_settings(tmp_path, phone.settings)

    async def run(*arguments: str) -> str:
        command = ["knowledge", *arguments, "--home", str(tmp_path)]
        done = await asyncio.to_thread(CliRunner().invoke, app, command)
        assert done.exit_code == 0, done.output
        return done.stdout

    async with serving(phone, tmp_path):
        (held,) = json.loads(await run("list", "--json"))
        assert (held["name"], held["version"], held["records"]) == ("metro", 3, 4)
        assert "metro" in await run("list")
        assert json.loads(await run("drop", "metro", "--json")) == {"dropped": "metro"}
        assert "dropped" in await run("list")
        assert "next sync" in await run("take", "metro")
        assert "come with a sync" in await run("list")


async def test_forgetting_everything_leaves_what_everybody_has(open_phone: OpenPhone) -> None:
    """It is nobody's; who wants it gone drops it."""
    phone = await with_metro(open_phone)
    await phone.record("A metro ticket costs me 3 yuan")
    await phone.forget_everything()
    assert [hit.id for hit in (await phone.recall(TICKET)).hits] == ["pub:metro/fare"]
