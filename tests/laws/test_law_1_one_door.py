"""Law 1: user-derived data leaves only through the privacy gate, charged before it is noised."""

from __future__ import annotations

from pathlib import Path

import pytest
import structlog

from device.observer import Charged, PhoneEvent, Released
from privacy.audit.replay import audit_ledger
from tests.laws.conftest import OpenWorld
from tests.laws.world import Wire

CANARY = "zanzibar-canary-90417"


class Notes:
    def __init__(self) -> None:
        self.events: list[PhoneEvent] = []

    def on(self, event: PhoneEvent) -> None:
        self.events.append(event)


def files(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


async def test_no_word_of_the_user_crosses_the_wire_or_reaches_the_cloud(
    open_world: OpenWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_world() as w:
        wire = Wire()
        phone = await w.phone(wire=wire)
        await phone.record(f"My name is {CANARY} and I live at {CANARY} Road 5")
        await phone.record(f"我喜欢{CANARY}")
        await phone.dream()
        answer = await phone.recall(f"where does {CANARY} live?")
        await phone.feedback(answer, [answer.hits[0].id])
        await phone.feedback_pair(f"I like {CANARY}", f"I love {CANARY}", "duplicate")
        with structlog.testing.capture_logs() as logs:
            await phone.sync_now()
            await w.next_day()
            await phone.sync_now()
        assert (await phone.recall(CANARY)).hits, "the phone itself must know it"
        wire_bytes = b"".join(wire.up + wire.down)
        assert len(wire_bytes) > 10_000
        assert CANARY.encode() not in wire_bytes
        assert CANARY.encode() not in files(w.folder)
        assert CANARY not in repr(logs) + "".join(capsys.readouterr())


async def test_every_report_is_charged_first_and_matches_the_ledger(open_world: OpenWorld) -> None:
    async with open_world() as w:
        notes = Notes()
        phone = await w.phone(observer=notes)
        await phone.sync_now()
        charges = [(e.task, e.round) for e in notes.events if isinstance(e, Charged)]
        releases = [(e.task, e.round) for e in notes.events if isinstance(e, Released)]
        assert len(releases) == 3
        assert charges == releases
        order = [type(e) for e in notes.events if isinstance(e, Charged | Released)]
        assert order == [Charged, Released] * 3
        audit = audit_ledger([payload for _, payload in phone._logs["ledger"].read()])
        assert audit.problems == ()
        assert [charge.committed for charge in audit.charges] == [True] * 3


async def test_a_phone_with_nothing_to_say_looks_like_one_with_much(open_world: OpenWorld) -> None:
    """Silence is no signal: same messages, same sizes."""
    async with open_world() as w:
        quiet, busy = Wire(), Wire()
        await (await w.phone(wire=quiet)).sync_now()
        phone = await w.phone(wire=busy)
        for number in range(30):
            await phone.record(f"Remember that box {number} holds the winter coats")
            await phone.feedback(await phone.recall(f"box {number}"), ["raw:0"])
        await phone.sync_now()
        assert [len(frame) for frame in quiet.up] == [len(frame) for frame in busy.up]


async def test_a_cloud_that_asks_below_the_phones_floors_gets_nothing(
    open_world: OpenWorld,
) -> None:
    async with open_world() as w:
        phone = await w.phone(budget="production")
        report = await phone.sync_now()
        assert report.rounds_joined == []
        assert len(report.problems) == 3
        assert phone.ledger.spent().charges == 0
