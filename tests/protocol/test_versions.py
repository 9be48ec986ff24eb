"""Two adjacent versions work together: today's code against a frozen copy of version 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol import messages as now_messages
from protocol import session as now
from protocol.errors import MalformedFrame, SessionError, UnknownMessage
from protocol.identity import verify
from protocol.messages import ADDED_IN_2, Bye, Challenge, Plan, Refusal, UploadBegin
from protocol.session import ServerSession
from protocol.wire import decode, encode
from tests.protocol.link import KEY, NOW, TOKEN
from tests.protocol.samples import CLOUD_KEY, MESSAGES, bits
from tests.protocol.v1 import messages as first_messages
from tests.protocol.v1 import session as first
from tests.protocol.v1 import wire as first_wire

BODY = bits(5)(100_000)
BLOB = bits(6)(70_000)
UPLOAD = b"u" * 16
RICH = Plan(
    rounds=(b"r1",),
    releases=(b"m1",),
    retry_after=60.0,
    receipts=(b"receipt",),
    metadata=(b"root",),
    documents=(b"facts",),
    mail=3,
)
POOR = first_messages.Plan(rounds=(b"r1",), releases=(b"m1",), retry_after=60.0)


@dataclass
class Owners:
    """What both ends' owners do, whichever version's events they are given."""

    client: Any
    server: Any
    plan: Any
    seen: list[Any] = field(default_factory=list)
    committed: dict[bytes, bytes] = field(default_factory=dict)
    frames: list[bytes] = field(default_factory=list)

    def run(self) -> Owners:
        self.client.start()
        while True:
            upward = self.client.frames_to_send()
            for frame in upward:
                for event in self.server.receive(frame):
                    self._serve(event)
            downward = self.server.frames_to_send()
            for frame in downward:
                for event in self.client.receive(frame):
                    self._use(event)
            self.frames += [*upward, *downward]
            if not upward and not downward:
                return self

    def names(self) -> list[str]:
        return [type(event).__name__ for event in self.seen]

    def _serve(self, event: Any) -> None:
        self.seen.append(event)
        match type(event).__name__:
            case "EnrolRequested":
                assert (event.token, event.public_key) == (TOKEN, KEY.public)
                self.server.accept_enrol("device-1")
            case "ProofOffered":
                verify(KEY.public, event.signature, event.transcript)
                self.server.admit(self.plan)
            case "UploadOffered":
                self.server.accept_upload(event.upload_id, 0, False)
            case "UploadReceived":
                self.committed[event.upload_id] = event.body
                self.server.acknowledge(event.upload_id)
            case "FetchRequested":
                if event.version == 2:
                    self.server.send_release(event.model, event.version, event.base, BLOB)
                else:
                    self.server.refuse("unknown_release", fatal=False)

    def _use(self, event: Any) -> None:
        self.seen.append(event)
        if type(event).__name__ == "PlanReceived":
            self.client.upload(UPLOAD, BODY)
            self.client.fetch("router", 2, 1, len(BLOB))
            self.client.fetch("router", 3, 1, len(BLOB))
        if type(event).__name__ in ("UploadCommitted", "FetchRefused"):
            done = {"UploadCommitted", "FetchRefused"} <= set(self.names())
            if done:
                self.client.finish("done")


def client_of(version: Any, enrolling: bool = True, **more: Any) -> Any:
    return version.ClientSession(
        device_id="" if enrolling else "device-1",
        sign=KEY.sign,
        client_nonce=bits(1)(32),
        have={"router": 1},
        enrol=version.EnrolRequest(TOKEN, KEY.public) if enrolling else None,
        **more,
    )


def server_of(version: Any, **more: Any) -> Any:
    return version.ServerSession(server_nonce=bits(2)(32), now=NOW, **more)


def both(client: Any, server: Any, enrolling: bool = True) -> Owners:
    """A session between these versions, each end with all the proofs it knows of."""
    bound = b"b" * 32 if client is now and server is now else b""
    pinned = {"cloud_key": CLOUD_KEY.public, "binding": bound} if client is now else {}
    signed = {"sign": CLOUD_KEY.sign, "binding": bound} if server is now else {}
    plan = RICH if server is now else POOR
    return Owners(client_of(client, enrolling, **pinned), server_of(server, **signed), plan)


@pytest.mark.parametrize("enrolling", [True, False])
@pytest.mark.parametrize(
    ("client", "server"),
    [(first, now), (now, first), (now, now)],
    ids=["old phone", "old cloud", "both new"],
)
def test_a_whole_session(client: Any, server: Any, enrolling: bool) -> None:
    owners = both(client, server, enrolling).run()
    assert owners.committed == {UPLOAD: BODY}
    names = owners.names()
    assert ("Enrolled" in names) == enrolling
    assert "SessionFailed" not in names
    assert {"ReleaseReceived", "FetchRefused", "UploadCommitted"} <= set(names)
    (planned,) = [event for event in owners.seen if type(event).__name__ == "PlanReceived"]
    assert (planned.rounds, planned.releases) == (RICH.rounds, RICH.releases)
    if client is now:
        assert planned.mail == (RICH.mail if server is now else 0)
        assert owners.client.version == (2 if server is now else 1)
    assert type(owners.seen[-1]).__name__ == "Closed"
    assert owners.client.closed
    assert owners.server.closed


def test_a_session_of_version_1_carries_nothing_of_version_2() -> None:
    owners = both(first, now).run()
    for frame in owners.frames:
        first_wire.decode(frame)  # its models are closed: a field too many is an error
    old = both(now, first).run()
    for frame in old.frames:
        first_wire.decode(frame)
    assert old.client.version == 1


def test_a_new_client_asks_an_old_cloud_for_nothing_it_does_not_know() -> None:
    client, server = client_of(now, enrolling=False), server_of(first)
    client.start()
    server.receive(client.frames_to_send()[0])
    client.receive(server.frames_to_send()[0])
    server.receive(client.frames_to_send()[0])
    server.admit(POOR)
    (planned,) = client.receive(server.frames_to_send()[0])
    assert planned.version == 1
    with pytest.raises(SessionError, match="version"):
        client.collect(0)
    with pytest.raises(SessionError, match="version"):
        client.upload(UPLOAD, b"x", "mail")
    assert client.frames_to_send() == []


def test_versions_that_are_not_common_are_refused_on_either_side() -> None:
    server = server_of(first)
    client = client_of(now, enrolling=False, least_version=2)
    client.start()
    server.receive(client.frames_to_send()[0])
    (closed,) = client.receive(server.frames_to_send()[0])
    assert closed.reason == "version"
    client = client_of(now, enrolling=False, least_version=2)
    client.start()
    challenge = Challenge(version=1, server_nonce=bytes(32), server_time=NOW)
    (failed,) = client.receive(encode(challenge, 1))
    assert failed.code == "version"


def test_codes_and_farewells_that_version_1_does_not_know_are_said_in_its_words() -> None:
    refusal = Refusal(code="limit", detail="", retry_after=5.0, fatal=True)
    said = first_wire.decode(encode(refusal, 1))
    assert (said.code, said.retry_after) == ("busy", 5.0)  # type: ignore[union-attr]
    first_wire.decode(encode(Bye(reason="stopping", retry_after=30.0), 1))
    mail = UploadBegin(upload_id=UPLOAD, kind="mail", size=1, sha256=bytes(32))
    with pytest.raises(UnknownMessage):
        encode(mail, 1)
    for later in (encode(mail), encode(refusal), encode(Bye(reason="", retry_after=1.0))):
        with pytest.raises(MalformedFrame):
            decode(later, 1)


@given(MESSAGES)
def test_what_is_written_for_version_1_is_what_version_1_reads(message: Any) -> None:
    try:
        frame = encode(message, 1)
    except UnknownMessage:
        assert "type" in ADDED_IN_2.get(type(message), ()) or message.kind == "mail"
        return
    old = first_wire.decode(frame)
    assert first_wire.encode(old) == frame
    mine = decode(frame, 1)
    assert encode(mine, 1) == frame


@given(MESSAGES)
def test_version_1_takes_no_frame_that_holds_more(message: Any) -> None:
    later = ADDED_IN_2.get(type(message), frozenset())
    if later and not isinstance(message, Refusal):
        with pytest.raises((MalformedFrame, UnknownMessage)):
            decode(encode(message), 1)


ENDS: Sequence[Callable[[], Any]] = (
    lambda: client_of(now, cloud_key=CLOUD_KEY.public),
    lambda: client_of(now, enrolling=False),
    lambda: client_of(first),
    lambda: server_of(now, sign=CLOUD_KEY.sign),
    lambda: server_of(now),
    lambda: server_of(now, versions=(1,)),
    lambda: server_of(first),
)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(ENDS),
    st.lists(st.tuples(MESSAGES, st.sampled_from([1, 2]), st.booleans()), max_size=10),
)
def test_no_order_of_messages_of_any_version_raises_or_hangs(
    make: Callable[[], Any], script: list[tuple[Any, int, bool]]
) -> None:
    """Every end answers every message at once, and fails at most once, with a reason."""
    end = make()
    if hasattr(end, "start"):
        end.start()
    failed = 0
    for message, version, answered in script:
        try:
            frame = encode(message, version)
        except UnknownMessage:
            continue
        for event in end.receive(frame):
            failed += type(event).__name__ == "SessionFailed"
            if answered:
                _answer(end, event)
        end.frames_to_send()
    assert failed <= 1
    assert end.closed or not failed


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([first, now]),
    st.sampled_from([first, now]),
    st.lists(st.integers(0, 3), max_size=40),
)
def test_any_pair_of_versions_under_any_order_of_delivery(
    old: Any, new: Any, order: list[int]
) -> None:
    """Frames of a real session, delivered late, twice or not at all: no exception, no deadlock."""
    owners = both(old, new)
    client, server = owners.client, owners.server
    client.start()
    wires: tuple[list[bytes], list[bytes]] = ([], [])
    for choice in order:
        wires[0].extend(client.frames_to_send())
        wires[1].extend(server.frames_to_send())
        wire = wires[choice % 2]
        if not wire:
            continue
        frame = wire[0] if choice == 3 else wire.pop(0)  # 3: delivered, and once more later
        events = (server if choice % 2 == 0 else client).receive(frame)
        for event in events:
            (owners._serve if choice % 2 == 0 else owners._use)(event)


def _answer(end: Any, event: Any) -> None:
    match type(event).__name__:
        case "EnrolRequested":
            end.accept_enrol("device-1")
        case "ProofOffered":
            end.admit(RICH if isinstance(end, ServerSession) else POOR)
        case "UploadOffered":
            end.accept_upload(event.upload_id)
        case "FetchRequested":
            end.refuse("unknown_release", fatal=False)
        case "CollectRequested":
            end.send_mail([(event.after + 1, b"letter")])


def test_the_frozen_copy_is_of_version_1_alone() -> None:
    assert first_messages.VERSIONS == (1,)
    assert now_messages.VERSIONS == (1, 2)
