"""Letters, plans of more than one frame, and goodbyes: what version 2 carries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import SessionError
from protocol.messages import (
    MAX_CHUNK,
    MAX_DOCUMENT,
    MAX_MAIL,
    MAX_MANIFEST,
    MAX_METADATA,
    Challenge,
    Hello,
    Mail,
    Metadata,
    Plan,
    Prove,
)
from protocol.session import (
    ClientSession,
    Closed,
    CollectRefused,
    CollectRequested,
    FetchRefused,
    MailReceived,
    PlanReceived,
    ServerSession,
    SessionFailed,
    UploadCommitted,
    UploadOffered,
    UploadReceived,
    UploadRefused,
)
from protocol.wire import MAX_FRAME, encode
from tests.protocol.link import NOW, PLAN, Device
from tests.protocol.samples import bits


def ends(plan: Plan = PLAN) -> tuple[ClientSession, ServerSession, list[Any]]:
    """Both ends up to the plan, and what the client was told of it."""
    client, server = Device().session(), ServerSession(server_nonce=bytes(32), now=NOW)
    client.start()
    server.receive(client.frames_to_send()[0])
    client.receive(server.frames_to_send()[0])
    server.receive(client.frames_to_send()[0])
    server.admit(plan)
    return client, server, down(client, server)


def up(client: ClientSession, server: ServerSession) -> list[Any]:
    return [event for frame in client.frames_to_send() for event in server.receive(frame)]


def down(client: ClientSession, server: ServerSession) -> list[Any]:
    events: list[Any] = []
    for frame in server.frames_to_send():
        assert len(frame) <= MAX_FRAME
        events += client.receive(frame)
    return events


def test_letters_of_any_size_arrive_whole_and_in_order() -> None:
    client, server, _ = ends()
    letters = [(4, b"a"), (7, bits(1)(MAX_MAIL)), (8, bits(2)(MAX_CHUNK))]
    client.collect(3)
    assert up(client, server) == [CollectRequested(3)]
    server.send_mail(letters, left=5)
    assert down(client, server) == [
        MailReceived(4, b"a", last=False, left=5),
        MailReceived(7, letters[1][1], last=False, left=5),
        MailReceived(8, letters[2][1], last=True, left=5),
    ]
    client.collect(8)
    up(client, server)
    server.send_mail([])
    assert down(client, server) == [MailReceived(8, b"", last=True, left=0)]
    assert not client.closed


def test_a_mailbox_put_back_from_a_copy_may_begin_below_what_was_asked_for() -> None:
    client, server, _ = ends()
    client.collect(100)
    up(client, server)
    server.send_mail([(1, b"again")])
    assert down(client, server) == [MailReceived(1, b"again", last=True, left=0)]


def test_fetches_and_collects_are_answered_one_at_a_time_in_their_order() -> None:
    client, server, _ = ends()
    client.fetch("router", 2, 0, 3)
    client.collect(0)
    client.fetch("dedup", 2, 0, 3)
    assert len(up(client, server)) == 1
    server.refuse("unknown_release", fatal=False)
    assert [type(event) for event in down(client, server)] == [FetchRefused]
    assert up(client, server) == [CollectRequested(0)]
    server.refuse("limit", fatal=False, retry_after=9.0)
    assert down(client, server) == [CollectRefused(0, "limit", "")]
    assert len(up(client, server)) == 1


def test_a_letter_is_uploaded_as_a_report_is() -> None:
    client, server, _ = ends()
    client.upload(b"l" * 16, b"letter", "mail")
    (offered,) = up(client, server)
    assert isinstance(offered, UploadOffered)
    assert offered.kind == "mail"
    server.accept_upload(b"l" * 16)
    down(client, server)
    assert up(client, server) == [UploadReceived(b"l" * 16, b"letter", "mail")]
    server.acknowledge(b"l" * 16)
    assert down(client, server) == [UploadCommitted(b"l" * 16)]


def test_a_refused_upload_says_when_to_offer_it_again() -> None:
    client, server, _ = ends()
    client.upload(b"l" * 16, b"letter", "mail")
    up(client, server)
    server.refuse_upload(b"l" * 16, "limit", "slower", retry_after=30.0)
    assert down(client, server) == [UploadRefused(b"l" * 16, "limit", "slower", 30.0)]


@pytest.mark.parametrize(
    "letters", [[(2, b"a"), (2, b"b")], [(3, b"a"), (2, b"b")], [(1, b"")], [(1, bytes(65_537))]]
)
def test_a_server_sends_no_letters_out_of_order_empty_or_too_large(
    letters: list[tuple[int, bytes]],
) -> None:
    client, server, _ = ends()
    with pytest.raises(SessionError):
        server.send_mail([])
    client.collect(0)
    up(client, server)
    with pytest.raises(SessionError):
        server.send_mail(letters)
    assert server.frames_to_send() == []


def mail(**changes: Any) -> Mail:
    fields: dict[str, Any] = {"sequence": 5, "offset": 0, "total": 4, "data": b"ab"}
    return Mail(**({**fields, "last": True, "left": 0} | changes))


@pytest.mark.parametrize(
    "messages",
    [
        [mail(offset=2)],
        [mail(data=b"")],
        [mail(data=b"abcde")],
        [mail(), mail(sequence=6)],
        [mail(), mail(offset=2, total=5)],
        [mail(), mail()],
        [mail(data=b"abcd", last=False), mail(data=b"abcd")],
        [mail(total=0, data=b"", last=False, sequence=0)],
        [mail(total=0, data=b"", left=1, sequence=0)],
        [mail(total=0, data=b"x", sequence=0)],
        [mail(total=0, data=b"", sequence=1)],
        [mail(data=b"abcd", last=False), mail(total=0, data=b"", sequence=0)],
        [mail(data=b"abcd"), mail(sequence=6)],
    ],
)
def test_a_phone_leaves_a_server_whose_letters_do_not_fit(messages: list[Mail]) -> None:
    client, _, _ = ends()
    client.collect(0)
    events = [event for message in messages for event in client.receive(encode(message))]
    assert isinstance(events[-1], SessionFailed)
    assert client.closed


def test_a_letter_nobody_asked_for_ends_the_session() -> None:
    client, _, _ = ends()
    client.fetch("router", 2, 0, 4)
    assert isinstance(client.receive(encode(mail()))[0], SessionFailed)


FULLEST = Plan(
    rounds=tuple(bits(n)(1024) for n in range(16)),
    releases=tuple(bits(n)(MAX_MANIFEST) for n in range(8)),
    retry_after=60.0,
    receipts=tuple(bits(n)(512) for n in range(8)),
    metadata=tuple(bits(n)(MAX_METADATA) for n in range(16)),
    documents=tuple(bits(n)(MAX_DOCUMENT) for n in range(8)),
    mail=9,
)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 16), st.integers(0, 8), st.integers(0, 8), st.integers(0, 16), st.integers(0, 8)
)
def test_a_plan_of_any_size_arrives_as_one(
    rounds: int, releases: int, receipts: int, files: int, documents: int
) -> None:
    plan = FULLEST.model_copy(
        update={
            "rounds": FULLEST.rounds[:rounds],
            "releases": FULLEST.releases[:releases],
            "receipts": FULLEST.receipts[:receipts],
            "metadata": FULLEST.metadata[:files],
            "documents": FULLEST.documents[:documents],
        }
    )
    client, _, events = ends(plan)
    (told,) = events
    assert isinstance(told, PlanReceived)
    for name in ("rounds", "releases", "receipts", "metadata", "documents", "mail"):
        assert getattr(told, name) == getattr(plan, name)
    client.fetch("router", 1, 0, 3)


def test_the_fullest_plan_takes_the_frames_it_needs_and_no_more() -> None:
    client, server, _ = ends()
    server = ServerSession(server_nonce=bytes(32), now=NOW)
    hello = Hello(versions=(2,), device_id="d", client_nonce=bytes(32))
    server.receive(encode(hello))
    server.receive(encode(Prove(signature=bytes(64), have={})))
    server.frames_to_send()
    server.admit(FULLEST)
    assert 5 <= len(server.frames_to_send()) <= 8
    assert not client.closed


@pytest.mark.parametrize(
    "parts",
    [
        [Metadata(metadata=(b"x",))],
        [Metadata(more=True)],
        [Metadata(metadata=(b"x",) * 16, more=True), Metadata(metadata=(b"x",) * 16)],
        [Metadata(documents=(b"x",) * 8, more=True), Metadata(documents=(b"x",))],
    ],
    ids=["after the end", "empty", "too many files", "too many documents"],
)
def test_a_phone_takes_no_plan_without_an_end(parts: list[Metadata]) -> None:
    client = Device().session()
    client.start()
    client.receive(encode(Challenge(version=2, server_nonce=bytes(32), server_time=NOW)))
    whole = len(parts) == 1 and not parts[0].more
    client.receive(encode(PLAN.model_copy(update={"more": not whole})))
    events = [event for part in parts for event in client.receive(encode(part))]
    assert isinstance(events[-1], SessionFailed)
    assert client.closed


def test_a_server_that_ends_a_session_says_how_long_to_stay_away() -> None:
    client, server, _ = ends()
    server.finish("stopping", retry_after=90.0)
    assert down(client, server) == [Closed("stopping", 90.0)]
    client, server, _ = ends()
    client.collect(0)
    up(client, server)
    server.finish("stopping")
    server.send_mail([(1, b"too late")])
    assert down(client, server) == [Closed("stopping", PLAN.retry_after)]


def test_a_phone_knows_what_of_an_upload_the_cloud_holds() -> None:
    client, server, _ = ends()
    body = bits(4)(3 * MAX_CHUNK)
    client.upload(b"u" * 16, body)
    up(client, server)
    server.accept_upload(b"u" * 16, MAX_CHUNK, held=body[:MAX_CHUNK])
    down(client, server)
    assert client.held(b"u" * 16) == MAX_CHUNK
    server.receive(client.frames_to_send()[0])
    down(client, server)
    assert client.held(b"u" * 16) == 2 * MAX_CHUNK
    assert client.held(b"v" * 16) == 0
