"""A session spoken by hand, frame by frame: whoever lies needs no state machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from protocol.identity import BitSource, DeviceKey, proof_transcript
from protocol.messages import (
    MAX_CHUNK,
    VERSIONS,
    Bye,
    Challenge,
    Enrol,
    Enrolled,
    Hello,
    Message,
    Plan,
    Prove,
    Refusal,
    UploadAccept,
    UploadAck,
    UploadBegin,
    UploadChunk,
)
from protocol.wire import decode, encode
from simulator.faults.process import apart
from simulator.network import GatewayConnection

__all__ = ["COMMITTED", "Talk"]

COMMITTED = "committed"
_NONCE = 32


class Talk:
    """One session, from the phone's side."""

    def __init__(self, connection: GatewayConnection, bits: BitSource) -> None:
        self._connection, self._bits = connection, bits
        self.ended = ""
        """Why the gateway ended the session; "" while it has not."""

    async def say(self, *frames: bytes | Message) -> list[Message]:
        """Send frames, or messages; what the gateway answers. Nothing after it has hung up."""
        answers: list[Message] = []
        for frame in frames:
            if self._connection.closed:
                break
            data = frame if isinstance(frame, bytes) else encode(frame)
            answers += [decode(one) for one in await apart(self._connection.receive(data))]
        for answer in answers:
            if isinstance(answer, Refusal) and answer.fatal:
                self.ended = answer.code
            elif isinstance(answer, Bye):
                self.ended = answer.reason
        return answers

    async def enrol(self, token: str, key: DeviceKey) -> str:
        """Ask for a device id; "" when there is none to be had."""
        nonce = self._bits(_NONCE)
        hello = Hello(versions=VERSIONS, device_id="", client_nonce=nonce)
        for answer in await self.say(hello, Enrol(token=token, public_key=key.public)):
            if isinstance(answer, Enrolled):
                return answer.device_id
        return ""

    async def prove(self, device_id: str, key: DeviceKey) -> Plan | None:
        """Say who one is, and prove it with whatever key; the plan, if the gateway believes it."""
        nonce = self._bits(_NONCE)
        hello = Hello(versions=VERSIONS, device_id=device_id, client_nonce=nonce)
        for answer in await self.say(hello):
            if isinstance(answer, Challenge):
                signed = key.sign(
                    proof_transcript(answer.version, device_id, nonce, answer.server_nonce)
                )
                return _plan(await self.say(Prove(signature=signed, have={})))
        return None

    async def upload(self, upload_id: bytes, body: bytes) -> str:
        """Hand in a body: "committed", the code of a refusal, or "" when there was no answer."""
        digest = hashlib.sha256(body).digest()
        begin = UploadBegin(upload_id=upload_id, kind="report", size=len(body), sha256=digest)
        answers = await self.say(begin)
        if not any(isinstance(one, UploadAccept) and not one.committed for one in answers):
            return _fate(answers)
        for offset in range(0, len(body), MAX_CHUNK):
            data = body[offset : offset + MAX_CHUNK]
            answers = await self.say(UploadChunk(upload_id=upload_id, offset=offset, data=data))
        return _fate(answers)


def _plan(answers: Sequence[Message]) -> Plan | None:
    return next((one for one in answers if isinstance(one, Plan)), None)


def _fate(answers: Sequence[Message]) -> str:
    for answer in answers:
        if isinstance(answer, Refusal):
            return answer.code
        if isinstance(answer, UploadAccept | UploadAck) and answer.committed:
            return COMMITTED
    return ""
