"""Phones under load: real keys, ledgers and gates, uploading until they are acknowledged."""

from __future__ import annotations

import random
import threading
from dataclasses import dataclass, field

from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from privacy.errors import BudgetExceeded
from privacy.receipts import open_receipt
from privacy.secagg.mask import report_digest
from protocol.release import open_manifest
from protocol.rounds import RoundDescriptor, open_descriptor
from protocol.session import (
    ClientSession,
    Closed,
    Enrolled,
    PlanReceived,
    SessionFailed,
    UploadCommitted,
)
from protocol.session_events import UploadRefused
from protocol.update import decode_report
from tests.cloud.world import Phone, usage_answers

__all__ = ["Acknowledged", "Crowd", "Sent"]

ANSWER_SECONDS = 20.0
OPEN_SECONDS = 10.0
AGAIN = frozenset({"busy", "limit", "stale_session", "internal"})


@dataclass(frozen=True)
class Sent:
    """One report, as the outbox holds it."""

    round: int
    upload_id: bytes
    body: bytes
    choice: int


@dataclass(frozen=True)
class Acknowledged:
    """A report whose receipt was verified."""

    device: str
    sent: Sent


@dataclass
class _Line:
    """One phone of the crowd and its outbox."""

    phone: Phone
    number: int
    outbox: Sent | None = None
    last_round: int = 0
    versions: dict[tuple[str, str], int] = field(default_factory=dict)


class Crowd:
    """Phones on threads.

    Args:
        urls: the gateways, taken at random.
        public: the cloud's key; helper: the hex key of the helper whose rounds are joined.
        phones: how many, over how many threads.
        seed: of the phones and of their ways.
        binding: SHA-256 of the certificate that gateways on https show.
    """

    def __init__(
        self,
        urls: list[str],
        public: bytes,
        helper: str,
        phones: int,
        threads: int,
        seed: int,
        binding: bytes = b"",
    ) -> None:
        self._binding = binding
        self._urls, self._public, self._helper, self._seed = urls, public, helper, seed
        self._lines = [_Line(Phone(number, seed), number) for number in range(phones)]
        self._lock = threading.Condition()
        self.acknowledged: list[Acknowledged] = []
        self.faults: list[str] = []
        self._steps, self._replaced = 0, 0
        self._ending, self._quitting = threading.Event(), threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(index, threads), daemon=True)
            for index in range(threads)
        ]

    def start(self) -> None:
        """Begin to upload."""
        for thread in self._threads:
            thread.start()

    def wait_steps(self, steps: int, seconds: float) -> None:
        """Until so many more frames went out, or so much time went by (all may be dead)."""
        with self._lock:
            wanted = self._steps + steps
            self._lock.wait_for(lambda: self._steps >= wanted, seconds)

    def in_round(self, number: int) -> int:
        """How many reports of a round are acknowledged."""
        with self._lock:
            return sum(each.sent.round == number for each in self.acknowledged)

    def finish(self, seconds: float) -> None:
        """Make no new reports; see every outbox empty."""
        self._ending.set()
        for thread in self._threads:
            thread.join(seconds)
        assert not any(thread.is_alive() for thread in self._threads), "an outbox stays full"

    def quit(self) -> None:
        """Leave, whatever is still to send."""
        self._quitting.set()
        for thread in self._threads:
            thread.join(2 * ANSWER_SECONDS)

    def _work(self, index: int, threads: int) -> None:
        ways = random.Random(f"{self._seed}-{index}")
        mine = self._lines[index::threads]
        while not self._quitting.is_set():
            left = [line for line in mine if line.outbox is not None or not self._ending.is_set()]
            if not left:
                return
            for line in left:
                try:
                    self._visit(line, ways)
                except (OSError, WebSocketException):
                    self._quitting.wait(0.02)  # the gateway is dead
                except Exception as error:
                    self._fault(f"{type(error).__name__}: {error}")
                    return

    def _visit(self, line: _Line, ways: random.Random) -> None:
        url = ways.choice(self._urls)
        address = url.replace("http", "ws") + "/v1/session"
        with connect(
            address, compression=None, proxy=None, open_timeout=OPEN_SECONDS, close_timeout=1
        ) as wire:
            self._converse(wire, line.phone.session(binding=self._binding), line, url)

    def _converse(
        self, wire: ClientConnection, session: ClientSession, line: _Line, url: str
    ) -> None:
        while not session.closed:
            for frame in session.frames_to_send():
                wire.send(frame)
                self._step()
            for event in session.receive(wire.recv(timeout=ANSWER_SECONDS, decode=False)):
                match event:
                    case Enrolled(device_id=device_id):
                        line.phone.device_id = device_id
                    case PlanReceived():
                        self._see(line, event, url)
                        self._prepare(line, event)
                        if line.outbox is None:
                            return
                        session.upload(line.outbox.upload_id, line.outbox.body)
                    case UploadCommitted(receipt=receipt):
                        self._keep(line, receipt)
                        return
                    case UploadRefused(code=code, retry_after=after):
                        if code == "stale_round":
                            line.outbox = None  # too late: it was never acknowledged
                        elif not after and code not in AGAIN:
                            self._fault(f"refused: {code}")
                        return
                    case Closed() | SessionFailed():
                        return

    def _see(self, line: _Line, plan: PlanReceived, url: str) -> None:
        """What one gateway shows never gets older."""
        for blob in plan.releases:
            manifest = open_manifest(blob, self._public)
            key = (url, manifest.model)
            if manifest.version < line.versions.get(key, 0):
                self._fault(f"{manifest.model} went back to {manifest.version}")
            line.versions[key] = manifest.version

    def _prepare(self, line: _Line, plan: PlanReceived) -> None:
        if line.outbox is not None or self._ending.is_set():
            return
        for blob in plan.rounds:
            opened = open_descriptor(blob, self._public)
            if not isinstance(opened, RoundDescriptor) or opened.task != "usage":
                continue
            if opened.helper_key.hex() != self._helper or opened.round <= line.last_round:
                continue
            choice = (line.number + opened.round) % 2
            try:
                body = line.phone.report(opened, usage_answers(choice))
            except BudgetExceeded:
                self._replace(line)
                return
            line.last_round = opened.round
            line.outbox = Sent(opened.round, line.phone.bits(16), body, choice)

    def _replace(self, line: _Line) -> None:
        """A phone that may say no more gives its place to a new one."""
        with self._lock:
            self._replaced += 1
            fresh = len(self._lines) + self._replaced
        line.phone = Phone(fresh, self._seed)

    def _keep(self, line: _Line, receipt: bytes) -> None:
        sent, line.outbox = line.outbox, None
        assert sent is not None
        opened, report = open_receipt(receipt, self._public), decode_report(sent.body)
        digest = report_digest(
            report.task, report.round, report.report_id, report.share, report.sealed_seed
        )
        if (opened.device, opened.round, opened.sha256) != (
            line.phone.device_id,
            sent.round,
            digest,
        ):
            self._fault("a receipt of something else")
        with self._lock:
            self.acknowledged.append(Acknowledged(line.phone.device_id, sent))

    def _step(self) -> None:
        with self._lock:
            self._steps += 1
            self._lock.notify_all()

    def _fault(self, what: str) -> None:
        with self._lock:
            self.faults.append(what)
