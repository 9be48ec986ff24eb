"""A sync against clouds of either version, and what a phone remembers of who it spoke to."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from device.recall import Score
from device.sync.adoption import Shelf
from device.sync.bookkeeping import Bookkeeper
from device.sync.channel import ChannelClosed
from device.sync.client import TOO_OLD, SyncClient, SyncFailed, SyncReport
from device.sync.identity import Identity
from device.sync.outbox import Outbox
from privacy import BUDGETS, Ledger
from protocol.identity import SigningKey, verify
from protocol.messages import Plan
from protocol.rounds import Round, seal_descriptor
from protocol.session import ServerSession
from tests.device.conftest import Notes
from tests.device.sync.conftest import NOW, Vault, descriptor
from tests.protocol.v1 import messages as first_messages
from tests.protocol.v1 import session as first


class Clock:
    def now(self) -> float:
        return NOW

    async def sleep(self, seconds: float, until: object = None) -> None:
        raise NotImplementedError


class Cloud:
    """A server session of any version over a channel in memory."""

    def __init__(self, make: Callable[[], Any], plan: Any) -> None:
        self._make, self._plan = make, plan
        self.devices: dict[str, bytes] = {}
        self.farewell = ""

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Cloud]:
        self._session = self._make()
        self._frames: list[bytes] = []
        yield self

    async def send(self, frame: bytes) -> None:
        for event in self._session.receive(frame):
            self._answer(event)
        self._frames += self._session.frames_to_send()

    async def receive(self) -> bytes:
        if not self._frames:
            raise ChannelClosed("nothing more comes")
        return self._frames.pop(0)

    def _answer(self, event: Any) -> None:
        match type(event).__name__:
            case "EnrolRequested":
                self.devices["device-1"] = event.public_key
                self._session.accept_enrol("device-1")
            case "ProofOffered" if self.farewell:
                self._session.finish(self.farewell, retry_after=77.0)
            case "ProofOffered":
                verify(self.devices[event.device_id], event.signature, event.transcript)
                self._session.admit(self._plan)


class Phone:
    """What a sync needs, over one store."""

    def __init__(self, cloud: Cloud, key: bytes) -> None:
        self.cloud, self.key = cloud, key
        logs = Vault().logs("identity", "ledger", "outbox", "releases")
        self._logs = logs
        self.identity = Identity(logs["identity"], os.urandom)
        self.outbox = Outbox(logs["outbox"])
        ledger = Ledger(logs["ledger"], BUDGETS["demo"])
        self.books = Bookkeeper(ledger, self.outbox, key, Clock(), Notes())
        self.joined: list[Round] = []

    async def _make_reports(self, rounds: list[Round], report: SyncReport) -> None:
        self.joined = rounds

    def sync(self) -> SyncReport:
        client = SyncClient(
            identity=self.identity,
            cloud_key=self.key,
            token="token",
            connect=self.cloud.connect,
            outbox=self.outbox,
            shelf=Shelf(self._logs["releases"]),
            probe=lambda model, weights: Score(0.0, 0.0),
            make_reports=self._make_reports,
            books=self.books,
            on_outcome=lambda outcome: None,
            clock=Clock(),
            bits=os.urandom,
            observer=Notes(),
        )
        return asyncio.run(client.sync())

    def reopened(self) -> Identity:
        """The identity as after a restart."""
        return Identity(self._logs["identity"], os.urandom)


def new(key: SigningKey, **more: Any) -> Cloud:
    rounds = (seal_descriptor(descriptor(), key),)
    plan = Plan(rounds=rounds, releases=(), retry_after=60.0)
    return Cloud(
        lambda: ServerSession(server_nonce=os.urandom(32), now=NOW, sign=key.sign, **more), plan
    )


def old(key: SigningKey) -> Cloud:
    rounds = (seal_descriptor(descriptor(), key),)
    plan = first_messages.Plan(rounds=rounds, releases=(), retry_after=60.0)
    return Cloud(lambda: first.ServerSession(server_nonce=os.urandom(32), now=NOW), plan)


def test_a_new_cloud_is_remembered_as_one_that_proves_itself(cloud_key: SigningKey) -> None:
    phone = Phone(new(cloud_key), cloud_key.public)
    assert phone.identity.least_version == 1
    report = phone.sync()
    assert report.problems == []
    assert len(phone.joined) == 1
    assert phone.identity.device_id == "device-1"
    again = phone.reopened()
    assert (again.device_id, again.least_version) == ("device-1", 2)


def test_with_an_old_cloud_nothing_is_spent_and_reports_wait(cloud_key: SigningKey) -> None:
    phone = Phone(old(cloud_key), cloud_key.public)
    report = phone.sync()
    assert report.problems == [TOO_OLD]
    assert phone.joined == []
    assert phone.identity.device_id == "device-1"
    assert phone.reopened().least_version == 1


def test_a_phone_that_knows_better_does_not_go_back_to_an_old_cloud(
    cloud_key: SigningKey,
) -> None:
    phone = Phone(new(cloud_key), cloud_key.public)
    phone.sync()
    devices = phone.cloud.devices
    phone.cloud = old(cloud_key)
    phone.cloud.devices = devices
    with pytest.raises(SyncFailed, match="version"):
        phone.sync()


def test_a_cloud_that_is_not_the_pinned_one_learns_no_name_and_leaves_none(
    cloud_key: SigningKey,
) -> None:
    phone = Phone(new(SigningKey(b"x" * 32)), cloud_key.public)
    with pytest.raises(SyncFailed, match="bad_proof"):
        phone.sync()
    assert phone.reopened().device_id == ""
    assert phone.joined == []


def test_a_goodbye_tells_how_long_to_stay_away(cloud_key: SigningKey) -> None:
    phone = Phone(new(cloud_key), cloud_key.public)
    phone.cloud.farewell = "stopping"
    with pytest.raises(SyncFailed, match="stopping") as ended:
        phone.sync()
    assert ended.value.retry_after == 77.0
