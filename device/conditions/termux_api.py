"""Asking Termux:API: a program in Termux that waits, without a limit, for an app beside it.

How a call fails, whatever its exit code (0 in every case but a wrong option):

| what happens                      | what comes                              | trouble   |
|-----------------------------------|-----------------------------------------|-----------|
| the package termux-api is missing | no such program                         | absent    |
| the app is missing, frozen, barred | nothing, for ever                      | late      |
| Android refuses a permission      | ``{"error": "Please grant …"}``         | refused   |
| the app reports an error          | ``{"API_ERROR": "…"}``                  | api error |
| the app threw                     | nothing, at once                        | empty     |
| package and app do not match      | anything else                           | garbage   |
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from device.conditions.tools import AskTool, Said

__all__ = ["HEDGE", "ApiTrouble", "Reply", "ask_again", "reply_of"]

ApiTrouble = Literal[
    "", "absent", "late", "failed", "refused", "api error", "no connection", "empty", "garbage"
]

HEDGE = 1.2
"""Seconds after which a call is made once more, beside the first: on Android 16 one in ten to
twenty hangs (termux-api#861), and a window must not close for that."""

_PERMISSION = re.compile(r"\bandroid\.permission\.([A-Z_]{1,64})\b")


@dataclass(frozen=True, slots=True)
class Reply:
    """What one call gave."""

    value: Mapping[str, Any] = field(default_factory=dict)
    """The JSON object; empty when there is trouble."""
    trouble: ApiTrouble = ""
    permission: str = ""
    """What Android refused, such as ACCESS_FINE_LOCATION; empty when it is not told."""


def reply_of(said: Said) -> Reply:
    """Read what a ``termux-…`` program said. Nothing it printed is passed on as text."""
    if said.text is None:
        return Reply(trouble="garbage" if said.trouble == "unreadable" else said.trouble or "empty")
    if not said.text.strip():
        return Reply(trouble="empty")
    try:
        value = json.loads(said.text)
    except (ValueError, RecursionError):
        return Reply(trouble="garbage")
    if not isinstance(value, dict):
        return Reply(trouble="garbage")
    if "error" in value:
        named = _PERMISSION.search(str(value["error"]))
        return Reply(trouble="refused", permission=named[1] if named else "")
    if "API_ERROR" in value:
        offline = value["API_ERROR"] == "No current connection"
        return Reply(trouble="no connection" if offline else "api error")
    return Reply(value)


async def ask_again(ask: AskTool, argv: Sequence[str], hedge: float = HEDGE) -> Said:
    """Ask; after `hedge` seconds of silence ask once more, and take whichever answers first.

    Whoever has not answered by then is cancelled, which kills it with its children.
    """
    calls = [asyncio.ensure_future(ask(argv))]
    try:
        await asyncio.wait(calls, timeout=hedge)
        if not calls[0].done():
            calls.append(asyncio.ensure_future(ask(argv)))
        waiting = set(calls)
        while True:
            ended, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for call in ended:
                if call.result().text is not None or not waiting:
                    return call.result()
    finally:
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
