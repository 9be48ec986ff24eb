"""What a phone's owner, its other processes, and other operators' servers hand in."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any, cast

from cloud.helper_client import (
    HelperIdentity,
    decode_identity,
    decode_refusal,
    encode_identity,
    encode_refusal,
)
from device.account.counting import Received
from device.account.errors import EnvelopeRefused
from device.account.hlc import Hlc
from device.account.payload import (
    Payload,
    pack_payload,
    pack_replica,
    unpack_payload,
    unpack_replica,
)
from device.account.replica import Dot, ItemRef, Replica, Status
from device.account.roster import Member, Roster, device_id_of
from device.interfaces import service
from device.interfaces.chats import ChatUnreadable, read_chat
from device.interfaces.copies import FORMAT, VERSION, CopyUnreadable, read_copy
from device.interfaces.episodes import EpisodesUnreadable, read_episodes
from device.memory.records import EventState, Turn, TurnDraft
from privacy.errors import BatchRefused
from tests.fuzz.harness import Parser
from tests.protocol.samples import bits

__all__ = ["PARSERS"]

NOW = 1_780_000_000.0


def _of_file(read: Callable[[Path], object], suffix: str) -> Callable[[bytes], object]:
    """A reader of files as a parser of bytes, with a folder from the first use to the end."""

    @cache
    def folder() -> tempfile.TemporaryDirectory[str]:
        ram = "/dev/shm" if Path("/dev/shm").is_dir() else None
        return tempfile.TemporaryDirectory(prefix="fuzz-", dir=ram)

    def parse(data: bytes) -> object:
        path = Path(folder().name) / f"chat.{suffix}"
        path.write_bytes(data)
        return read(path)

    return parse


def _chat(path: Path) -> object:
    """Every turn can be kept: its text is text, its time a date."""
    turns = list(read_chat(path))
    for turn in turns:
        assert 0.0 <= turn.at <= 4_102_444_800.0, "a turn outside 1970 to 2100"
        (turn.text + turn.speaker + turn.session + turn.source).encode()
    return turns


WHATSAPP = [
    "26/03/2026, 21:05 - Ana: hello\n26/03/2026, 21:06 - Bob: hi\nthere\n"
    "26/03/2026, 21:07 - Messages are end-to-end encrypted.\n"
    "26/03/2026, 21:08 - Ana: <Media omitted>\n",
    "[26.03.26, 21:05:11] Ana: hello\n[27.03.26, 09:05:11] Bob: \u200eimage omitted\n",
    "3/6/26, 9:05\u202fPM - Ana: one\n3/7/26, 9:06\u202fAM - Bob: two\n",
    "[2026/3/26 下午9:05:11] 小林: 你好\n",
]
JSONL = [
    "".join(
        json.dumps({"at": at, "speaker": "Ana", "text": text, "kind": kind}) + "\n"
        for at, text, kind in (
            ("2026-03-26T21:05:00", "hello", "dialogue"),
            ("2026-03-26T21:06:00+02:00", "日本", "operation"),
        )
    )
]
TELEGRAM = [
    json.dumps(chat, indent=indent)
    for indent in (1, None)
    for chat in (
        {
            "name": "Bob", "type": "personal_chat", "id": 5,
            "messages": [
                {"id": 1, "type": "message", "date": "2026-03-26T21:05:00", "date_unixtime":
                 "1774559100", "from": "Bob", "from_id": "user5", "text": "hi"},
                {"id": 2, "type": "service", "date": "2026-03-26T21:05:00"},
                {"id": 3, "type": "message", "date": "2026-03-26T21:06:00", "from": "Ana",
                 "text": ["see ", {"type": "link", "text": "https://example.org"}]},
            ],
        },
        {"chats": {"list": [{"name": "B", "id": 1, "messages": [
            {"id": 1, "type": "message", "date_unixtime": "1774559100", "text": "x"}]}]}},
    )
]  # fmt: skip


def _text(seeds: list[str]) -> list[bytes]:
    return [seed.encode() for seed in seeds]


def _copies() -> list[bytes]:
    turn = asdict(Turn("raw:1", NOW, "Ana", "hello", "s", "chat#1"))
    head = {"format": FORMAT, "version": VERSION, "written": "2026-03-26T21:05:00+00:00"}
    empty = head | {"turns": [], "items": [], "values": []}
    return [json.dumps(empty | {"turns": [turn | {"consolidated": True}]}).encode()]


def _episodes() -> list[bytes]:
    ours = {
        "goal": "send a letter", "app": "mail", "outcome": "success",
        "steps": [{"action": "tap", "target": "send", "result": "ok",
                   "page": {"title": "inbox", "visible": ["a"], "clickable": ["b"]}}],
    }  # fmt: skip
    return [
        json.dumps(ours).encode(),
        json.dumps(ours).encode() + b"\n" + json.dumps(ours).encode(),
    ]


# The daemon's socket: another process of the same user asks.

_CALLS = [
    {"call": "recall", "with": ["where is the key", 10]},
    {"call": "forget", "with": [["t1", "t2"]]},
    {"call": "status", "with": []},
    {"call": "record_many", "with": [[asdict(TurnDraft(NOW, "Ana", "hello"))]]},
    {"call": "export", "with": [""]},
]


class _Asked(Exception):
    """A request got through to the phone."""


class _Phone:
    """Says that it was asked, whatever it is asked."""

    def __getattr__(self, name: str) -> Any:
        return self

    async def __call__(self, *values: object) -> object:
        raise _Asked


def _request(line: bytes) -> object:
    """The answer to one line; the stand-in for a phone never waits."""
    answering = service._answer(cast(Any, _Phone()), line)
    try:
        answering.send(None)
    except StopIteration as answered:
        return answered.value
    except _Asked:
        return None
    raise AssertionError("an answer that waits")


def _refusal(body: bytes) -> object:
    refusal = decode_refusal(body)
    assert all(isinstance(each, bytes) for each in refusal.report_ids)
    return refusal


def _refusals() -> list[bytes]:
    seal = BatchRefused("seal", "no", [bits(1)(16), bits(2)(16)])
    return [encode_refusal(seal), encode_refusal(BatchRefused("too_few", "no"))]


def _identities() -> list[bytes]:
    identity = HelperIdentity(bits(1)(32), bits(2)(32), "demo")
    return [json.dumps(encode_identity(identity)).encode()]


# What another device of the account has sealed.


def _replicas() -> list[bytes]:
    reference = ItemRef("a" * 32, 7)
    dot, at = Dot("a" * 32, 3), Hlc(1_780_000_000_000, 1)
    written = Replica().written(dot, at, b"what it says")
    turned = written.turned(Dot("b" * 32, 1), at, Status(EventState.COMPLETED, reference))
    return [pack_replica(reference, each) for each in (written, turned, turned.buried())]


def _payloads() -> list[bytes]:
    keys = [bits(number)(32) for number in (31, 32)]
    members = [Member(device_id_of(key), key, key, "phone") for key in keys]
    payload = Payload(
        Roster(members),
        frozenset(member.device for member in members),
        {members[0].device: Received().joined([(1, 9), (12, 14)])},
        ((3, 4),),
    )
    return [pack_payload(payload, _replicas())]


PARSERS: tuple[Parser, ...] = (
    Parser("account.unpack_payload", unpack_payload, (EnvelopeRefused,), _payloads(), "msgpack"),
    Parser("account.unpack_replica", unpack_replica, (EnvelopeRefused,), _replicas(), "msgpack"),
    Parser(
        "chats.read_chat, WhatsApp",
        _of_file(_chat, "txt"),
        (ChatUnreadable,),
        _text(WHATSAPP),
        "text",
    ),
    Parser(
        "chats.read_chat, JSON lines",
        _of_file(_chat, "jsonl"),
        (ChatUnreadable,),
        _text(JSONL),
        "lines",
    ),
    Parser(
        "chats.read_chat, Telegram",
        _of_file(_chat, "json"),
        (ChatUnreadable,),
        _text(TELEGRAM),
        "json",
    ),
    Parser("copies.read_copy", _of_file(read_copy, "copy"), (CopyUnreadable,), _copies(), "json"),
    Parser(
        "episodes.read_episodes",
        _of_file(lambda path: list(read_episodes(path, until=NOW)), "episodes"),
        (EpisodesUnreadable,),
        _episodes(),
        "json",
    ),
    Parser("service.answer", _request, (), [json.dumps(call).encode() for call in _CALLS], "json"),
    Parser("helper_client.decode_refusal", _refusal, (), _refusals(), "text"),
    Parser("helper_client.decode_identity", decode_identity, (ValueError,), _identities(), "json"),
)
