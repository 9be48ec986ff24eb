"""An agent uses the phone's memory over MCP: official client, real processes, both transports."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

DEVICE = str(Path(sys.executable).with_name("reverie-device"))
TOKEN = "a-token-for-this-test-only"


def environment(home: Path) -> dict[str, str]:
    return os.environ | {"REVERIE_HOME": str(home), "REVERIE_MCP_TOKEN": TOKEN, "TZ": "UTC"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "phone"
    subprocess.run([DEVICE, "init"], env=environment(home), check=True, capture_output=True)
    return home


@asynccontextmanager
async def over_stdio(home: Path) -> AsyncIterator[Client]:
    server = StdioServerParameters(command=DEVICE, args=["mcp"], env=environment(home))
    async with Client(server, read_timeout_seconds=30) as client:
        yield client


@pytest.fixture
def address(home: Path) -> Iterator[str]:
    process = subprocess.Popen(
        [DEVICE, "mcp", "--http"], env=environment(home), stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+/mcp", line)
    assert found, line
    yield found[0]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode in (0, 130, -signal.SIGINT)


@asynccontextmanager
async def over_http(address: str, token: str = TOKEN) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        transport = streamable_http_client(address, http_client=http)
        async with Client(transport, read_timeout_seconds=30) as client:
            yield client


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    content = result.structured_content
    assert content is not None
    return content.get("result", content) if set(content) == {"result"} else content


async def a_day_with_an_agent(client: Client) -> None:
    """Remember, recall, say what helped, learn from a task, ask before acting, forget."""
    turn = await call(client, "remember", text="My daughter Mei is allergic to peanuts")
    assert turn.startswith("raw:")
    found = await call(client, "recall", query="what is Mei allergic to?")
    memory = found["memories"][0]
    assert "peanuts" in memory["text"]
    assert memory["origin"].startswith("from what you said")
    assert memory["turns"] == [turn]
    assert await call(client, "feedback", answer=found["answer"], used=[memory["id"]]) == "noted"
    why = await call(client, "why", about=memory["id"])
    assert "peanuts" in str(why)

    steps = [
        {"action": "click", "target": "click on the search icon at the bottom of the screen",
         "result": "ok"},
        {"action": "type", "target": "peanut free snacks", "result": "ok"},
    ]  # fmt: skip
    learnt = await call(
        client, "record_task", app="com.shop", goal="find snacks", steps=steps, outcome="success"
    )
    assert learnt["written"] == 1
    block = await call(client, "context", apps=["com.shop"], goal="find a lamp")
    assert "The search icon is at the bottom of the screen." in block["text"]
    assert block["facts"] == learnt["changed"]
    assert "name" in " ".join(block["exploring"]).lower() or block["exploring"]
    marks = await call(client, "report", worked=block["facts"])
    assert marks["changed"] == block["facts"]

    verdict = await call(client, "permission", action="tap Pay now")
    assert verdict["ask"] == "always"
    assert await call(client, "forget", ids=[turn]) >= 1
    again = await call(client, "recall", query="what is Mei allergic to?")
    assert "peanuts" not in str(again["memories"])


async def test_an_agent_over_stdio(home: Path) -> None:
    async with over_stdio(home) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"remember", "recall", "context", "permission", "forget"} <= names
        await a_day_with_an_agent(client)


async def test_an_agent_over_http(address: str) -> None:
    async with over_http(address) as client:
        await a_day_with_an_agent(client)


async def test_resources_list_what_is_remembered(home: Path) -> None:
    async with over_stdio(home) as client:
        await call(client, "remember", text="I love hiking in the hills")
        status = await client.read_resource("memory://status")
        assert '"turns": 1' in status.contents[0].text  # type: ignore[union-attr]
        facts = await client.read_resource("memory://items/fact")
        assert facts.contents[0].text == "[]"  # type: ignore[union-attr]
        with pytest.raises(Exception, match="kinds are"):
            await client.read_resource("memory://items/nonsense")


async def test_trouble_is_one_line_and_the_server_goes_on(home: Path) -> None:
    async with over_stdio(home) as client:
        asked: list[tuple[str, dict[str, Any], str]] = [
            ("why", {"about": "mem:99"}, "no memory is called"),
            ("load_skill", {"name": "nothing"}, "no skill is called"),
            ("forget", {"ids": ["nonsense"]}, "no memory is called"),
        ]
        for tool, arguments, told in asked:
            result = await client.call_tool(tool, arguments)
            assert result.is_error
            text = result.content[0].text  # type: ignore[union-attr]
            assert told in text
            assert "Traceback" not in text
        result = await client.call_tool("recall", {"query": "x" * 30_000})
        assert result.is_error
        assert await call(client, "remember", text="still here")


async def test_without_the_token_nothing_is_served(address: str) -> None:
    async with httpx2.AsyncClient() as http:
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN}):
            answer = await http.post(address, json={}, headers=headers)
            assert answer.status_code == 401
            assert answer.content == b""


async def test_a_foreign_page_cannot_reach_it_by_name(address: str) -> None:
    """DNS rebinding: a page that points its own name at loopback is refused by its Host."""
    async with httpx2.AsyncClient() as http:
        headers = {"authorization": f"Bearer {TOKEN}", "host": "evil.example"}
        answer = await http.post(address, json={}, headers=headers)
        assert 400 <= answer.status_code < 500
