"""A running daemon serves other processes: one phone, one owner of the store, many commands.

The daemon listens on a socket in the phone's own folder (0600 inside 0700: the owner's processes
only). A request is one line of JSON, ``{"call": name, "with": [arguments]}``; the answer is one
line, ``{"value": …}`` or ``{"error": line}``. `RemotePhone` offers the very methods of `Phone` that
are listed in `CALLS`, so a command does not care which of the two it holds.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError

from device.actors import ActorError, DomainError
from device.interfaces.remote_account import ACCOUNT_CALLS, RemoteAccount
from device.interfaces.remote_agent import AGENT_CALLS, RemoteAgent
from device.interfaces.wire import Wire
from device.memory import ItemPage, Value
from device.memory.records import Answer, Item, ItemKind, Turn, TurnDraft
from device.owner import Copied, ForgetPlan, Forgotten, Shown, Spent, TakenBack, Why
from device.owner.knowledge import KnownDocument
from device.phone import DreamReport, Phone
from device.settings import Settings
from device.status import Status
from device.sync.client import SyncReport
from device.vault import VaultError
from privacy import PrivacyError
from protocol.errors import ProtocolError

__all__ = ["EXPECTED", "CannotListen", "PhoneCalls", "Refused", "RemotePhone", "reach", "serving"]

SOCKET = "phone.sock"
MAX_LINE = 64 << 20
"""Bytes of one request or answer: the items of a whole copy go in one."""
EXPECTED = (ActorError, DomainError, PrivacyError, ProtocolError, VaultError)
"""What a caller can run into: told in one line, nothing lost."""


class Refused(DomainError):
    """The daemon answered with an error; the message is its own."""


class CannotListen(DomainError):
    """The daemon's socket cannot be made; the message says what to do."""


CALLS: dict[str, tuple[Wire, Wire]] = {
    "record_many": (Wire(tuple[list[TurnDraft]]), Wire(list[Turn])),
    "recall": (Wire(tuple[str, int]), Wire(Answer)),
    "feedback": (Wire(tuple[Answer, list[str]]), Wire(None)),
    "items": (Wire(tuple[ItemKind | None]), Wire(list[Item])),
    "turns": (Wire(tuple[int, int]), Wire(list[Turn])),
    "browse": (Wire(tuple[ItemKind | None, bool, int, int]), Wire(ItemPage)),
    "archived": (Wire(tuple[()]), Wire(list[Item])),
    "values": (Wire(tuple[()]), Wire(list[Value])),
    "show": (Wire(tuple[str]), Wire(Shown)),
    "why": (Wire(tuple[str]), Wire(Why)),
    "spending": (Wire(tuple[()]), Wire(list[Spent])),
    "unknown": (Wire(tuple[()]), Wire(tuple[str, ...])),
    "forget": (Wire(tuple[list[str]]), Wire(int)),
    "undo_merge": (Wire(tuple[str]), Wire(tuple[str, str])),
    "plan_forget": (Wire(tuple[list[str]]), Wire(ForgetPlan)),
    "plan_forget_query": (Wire(tuple[str]), Wire(ForgetPlan)),
    "forget_items": (Wire(tuple[list[str], str]), Wire(Forgotten)),
    "forget_query": (Wire(tuple[str]), Wire(Forgotten)),
    "forget_planned": (Wire(tuple[list[str], str]), Wire(Forgotten)),
    "forget_everything": (Wire(tuple[()]), Wire(Forgotten)),
    "unarchive": (Wire(tuple[list[str]]), Wire(list[str])),
    "export": (Wire(tuple[str]), Wire(Copied)),
    "restore_turns": (Wire(tuple[list[TurnDraft], bool]), Wire(list[Turn])),
    "restore_items": (
        Wire(tuple[list[Item], list[str], dict[str, str]]),
        Wire(TakenBack),
    ),
    "restore_values": (Wire(tuple[list[Value], dict[str, str]]), Wire(None)),
    "consolidate": (Wire(tuple[()]), Wire(int)),
    "status": (Wire(tuple[()]), Wire(Status)),
    "dream": (Wire(tuple[()]), Wire(DreamReport)),
    "sync_now": (Wire(tuple[()]), Wire(SyncReport)),
    "adopted": (Wire(tuple[()]), Wire(dict[str, tuple[int, str]])),
    "revert": (Wire(tuple[str]), Wire(int)),
    "knowledge": (Wire(tuple[()]), Wire(list[KnownDocument])),
    "drop_knowledge": (Wire(tuple[str]), Wire(None)),
    "want_knowledge": (Wire(tuple[str]), Wire(None)),
    **ACCOUNT_CALLS,
    **AGENT_CALLS,
}
"""Name → (arguments, result), checked at both ends."""


