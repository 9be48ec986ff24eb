"""Cloud and helper as processes, killed with SIGKILL at random moments: every report counts once.

REVERIE_KILLS sets how many times they are killed (2 by default); the moments come from a seed and
are counted in frames and looks at the database, never in seconds.
"""

from __future__ import annotations

import os
import random
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, func, select, update
from sqlalchemy.exc import OperationalError
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from cloud.storage.tables import aggregates, rounds, uploads
from privacy.budget import DEMO
from privacy.receipts import open_receipt
from protocol.rounds import RoundDescriptor, open_descriptor
from protocol.session import ClientSession, Enrolled, PlanReceived, UploadCommitted
from tests.cloud.processes import Process
from tests.cloud.world import Phone, usage_answers

KILLS = int(os.environ.get("REVERIE_KILLS", "2"))
PHONES = DEMO.terms("usage").n_min + 3
FRAMES_PER_PHONE = 6
LOOKS = 60


class Fleet:
    """Two processes over one folder each; whoever is dead is started again when needed."""

    def __init__(self, state: Path, folder: Path) -> None:
        self.state, self._folder = state, folder
        self._ports = [_free_port(), _free_port()]
        self._running: dict[str, Process] = {}
        self.engine: Engine = create_engine(f"sqlite:///{state / 'cloud.db'}")

    def start(self, *more: str) -> Process:
        """Both, if they do not run. The cloud's process."""
        helper, cloud = self._ports
        token = self._folder / "helper.token"
        if "helper" not in self._running:
            options = ["--state", str(self._folder / "helper"), "--port", str(helper)]
            options += ["--budget", "demo", "--token-file", str(token)]
            self._running["helper"] = Process(["helper", *options])
        if "cloud" not in self._running:
            options = ["--state", str(self.state), "--port", str(cloud), "--budget", "demo"]
            options += ["--open-enrolment", "--tick-seconds", "0.1", "--helper"]
            options += [f"http://127.0.0.1:{helper}", "--helper-token-file", str(token)]
            self._running["cloud"] = Process(["serve", *options, *more])
        return self._running["cloud"]

    def kill(self, *names: str) -> None:
        """SIGKILL, at whatever they are doing."""
        for name in names:
            if name in self._running:
                self._running.pop(name).end(signal.SIGKILL)

    def value(self, query: object) -> object:
        """One value of the cloud's database; None while it cannot be had."""
        try:
            with self.engine.connect() as connection:
                return connection.execute(query).scalar()  # type: ignore[call-overload]
        except OperationalError:
            return None

    def close_rounds(self) -> None:
        """Let the open usage round's time be over."""
        with self.engine.begin() as connection:
            due = (rounds.c.task == "usage") & (rounds.c.status == "open")
            connection.execute(update(rounds).where(due).values(closes=0.0))


@pytest.fixture
def fleet(state: Path, tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(state, tmp_path)
    yield made
    made.kill("cloud", "helper")
    made.engine.dispose()


class Caller:
    """A phone's way to the cloud that breaks after `frames` frames, and kills."""

    def __init__(self, fleet: Fleet, frames: int | None) -> None:
        self._fleet, self._left = fleet, frames

    def upload(self, phone: Phone, number: int, body: bytes | None) -> PlanReceived | bytes | None:
        """The plan, or the receipt of `body`, or None when the cloud died meanwhile."""
        session = phone.session()
        url = self._fleet.start().said["url"].replace("http", "ws") + "/v1/session"
        try:
            with connect(url, compression=None, proxy=None) as wire:
                return self._converse(wire, session, phone, number, body)
        except (OSError, WebSocketException):
            return None

    def _converse(
        self, wire: object, session: ClientSession, phone: Phone, number: int, body: bytes | None
    ) -> PlanReceived | bytes | None:
        while not session.closed:
            for frame in session.frames_to_send():
                self._count()
                wire.send(frame)  # type: ignore[attr-defined]
            for event in session.receive(wire.recv(decode=False)):  # type: ignore[attr-defined]
                match event:
                    case Enrolled(device_id=device_id):
                        phone.device_id = device_id
                    case PlanReceived():
                        if body is None:
                            return event
                        session.upload(number.to_bytes(16, "big"), body)
                    case UploadCommitted(receipt=receipt):
                        return receipt
                    case _:
                        raise AssertionError(event)
        return None

    def _count(self) -> None:
        if self._left is not None:
            self._left -= 1
            if self._left == 0:
                self._fleet.kill("cloud")


def test_killed_servers_lose_nothing_and_count_nothing_twice(fleet: Fleet) -> None:
    moments = random.Random(KILLS)
    usage, public = _first_plan(fleet)
    phones = [Phone(number) for number in range(PHONES)]
    bodies = [phone.report(usage, usage_answers(0)) for phone in phones]
    for _ in range(KILLS):
        _send_all(fleet, phones, bodies, public, moments.randrange(1, FRAMES_PER_PHONE * PHONES))
    _send_all(fleet, phones, bodies, public, None)
    fleet.close_rounds()
    for _ in range(KILLS):
        fleet.start()
        _look(fleet, usage.round, moments.randrange(LOOKS))
        fleet.kill(*moments.choice([["helper"], ["cloud"], ["cloud", "helper"]]))
    fleet.start()
    while not _look(fleet, usage.round, 1):
        pass
    here = (aggregates.c.task == "usage") & (aggregates.c.round == usage.round)
    assert fleet.value(select(aggregates.c.n).where(here)) == PHONES
    counted = select(func.count()).select_from(uploads).where(uploads.c.counted == 1)
    assert fleet.value(counted) == PHONES
    # Everyone gave the first answer of every question.
    estimates = fleet.value(select(aggregates.c.estimates).where(here))
    assert isinstance(estimates, dict)
    sigma = fleet.value(select(aggregates.c.sigma).where(here))
    assert isinstance(sigma, float)
    first = estimates["histograms"][0]["estimate"]
    assert abs(first - 1.0) * PHONES < 6 * sigma


def _first_plan(fleet: Fleet) -> tuple[RoundDescriptor, bytes]:
    """The usage round sealed to this helper: the ones before are let expire."""
    fleet.close_rounds()
    public = bytes.fromhex(fleet.start("--new-helper").said["public_key"])
    key = fleet.start().said["helper_key"]
    while True:
        plan = Caller(fleet, None).upload(Phone(999), 0, None)
        assert isinstance(plan, PlanReceived)
        for blob in plan.rounds:
            opened = open_descriptor(blob, public)
            if not isinstance(opened, RoundDescriptor) or opened.task != "usage":
                continue
            if opened.helper_key.hex() == key:
                return opened, public


def _send_all(
    fleet: Fleet, phones: list[Phone], bodies: list[bytes], public: bytes, frames: int | None
) -> None:
    """Every phone sends its report, until the cloud is killed under one of them."""
    caller = Caller(fleet, frames)
    for number, (phone, body) in enumerate(zip(phones, bodies, strict=True)):
        receipt = caller.upload(phone, number, body)
        if receipt is None:
            return
        assert isinstance(receipt, bytes)
        assert open_receipt(receipt, public).device == phone.device_id


def _look(fleet: Fleet, number: int, times: int) -> bool:
    """Look at the round this often, or until it is closed."""
    query = select(rounds.c.status).where(rounds.c.task == "usage", rounds.c.round == number)
    return any(fleet.value(query) == "closed" for _ in range(times))


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
