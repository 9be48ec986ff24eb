"""Floods, from one device or from many strangers: bounded, refused by type, counted."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path

import aiohttp
import pytest
from aiohttp import WSMsgType

from cloud.actors.mailbox import MAX_PAIRING_LETTERS
from cloud.actors.partials import DEVICE_BYTES, DEVICE_UPLOADS
from cloud.gateway import app
from cloud.gateway.connection import LEAST_KEPT, MOST_BEATS, REQUEST_BYTES
from cloud.gateway.limits import Door, Limits
from protocol.mail import Letter, LetterKind
from protocol.messages import MAX_CHUNK, Hello, UploadBegin, UploadChunk
from protocol.session import Closed, CollectRefused, PlanReceived, UploadCommitted, UploadRefused
from protocol.update import MAX_REPORT
from tests.cloud.hostile import Guest, House, house
from tests.cloud.world import START, Phone


async def last_word(home: House, phone: Phone, token: str = "") -> str:
    """ "" for a phone that gets its plan, else what its session is refused with."""
    async with home.knock(phone.session(token)) as guest:
        assert guest.session is not None
        while True:
            await guest.send(*guest.session.frames_to_send())
            said = await guest.socket.receive()
            assert said.type is WSMsgType.BINARY, said
            for event in guest.session.receive(said.data):
                if isinstance(event, PlanReceived):
                    return ""
                if isinstance(event, Closed):
                    return event.reason


async def begun(guest: Guest, upload_id: bytes, size: int, *pieces: bytes) -> None:
    """An upload that goes no further than these pieces."""
    digest = sha256(upload_id).digest()
    await guest.send(UploadBegin(upload_id=upload_id, kind="report", size=size, sha256=digest))
    await guest.answer()
    offset = 0
    for piece in pieces:
        await guest.send(UploadChunk(upload_id=upload_id, offset=offset, data=piece))
        offset += len(piece)
        assert (await guest.acknowledged()).offset == offset


async def test_sessions_of_one_device(state: Path) -> None:
    async with house(state, Limits(device_sessions_burst=10.0, device_sessions_a_day=24.0)) as home:
        async with home.undisturbed():
            said = [await last_word(home, home.bad) for _ in range(40)]
        assert said == [""] * 9 + ["limit"] * 31, "the tenth was its enrolment"
        assert home.refusals() == {"limit": 31.0}


async def test_endless_pings(state: Path) -> None:
    async with house(state) as home, home.undisturbed():
        async with home.visit(home.bad) as guest:
            for _ in range(MOST_BEATS + 1):
                await guest.socket.ping()
            kinds = [(await guest.socket.receive()).type for _ in range(MOST_BEATS + 1)]
            assert kinds.count(WSMsgType.PONG) == MOST_BEATS + 1
            assert await guest.refusal() == "limit"
        assert home.refusals() == {"limit": 1.0}


async def test_pongs_that_nobody_asked_for(state: Path) -> None:
    async with house(state) as home, home.undisturbed():
        async with home.visit(home.bad) as guest:
            for _ in range(MOST_BEATS + 1):
                await guest.socket.pong()
            assert await guest.refusal() == "limit"
        assert home.refusals() == {"limit": 1.0}


async def test_a_stranger_that_only_pings_is_sent_away(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(state) as home, home.undisturbed():
        sessions = home.core.door.open
        monkeypatch.setattr(app, "PROOF_SECONDS", 0.05)
        async with home.knock() as guest:
            await guest.send(Hello(versions=(2,), device_id="x", client_nonce=bytes(32)))
            await guest.answer()
            kind = WSMsgType.PONG
            while kind is WSMsgType.PONG:
                await guest.socket.ping()
                kind = (await guest.socket.receive()).type
            assert kind is WSMsgType.BINARY  # a goodbye
            assert await guest.refusal() == "closed with 1000"
        while home.core.door.open > sessions:  # a handler ends after its socket
            async with home.http.get(f"{home.url}/healthz") as answer:
                assert answer.status == 200
        assert home.core.door.open == sessions


async def test_a_request_that_trickles_in_is_cut_off(state: Path) -> None:
    async with house(state, idle_seconds=0.2) as home, home.undisturbed():
        reader, writer = await asyncio.open_connection("127.0.0.1", home.port)
        writer.write(b"GET /v1/session HT")
        assert await reader.read() == b""
        writer.close()


async def test_tiny_uploads(state: Path) -> None:
    """Each costs its device a part of its ration, however small: then nothing is looked up."""
    async with house(state, Limits(device_bytes_a_day=20.0 * REQUEST_BYTES)) as home:
        said: list[str] = []
        async with home.undisturbed(), home.visit(home.bad) as guest:
            for number in range(100):
                event = await guest.upload(number.to_bytes(16, "big"), b"x", UploadRefused)
                assert isinstance(event, UploadRefused)
                said.append(event.code)
        refused = said.index("limit")
        assert 0 < refused <= 20
        assert said == ["bad_message"] * refused + ["limit"] * (100 - refused)
        assert home.refusals() == {"bad_message": refused, "limit": 100 - refused}


async def test_requests_without_end(state: Path) -> None:
    async with house(state, Limits(device_bytes_a_day=20.0 * REQUEST_BYTES)) as home:
        async with home.undisturbed(), home.visit(home.bad) as guest:
            assert guest.session is not None
            for _ in range(21):
                guest.session.collect(0)
            refused = await guest.until(CollectRefused)
            assert isinstance(refused, CollectRefused)
            assert refused.code == "limit"
        assert home.refusals() == {"limit": 1.0}


async def test_uploads_that_are_never_finished(state: Path) -> None:
    async with house(state) as home:
        async with home.undisturbed(("partials", "partial_chunks")):
            for number in range(DEVICE_UPLOADS + 8):
                async with home.visit(home.bad) as guest:
                    upload_id = number.to_bytes(16, "big")
                    await begun(guest, upload_id, MAX_REPORT, bytes(MAX_CHUNK))
        rows = home.rows()
        assert 0 < len(rows["partials"]) <= DEVICE_UPLOADS
        assert len(rows["partials"]) * MAX_REPORT <= DEVICE_BYTES
        assert len(rows["partial_chunks"]) == len(rows["partials"])


async def test_uploads_in_crumbs_leave_no_rows(state: Path) -> None:
    async with house(state) as home, home.undisturbed(), home.visit(home.bad) as guest:
        await begun(guest, b"c" * 16, MAX_REPORT, *([b"x"] * 50), bytes(LEAST_KEPT - 1))


async def test_letters_to_slots_that_nobody_reads(state: Path) -> None:
    async with house(state) as home:
        sender, said = bytes.fromhex(home.bad.device_id), []
        async with home.undisturbed(("mail",)), home.visit(home.bad) as guest:
            assert guest.session is not None
            for number in range(1, MAX_PAIRING_LETTERS + 5):
                slot = number.to_bytes(16, "big")
                letter = Letter(LetterKind.PAIRING, slot, sender, number, b"sealed").pack()
                guest.session.upload(slot, letter, "mail")
                kind = UploadCommitted if number <= MAX_PAIRING_LETTERS else UploadRefused
                said.append(getattr(await guest.until(kind), "code", ""))
        assert said == [""] * MAX_PAIRING_LETTERS + ["mailbox_full"] * 4
        assert home.refusals() == {"mailbox_full": 4.0}
        assert len(home.rows()["mail"]) == MAX_PAIRING_LETTERS


async def _knocked(home: House) -> tuple[int, int]:
    """What a stranger's upgrade is answered with, and after how many seconds to knock again."""
    try:
        async with home.knock() as guest:
            await guest.send(b"\xc1")
            return 101, 0
    except aiohttp.WSServerHandshakeError as refused:
        return refused.status, int(dict(refused.headers or {})["Retry-After"])


