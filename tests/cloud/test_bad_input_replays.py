"""Replayed sessions and reports, devices that were shut out, rounds that are over, clocks far off.

As in test_bad_input.py each is refused by type, counted, and disturbs nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from cloud.admin.patience import FAILURES, WINDOW_SECONDS, Patience
from cloud.randomness import SeededBits
from cloud.storage.retention import forget_device
from privacy.budget import DEMO
from privacy.errors import RoundRefused
from privacy.gate import Gate
from privacy.ledger import Ledger
from privacy.receipts import open_receipt
from protocol.messages import UploadBegin, UploadChunk
from protocol.session import ClientSession, Closed, PlanReceived, UploadCommitted, UploadRefused
from tests.cloud.hostile import Guest, House, house
from tests.cloud.world import DAY, START, MemoryLog, Phone, descriptors, usage_answers

YEARS = 10 * 365 * DAY
UPLOAD, OTHER = b"u" * 16, b"o" * 16


@pytest.fixture
async def home(state: Path) -> AsyncIterator[House]:
    async with house(state) as made:
        yield made


async def refused(guest: Guest, upload_id: bytes, body: bytes) -> str:
    """The code with which an upload is refused."""
    event = await guest.upload(upload_id, body, UploadRefused)
    assert isinstance(event, UploadRefused)
    return event.code


async def committed(guest: Guest, upload_id: bytes, body: bytes) -> bytes:
    """The receipt of an upload."""
    event = await guest.upload(upload_id, body, UploadCommitted)
    assert isinstance(event, UploadCommitted)
    return event.receipt


async def told(home: House, phone: Phone) -> str:
    """What a phone's session is refused with."""
    async with home.knock(phone.session()) as guest:
        closed = await guest.until(Closed)
    assert isinstance(closed, Closed)
    return closed.reason


def grown(home: House, code: str, before: dict[str, float]) -> float:
    """How often a code was counted since."""
    now = home.refusals()
    assert {c for c in now if now[c] != before.get(c, 0.0)} <= {code}, now
    return now.get(code, 0.0) - before.get(code, 0.0)


# --- replayed ---------------------------------------------------------------------------------


async def test_a_recorded_session_replayed_byte_by_byte(home: House) -> None:
    async with home.visit(home.bad) as guest:
        await committed(guest, UPLOAD, home.report_of(home.bad))
        recorded = list(guest.sent)
    before = home.refusals()
    async with home.undisturbed(), home.knock() as thief:
        for frame in recorded[:2]:
            await thief.send(frame)
        assert await thief.refusal() == "bad_proof"  # another challenge was asked
        for frame in recorded[2:]:
            if not thief.socket.closed:
                await thief.send(frame)
        assert await thief.refusal() == "closed with 1000"
    assert grown(home, "bad_proof", before) == 1


async def test_a_report_again_under_another_upload_id(home: House) -> None:
    body = home.report_of(home.bad)
    async with home.visit(home.bad) as guest:
        receipt = await committed(guest, UPLOAD, body)
        before = home.refusals()
        async with home.undisturbed():
            assert await refused(guest, OTHER, body) == "duplicate_report"
            assert await committed(guest, UPLOAD, body) == receipt
    assert grown(home, "duplicate_report", before) == 1


async def test_the_report_of_another_phone(home: House) -> None:
    owner = Phone(2)
    body = home.report_of(owner)
    async with home.visit(owner) as guest:
        await committed(guest, UPLOAD, body)
    before = home.refusals()
    async with home.undisturbed(), home.visit(home.bad) as guest:
        assert await refused(guest, OTHER, body) == "duplicate_report"
        assert await refused(guest, UPLOAD, body) == "duplicate_report"
    assert grown(home, "duplicate_report", before) == 2


async def test_an_upload_id_again_with_other_bytes(home: House) -> None:
    """Its own phone learns again what it is committed for, and nothing else of it is taken."""
    body = home.report_of(home.bad)
    async with home.visit(home.bad) as guest:
        receipt = await committed(guest, UPLOAD, body)
        async with home.undisturbed():
            assert await committed(guest, UPLOAD, home.report_of(Phone(3), 1)) == receipt
    another = Phone(4)
    await home.enrol(another)
    before = home.refusals()
    async with home.undisturbed(), home.visit(another) as guest:
        assert await refused(guest, UPLOAD, home.report_of(another)) == "duplicate_report"
    assert grown(home, "duplicate_report", before) == 1


async def test_one_upload_on_two_sockets_is_taken_once(home: House) -> None:
    body = home.report_of(home.bad)
    begin = UploadBegin(
        upload_id=UPLOAD, kind="report", size=len(body), sha256=sha256(body).digest()
    )
    chunk = UploadChunk(upload_id=UPLOAD, offset=0, data=body)
    reports = home.cloud.metrics.value("reverie_reports_total")
    async with home.visit(home.bad) as older:
        await older.send(begin)
        await older.answer()
        newer = home.bad.session()
        async with home.knock(newer) as guest:
            # The older socket's last bytes, and the proof of the newer one, at the same time.
            _, plan = await asyncio.gather(older.send(chunk), guest.until(PlanReceived))
            assert isinstance(plan, PlanReceived)
            receipt = await committed(guest, UPLOAD, body)
            assert "newer session" in await older.refusal()
    assert open_receipt(receipt, home.cloud.public_key).device == home.bad.device_id
    assert len(home.rows()["uploads"]) == 1
    assert home.cloud.metrics.value("reverie_reports_total") - reports <= 1
    assert home.cloud.metrics.value("reverie_sessions_superseded_total") == 1


