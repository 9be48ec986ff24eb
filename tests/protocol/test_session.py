"""Both ends of a session against each other, and against peers that misbehave."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import SessionError
from protocol.messages import (
    MAX_CHUNK,
    MAX_UPLOAD,
    Bye,
    Challenge,
    Enrol,
    Fetch,
    Hello,
    Message,
    Plan,
    Prove,
    Refusal,
    ReleaseBlob,
    UploadAccept,
    UploadAck,
    UploadBegin,
    UploadChunk,
)
from protocol.messages import Enrolled as EnrolledMessage
from protocol.session import (
    MAX_SESSION_BYTES,
    ClientSession,
    Closed,
    Enrolled,
    Event,
    ProofOffered,
    ServerSession,
    SessionFailed,
    UploadCommitted,
    UploadReceived,
)
from protocol.wire import MAX_FRAME, decode, encode
from tests.protocol.link import NOW, PLAN, Cloud, Device, Exchange, receipt_for
from tests.protocol.samples import MESSAGES, bits

UPLOADS = {b"u" * 16: bits(21)(3 * MAX_CHUNK + 5), b"v" * 16: bits(22)(100)}
BLOB = bits(23)(2 * MAX_CHUNK + 9)


def fresh() -> tuple[Device, Cloud]:
    device = Device(device_id="", outbox=dict(UPLOADS), wanted={("router", 2, 1): len(BLOB)})
    return device, Cloud(releases={("router", 2, 1): BLOB})


def open_client() -> ClientSession:
    """A client in the OPEN state with nothing queued."""
    device = Device()
    client = device.session()
    client.start()
    client.receive(encode(Challenge(version=2, server_nonce=bytes(32), server_time=NOW)))
    client.receive(encode(PLAN))
    client.frames_to_send()
    return client


def open_server() -> ServerSession:
    server = ServerSession(server_nonce=bytes(32), now=NOW)
    server.receive(encode(Hello(versions=(1, 2), device_id="d", client_nonce=bytes(32))))
    server.receive(encode(Prove(signature=bytes(64), have={})))
    server.admit(PLAN)
    server.frames_to_send()
    return server


def test_a_whole_session_enrols_uploads_and_fetches() -> None:
    device, cloud = fresh()
    exchange = Exchange(device, cloud).run()
    assert device.device_id == "device-1"
    assert cloud.committed == UPLOADS
    assert device.received == {("router", 2, 1): BLOB}
    assert not device.outbox
    plan = device.plans[0]
    assert (plan.rounds, plan.releases) == (PLAN.rounds, PLAN.releases)
    assert plan.receipts == PLAN.receipts
    assert device.receipts == {upload_id: receipt_for(upload_id) for upload_id in UPLOADS}
    assert (plan.retry_after, plan.server_time) == (PLAN.retry_after, NOW)
    proof = next(event for event in exchange.server_events if isinstance(event, ProofOffered))
    assert proof.have == {"router": 1}
    assert exchange.server_events[-1] == Closed("done")
    assert exchange.client.closed
    assert exchange.server.closed


def test_a_known_device_skips_enrolment() -> None:
    device, cloud = fresh()
    Exchange(device, cloud).run()
    again = Exchange(device, cloud, seed=2).run()
    assert not any(isinstance(event, Enrolled) for event in again.client_events)
    assert len(device.plans) == 2


def test_loss_at_every_boundary_resumes_from_the_outbox() -> None:
    device, cloud = fresh()
    frames = Exchange(device, cloud).run().delivered
    assert frames > 20
    for cut in range(frames):
        device, cloud = fresh()
        Exchange(device, cloud, cut=cut).run()
        # Nothing the phone let go of may be missing in the cloud.
        assert all(
            cloud.committed[gone] == UPLOADS[gone] for gone in UPLOADS - device.outbox.keys()
        )
        Exchange(device, cloud, seed=3).run()
        assert cloud.committed == UPLOADS, cut
        assert sorted(cloud.commits) == sorted(UPLOADS), f"committed twice at cut {cut}"
        assert not device.outbox
        assert device.received == {("router", 2, 1): BLOB}


@settings(max_examples=60)
@given(st.lists(st.integers(0, 40), max_size=12))
def test_any_chain_of_broken_sessions_commits_each_upload_once(cuts: list[int]) -> None:
    device, cloud = fresh()
    for seed, cut in enumerate(cuts):
        Exchange(device, cloud, cut=cut, seed=seed).run()
    Exchange(device, cloud, seed=99).run()
    assert cloud.committed == UPLOADS
    assert sorted(cloud.commits) == sorted(UPLOADS)


def test_an_upload_committed_but_not_acknowledged_is_committed_at_the_next_offer() -> None:
    device, cloud = fresh()
    cloud.committed = dict(UPLOADS)
    exchange = Exchange(device, cloud).run()
    assert not device.outbox
    assert not any(isinstance(event, UploadReceived) for event in exchange.server_events)
    assert cloud.commits == []
    assert device.receipts == {upload_id: receipt_for(upload_id) for upload_id in UPLOADS}


def test_at_most_four_chunks_are_unacknowledged() -> None:
    device = Device(outbox={b"w" * 16: bits(1)(10 * MAX_CHUNK)})
    cloud = Cloud(devices={"device-1": device.key.public})
    exchange = Exchange(device, cloud).run()
    assert exchange.most_in_flight == 4
    assert len(cloud.committed) == 1


def test_a_server_may_resume_from_bytes_it_kept() -> None:
    body = bits(2)(2 * MAX_CHUNK)
    upload_id = b"k" * 16
    client, server = open_client(), open_server()
    client.upload(upload_id, body)
    server.receive(client.frames_to_send()[0])
    with pytest.raises(SessionError):
        server.accept_upload(upload_id, 5, False)
    server.accept_upload(upload_id, MAX_CHUNK, False, held=body[:MAX_CHUNK])
    client.receive(server.frames_to_send()[0])
    (chunk,) = client.frames_to_send()
    assert server.receive(chunk) == [UploadReceived(upload_id, body)]


def test_a_server_gives_no_receipt_for_what_is_not_committed() -> None:
    client, server = open_client(), open_server()
    client.upload(b"u" * 16, b"body")
    server.receive(client.frames_to_send()[0])
    with pytest.raises(SessionError):
        server.accept_upload(b"u" * 16, receipt=b"early")
    assert server.frames_to_send() == []


def test_a_refused_upload_leaves_the_session_open() -> None:
    device, cloud = fresh()
    cloud.refuses = {b"u" * 16: "stale_round"}
    Exchange(device, cloud).run()
    assert [event.code for event in device.refused] == ["stale_round"]
    assert cloud.committed == {b"v" * 16: UPLOADS[b"v" * 16]}
    assert not device.outbox


def test_an_upload_refused_while_its_chunks_fly_is_not_an_error() -> None:
    client, server = open_client(), open_server()
    client.upload(b"w" * 16, bits(1)(3 * MAX_CHUNK))
    server.receive(client.frames_to_send()[0])
    server.accept_upload(b"w" * 16)
    client.receive(server.frames_to_send()[0])
    chunks = client.frames_to_send()
    server.receive(chunks[0])
    server.refuse_upload(b"w" * 16, "stale_round")
    assert [event for chunk in chunks[1:] for event in server.receive(chunk)] == []
    assert not server.closed


def test_a_fetch_of_an_unknown_release_is_refused_alone() -> None:
    device, cloud = fresh()
    cloud.releases = {}
    Exchange(device, cloud).run()
    assert [event.code for event in device.refused] == ["unknown_release"]
    assert cloud.committed == UPLOADS


@pytest.mark.parametrize(
    ("device", "code"),
    [
        (Device(device_id="", token="wrong"), "bad_token"),
        (Device(device_id="stranger"), "unknown_device"),
    ],
)
def test_a_fatal_refusal_closes_with_its_code(device: Device, code: str) -> None:
    exchange = Exchange(device, Cloud()).run()
    (closed,) = exchange.client_events
    assert isinstance(closed, Closed)
    assert closed.reason == code
    assert exchange.client.closed
    assert exchange.server.closed


def test_a_wrong_key_is_a_bad_proof() -> None:
    device = Device()
    exchange = Exchange(device, Cloud(devices={"device-1": bytes(32)})).run()
    assert exchange.client_events == [Closed("bad_proof", 0.0)]


def test_a_refusal_carries_its_retry_window() -> None:
    server = ServerSession(server_nonce=bytes(32), now=NOW)
    server.refuse("busy", retry_after=120.0)
    client = Device().session()
    client.start()
    assert client.receive(server.frames_to_send()[0]) == [Closed("busy", 120.0)]
    assert server.closed


def test_no_common_version_is_refused() -> None:
    server = ServerSession(server_nonce=bytes(32), now=NOW)
    (failed,) = server.receive(
        encode(Hello(versions=(7, 9), device_id="d", client_nonce=bytes(32)))
    )
    assert isinstance(failed, SessionFailed)
    assert failed.code == "version"
    refusal = decode(server.frames_to_send()[0])
    assert isinstance(refusal, Refusal)
    assert refusal.code == "version"
    client = Device().session()
    client.start()
    (failed,) = client.receive(
        encode(Challenge(version=7, server_nonce=bytes(32), server_time=NOW))
    )
    assert isinstance(failed, SessionFailed)
    assert failed.code == "version"


def begun(size: int, body: bytes = b"") -> UploadBegin:
    digest = hashlib.sha256(body).digest()
    return UploadBegin(upload_id=b"u" * 16, kind="report", size=size, sha256=digest)


def chunk(offset: int, data: bytes) -> UploadChunk:
    return UploadChunk(upload_id=b"u" * 16, offset=offset, data=data)


@pytest.mark.parametrize(
    "message",
    [
        Enrol(token="t", public_key=bytes(32)),
        Prove(signature=bytes(64), have={}),
        begun(10),
        Fetch(model="router", version=1, base=0),
        PLAN,
    ],
)
def test_a_server_refuses_what_a_greeting_does_not_allow(message: Message) -> None:
    server = ServerSession(server_nonce=bytes(32), now=NOW)
    (failed,) = server.receive(encode(message))
    assert isinstance(failed, SessionFailed)
    assert failed.code == "bad_message"
    assert isinstance(decode(server.frames_to_send()[0]), Refusal)
    assert server.closed
    assert server.receive(encode(Bye(reason=""))) == []


@pytest.mark.parametrize(
    "messages",
    [
        [Hello(versions=(1,), device_id="d", client_nonce=bytes(32))],
        [Prove(signature=bytes(64), have={})],
        [begun(10), begun(10)],
        [begun(10), chunk(0, b"x")],
        [chunk(0, b"x")],
        [Fetch(model="a", version=1, base=0), Fetch(model="a", version=1, base=0)],
        [UploadAck(upload_id=bytes(16), offset=0, committed=True)],
    ],
)
def test_a_server_refuses_what_an_open_session_does_not_allow(messages: list[Message]) -> None:
    server = open_server()
    events = [event for message in messages for event in server.receive(encode(message))]
    assert isinstance(events[-1], SessionFailed)
    assert server.closed


@pytest.mark.parametrize(
    ("chunks", "code"),
    [
        ([chunk(1, b"x")], "bad_message"),
        ([chunk(0, b"xx"), chunk(0, b"xx")], "bad_message"),
        ([chunk(0, b"x" * 11)], "too_large"),
        ([chunk(0, b"y" * 10)], "bad_message"),
    ],
)
def test_a_server_refuses_chunks_out_of_order_too_long_or_of_another_hash(
    chunks: list[UploadChunk], code: str
) -> None:
    server = open_server()
    server.receive(encode(begun(10, b"x" * 10)))
    server.accept_upload(b"u" * 16)
    events = [event for message in chunks for event in server.receive(encode(message))]
    assert not any(isinstance(event, UploadReceived) for event in events)
    assert isinstance(events[-1], SessionFailed)
    assert events[-1].code == code


def blob(**changes: Any) -> ReleaseBlob:
    fields: dict[str, Any] = {"model": "router", "version": 2, "base": 0, "offset": 0, "total": 10}
    return ReleaseBlob(**({**fields, "data": b"x" * 5} | changes))


@pytest.mark.parametrize(
    "messages",
    [
        [PLAN],
        [EnrolledMessage(device_id="d")],
        [Challenge(version=1, server_nonce=bytes(32), server_time=NOW)],
        [UploadAck(upload_id=b"w" * 16, offset=1, committed=False)],
        [UploadAck(upload_id=b"u" * 16, offset=0, committed=True)],
        [UploadAccept(upload_id=b"u" * 16, offset=101, committed=False)],
        [UploadAccept(upload_id=b"u" * 16, offset=0, committed=False, receipt=b"early")],
        [
            UploadAccept(upload_id=b"u" * 16, offset=0, committed=False),
            UploadAck(upload_id=b"u" * 16, offset=50, committed=False, receipt=b"early"),
        ],
        [
            UploadAccept(upload_id=b"u" * 16, offset=0, committed=False),
            UploadAck(upload_id=b"u" * 16, offset=50, committed=True),
        ],
        [UploadAccept(upload_id=b"u" * 16, offset=0, committed=False)] * 2,
        [blob(model="dedup")],
        [blob(total=11)],
        [blob(offset=5)],
        [blob(), blob()],
        [blob(data=b"")],
        [blob(data=b"x" * 11)],
        [Hello(versions=(1,), device_id="d", client_nonce=bytes(32))],
    ],
)
def test_a_client_leaves_a_server_that_breaks_the_protocol(messages: list[Message]) -> None:
    client = open_client()
    client.upload(b"u" * 16, bytes(100))
    client.fetch("router", 2, 0, 10)
    events = [event for message in messages for event in client.receive(encode(message))]
    assert isinstance(events[-1], SessionFailed)
    assert not any(isinstance(event, UploadCommitted) for event in events)
    assert client.closed
    assert isinstance(decode(client.frames_to_send()[-1]), Bye)


def test_a_non_fatal_refusal_of_nothing_is_a_fault() -> None:
    client = open_client()
    refusal = Refusal(code="busy", detail="", retry_after=0.0, fatal=False)
    assert isinstance(client.receive(encode(refusal))[0], SessionFailed)


@settings(max_examples=200)
@given(st.lists(st.one_of(MESSAGES.map(encode), st.binary(max_size=40)), max_size=8))
def test_no_sequence_of_frames_raises(frames: list[bytes]) -> None:
    for end in (ServerSession(server_nonce=bytes(32), now=NOW), open_server(), open_client()):
        failed = 0
        for frame in frames:
            failed += sum(isinstance(event, SessionFailed) for event in end.receive(frame))
        assert failed <= 1


def test_limits_of_a_session() -> None:
    server = ServerSession(server_nonce=bytes(32), now=NOW)
    (failed,) = server.receive(bytes(MAX_FRAME + 1))
    assert isinstance(failed, SessionFailed)
    assert failed.code == "too_large"

    server = open_server()
    events: list[Event] = []
    uploads = 0
    most = MAX_SESSION_BYTES // MAX_UPLOAD
    while uploads <= most and not any(isinstance(event, SessionFailed) for event in events):
        uploads += 1
        server.receive(encode(begun(MAX_UPLOAD, bytes(MAX_UPLOAD))))
        server.accept_upload(b"u" * 16)
        for offset in range(0, MAX_UPLOAD, MAX_CHUNK):
            events = server.receive(encode(chunk(offset, bytes(MAX_CHUNK))))
            if events and isinstance(events[0], SessionFailed):
                break
        else:
            server.acknowledge(b"u" * 16)
    assert uploads == most
    assert isinstance(events[0], SessionFailed)
    assert events[0].code == "too_large"


def test_commands_out_of_state_raise_and_send_nothing() -> None:
    client = Device().session()
    calls: list[Callable[[], object]] = [
        lambda: client.upload(bytes(16), b"x"),
        lambda: client.fetch("router", 1, 0, 5),
        lambda: Device(device_id="", token="").session().start(),
        lambda: Device(device_id="", token="t" * 200).session().start(),
    ]
    for call in calls:
        with pytest.raises(SessionError):
            call()
    client.start()
    with pytest.raises(SessionError):
        client.start()
    opened = open_client()
    for body in (b"", bytes(MAX_UPLOAD + 1)):
        with pytest.raises(SessionError):
            opened.upload(bytes(16), body)
    server = ServerSession(server_nonce=bytes(32), now=NOW)
    answers: list[Callable[[], object]] = [
        lambda: server.accept_enrol("d"),
        lambda: server.admit(PLAN),
        lambda: server.acknowledge(bytes(16)),
        lambda: server.send_release("router", 1, 0, b"x"),
        lambda: server.refuse("unknown_release", fatal=False),
        lambda: server.refuse_upload(bytes(16), "busy"),
    ]
    for answer in answers:
        with pytest.raises(SessionError):
            answer()
    assert server.frames_to_send() == []
    assert not Plan(rounds=(), releases=(), retry_after=0.0).rounds


def test_a_client_without_id_or_token_says_so() -> None:
    client = ClientSession(
        device_id="", sign=lambda _: b"", client_nonce=bytes(32), have={}, enrol=None
    )
    with pytest.raises(SessionError, match="enrol with a token"):
        client.start()


def test_details_never_quote_the_peer() -> None:
    canary = "canary-words"
    server = open_server()
    (failed,) = server.receive(b"\x82\xa4type\xa3bye\xac" + canary.encode() + b"\xc0")
    assert isinstance(failed, SessionFailed)
    assert canary not in failed.detail
    assert all(canary.encode() not in frame for frame in server.frames_to_send())
