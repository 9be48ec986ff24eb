"""Every way in which a tool fails ends as None, in time, with no process left behind."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from device.conditions.tools import MAX_OUTPUT, run_tool
from tests.device.conditions.conftest import Bench


async def test_what_a_tool_prints(bench: Bench) -> None:
    bench.tool("say", 'printf "%s|%s|%s" "$1" "$2" "$LC_ALL"')
    assert await run_tool(("say", "a b", "雨")) == "a b|雨|C"


@pytest.mark.parametrize(
    "script",
    [
        "exit 1",
        "printf '\\377\\376'",
        f"head -c {MAX_OUTPUT + 1} /dev/zero",
        "yes",
        "kill -9 $$",
    ],
)
async def test_failures_are_none(bench: Bench, script: str) -> None:
    bench.tool("bad", script)
    assert await run_tool(("bad",)) is None
    assert bench.left_behind() == []


async def test_an_absent_or_broken_tool(bench: Bench) -> None:
    assert await run_tool(("no-such-tool-here",)) is None
    bench.tool("plain", "").chmod(0o644)
    assert await run_tool((str(bench.folder / "plain"),)) is None


HANG = "sleep 3600 & echo $! >> {children}; wait"
ORPHAN = "(sleep 3600 & echo $! >> {children}) ; exit 0"
HOLDS_PIPE = "sleep 3600 & echo $! >> {children}; echo done; exit 0"
CLOSES_PIPE = "exec >&- ; sleep 3600 & echo $! >> {children}; wait"


@pytest.mark.parametrize("script", [HANG, HOLDS_PIPE, CLOSES_PIPE])
async def test_a_hang_is_cut_with_all_its_children(bench: Bench, script: str) -> None:
    bench.tool("hang", script.format(children=bench.children))
    start = time.monotonic()
    assert await run_tool(("hang",), limit=0.3) is None
    assert time.monotonic() - start < 5.0
    assert bench.left_behind() == []


async def test_children_of_a_tool_that_succeeds_are_killed_too(bench: Bench) -> None:
    script = "sleep 3600 >/dev/null 2>&1 & echo $! >> {children}; echo fine"
    bench.tool("leaky", script.format(children=bench.children))
    assert await run_tool(("leaky",)) == "fine\n"
    assert bench.left_behind() == []


@pytest.mark.parametrize("steps", range(12))
async def test_cancelling_early_leaves_nothing(bench: Bench, steps: int) -> None:
    bench.tool("hang", HANG.format(children=bench.children))
    asking = asyncio.ensure_future(run_tool(("hang",)))
    for _ in range(steps):
        await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert bench.left_behind() == []


async def test_cancelling_the_caller_kills_the_tool(bench: Bench) -> None:
    bench.tool("hang", HANG.format(children=bench.children))
    asking = asyncio.ensure_future(run_tool(("hang",)))
    for _ in iter(lambda: bench.noted(2), True):
        await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert bench.left_behind() == []


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_no_descriptor_leaks(bench: Bench) -> None:
    bench.tool("say", "echo x")
    bench.tool("bad", "exit 1")
    for tool in ("say", "bad", "absent"):
        await run_tool((tool,))
    before = descriptors()
    for tool in ("say", "bad", "absent") * 3:
        await run_tool((tool,))
    assert descriptors() <= before
