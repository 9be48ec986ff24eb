"""Who is at the other end: the server's proof, the channel it runs on, and versions talked down."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.errors import SignatureInvalid
from protocol.identity import SigningKey, server_transcript, verify
from protocol.messages import VERSIONS, Challenge, Hello, Prove
from protocol.session import (
    ClientSession,
    Enrolled,
    EnrolRequest,
    PlanReceived,
    ProofOffered,
    ServerSession,
    SessionFailed,
)
from protocol.wire import decode, encode
from tests.protocol.link import KEY, NOW, PLAN
from tests.protocol.samples import CLOUD_KEY, bits

SEEN, OTHER = b"c" * 32, b"m" * 32
"""Bindings: of the cloud's certificate, and of somebody else's."""


def phone(**changes: Any) -> ClientSession:
    fields: dict[str, Any] = {
        "device_id": "device-1",
        "sign": KEY.sign,
        "client_nonce": bits(1)(32),
        "have": {},
        "cloud_key": CLOUD_KEY.public,
        "binding": SEEN,
    }
    session = ClientSession(**(fields | changes))
    session.start()
    return session


def cloud(**changes: Any) -> ServerSession:
    fields: dict[str, Any] = {"sign": CLOUD_KEY.sign, "binding": SEEN}
    return ServerSession(server_nonce=bits(2)(32), now=NOW, **(fields | changes))


def greet(client: ClientSession, server: ServerSession) -> list[Any]:
    """Up to the client's answer to the challenge."""
    events: list[Any] = []
    for frame in client.frames_to_send():
        server.receive(frame)
    for frame in server.frames_to_send():
        events += client.receive(frame)
    return events


def refused(client: ClientSession, events: list[Any]) -> bool:
    """Whether the client has left without proving anything."""
    said = [decode(frame) for frame in client.frames_to_send()]
    (failed,) = events
    assert isinstance(failed, SessionFailed)
    assert failed.code == "bad_proof"
    assert not any(isinstance(message, Prove) for message in said)
    return client.closed


def test_both_ends_prove_themselves_over_the_same_channel() -> None:
    client, server = phone(), cloud()
    assert greet(client, server) == []
    ((proof,),) = [server.receive(frame) for frame in client.frames_to_send()]
    assert isinstance(proof, ProofOffered)
    verify(KEY.public, proof.signature, proof.transcript)
    server.admit(PLAN)
    (plan,) = client.receive(server.frames_to_send()[0])
    assert isinstance(plan, PlanReceived)
    assert plan.version == client.version == server.version == 2


@pytest.mark.parametrize(
    "server",
    [
        {"sign": SigningKey(b"x" * 32).sign},
        {"sign": None},
        {"binding": OTHER},
        {"binding": b""},
    ],
    ids=["another key", "no key", "another certificate", "no certificate"],
)
def test_a_phone_proves_nothing_to_a_server_that_is_not_the_pinned_one(
    server: dict[str, Any],
) -> None:
    client = phone()
    assert refused(client, greet(client, cloud(**server)))


@pytest.mark.parametrize("field", ["server_nonce", "server_time", "identity"])
def test_nothing_of_a_challenge_can_be_changed_on_the_way(field: str) -> None:
    client, server = phone(), cloud()
    server.receive(client.frames_to_send()[0])
    challenge = decode(server.frames_to_send()[0])
    assert isinstance(challenge, Challenge)
    other = {"server_nonce": bytes(32), "server_time": NOW + 1.0, "identity": bytes(64)}
    changed = challenge.model_copy(update={field: other[field]})
    assert refused(client, client.receive(encode(changed)))


def test_a_recorded_challenge_is_worth_nothing_to_another_session() -> None:
    client, server = phone(), cloud()
    server.receive(client.frames_to_send()[0])
    challenge = server.frames_to_send()[0]
    again = phone(client_nonce=bits(3)(32))
    again.frames_to_send()
    assert refused(again, again.receive(challenge))


def test_a_server_does_not_take_a_proof_made_on_another_channel() -> None:
    """A phone that pins no key still signs the certificate it sees."""
    client, server = phone(cloud_key=b"", binding=OTHER), cloud()
    greet(client, server)
    ((proof,),) = [server.receive(frame) for frame in client.frames_to_send()]
    assert isinstance(proof, ProofOffered)
    with pytest.raises(SignatureInvalid):
        verify(KEY.public, proof.signature, proof.transcript)


def test_hiding_a_version_between_the_ends_is_noticed() -> None:
    """Someone rewrites the offer (1, 2, …) so that the ends settle for less than both can."""
    client, server = phone(), cloud()
    hello = decode(client.frames_to_send()[0])
    assert isinstance(hello, Hello)
    assert hello.versions == VERSIONS
    server.receive(encode(hello.model_copy(update={"versions": (2,)})))
    assert refused(client, client.receive(server.frames_to_send()[0]))


def test_a_phone_that_has_spoken_version_2_is_not_talked_down_to_1() -> None:
    client, server = phone(least_version=2), cloud(versions=(1,))
    for frame in client.frames_to_send():
        server.receive(frame)
    (closed,) = client.receive(server.frames_to_send()[0])
    assert closed.reason == "version"  # type: ignore[union-attr]
    client = phone(least_version=2)
    client.frames_to_send()
    first = Challenge(version=1, server_nonce=bytes(32), server_time=NOW)
    (failed,) = client.receive(encode(first, 1))
    assert isinstance(failed, SessionFailed)
    assert failed.code == "version"


def test_a_name_is_told_to_its_owner_only_after_the_server_has_proven_itself() -> None:
    for server, told in ((cloud(), True), (cloud(sign=None), False)):
        client = phone(device_id="", enrol=EnrolRequest("token", KEY.public))
        for frame in client.frames_to_send():
            server.receive(frame)
        server.accept_enrol("device-9")
        events = [event for frame in server.frames_to_send() for event in client.receive(frame)]
        assert (Enrolled("device-9") in events) == told


def test_every_field_of_the_server_transcript_counts() -> None:
    fields: list[Any] = [(1, 2), 2, "device", b"c" * 32, b"s" * 32, 1.0, b"b" * 32]
    others: list[Any] = [(2,), 3, "devic", b"d" * 32, b"t" * 32, 2.0, b""]
    plain = server_transcript(*fields)
    for place, other in enumerate(others):
        changed = [*fields[:place], other, *fields[place + 1 :]]
        assert server_transcript(*changed) != plain
