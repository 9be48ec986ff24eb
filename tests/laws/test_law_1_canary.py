"""Law 1: canary strings planted in every memory appear nowhere outside: not in a receipt, an
anchor, an audit, a metric or the message of an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import structlog

from cloud.config import CloudConfig
from cloud.storage.database import Database
from cloud.transparency import public_page
from device.phone import Phone
from device.vault.anchor import FileAnchor
from privacy import Gate
from privacy.audit.explain import explain
from privacy.audit.openers import export_ledger
from privacy.audit.page import render
from privacy.audit.replay import audit_ledger
from privacy.chain import ReceiptEntry
from privacy.streams import USAGE_DIMENSION, usage_vector
from protocol.rounds import TASKS
from protocol.update import Report, encode_report
from protocol.wire import decode
from tests.device.sync.conftest import descriptor, local_round
from tests.laws.conftest import OpenWorld
from tests.laws.world import Wire, World

CANARY = "zanzibar-canary-90417"
CANARIES = (CANARY.encode(), "雁荡金丝雀".encode())
TOLD = (
    f"My name is {CANARY} and I live at {CANARY} Road 5",
    f"Ask the {CANARY} clinic about my appointment next Friday at 3pm",
    "我喜欢雁荡金丝雀",
)


def clean(*held: bytes) -> bool:
    return all(canary not in one for one in held for canary in CANARIES)


async def lived_in(w: World, wire: Wire, anchor: FileAnchor) -> Phone:
    """A phone whose every memory, learning example and use holds the canaries."""
    phone = await w.phone(wire=wire, anchor=anchor)
    for text in TOLD:
        await phone.record(text)
    await phone.dream()
    for text in (*TOLD, f"where does {CANARY} live?", "雁荡金丝雀在哪里？"):
        answer = await phone.recall(text)
        await phone.feedback(answer, [hit.id for hit in answer.hits])
        await phone.feedback_pair(text, text, "duplicate")
    return phone


async def test_nothing_that_leaves_or_stays_behind_holds_a_word(
    open_world: OpenWorld, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_world() as w:
        wire = Wire()
        anchor = FileAnchor(tmp_path / "anchors" / "phone.json")
        with structlog.testing.capture_logs() as logs:
            phone = await lived_in(w, wire, anchor)
            await phone.sync_now()
            await w.next_day()
            await phone.sync_now()
        assert (await phone.recall(CANARY)).hits, "the phone itself must know it"
        # The wire, both ways, receipts among it.
        acks = [message for message in map(decode, wire.down) if message.type == "upload_ack"]
        assert sum(bool(ack.receipt) for ack in acks) >= 3
        assert clean(*wire.up, *wire.down)
        # What the owner may hand to an auditor, in clear: ledger, page, words, numbers.
        entries = [payload for _, payload in phone._logs["ledger"].read()]
        assert any(isinstance(entry, ReceiptEntry) for entry in phone.ledger.entries())
        audit = audit_ledger(entries, cloud_key=w.cloud.public_key)
        assert audit.problems == ()
        exported = tmp_path / "ledger.jsonl"
        export_ledger(entries, exported)
        words = [str(explain(audit, language, w.clock.now())) for language in ("zh", "en")]
        said = [render(audit), json.dumps(asdict(audit), default=str), *words]
        assert clean(*entries, exported.read_bytes(), *(text.encode() for text in said))
        # What stays beside the phone and in the cloud: anchor, files, metrics, the public page.
        mark = anchor.read()
        assert mark is not None
        assert mark.length == len(entries)
        assert clean(anchor.path.read_bytes())
        files = [path.read_bytes() for path in sorted(w.folder.rglob("*")) if path.is_file()]
        assert files
        page = public_page(Database(CloudConfig(state=w.folder).database_url))
        assert clean(*files, w.cloud.endpoint().metrics.exposition(), page)
        assert phone.identity.device_id.encode() not in page
        # What people and log collectors read.
        status = (await phone.status()).model_dump_json()
        assert clean(status.encode(), repr(logs).encode(), "".join(capsys.readouterr()).encode())


async def test_no_error_of_the_way_out_quotes_what_it_was_given(
    open_world: OpenWorld, tmp_path: Path
) -> None:
    async with open_world() as w:
        phone = await lived_in(w, Wire(), FileAnchor(tmp_path / "a.json"))
        now = w.clock.now()
        gate = Gate(phone.ledger, lambda size: bytes(size))
        shared = descriptor(dimension=USAGE_DIMENSION)
        words = np.frombuffer(CANARY.encode(), dtype=np.uint8).astype(np.float64)

        def full(_: object) -> None:
            raise OSError("no space left")

        attempts: list[Callable[[], object]] = [
            lambda: usage_vector({"language": CANARY}),
            lambda: usage_vector({CANARY: "zh"}),
            lambda: gate.release(shared, words, at=now, store=full),
            lambda: gate.release(shared, np.zeros(USAGE_DIMENSION), at=now, store=full),
            lambda: gate.release_local(local_round(), CANARY, at=now, store=full),
            lambda: phone.outbox.put(CANARY),  # type: ignore[arg-type]
            lambda: encode_report(
                Report(CANARY, 1, CANARY.encode(), CANARY.encode(), b"")  # type: ignore[arg-type]
            ),
            lambda: encode_report(Report(TASKS[0], 1, CANARY.encode(), CANARY.encode(), b"")),
            lambda: phone.ledger.acknowledge(CANARY.encode() * 4, w.cloud.public_key, now),
        ]
        for attempt in attempts:
            with pytest.raises(Exception) as caught:
                attempt()
            chain: BaseException | None = caught.value
            while chain is not None:
                assert clean(str(chain).encode(), repr(chain).encode())
                chain = chain.__cause__
        assert clean(audit_ledger([CANARY.encode()]).problems[0].what.encode())
        assert phone._books.note_receipt(CANARY.encode() * 4).startswith("a receipt was refused")
