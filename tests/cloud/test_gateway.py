"""A device's whole session, and every refusal: typed, counted, and nobody else disturbed."""

from __future__ import annotations

from typing import Any

import pytest

from cloud.gateway.batcher import Batcher
from cloud.service import Cloud
from privacy.receipts import open_receipt
from protocol.messages import UploadBegin
from protocol.release import open_manifest, open_release
from protocol.session import (
    FetchRefused,
    PlanReceived,
    ProofOffered,
    ReleaseReceived,
    UploadCommitted,
    UploadRefused,
)
from protocol.update import MAX_REPORT
from protocol.wire import MAX_FRAME, encode
from tests.cloud.world import (
    DAY,
    START,
    Phone,
    connect,
    descriptors,
    outcome,
    raw_report,
    usage_answers,
)

UPLOAD = b"u" * 16


def _refusals(cloud: Cloud, code: str) -> float:
    return cloud.metrics.value("reverie_refusals_total", code=code)


async def _works(cloud: Cloud) -> bool:
    """Whether another phone's session still goes through."""
    line, _ = await connect(Phone(500), cloud.endpoint())
    line.client.upload(b"w" * 16, raw_report(mark=500))
    return any(isinstance(event, UploadCommitted) for event in await line.exchange())


async def test_a_whole_session(cloud: Cloud) -> None:
    core, phone = cloud.endpoint(), Phone(1)
    line, _ = await connect(phone, core)
    assert phone.plan is not None
    opened = descriptors(core, cloud.public_key)
    assert sorted(opened) == ["dedup", "router", "usage"]
    line.client.upload(UPLOAD, phone.report(opened["usage"], usage_answers()))
    (committed,) = await line.exchange()
    assert isinstance(committed, UploadCommitted)
    assert open_receipt(committed.receipt, cloud.public_key).device == phone.device_id
    line.client.finish()
    await line.exchange()
    assert line.server.closed
    assert cloud.metrics.value("reverie_reports_total") == 1


async def test_every_published_release_can_be_fetched(cloud: Cloud) -> None:
    from protocol.models.spec import SPECS

    line, _ = await connect(Phone(1), cloud.endpoint())
    offered = cloud.endpoint().snapshot.releases
    manifests = [open_manifest(blob, cloud.public_key) for _, _, blob in offered]
    assert [manifest.model for manifest in manifests] == ["dedup", "router"]
    for manifest in manifests:
        line.client.fetch(manifest.model, manifest.version, 0, manifest.full.size)
        (event,) = await line.exchange()
        assert isinstance(event, ReleaseReceived)
        open_release(manifest, event.blob, None, SPECS[manifest.model])


async def test_an_upload_offered_again_is_acknowledged_at_once(cloud: Cloud) -> None:
    phone = Phone(1)
    body = phone.report(descriptors(cloud.endpoint(), cloud.public_key)["usage"], usage_answers())
    said = []
    for _ in range(2):  # the second time as if the first ack had been lost
        line, _ = await connect(phone, cloud.endpoint())
        line.client.upload(UPLOAD, body)
        said += await line.exchange()
    assert [type(each) for each in said] == [UploadCommitted] * 2
    assert said[0] == said[1]
    assert (await cloud.report())["reports"] == 1


async def test_a_plan_brings_the_newest_receipts(cloud: Cloud) -> None:
    phone, other = Phone(1), Phone(2)
    body = phone.report(descriptors(cloud.endpoint(), cloud.public_key)["usage"], usage_answers())
    line, _ = await connect(phone, cloud.endpoint())
    assert _receipts(phone) == []
    line.client.upload(UPLOAD, body)
    (committed,) = await line.exchange()
    assert isinstance(committed, UploadCommitted)
    await connect(phone, cloud.endpoint())
    await connect(other, cloud.endpoint())
    assert _receipts(phone) == [committed.receipt]
    assert _receipts(other) == []


def _receipts(phone: Phone) -> list[bytes]:
    assert phone.plan is not None
    return list(phone.plan.receipts)


