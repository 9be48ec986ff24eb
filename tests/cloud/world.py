"""Small real parts for the cloud's tests: phones, seeded bits, a quick trainer, runtimes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cloud.actors.trainers import Trainer
from cloud.gateway.core import Connection, GatewayCore
from cloud.randomness import SeededBits
from cloud.training.config import TRAINING, TrainingConfig
from privacy.budget import DEMO
from privacy.gate import Gate
from privacy.ledger import Ledger
from privacy.streams import USAGE_DIMENSION, USAGE_HISTOGRAMS, usage_vector
from protocol.identity import DeviceKey
from protocol.rounds import RoundDescriptor, open_descriptor
from protocol.session import (
    ClientSession,
    Closed,
    Enrolled,
    EnrolRequest,
    Event,
    PlanReceived,
    SessionFailed,
)
from protocol.update import Report, encode_report

START = 1_800_000_000.0
"""Unix seconds at which the tests' worlds begin."""
DAY = 86_400.0


class QuickTrainer(Trainer):
    """The real trainer with two steps: what it learns does not matter here, that it does."""

    def __init__(
        self,
        model: Literal["router", "dedup"],
        database_url: str,
        blobs: str,
        seed: int | None = None,
        config: TrainingConfig | None = None,
    ) -> None:
        quick = replace(config or TRAINING[model], steps=2, refresh_steps=1)
        super().__init__(model, database_url, blobs, seed, quick)


class MemoryLog:
    """An append log in memory."""

    def __init__(self) -> None:
        self._entries: list[bytes] = []

    def append(self, payload: bytes) -> int:
        self._entries.append(payload)
        return len(self._entries) - 1

    def read(self) -> Iterator[tuple[int, bytes]]:
        return iter(list(enumerate(self._entries)))


def usage_answers(choice: int = 0) -> NDArray[np.float64]:
    """A usage vector that answers every question with its `choice`-th bin."""
    return usage_vector(
        {each.name: each.bins[choice % len(each.bins)] for each in USAGE_HISTOGRAMS}
    )


class Phone:
    """A real key, ledger and gate; no memory and no window."""

    def __init__(self, number: int, seed: int = 1) -> None:
        self.bits = SeededBits(seed, f"phone-{number}")
        self.key = DeviceKey.generate(self.bits)
        self.gate = Gate(Ledger(MemoryLog(), DEMO), self.bits)
        self.device_id = ""
        self.plan: PlanReceived | None = None

    def report(
        self, descriptor: RoundDescriptor, vector: NDArray[np.float64], at: float = START
    ) -> bytes:
        """The encoded report of one round, through the privacy gate."""
        made = self.gate.release(descriptor, vector, at, lambda _report: None)
        return encode_report(
            Report(descriptor.task, made.round, made.report_id, made.masked, made.sealed_seed)
        )

    def session(self, token: str = "") -> ClientSession:
        """A session, enrolling when this phone has no id yet."""
        enrol = None if self.device_id else EnrolRequest(token or "open", self.key.public)
        session = ClientSession(
            device_id=self.device_id,
            sign=self.key.sign,
            client_nonce=self.bits(32),
            have={"router": 0, "dedup": 0},
            enrol=enrol,
        )
        session.start()
        return session


@dataclass
class Line:
    """A phone's session wired straight to a gateway."""

    client: ClientSession
    server: Connection

    async def exchange(self) -> list[Event]:
        """Carry frames both ways until neither end has more to say."""
        events: list[Event] = []
        while frames := self.client.frames_to_send():
            for frame in frames:
                for answer in await self.server.receive(frame):
                    events += self.client.receive(answer)
        return events


async def connect(
    phone: Phone, core: GatewayCore, token: str = "", now: float = START
) -> tuple[Line, list[Event]]:
    """Open a session up to the plan, or to the refusal."""
    line = Line(phone.session(token), core.open_session(now))
    events = await line.exchange()
    for event in events:
        if isinstance(event, Enrolled):
            phone.device_id = event.device_id
        if isinstance(event, PlanReceived):
            phone.plan = event
    return line, events


def outcome(events: list[Event]) -> str:
    """The code a session ended with, or ""."""
    for event in events:
        if isinstance(event, Closed):
            return event.reason
        if isinstance(event, SessionFailed):
            return event.code
    return ""


def descriptors(core: GatewayCore, public_key: bytes) -> dict[str, RoundDescriptor]:
    """The open rounds a phone sees, by task."""
    opened = (open_descriptor(blob, public_key) for blob in core.snapshot.rounds)
    return {descriptor.task: descriptor for descriptor in opened}


def sqlite(folder: Path, name: str = "cloud.db") -> str:
    """A database URL in `folder`."""
    return f"sqlite:///{folder / name}"


def raw_report(task: Any = "usage", number: int = 1, mark: int = 0, size: int = 0) -> bytes:
    """A well-formed report that no gate made: for tests of the inbox alone."""
    masked = np.full(size or USAGE_DIMENSION, mark, dtype=np.uint32)
    return encode_report(Report(task, number, mark.to_bytes(16, "big"), masked, bytes(80)))