# --- shut out ---------------------------------------------------------------------------------


async def test_a_device_revoked_between_two_sessions(home: House) -> None:
    await home.cloud.registry.ask("revoke", home.bad.device_id, START)
    before = home.refusals()
    async with home.undisturbed():
        assert await told(home, home.bad) == "revoked"
    assert grown(home, "revoked", before) == 1


async def test_a_device_revoked_in_a_session_is_out_at_the_next(home: House) -> None:
    async with home.visit(home.bad) as guest:
        await home.cloud.registry.ask("revoke", home.bad.device_id, START)
        await committed(guest, UPLOAD, home.report_of(home.bad))
    before = home.refusals()
    async with home.undisturbed():
        assert await told(home, home.bad) == "revoked"
        async with home.knock(_enrolling(home.bad)) as guest:
            closed = await guest.until(Closed)
            assert isinstance(closed, Closed)
            assert closed.reason == "revoked"
    assert grown(home, "revoked", before) == 2


def _enrolling(phone: Phone) -> ClientSession:
    """The phone's key with no id, as if it were new."""
    known, phone.device_id = phone.device_id, ""
    session = phone.session()
    phone.device_id = known
    return session


async def test_a_forgotten_device_is_unknown(home: House) -> None:
    async with home.visit(home.bad) as guest:
        await committed(guest, UPLOAD, home.report_of(home.bad))
    forget_device(home.cloud.database, home.bad.device_id, SeededBits(1, "forget"))
    before = home.refusals()
    async with home.undisturbed():
        assert await told(home, home.bad) == "unknown_device"
    assert grown(home, "unknown_device", before) == 1
    assert not any(home.bad.device_id in row for rows in home.rows().values() for row in rows)


# --- of another time --------------------------------------------------------------------------


async def test_a_report_for_a_round_that_was_closed_meanwhile(home: House) -> None:
    shown = descriptors(home.core, home.cloud.public_key)
    body = home.bad.report(shown["router"], np.zeros(shown["router"].dimension))
    async with home.visit(home.bad) as guest:
        await home.cloud.rounds.ask("close_due", START + 2 * DAY)
        before = home.refusals()
        assert await refused(guest, UPLOAD, body) == "stale_round"
        assert grown(home, "stale_round", before) == 1
    assert home.rows()["uploads"] == set()


@pytest.mark.parametrize("off", [-YEARS, YEARS])
async def test_a_phone_whose_clock_is_ten_years_off_loses_nothing(home: House, off: float) -> None:
    """It is told the cloud's time, makes no report that it could not date, and spends nothing; when
    its clock is right again, its report is taken."""
    phone = home.bad
    ledger = Ledger(MemoryLog(), DEMO)
    phone.gate = Gate(ledger, phone.bits)
    usage = descriptors(home.core, home.cloud.public_key)["usage"]
    async with home.undisturbed(), home.visit(phone):
        assert phone.plan is not None
        assert phone.plan.server_time == START
        with pytest.raises(RoundRefused):
            phone.report(usage, usage_answers(), START + off)
    assert ledger.spent().charges == 0
    async with home.visit(phone) as guest:
        await committed(guest, UPLOAD, phone.report(usage, usage_answers(), START))
    assert ledger.spent().charges == 1


@pytest.mark.parametrize("off", [-DAY, DAY, YEARS])
async def test_a_cloud_whose_clock_jumps_and_comes_back_charges_nobody_twice(
    home: House, off: float
) -> None:
    phone = home.bad
    ledger = Ledger(MemoryLog(), DEMO)
    ledger.name_device(phone.device_id)
    phone.gate = Gate(ledger, phone.bits)
    body = home.report_of(phone)
    spent = ledger.spent()
    home.clock = START + off
    async with home.visit(phone) as guest:
        assert phone.plan is not None
        assert phone.plan.server_time == START + off
        receipt = await committed(guest, UPLOAD, body)
    assert open_receipt(receipt, home.cloud.public_key).received == START + off
    home.clock = START
    async with home.visit(phone) as guest:
        assert phone.plan is not None
        assert phone.plan.receipts == (receipt,)
        assert await committed(guest, UPLOAD, body) == receipt
        for _ in range(2):
            ledger.acknowledge(receipt, home.cloud.public_key, START)
    assert ledger.spent() == spent
    assert ledger.quarantined_at is None
    assert len(home.rows()["uploads"]) == 1


async def test_rations_of_a_clock_that_was_ahead_starve_nobody(home: House) -> None:
    home.clock = START + YEARS
    async with home.visit(home.bad):
        pass
    home.clock = START
    for _ in range(3):
        async with home.visit(home.bad):
            pass
    assert home.refusals() == {}


def test_an_address_that_failed_under_a_clock_that_was_ahead_waits_no_longer() -> None:
    patience = Patience()
    for _ in range(FAILURES):
        patience.failed("x", START + YEARS)
    assert 0.0 < patience.wait("x", START) <= WINDOW_SECONDS
    patience.failed("x", START)
    assert patience.wait("x", START) == 0.0, "a window of its own time has begun"
