"""Both ends of a session, brought to each of their states by real frames, then given a mutated one.

``receive`` never raises; what it cannot take closes the session with one event that says so, and
nothing more is accepted. What it takes leaves a session that can be answered as its owner would.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from itertools import cycle

from protocol import wire
from protocol.identity import server_transcript
from protocol.messages import (
    MAX_CHUNK,
    MAX_INTEGER,
    VERSIONS,
    Bye,
    Challenge,
    Collect,
    Enrol,
    Enrolled,
    Fetch,
    Hello,
    Mail,
    Message,
    Metadata,
    Prove,
    Refusal,
    ReleaseBlob,
    UploadAccept,
    UploadAck,
    UploadBegin,
    UploadChunk,
)
from protocol.session import (
    ClientSession,
    CollectRequested,
    EnrolRequest,
    EnrolRequested,
    Event,
    FetchRequested,
    ProofOffered,
    ServerSession,
    SessionFailed,
    UploadOffered,
    UploadReceived,
)
from protocol.session_core import SessionCore
from tests.fuzz.harness import Parser
from tests.fuzz.wire_parsers import MESSAGES, NOW, PLAN
from tests.protocol.link import KEY, TOKEN
from tests.protocol.samples import CLOUD_KEY, bits

__all__ = ["PARSERS", "SERVER_STATES", "spoilt"]

CLIENT_NONCE, SERVER_NONCE = bits(21)(32), bits(22)(32)
DEVICE = "device-1"
UPLOAD = bits(23)(16)
BODY = bits(24)(3 * 40)
STEP = 40
"""Bytes of a chunk here: sessions take any up to 32 KiB."""
LETTER = bits(25)(90)

Step = Callable[[], SessionCore]


def _taken(session: SessionCore, *messages: Message) -> SessionCore:
    for message in messages:
        events = session.receive(wire.encode(message, session.version))
        assert not any(isinstance(event, SessionFailed) for event in events), events
    session.frames_to_send()
    return session


# The cloud's end.


def _server() -> ServerSession:
    return ServerSession(server_nonce=SERVER_NONCE, now=NOW)


def _hello(version: int, device_id: str = DEVICE) -> Hello:
    versions = tuple(each for each in VERSIONS if each <= version)
    return Hello(versions=versions, device_id=device_id, client_nonce=CLIENT_NONCE)


PROVE = Prove(signature=bytes(64), have={"router": 1})
BEGIN = UploadBegin(upload_id=UPLOAD, kind="report", size=len(BODY), sha256=sha256(BODY).digest())


def _chunk(offset: int) -> UploadChunk:
    return UploadChunk(upload_id=UPLOAD, offset=offset, data=BODY[offset : offset + STEP])


def _open_server(version: int) -> ServerSession:
    server = _server()
    _taken(server, _hello(version), PROVE)
    server.admit(PLAN)
    server.frames_to_send()
    return server


def _proving() -> SessionCore:
    return _taken(_server(), _hello(2))


def _enrolling() -> SessionCore:
    return _taken(_server(), _hello(2, ""))


def _admitting() -> SessionCore:
    return _taken(_server(), _hello(2), PROVE)


def _open_1() -> SessionCore:
    return _open_server(1)


def _open_2() -> SessionCore:
    return _open_server(2)


def _offered() -> SessionCore:
    return _taken(_open_server(2), BEGIN)


def _uploading() -> SessionCore:
    server = _open_server(2)
    _taken(server, BEGIN)
    server.accept_upload(UPLOAD)
    return _taken(server, _chunk(0))


def _resuming() -> SessionCore:
    server = _open_server(2)
    _taken(server, BEGIN)
    server.accept_upload(UPLOAD, STEP, held=BODY[:STEP])
    return _taken(server, _chunk(STEP))


def _refused() -> SessionCore:
    server = _open_server(2)
    _taken(server, BEGIN)
    server.refuse_upload(UPLOAD, "stale_round")
    return server


def _collecting() -> SessionCore:
    return _taken(_open_server(2), Collect(after=3))


SERVER_STATES: tuple[Step, ...] = (
    _server, _enrolling, _proving, _admitting, _open_1, _open_2, _offered, _uploading, _resuming,
    _refused, _collecting,
)  # fmt: skip
SERVER_SEEDS: tuple[Message, ...] = (
    _hello(2), _hello(1), _hello(2, ""), Enrol(token=TOKEN, public_key=KEY.public), PROVE, BEGIN,
    _chunk(0), _chunk(STEP), _chunk(2 * STEP), Fetch(model="router", version=2, base=0),
    Collect(after=0), Bye(reason="done"),
    UploadChunk(upload_id=UPLOAD, offset=0, data=bytes(MAX_CHUNK)),
)  # fmt: skip


def _answer(server: SessionCore, event: Event) -> None:
    """What a gateway does next."""
    assert isinstance(server, ServerSession)
    match event:
        case EnrolRequested():
            server.accept_enrol("d" * 32)
        case ProofOffered():
            server.admit(PLAN)
        case UploadOffered(upload_id=upload_id):
            server.accept_upload(upload_id)
        case UploadReceived(upload_id=upload_id):
            server.acknowledge(upload_id, b"receipt")
        case FetchRequested():
            server.refuse("unknown_release", fatal=False)
        case CollectRequested(after=after):
            server.send_mail([(after + 1, LETTER)] if after < MAX_INTEGER else [])


# The phone's end.


def _identity(device_id: str = DEVICE) -> bytes:
    return CLOUD_KEY.sign(
        server_transcript(VERSIONS, 2, device_id, CLIENT_NONCE, SERVER_NONCE, NOW, b"")
    )


CHALLENGE = Challenge(version=2, server_nonce=SERVER_NONCE, server_time=NOW, identity=_identity())
FIRST = Challenge(version=1, server_nonce=SERVER_NONCE, server_time=NOW)
ACCEPT = UploadAccept(upload_id=UPLOAD, offset=0, committed=False)


def _sign(message: bytes) -> bytes:
    """The client's own signatures matter to nobody here, and cost most of the time."""
    return bytes(64)