@asynccontextmanager
async def serving(phone: Phone, folder: Path) -> AsyncIterator[None]:
    """Answer other processes of this user while the block runs. Raises CannotListen."""
    path = folder / SOCKET
    path.unlink(missing_ok=True)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, ValueError):
            while line := await reader.readline():
                writer.write(await _answer(phone, line) + b"\n")
                await writer.drain()
        writer.close()

    try:
        server = await asyncio.start_unix_server(serve, path, limit=MAX_LINE)
    except OSError as error:  # such as a path over some hundred bytes
        said = f"no socket can be made at {path}: {error}; use a folder with a shorter path"
        raise CannotListen(said) from None
    path.chmod(0o600)
    try:
        yield
    finally:
        server.close()
        path.unlink(missing_ok=True)


async def _answer(phone: Phone, line: bytes) -> bytes:
    try:
        request = json.loads(line)
        name = request["call"]
        arguments, result = CALLS[name]
        values = arguments.unpack(tuple(request["with"]))
    except (ValidationError, ValueError, KeyError, TypeError, RecursionError):
        return json.dumps({"error": "the daemon does not understand this request"}).encode()
    try:
        value = await attrgetter(name)(phone)(*values)
    except EXPECTED as error:
        return json.dumps({"error": str(error)}).encode()
    return b'{"value":' + result.pack(value) + b"}"


