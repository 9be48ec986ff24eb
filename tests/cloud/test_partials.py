"""Uploads that break off go on where they stopped, on either side of any death."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloud.actors.partials import (
    DEVICE_BYTES,
    DEVICE_UPLOADS,
    LIFETIME_SECONDS,
    Offer,
    Partials,
    Piece,
)
from protocol.messages import MAX_CHUNK, UploadChunk
from protocol.session import SessionFailed, UploadCommitted
from protocol.wire import decode, encode
from tests.cloud.gateway_world import World, upload_id
from tests.cloud.world import START, database_in

BODY = b"".join(sha256(bytes([n])).digest() for n in range(256)) * 24
"""Six chunks, all different."""
CHUNKS = -(-len(BODY) // MAX_CHUNK)
MIB = 1 << 20


def offer(number: int = 1, size: int = len(BODY), device: str = "d1") -> Offer:
    return Offer(device, number.to_bytes(16, "big"), size, sha256(BODY).digest())


def piece(of: Offer, place: int, size: int = MAX_CHUNK, at: float = START) -> Piece:
    return Piece(of, place, BODY[place : place + size], at)


@pytest.fixture
def partials(each_database: str, tmp_path: Path) -> Iterator[Partials]:
    made = Partials(database_in(tmp_path))
    yield made
    made.close()


@pytest.fixture
def world(each_database: str, tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def test_pieces_are_kept_in_order_and_survive_a_restart(partials: Partials, tmp_path: Path) -> None:
    ours = offer()
    assert partials.held([ours]) == [b""]
    assert partials.append([piece(ours, 0), piece(ours, MAX_CHUNK)]) == [True, True]
    assert partials.append([piece(ours, 0)]) == [False], "here already"
    assert partials.append([piece(ours, 3 * MAX_CHUNK)]) == [False], "a gap"
    again = Partials(database_in(tmp_path))
    assert again.held([ours]) == [BODY[: 2 * MAX_CHUNK]]
    again.close()


def test_only_the_exact_like_is_resumed(partials: Partials) -> None:
    ours = offer()
    partials.append([piece(ours, 0)])
    others = [
        replace(ours, sha256=bytes(32)),
        replace(ours, size=ours.size + 1),
        replace(ours, device_id="d2"),
        replace(ours, upload_id=bytes(16)),
    ]
    assert partials.held(others) == [b""] * 4
    assert partials.append([piece(others[0], 0, size=5)]) == [True], "the newer takes its place"
    assert partials.held([ours, others[0]]) == [b"", BODY[:5]]


def test_more_than_was_announced_is_not_kept(partials: Partials) -> None:
    assert partials.append([piece(offer(size=10), 0, size=11)]) == [False]


def test_a_device_has_room_for_a_few_and_its_oldest_go_first(partials: Partials) -> None:
    for number in range(1, DEVICE_UPLOADS + 3):
        partials.append([piece(offer(number, size=1000), 0, size=10, at=START + number)])
    partials.append([piece(offer(99, device="d2"), 0)])
    kept = [partials.held([offer(n, size=1000)]) != [b""] for n in range(1, DEVICE_UPLOADS + 3)]
    assert kept == [False, False] + [True] * DEVICE_UPLOADS
    for number in range(200, 210):
        partials.append([piece(offer(number, size=MIB), 0, at=START + number)])
    large = [partials.held([offer(n, size=MIB)]) != [b""] for n in range(200, 210)]
    assert sum(large) == DEVICE_BYTES // MIB
    assert partials.held([offer(99, device="d2")]) != [b""], "another device loses nothing"


def test_what_is_old_or_too_much_goes(partials: Partials) -> None:
    for number in range(1, 5):
        partials.append([piece(offer(number, device=f"d{number}"), 0, at=START + number)])
    assert partials.expire(START + 2 + LIFETIME_SECONDS) == 1
    assert partials.expire(START, total_bytes=2 * MAX_CHUNK) == 1
    held = [partials.held([offer(n, device=f"d{n}")])[0] != b"" for n in range(1, 5)]
    assert held == [False, False, True, True]
    partials.drop([offer(3, device="d3"), offer(77)])
    assert partials.held([offer(3, device="d3")]) == [b""]


@pytest.mark.parametrize("cut", range(1, CHUNKS + 1))
async def test_an_upload_cut_at_any_chunk_resumes_there(world: World, cut: int) -> None:
    phone, name = world.phone(), upload_id(BODY)
    first = await phone.call()
    first.client.upload(name, BODY)
    await first.exchange(frames=1 + cut - 1)  # the offer, then chunks: the last never arrives
    again = await phone.call()
    again.client.upload(name, BODY)
    begin = again.client.frames_to_send()
    answers = await again.server.receive(begin[0])
    for answer in answers:
        again.client.receive(answer)
    assert again.client.held(name) == (cut - 1) * MAX_CHUNK
    (committed,) = await again.exchange()
    assert isinstance(committed, UploadCommitted)
    assert world.inbox.bodies == {name: BODY}
    kept = Offer(phone.device_id, name, len(BODY), sha256(BODY).digest())
    assert world.partials.actor.held([kept]) == [b""], "nothing is kept of what is committed"
    assert world.core.metrics.value("reverie_resumed_bytes_total") == (cut - 1) * MAX_CHUNK


@settings(max_examples=8, deadline=None)
@given(st.lists(st.integers(1, CHUNKS), max_size=6))
def test_any_chain_of_cuts_sends_every_chunk_once_and_commits_once(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int]
) -> None:
    async def live() -> None:
        world = World(tmp_path_factory.mktemp("cuts"))
        phone, name = world.phone(), upload_id(BODY)
        chunks = []
        for cut in [*cuts, CHUNKS + 1]:
            call = await phone.call()
            call.client.upload(name, BODY)
            await call.exchange(frames=cut)
            sent = [decode(frame) for frame in call.delivered]
            chunks += [each.offset for each in sent if isinstance(each, UploadChunk)]
        assert world.inbox.bodies == {name: BODY}
        assert chunks == list(range(0, len(BODY), MAX_CHUNK))
        world.close()

    asyncio.run(live())


async def test_kept_bytes_that_do_not_fit_are_dropped_and_the_upload_begins_anew(
    world: World,
) -> None:
    """A phone, or a disk, that damaged a chunk: the hash of the whole finds it, once."""
    phone, name = world.phone(), upload_id(BODY)
    call = await phone.call()
    call.client.upload(name, BODY)
    for answer in await call.server.receive(call.client.frames_to_send()[0]):
        call.client.receive(answer)
    chunks = call.client.frames_to_send()
    first = decode(chunks[0])
    assert isinstance(first, UploadChunk)
    damaged = first.model_copy(update={"data": bytes(len(first.data))})
    for frame in (encode(damaged), chunks[1]):
        await call.server.receive(frame)
    again = await phone.call()
    again.client.upload(name, BODY)
    events = await again.exchange()
    assert not any(isinstance(event, UploadCommitted) for event in events)
    assert again.server.closed
    third = await phone.call()
    third.client.upload(name, BODY)
    (committed,) = await third.exchange()
    assert isinstance(committed, UploadCommitted)
    assert world.inbox.bodies == {name: BODY}


async def test_a_store_that_keeps_nothing_costs_bytes_and_no_report(world: World) -> None:
    world.partials.broken = {"append"}
    phone = world.phone()
    call = await phone.call()
    call.client.upload(upload_id(BODY), BODY)
    events = await call.exchange()
    assert not any(isinstance(event, SessionFailed) for event in events)
    assert call.server.closed, "the phone is told to come back"
    world.partials.broken = set()
    again = await phone.call()
    again.client.upload(upload_id(BODY), BODY)
    assert isinstance((await again.exchange())[0], UploadCommitted)


async def test_a_short_report_never_touches_the_partials(world: World) -> None:
    world.partials.broken = {"append", "drop"}
    call = await world.phone().call()
    call.client.upload(b"s" * 16, b"short")
    assert isinstance((await call.exchange())[0], UploadCommitted)
