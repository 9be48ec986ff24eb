"""Sessions as a resource: one a device, so many a day, bounded, and closed in good order."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cloud.actors.mailbox import MailRefused
from cloud.gateway.core import GatewayCore
from cloud.gateway.limits import Limits
from protocol.session import (
    Closed,
    CollectRefused,
    FetchRefused,
    MailReceived,
    PlanReceived,
    ReleaseReceived,
    UploadCommitted,
    UploadRefused,
)
from tests.cloud.gateway_world import BLOB, CLOUD_KEY, Direct, Inbox, World, upload_id
from tests.cloud.world import START
from tests.protocol.v1 import session as first
from tests.protocol.v1.messages import VERSIONS as FIRST_VERSIONS
from tests.protocol.v1.update import Report, encode_report


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def bounded(folder: Path, **limits: float) -> World:
    return World(folder, Limits(**limits))  # type: ignore[arg-type]


async def test_a_newer_session_of_a_device_ends_the_older_in_good_order(world: World) -> None:
    phone, woken = world.phone(), []
    older = await phone.call()
    older.server.on_frames = lambda: woken.append(older.server.frames())
    newer = await phone.call()
    assert older.server.closed
    assert not newer.server.closed
    ((bye,),) = woken
    (closed,) = older.client.receive(bye)
    assert isinstance(closed, Closed)
    assert "newer session" in closed.reason
    assert closed.retry_after >= 600.0
    newer.client.upload(b"u" * 16, b"body")
    assert isinstance((await newer.exchange())[0], UploadCommitted)


async def test_a_connection_that_is_gone_is_forgotten_and_superseded_by_nobody(
    world: World,
) -> None:
    phone = world.phone()
    older = await phone.call()
    newer = await phone.call()
    older.server.gone()  # late: the newer one is still the device's
    assert world.core._live == {phone.device_id: newer.server}
    newer.server.gone()
    assert world.core._live == {}
    superseded = world.core.metrics.value("reverie_sessions_superseded_total")
    await phone.call()
    assert world.core.metrics.value("reverie_sessions_superseded_total") == superseded == 1.0


async def test_a_stranger_ends_nobodys_session(world: World) -> None:
    """Only a device that has proven itself takes the place of another session."""
    phone, thief = world.phone(1), world.phone(2)
    older = await phone.call()
    liar = await phone.call(sign=thief.key.sign)
    assert [event.reason for event in liar.events if isinstance(event, Closed)] == ["bad_proof"]
    assert not older.server.closed
    await thief.call()
    assert not older.server.closed


async def test_a_device_that_calls_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    world = bounded(tmp_path, device_sessions_burst=2.0, device_sessions_a_day=24.0)
    phone = world.phone()
    for _ in range(2):
        assert (await phone.call()).plan
    (refused,) = (await phone.call()).events
    assert isinstance(refused, Closed)
    assert refused.reason == "limit"
    assert 3600.0 <= refused.retry_after <= 3600.0 * 1.25
    assert (await phone.call(START + 3601.0)).plan
    assert (await world.phone(2).call()).plan
    world.close()


async def test_a_device_that_moves_too_much_is_told_when_to_come_back(tmp_path: Path) -> None:
    world = bounded(tmp_path, device_bytes_a_day=100_000.0)
    call = await world.phone().call()
    call.client.upload(b"a" * 16, bytes(90_000))
    call.client.upload(b"b" * 16, bytes(90_000))
    taken, refused = await call.exchange()
    assert isinstance(taken, UploadCommitted)
    assert isinstance(refused, UploadRefused)
    assert refused.code == "limit"
    assert refused.retry_after >= 0.8 * 86_400.0
    call.client.fetch("router", 1, 0, len(BLOB))
    (refused_fetch,) = await call.exchange()
    assert isinstance(refused_fetch, FetchRefused)
    assert refused_fetch.code == "limit"
    again = await world.phone().call(START + 86_400.0)
    again.client.upload(b"b" * 16, bytes(90_000))
    assert isinstance((await again.exchange())[0], UploadCommitted)
    world.close()


async def test_a_phone_is_shown_what_it_does_not_have(world: World) -> None:
    phone = world.phone()
    plan = (await phone.call()).plan
    assert (plan.releases, plan.documents, plan.mail) == ((b"manifest",), (b"x",), 0)
    phone.have = {"router": 1, "knowledge/x": 1}
    plan = (await phone.call()).plan
    assert (plan.rounds, plan.releases, plan.documents) == ((b"round",), (), ())


async def test_documents_are_fetched_as_releases_are(world: World) -> None:
    call = await world.phone().call()
    call.client.fetch("knowledge/x", 1, 0, len(BLOB))
    assert await call.exchange() == [ReleaseReceived("knowledge/x", 1, 0, BLOB)]
    assert world.core.metrics.value("reverie_release_fetches_total", model="knowledge") == 1


class Postbox:
    """A mailbox that says what it is told to say."""

    def __init__(self, refusal: str = "") -> None:
        self.refusal = refusal
        self.letters: dict[int, bytes] = {}

    def post(self, device_id: str, data: bytes, now: float) -> int:
        if self.refusal:
            raise MailRefused(self.refusal)
        self.letters[len(self.letters) + 1] = data
        return len(self.letters)

    def collect(self, device_id: str, after: int, now: float) -> list[tuple[int, bytes]]:
        return [(n, data) for n, data in self.letters.items() if n > after][:2]

    def letters_waiting(self, asked: list[tuple[str, int]]) -> list[int]:
        return [sum(n > after for n in self.letters) for _, after in asked]

    def close(self) -> None:
        pass


async def test_letters_are_posted_counted_and_collected(world: World) -> None:
    world.mailbox.actor = Postbox()
    phone = world.phone()
    call = await phone.call()
    letters = [bytes([n]) * 40_000 for n in range(3)]
    for number, letter in enumerate(letters):
        call.client.upload(bytes([number]) * 16, letter, "mail")
    assert [type(event) for event in await call.exchange()] == [UploadCommitted] * 3
    phone.have = {"mail": 1}
    call = await phone.call()
    assert call.plan.mail == 2
    call.client.collect(0)
    assert await call.exchange() == [
        MailReceived(1, letters[0], last=False, left=1),
        MailReceived(2, letters[1], last=True, left=1),
    ]
    call.client.collect(3)
    assert await call.exchange() == [MailReceived(3, b"", last=True, left=0)]
    assert world.core.metrics.value("reverie_letters_total") == 3


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("full", "mailbox_full"),
        ("not_member", "not_a_member"),
        ("in_account", "not_a_member"),
        ("number", "duplicate_report"),
        ("malformed", "bad_message"),
        ("not_sender", "bad_message"),
    ],
)
async def test_a_refused_letter_leaves_the_session_open(world: World, said: str, code: str) -> None:
    world.mailbox.actor = Postbox(said)
    call = await world.phone().call()
    call.client.upload(b"l" * 16, b"letter", "mail")
    (refused,) = await call.exchange()
    assert isinstance(refused, UploadRefused)
    assert refused.code == code
    assert not call.server.closed


async def test_a_letter_over_64_kib_is_refused_before_it_travels(world: World) -> None:
    call = await world.phone().call()
    call.client.upload(b"l" * 16, bytes(65_537), "mail")
    (refused,) = await call.exchange()
    assert isinstance(refused, UploadRefused)
    assert refused.code == "too_large"
    assert len(call.delivered) == 3


async def test_a_mailbox_that_fails_ends_the_session_and_nothing_else(world: World) -> None:
    call = await world.phone().call()
    world.mailbox.broken = {"collect"}
    call.client.collect(0)
    (closed,) = await call.exchange()
    assert isinstance(closed, Closed)
    assert closed.reason == "busy"
    assert not any(isinstance(event, CollectRefused) for event in call.events)


async def test_the_gateway_says_goodbye_with_a_hint(world: World) -> None:
    call = await world.phone().call()
    (bye,) = call.server.finish("stopping", 30.0)
    (closed,) = call.client.receive(bye)
    assert isinstance(closed, Closed)
    assert closed.reason == "stopping"
    assert call.server.finish("again") == []


async def first_call(world: World, enrolling: bool) -> tuple[Any, Any, list[Any]]:
    """A phone of version 1, up to its plan."""
    phone = world.phone()
    client = first.ClientSession(
        device_id="" if enrolling else phone.device_id,
        sign=phone.key.sign,
        client_nonce=world.bits(32),
        have={"router": 0},
        enrol=first.EnrolRequest("open", phone.key.public) if enrolling else None,
    )
    server = world.core.open_session(START)
    client.start()
    return client, server, await pump(client, server)


async def pump(client: Any, server: Any) -> list[Any]:
    events: list[Any] = []
    while frames := client.frames_to_send():
        for frame in frames:
            for answer in await server.receive(frame):
                events += client.receive(answer)
    return events


@pytest.mark.parametrize("enrolling", [True, False])
async def test_a_phone_of_version_1_enrols_plans_fetches_and_leaves(
    world: World, enrolling: bool
) -> None:
    assert FIRST_VERSIONS == (1,)
    world.core.snapshot = type(world.core.snapshot)(
        (b"round",),
        type(world.core.snapshot.showing)(first=(("router", 1, b"manifest"),)),
        (("knowledge/x", 1, b"x"),),
    )
    client, server, events = await first_call(world, enrolling)
    plan = events[-1]
    assert type(plan).__name__ == "PlanReceived"
    assert plan.rounds == (), "no round of today can sum its reports"
    assert (plan.releases, plan.retry_after) == ((b"manifest",), 600.0)
    client.fetch("router", 1, 0, len(BLOB))
    (release,) = await pump(client, server)
    assert release.blob == BLOB
    client.finish()
    await pump(client, server)
    assert server.closed


async def test_a_report_of_version_1_is_refused_with_a_code_its_phone_settles(
    world: World,
) -> None:
    client, server, _ = await first_call(world, enrolling=False)
    old = Report("router", 1, b"r" * 16, np.arange(50_000, dtype=np.uint32), bytes(80))
    client.upload(b"r" * 16, encode_report(old))
    (refused,) = await pump(client, server)
    assert (type(refused).__name__, refused.code) == ("UploadRefused", "stale_round")
    assert "version 1" in refused.detail
    assert world.inbox.bodies == {}
    assert not server.closed


async def test_the_cloud_proves_itself_and_a_phone_with_another_pin_leaves(world: World) -> None:
    assert isinstance((await world.phone().call()).events[-1], PlanReceived)
    other = await world.phone().call(cloud_key=bytes(32))
    (failed,) = other.events
    assert failed.code == "bad_proof"  # type: ignore[union-attr]
    call = await world.phone().call(cloud_key=CLOUD_KEY.public, **world.phone().enrolling())
    assert [type(event).__name__ for event in call.events] == ["Enrolled", "PlanReceived"]


async def test_an_idle_session_holds_little(world: World) -> None:
    """Bytes a session keeps at the gateway once it has its plan and has sent what it had."""
    phones = [world.phone(number) for number in range(1, 41)]
    calls = [await phone.call() for phone in phones[:10]]  # caches and imports are warm
    tracemalloc.start()
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    servers = []
    for phone in phones[10:]:
        call = await phone.call()
        call.client.upload(phone.key.public[:16], bytes(100_000))
        await call.exchange()
        servers.append(call.server)
        world.inbox.bodies.clear()
        del call
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (after - before) / len(servers) < 10 * 1024
    assert not any(server.closed for server in servers)
    assert len(calls) == 10


async def test_a_device_finds_its_reports_in_its_shard_again(world: World) -> None:
    shards = [Inbox(), Inbox(), Inbox()]
    world.core = GatewayCore(
        Direct(world.registry),
        [Direct(shard) for shard in shards],
        Direct(None),
        Direct(None),
        world.bits,
        sign=CLOUD_KEY.sign,
    )
    phones = [world.phone(number) for number in range(12)]
    for _ in range(2):  # an inbox takes an id once: the second time it must be known
        for phone in phones:
            call = await phone.call()
            body = phone.key.public
            call.client.upload(upload_id(body), body)
            assert isinstance((await call.exchange())[0], UploadCommitted)
    taken = [len(shard.bodies) for shard in shards]
    assert sum(taken) == len(phones)
    assert sum(bool(number) for number in taken) > 1
