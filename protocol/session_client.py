"""The phone's end of a session; its states are the first table of protocol/session.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto

from protocol import messages as wire_messages
from protocol.errors import RefusalCode, SessionError, SignatureInvalid, UnsupportedVersion
from protocol.identity import proof_transcript, server_transcript, verify
from protocol.messages import (
    MAX_TOKEN,
    VERSIONS,
    Bye,
    Challenge,
    Enrol,
    Hello,
    Mail,
    Message,
    Metadata,
    Plan,
    Prove,
    Refusal,
    ReleaseBlob,
    UploadAccept,
    UploadAck,
    UploadKind,
)
from protocol.session_core import MAX_DETAIL, Event, SessionCore
from protocol.session_events import Closed, Enrolled, EnrolRequest
from protocol.session_plan import PlanParts
from protocol.session_transfers import MAX_RELEASE, MAX_UNACKNOWLEDGED, Requests, Uploads

__all__ = ["MAX_RELEASE", "MAX_UNACKNOWLEDGED", "ClientSession"]


class _State(Enum):
    IDLE = auto()
    GREETED = auto()
    PROVING = auto()
    PLANNING = auto()
    OPEN = auto()


class ClientSession(SessionCore):
    """One session of a phone.

    ``sign`` signs the proof transcript with the device key; ``have`` is model → adopted version
    (0 for none), ``metadata`` role → version of trusted metadata. With an empty ``device_id``,
    ``enrol`` says how to get one.

    ``cloud_key`` is the pinned key that the server must prove before this phone proves anything
    (b"" pins none), ``binding`` the SHA-256 of its TLS certificate as this phone saw it. A server
    that speaks less than ``least_version`` is refused, so that nobody in between can talk a phone
    down to a version without these proofs.
    """

    def __init__(
        self,
        *,
        device_id: str,
        sign: Callable[[bytes], bytes],
        client_nonce: bytes,
        have: Mapping[str, int],
        metadata: Mapping[str, int] | None = None,
        enrol: EnrolRequest | None = None,
        cloud_key: bytes = b"",
        binding: bytes = b"",
        least_version: int = VERSIONS[0],
    ) -> None:
        super().__init__()
        self._device_id = device_id
        self._sign = sign
        self._client_nonce = client_nonce
        self._have = {model: have[model] for model in sorted(have)}
        self._metadata = dict(sorted((metadata or {}).items()))
        self._enrol = enrol
        self._cloud_key = cloud_key
        self._binding = binding
        self._offered = tuple(version for version in VERSIONS if version >= least_version)
        self._state = _State.IDLE
        self._new_id = False
        self._server_time = 0.0
        self._retry_after = 0.0
        self._plan: PlanParts | None = None
        self._uploads = Uploads(self._send)
        self._requests = Requests(self._send)

    # Commands.

    def start(self) -> None:
        """Queue Hello, and Enrol when this phone has no id yet."""
        if self._state is not _State.IDLE:
            raise SessionError("bad_message", "the session has already started")
        if not self._device_id and self._enrol is None:
            raise SessionError("unknown_device", "no device id: enrol with a token first")
        if self._enrol is not None and not 1 <= len(self._enrol.token) <= MAX_TOKEN:
            raise SessionError("bad_token", f"a token has 1 to {MAX_TOKEN} characters")
        self._send(
            Hello(
                versions=self._offered, device_id=self._device_id, client_nonce=self._client_nonce
            )
        )
        if not self._device_id and self._enrol is not None:
            self._send(Enrol(token=self._enrol.token, public_key=self._enrol.public_key))
        self._state = _State.GREETED

    def upload(self, upload_id: bytes, body: bytes, kind: UploadKind = "report") -> None:
        """Queue an upload; ends in UploadCommitted, UploadRefused, or with the session.

        A letter ("mail") needs a session of version 2.
        """
        self._require_open()
        if kind != "report":
            self._require_version(2)
        self._uploads.add(upload_id, body, kind)

    def held(self, upload_id: bytes) -> int:
        """Bytes of an unfinished upload that the server says it holds: where it will resume."""
        return self._uploads.held(upload_id)

    def fetch(self, model: str, version: int, base: int, expected_size: int) -> None:
        """Queue the fetch of a release of exactly ``expected_size`` bytes (from its manifest), or
        of a document as "knowledge/<name>"."""
        self._require_open()
        self._requests.fetch(model, version, base, expected_size)

    def collect(self, after: int) -> None:
        """Queue the collection of account letters above ``after``: MailReceived for each, until
        one is ``last``. Needs a session of version 2."""
        self._require_open()
        self._require_version(2)
        self._requests.collect(after)

    def finish(self, reason: str = "done") -> None:
        """Queue Bye and close; what is not committed stays in the owner's outbox."""
        if not self._closed:
            self._send(Bye(reason=reason[:MAX_DETAIL]))
            self._closed = True

    # Messages.

    def _reading(self) -> int:
        # A challenge says itself which version it is in.
        return VERSIONS[-1] if self._state is _State.GREETED else self._version

    def _handle(self, message: Message) -> list[Event]:
        match self._state, message:
            case _, Bye(reason=reason):
                self._closed = True
                return [Closed(reason, max(self._retry_after, message.retry_after))]
            case _, Refusal():
                return self._refused(message)
            case _State.GREETED, wire_messages.Enrolled(device_id=device_id):
                return self._enrolled(device_id)
            case _State.GREETED, Challenge() if self._device_id:
                return self._challenged(message)
            case _State.PROVING, Plan():
                self._retry_after = message.retry_after
                self._plan = PlanParts(message)
                return self._planned(self._plan)
            case _State.PLANNING, Metadata() if self._plan is not None:
                self._plan.add(message)
                return self._planned(self._plan)
            case _State.OPEN, UploadAccept():
                return self._uploads.accepted(message)
            case _State.OPEN, UploadAck():
                return self._uploads.acknowledged(message)
            case _State.OPEN, ReleaseBlob():
                return self._requests.blob(message)
            case _State.OPEN, Mail():
                return self._requests.mail(message)
        raise SessionError("bad_message", f"unexpected {message.type}")

    def _enrolled(self, device_id: str) -> list[Event]:
        if self._device_id:
            raise SessionError("bad_message", "unexpected enrolled")
        self._device_id = device_id
        self._new_id = True
        # Told once the server has proven itself: anyone can make up a name.
        return []

    def _challenged(self, message: Challenge) -> list[Event]:
        if message.version not in self._offered:
            raise UnsupportedVersion("the server chose a version that was not offered")
        self._check_identity(message)
        self._version = message.version
        self._server_time = message.server_time
        transcript = proof_transcript(
            message.version,
            self._device_id,
            self._client_nonce,
            message.server_nonce,
            self._binding,
        )
        self._send(
            Prove(signature=self._sign(transcript), have=self._have, metadata=self._metadata)
        )
        self._state = _State.PROVING
        return [Enrolled(self._device_id)] if self._new_id else []

    def _check_identity(self, message: Challenge) -> None:
        """Nothing of this phone is proven to a server that is not the pinned one."""
        if message.version == 1:
            if message.identity:
                raise SessionError("bad_message", "a field version 1 does not know")
            return
        if not self._cloud_key:
            return
        transcript = server_transcript(
            self._offered,
            message.version,
            self._device_id,
            self._client_nonce,
            message.server_nonce,
            message.server_time,
            self._binding,
        )
        try:
            verify(self._cloud_key, message.identity, transcript)
        except SignatureInvalid:
            raise SessionError(
                "bad_proof", "the server does not hold the pinned cloud key on this channel"
            ) from None

    def _planned(self, plan: PlanParts) -> list[Event]:
        if not plan.whole:
            self._state = _State.PLANNING
            return []
        self._state = _State.OPEN
        self._plan = None
        return [plan.event(self._server_time, self._version)]

    def _refused(self, message: Refusal) -> list[Event]:
        if message.fatal:
            self._closed = True
            return [Closed(message.code, max(self._retry_after, message.retry_after))]
        if self._state is not _State.OPEN:
            raise SessionError("bad_message", "a refusal of nothing")
        if message.upload_id:
            return self._uploads.refused(message)
        self._retry_after = max(self._retry_after, message.retry_after)
        return self._requests.refused(message)

    def _say_failure(self, code: RefusalCode, detail: str) -> None:
        self._send(Bye(reason=f"{code}: {detail}"[:MAX_DETAIL]))

    def _require_open(self) -> None:
        if self._closed or self._state is not _State.OPEN:
            raise SessionError("bad_message", "the session is not open")

    def _require_version(self, version: int) -> None:
        if self._version < version:
            raise SessionError("version", f"this cloud speaks version {self._version} only")