async def test_an_unknown_device(cloud: Cloud) -> None:
    stranger = Phone(1)
    stranger.device_id = "0" * 32
    _, events = await connect(stranger, cloud.endpoint())
    assert outcome(events) == "unknown_device"
    assert _refusals(cloud, "unknown_device") == 1
    assert await _works(cloud)


async def test_a_revoked_device(cloud: Cloud) -> None:
    phone = Phone(1)
    await connect(phone, cloud.endpoint())
    await cloud.registry.ask("revoke", phone.device_id, START)
    _, events = await connect(phone, cloud.endpoint())
    assert outcome(events) == "revoked"
    assert _refusals(cloud, "revoked") == 1
    assert await _works(cloud)


async def test_a_bad_proof(cloud: Cloud) -> None:
    phone, thief = Phone(1), Phone(2)
    await connect(phone, cloud.endpoint())
    thief.device_id = phone.device_id
    _, events = await connect(thief, cloud.endpoint())
    assert outcome(events) == "bad_proof"
    assert _refusals(cloud, "bad_proof") == 1
    assert await _works(cloud)


async def test_a_thief_does_not_learn_that_a_device_is_revoked(cloud: Cloud) -> None:
    phone, thief = Phone(1), Phone(2)
    await connect(phone, cloud.endpoint())
    await cloud.registry.ask("revoke", phone.device_id, START)
    thief.device_id = phone.device_id
    _, events = await connect(thief, cloud.endpoint())
    assert outcome(events) == "bad_proof"


@pytest.mark.parametrize("frame", [b"", b"\xff\x00junk", b"\x80", b"\x81\xa4type\xa5hello"])
async def test_a_malformed_frame(cloud: Cloud, frame: bytes) -> None:
    connection = cloud.endpoint().open_session(START)
    answers = await connection.receive(frame)
    assert len(answers) == 1
    assert connection.closed
    assert _refusals(cloud, "bad_message") == 1
    assert await connection.receive(frame) == []
    assert await _works(cloud)


async def test_an_oversize_frame(cloud: Cloud) -> None:
    connection = cloud.endpoint().open_session(START)
    await connection.receive(bytes(MAX_FRAME + 1))
    assert connection.closed
    assert _refusals(cloud, "too_large") == 1
    assert await _works(cloud)


async def test_an_oversize_report(cloud: Cloud) -> None:
    line, _ = await connect(Phone(1), cloud.endpoint())
    line.client.upload(UPLOAD, bytes(MAX_REPORT + 1))
    (event,) = await line.exchange()
    assert isinstance(event, UploadRefused)
    assert event.code == "too_large"
    assert _refusals(cloud, "too_large") == 1
    assert await _works(cloud)


async def test_a_duplicate_report(cloud: Cloud) -> None:
    line, _ = await connect(Phone(1), cloud.endpoint())
    line.client.upload(UPLOAD, raw_report(mark=1))
    line.client.upload(b"v" * 16, raw_report(mark=2))
    committed, refused = await line.exchange()
    assert isinstance(committed, UploadCommitted)
    assert isinstance(refused, UploadRefused)
    assert refused.code == "duplicate_report"
    assert _refusals(cloud, "duplicate_report") == 1
    assert await _works(cloud)


async def test_a_stale_round(cloud: Cloud) -> None:
    phone, core = Phone(1), cloud.endpoint()
    body = phone.report(descriptors(core, cloud.public_key)["usage"], usage_answers())
    line, _ = await connect(phone, core)
    await cloud.tick(START + 2 * DAY)
    line.client.upload(UPLOAD, body)
    (event,) = await line.exchange()
    assert isinstance(event, UploadRefused)
    assert event.code == "stale_round"
    assert _refusals(cloud, "stale_round") == 1


async def test_a_malformed_report(cloud: Cloud) -> None:
    line, _ = await connect(Phone(1), cloud.endpoint())
    line.client.upload(UPLOAD, b"no report")
    (event,) = await line.exchange()
    assert isinstance(event, UploadRefused)
    assert event.code == "bad_message"
    assert await _works(cloud)


