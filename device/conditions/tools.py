"""Asking a command-line tool that may hang, lie, or not be there."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

__all__ = ["TOOL_LIMIT", "AskTool", "RunTool", "Said", "Trouble", "ask_tool", "run_tool"]

Trouble = Literal["", "absent", "late", "failed", "unreadable"]
"""How a tool failed: not there (or not executable), over time, exit code ≠ 0, too long or not
UTF-8. Empty: it did not."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool printed, or how it failed."""

    text: str | None
    """None exactly when there is trouble."""
    trouble: Trouble = ""


AskTool = Callable[[Sequence[str]], Awaitable[Said]]
"""Runs a command line."""
RunTool = Callable[[Sequence[str]], Awaitable[str | None]]
"""Runs a command line; what it printed, or None when it failed in whatever way."""

TOOL_LIMIT = 10.0
"""Seconds a tool may take; Termux:API calls of 7 s were seen on slow phones."""
MAX_OUTPUT = 256 * 1024
"""Bytes read from a tool; `dumpsys connectivity` is the longest we know, under 100 kB."""


async def run_tool(argv: Sequence[str], *, limit: float = TOOL_LIMIT) -> str | None:
    """What `argv` printed, or None for any trouble `ask_tool` tells."""
    return (await ask_tool(argv, limit=limit)).text


async def ask_tool(argv: Sequence[str], *, limit: float = TOOL_LIMIT) -> Said:
    """What `argv` printed within `limit` seconds, or its trouble.

    The tool runs in its own session and its whole process group is killed at the end, also when
    the caller is cancelled: a Termux:API wrapper leaves its helper behind otherwise.
    """
    read_fd, write_fd = os.pipe()
    with os.fdopen(read_fd, "rb", buffering=0) as pipe:
        try:
            process = await _start(argv, write_fd)
        except OSError:
            return Said(None, "absent")
        finally:
            os.close(write_fd)
        try:
            async with asyncio.timeout(limit):
                output = await _read_all(pipe)
                code = await process.wait()
        except TimeoutError:
            return Said(None, "late")
        finally:
            _kill_group(process)
            await process.wait()
    if code != 0:
        return Said(None, "failed")
    return Said(None, "unreadable") if output is None else Said(output)


async def _start(argv: Sequence[str], write_fd: int) -> asyncio.subprocess.Process:
    """Start the tool; a caller cancelled meanwhile leaves no process either.

    asyncio by itself would then kill the leader only, and its children would live on.
    """
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=write_fd,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
            env=os.environ | {"LC_ALL": "C"},  # nmcli translates its words
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        starting.add_done_callback(_kill_started)
        await asyncio.wait((starting,))
        raise


def _kill_started(starting: asyncio.Future[asyncio.subprocess.Process]) -> None:
    if not starting.cancelled() and starting.exception() is None:
        _kill_group(starting.result())


def _kill_group(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def _read_all(pipe: object) -> str | None:
    """Everything up to the end of the pipe; None when too long or not text."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    try:
        collected = bytearray()
        while chunk := await reader.read(MAX_OUTPUT):
            collected += chunk
            if len(collected) > MAX_OUTPUT:
                return None
        return collected.decode("utf-8")
    except UnicodeDecodeError:
        return None
    finally:
        transport.close()
