"""Small real parts for the cloud's tests: phones, seeded bits, a quick trainer, runtimes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from cloud.actors.openings import shared_round
from cloud.actors.trainers import Trainer
from cloud.config import CloudConfig
from cloud.gateway.core import Connection, GatewayCore
from cloud.randomness import SeededBits
from cloud.training.config import TRAINING, TrainingConfig
from privacy.budget import DEMO
from privacy.gate import Gate
from privacy.ledger import Ledger
from privacy.secagg.mask import SEALED_SEED_BYTES
from privacy.secagg.sharing import sharing_for
from privacy.streams import USAGE_HISTOGRAMS, usage_vector
from protocol.identity import DeviceKey
from protocol.rounds import LocalRound, Round, RoundDescriptor, open_descriptor
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
from simulator.faults.forging import sealed_report

START = 1_800_000_000.0
"""Unix seconds at which the tests' worlds begin."""
DAY = 86_400.0


USAGE_SHARE = sharing_for(
    shared_round(DEMO, bytes(32), "usage", 1, base=0, expected=0, now=START)
).share_bytes
"""Bytes of a leader's share in a first usage round of the demo budget."""


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
            Report(descriptor.task, made.round, made.report_id, made.share, made.sealed_seed)
        )

    def local_report(self, descriptor: LocalRound, answer: str, at: float = START) -> bytes:
        """The encoded report of one local round, through the privacy gate."""
        made = self.gate.release_local(descriptor, answer, at, lambda _report: None)
        return encode_report(Report("local_usage", made.round, made.report_id, made.share, b""))

    def session(self, token: str = "", binding: bytes = b"") -> ClientSession:
        """A session, enrolling when this phone has no id yet; `binding`: the certificate's hash."""
        enrol = None if self.device_id else EnrolRequest(token or "open", self.key.public)
        session = ClientSession(
            device_id=self.device_id,
            sign=self.key.sign,
            client_nonce=self.bits(32),
            have={"router": 0, "dedup": 0},
            enrol=enrol,
            binding=binding,
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
    """The open rounds of two-server aggregation a phone sees, by task."""
    opened = shown_rounds(core, public_key)
    return {each.task: each for each in opened if isinstance(each, RoundDescriptor)}


def shown_rounds(core: GatewayCore, public_key: bytes) -> list[Round]:
    """The open rounds a phone sees."""
    return [open_descriptor(blob, public_key) for blob in core.snapshot.rounds]


def crafted(
    descriptor: RoundDescriptor,
    noisy: NDArray[np.int64],
    bits: SeededBits,
    *,
    report_id: bytes = b"",
    forge: bool = False,
) -> bytes:
    """A report that no gate made: `noisy` lattice values, honestly shared and sealed.

    `forge` makes the share's first value something that is no bit.
    """
    report = sealed_report(descriptor, noisy, bits, proven=not forge, report_id=report_id)
    return encode_report(report)


def sqlite(folder: Path, name: str = "cloud.db") -> str:
    """A database URL in `folder`."""
    return f"sqlite:///{folder / name}"


def database_in(folder: Path) -> str:
    """The URL of the database of the cloud in `folder`: the one it names, else SQLite."""
    return CloudConfig(state=folder).database_url


def raw_report(task: Any = "usage", number: int = 1, mark: int = 0, size: int = 0) -> bytes:
    """A well-formed report that no gate made: for tests of the inbox alone."""
    words = np.full((size or USAGE_SHARE) // 8, mark, dtype="<u8")
    return encode_report(
        Report(task, number, mark.to_bytes(16, "big"), words.tobytes(), bytes(SEALED_SEED_BYTES))
    )