async def test_an_unknown_release(cloud: Cloud) -> None:
    line, _ = await connect(Phone(1), cloud.endpoint())
    line.client.fetch("router", 99, 0, 10)
    line.client.upload(UPLOAD, raw_report(mark=1))
    refused, committed = await line.exchange()
    assert isinstance(refused, FetchRefused)
    assert refused.code == "unknown_release"
    assert isinstance(committed, UploadCommitted)
    assert _refusals(cloud, "unknown_release") == 1


async def test_a_message_out_of_turn(cloud: Cloud) -> None:
    connection = cloud.endpoint().open_session(START)
    begin = UploadBegin(upload_id=UPLOAD, kind="report", size=1, sha256=bytes(32))
    await connection.receive(encode(begin))
    assert connection.closed
    assert _refusals(cloud, "bad_message") == 1


async def test_a_failing_store_keeps_the_report_on_the_phone(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, _ = await connect(Phone(1), cloud.endpoint())
    line.client.upload(UPLOAD, raw_report(mark=1))
    real = cloud.intake.ask

    async def full_disk(method: str, *args: Any) -> Any:
        if method == "commit":
            raise OSError("disk full")
        return await real(method, *args)

    monkeypatch.setattr(cloud.intake, "ask", full_disk)
    events = await line.exchange()
    assert outcome(events) == "busy"
    assert not any(isinstance(event, UploadCommitted | UploadRefused) for event in events)
    assert _refusals(cloud, "busy") == 1
    monkeypatch.undo()
    assert await _works(cloud)


async def test_the_plan_changes_only_in_a_tick(cloud: Cloud) -> None:
    before = cloud.endpoint().snapshot
    await cloud.rounds.ask("close_due", START + 2 * DAY)
    phone = Phone(1)
    await connect(phone, cloud.endpoint())
    assert phone.plan is not None
    assert phone.plan.rounds == before.rounds
    await cloud.tick(START + 2 * DAY)
    assert cloud.endpoint().snapshot.rounds != before.rounds


async def test_tokens_when_enrolment_is_closed(cloud: Cloud) -> None:
    from cloud.actors.registry import Registry

    core = cloud.endpoint()
    closed = Registry(cloud.config.database_url)
    core.enrolments = Batcher(_Direct(closed), "enrolments")
    _, events = await connect(Phone(1), core, token="guess")
    assert outcome(events) == "bad_token"
    assert _refusals(cloud, "bad_token") == 1
    token = await cloud.issue_token(START)
    _, events = await connect(Phone(1), core, token=token)
    assert any(isinstance(event, PlanReceived) for event in events)
    _, events = await connect(Phone(2), core, token=token)
    assert outcome(events) == "bad_token"
    closed.close()


async def test_metrics_name_no_device(cloud: Cloud) -> None:
    phone = Phone(1)
    await connect(phone, cloud.endpoint())
    text = cloud.metrics.exposition().decode()
    assert "reverie_plans_total 1.0" in text
    assert phone.device_id not in text


class _Direct:
    """A handle on an actor in hand."""

    def __init__(self, actor: object) -> None:
        self._actor = actor

    async def ask(self, method: str, *args: Any) -> Any:
        return getattr(self._actor, method)(*args)

    def tell(self, method: str, *args: Any) -> None:
        getattr(self._actor, method)(*args)


async def test_a_phone_is_not_sent_the_manifest_it_already_follows(cloud: Cloud) -> None:
    core = cloud.endpoint()
    newest = {model: version for model, version, _ in core.snapshot.releases}

    async def shown(have: dict[str, int]) -> int:
        proof = ProofOffered("0" * 32, b"", b"", have, version=2)
        return len((await core.plan_for(proof)).releases)

    assert await shown({}) == len(newest)
    assert await shown(newest) == 0
    assert await shown(newest | {"router": newest["router"] - 1}) == 1