async def test_strangers_at_the_door(state: Path) -> None:
    async with house(state) as home:
        statuses: list[int] = []
        async with home.undisturbed():
            inside = home.core.door
            bounded = Limits(starts_burst=10.0, starts_per_second=1e-6)
            home.core.door = Door(bounded, lambda: 0.5)
            for _ in range(60):
                code, after = await _knocked(home)
                statuses.append(code)
                assert (after >= 1) == (code == 503)
            home.core.door = inside
        assert statuses == [101] * 10 + [503] * 50
        assert home.refusals()["busy"] == 50


async def test_many_enrolments_with_one_token(state: Path) -> None:
    async with house(state, open_enrolment=False) as home:
        before = home.rows()["devices"]
        async with home.undisturbed(("tokens", "devices")):
            token = await home.cloud.issue_token(START)
            crowd = [Phone(number) for number in range(100, 120)]
            said = await asyncio.gather(*(last_word(home, phone, token) for phone in crowd))
            guesses = [await last_word(home, Phone(1), f"{n:032x}") for n in range(20)]
        assert sorted(said) == [""] + ["bad_token"] * 19
        assert guesses == ["bad_token"] * 20
        assert home.refusals() == {"bad_token": 39.0}
        assert len(home.rows()["devices"] - before) == 2, "one, and the healthy phone"


async def test_many_enrolments_without_a_token(state: Path) -> None:
    async with house(state, Limits(enrolments_a_day=10.0)) as home:
        async with home.undisturbed(("devices",)):
            said = [await last_word(home, Phone(number)) for number in range(100, 130)]
        taken = said.count("")
        assert 0 < taken <= 10
        assert said == [""] * taken + ["limit"] * (30 - taken)
        assert home.refusals() == {"limit": float(30 - taken)}