def _client(device_id: str = DEVICE, *, pinned: bool = False) -> ClientSession:
    client = ClientSession(
        device_id=device_id,
        sign=_sign,
        client_nonce=CLIENT_NONCE,
        have={"router": 1},
        enrol=None if device_id else EnrolRequest(TOKEN, KEY.public),
        cloud_key=CLOUD_KEY.public if pinned else b"",
    )
    client.start()
    client.frames_to_send()
    return client


def _greeted() -> SessionCore:
    return _client()


def _greeted_pinned() -> SessionCore:
    return _client(pinned=True)


def _new() -> SessionCore:
    return _client("")


def _proven() -> SessionCore:
    return _taken(_client(), CHALLENGE)


def _planning() -> SessionCore:
    return _taken(_client(), CHALLENGE, PLAN.model_copy(update={"more": True}))


def _open_client(challenge: Challenge) -> ClientSession:
    client = _client()
    plan = PLAN if challenge.version == 2 else PLAN.model_copy(update={"receipts": ()})
    _taken(client, challenge, plan)
    return client


def _ready() -> SessionCore:
    return _open_client(CHALLENGE)


def _ready_1() -> SessionCore:
    return _open_client(FIRST)


def _handing_in() -> SessionCore:
    client = _open_client(CHALLENGE)
    client.upload(UPLOAD, BODY)
    client.upload(bits(26)(16), BODY)
    return client


def _sending() -> SessionCore:
    return _taken(_handing_in(), ACCEPT)


def _fetching() -> SessionCore:
    client = _open_client(CHALLENGE)
    client.fetch("router", 2, 0, 90)
    return _taken(client, _blob(0))


def _collects() -> SessionCore:
    client = _open_client(CHALLENGE)
    client.collect(0)
    return _taken(client, _letter(0))


def _blob(offset: int) -> ReleaseBlob:
    data = LETTER[offset : offset + STEP]
    return ReleaseBlob(model="router", version=2, base=0, offset=offset, total=90, data=data)


def _letter(offset: int) -> Mail:
    data = LETTER[offset : offset + STEP]
    return Mail(sequence=1, offset=offset, total=len(LETTER), data=data, last=True, left=0)


CLIENT_STATES: tuple[Step, ...] = (
    _greeted, _greeted_pinned, _new, _proven, _planning, _ready, _ready_1, _handing_in, _sending,
    _fetching, _collects,
)  # fmt: skip
CLIENT_SEEDS: tuple[Message, ...] = (
    CHALLENGE, FIRST, Enrolled(device_id="e" * 32), PLAN,
    PLAN.model_copy(update={"more": True}), Metadata(metadata=(b"role",), documents=(b"doc",)),
    ACCEPT, UploadAccept(upload_id=UPLOAD, offset=len(BODY), committed=True, receipt=b"receipt"),
    UploadAccept(upload_id=UPLOAD, offset=STEP, committed=False),
    UploadAck(upload_id=UPLOAD, offset=STEP, committed=False),
    UploadAck(upload_id=UPLOAD, offset=len(BODY), committed=True, receipt=b"receipt"),
    _blob(0), _blob(STEP), _blob(2 * STEP), _letter(0), _letter(STEP), _letter(2 * STEP),
    Mail(sequence=0, offset=0, total=0, data=b"", last=True, left=0),
    Refusal(code="busy", detail="", retry_after=9.0),
    Refusal(code="stale_round", detail="", retry_after=0.0, upload_id=UPLOAD, fatal=False),
    Refusal(code="unknown_release", detail="", retry_after=0.0, fatal=False),
    Bye(reason="done", retry_after=5.0),
)  # fmt: skip


# What holds of either.


def spoilt(session: SessionCore, frame: bytes) -> list[Event]:
    """The events of one bad or good frame, and the promises of `receive` about it."""
    events = session.receive(frame)
    failed = [event for event in events if isinstance(event, SessionFailed)]
    assert len(failed) <= 1
    assert not failed or session.closed
    if session.closed:
        assert session.receive(frame) == []
    return events


def _receiving(states: tuple[Step, ...]) -> Callable[[bytes], object]:
    """A parser that goes round the states, one a frame."""
    turn = cycle(states)

    def parse(frame: bytes) -> object:
        session = next(turn)()
        events = spoilt(session, frame)
        if isinstance(session, ServerSession) and not session.closed:
            for event in events:
                _answer(session, event)
        version = session.version
        for sent in session.frames_to_send():
            wire.decode(sent, max(version, 1))
        return events

    return parse


def _frames(messages: tuple[Message, ...]) -> list[bytes]:
    return [wire.encode(message) for message in (*messages, *MESSAGES)]


PARSERS: tuple[Parser, ...] = (
    Parser(
        "ServerSession.receive",
        _receiving(SERVER_STATES),
        (),
        _frames(SERVER_SEEDS),
        "msgpack",
        weight=4.0,
    ),
    Parser(
        "ClientSession.receive",
        _receiving(CLIENT_STATES),
        (),
        _frames(CLIENT_SEEDS),
        "msgpack",
        weight=4.0,
    ),
)