class RemotePhone:
    """The phone that a running daemon owns."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, settings: Settings
    ) -> None:
        self.settings = settings
        self.account = RemoteAccount(self._call)
        self.agent = RemoteAgent(self._call)
        self._turn = asyncio.Lock()
        self._reader = reader
        self._writer = writer

    async def record_many(self, drafts: Sequence[TurnDraft]) -> list[Turn]:
        """As `Phone.record_many`."""
        return await self._call("record_many", list(drafts))  # type: ignore[no-any-return]

    async def recall(self, query: str, k: int = 10) -> Answer:
        """As `Phone.recall`."""
        return await self._call("recall", query, k)  # type: ignore[no-any-return]

    async def feedback(self, answer: Answer, used: Sequence[str]) -> None:
        """As `Phone.feedback`."""
        await self._call("feedback", answer, list(used))

    async def items(self, kind: ItemKind | None = None) -> list[Item]:
        """As `Phone.items`."""
        return await self._call("items", kind)  # type: ignore[no-any-return]

    async def turns(self, after: int = -1, limit: int = 1000) -> list[Turn]:
        """As `Phone.turns`."""
        return await self._call("turns", after, limit)  # type: ignore[no-any-return]

    async def browse(
        self, kind: ItemKind | None = None, archived: bool = False, offset: int = 0,
        limit: int = 100,
    ) -> ItemPage:  # fmt: skip
        """As `Phone.browse`."""
        return await self._call("browse", kind, archived, offset, limit)  # type: ignore[no-any-return]

    async def archived(self) -> list[Item]:
        """As `Phone.archived`."""
        return await self._call("archived")  # type: ignore[no-any-return]

    async def values(self) -> list[Value]:
        """As `Phone.values`."""
        return await self._call("values")  # type: ignore[no-any-return]

    async def show(self, identifier: str) -> Shown:
        """As `Phone.show`."""
        return await self._call("show", identifier)  # type: ignore[no-any-return]

    async def why(self, about: str) -> Why:
        """As `Phone.why`."""
        return await self._call("why", about)  # type: ignore[no-any-return]

    async def spending(self) -> list[Spent]:
        """As `Phone.spending`."""
        return await self._call("spending")  # type: ignore[no-any-return]

    async def unknown(self) -> tuple[str, ...]:
        """As `Phone.unknown`."""
        return await self._call("unknown")  # type: ignore[no-any-return]

    async def forget(self, turns: Sequence[str]) -> int:
        """As `Phone.forget`."""
        return await self._call("forget", list(turns))  # type: ignore[no-any-return]

    async def undo_merge(self, identifier: str) -> tuple[str, str]:
        """As `Phone.undo_merge`."""
        return await self._call("undo_merge", identifier)  # type: ignore[no-any-return]

    async def plan_forget(self, ids: Sequence[str]) -> ForgetPlan:
        """As `Phone.plan_forget`."""
        return await self._call("plan_forget", list(ids))  # type: ignore[no-any-return]

    async def plan_forget_query(self, query: str) -> ForgetPlan:
        """As `Phone.plan_forget_query`."""
        return await self._call("plan_forget_query", query)  # type: ignore[no-any-return]

    async def forget_items(self, ids: Sequence[str], words: str = "") -> Forgotten:
        """As `Phone.forget_items`."""
        return await self._call("forget_items", list(ids), words)  # type: ignore[no-any-return]

    async def forget_planned(self, ids: Sequence[str], words: str = "") -> Forgotten:
        """As `Phone.forget_planned`."""
        return await self._call("forget_planned", list(ids), words)  # type: ignore[no-any-return]

    async def forget_query(self, query: str) -> Forgotten:
        """As `Phone.forget_query`."""
        return await self._call("forget_query", query)  # type: ignore[no-any-return]

    async def forget_everything(self) -> Forgotten:
        """As `Phone.forget_everything`."""
        return await self._call("forget_everything")  # type: ignore[no-any-return]

    async def unarchive(self, ids: Sequence[str]) -> list[str]:
        """As `Phone.unarchive`."""
        return await self._call("unarchive", list(ids))  # type: ignore[no-any-return]

    async def export(self, cursor: str = "") -> Copied:
        """As `Phone.export`."""
        return await self._call("export", cursor)  # type: ignore[no-any-return]

    async def restore_turns(
        self, drafts: Sequence[TurnDraft], consolidated: bool = False
    ) -> list[Turn]:
        """As `Phone.restore_turns`."""
        return await self._call("restore_turns", list(drafts), consolidated)  # type: ignore[no-any-return]

    async def restore_items(
        self, items: Sequence[Item], archived: Sequence[str], turns: Mapping[str, str]
    ) -> TakenBack:
        """As `Phone.restore_items`."""
        values = (list(items), list(archived), dict(turns))
        return await self._call("restore_items", *values)  # type: ignore[no-any-return]

    async def restore_values(self, values: Sequence[Value], turns: Mapping[str, str]) -> None:
        """As `Phone.restore_values`."""
        await self._call("restore_values", list(values), dict(turns))

    async def consolidate(self) -> int:
        """As `Phone.consolidate`."""
        return await self._call("consolidate")  # type: ignore[no-any-return]

    async def status(self) -> Status:
        """As `Phone.status`."""
        return await self._call("status")  # type: ignore[no-any-return]

    async def dream(self) -> DreamReport:
        """As `Phone.dream`."""
        return await self._call("dream")  # type: ignore[no-any-return]

    async def sync_now(self) -> SyncReport:
        """As `Phone.sync_now`."""
        return await self._call("sync_now")  # type: ignore[no-any-return]

    async def adopted(self) -> dict[str, tuple[int, str]]:
        """As `Phone.adopted`."""
        return await self._call("adopted")  # type: ignore[no-any-return]

    async def revert(self, model: str) -> int:
        """As `Phone.revert`."""
        return await self._call("revert", model)  # type: ignore[no-any-return]

    async def knowledge(self) -> list[KnownDocument]:
        """As `Phone.knowledge`."""
        return await self._call("knowledge")  # type: ignore[no-any-return]

    async def drop_knowledge(self, name: str) -> None:
        """As `Phone.drop_knowledge`."""
        await self._call("drop_knowledge", name)

    async def want_knowledge(self, name: str) -> None:
        """As `Phone.want_knowledge`."""
        await self._call("want_knowledge", name)

    async def _call(self, name: str, *values: Any) -> Any:
        arguments, result = CALLS[name]
        body = b'{"call":"%b","with":%b}\n' % (name.encode(), arguments.pack(values))
        async with self._turn:
            self._writer.write(body)
            await self._writer.drain()
            line = await self._reader.readline()
        if not line:
            raise Refused("the daemon stopped before it answered; nothing is lost, try again")
        answer = json.loads(line)
        if "error" in answer:
            raise Refused(answer["error"])
        return result.unpack(answer["value"])


@asynccontextmanager
async def reach(folder: Path, settings: Settings) -> AsyncIterator[RemotePhone | None]:
    """The phone of the daemon that runs for `folder`; None when none does."""
    try:
        reader, writer = await asyncio.open_unix_connection(folder / SOCKET, limit=MAX_LINE)
    except OSError:
        yield None
        return
    try:
        yield RemotePhone(reader, writer, settings)
    finally:
        writer.close()


PhoneCalls: TypeAlias = Phone | RemotePhone
"""What a command asks: a phone opened here, or the one a daemon serves."""
