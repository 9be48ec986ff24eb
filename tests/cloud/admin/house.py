"""A demo cloud with some weeks behind it, and its pages on a real socket."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from aiohttp import web
from sqlalchemy import insert, update

from cloud.actors.publisher import Publisher
from cloud.actors.runtime import InProcessRuntime
from cloud.admin.desk import Desk
from cloud.admin.operators import Operators, Role
from cloud.config import CloudConfig
from cloud.documents.tables import documents
from cloud.gateway.app import Root, make_app
from cloud.randomness import SeededBits
from cloud.service import Cloud
from cloud.storage import Database
from cloud.storage.journal import note
from cloud.storage.tables import alarms, devices, releases
from cloud.training.releases import Shelf
from protocol.models import DEDUP, ROUTER, initial_weights
from protocol.models.spec import ModelSpec
from protocol.params import Parameters, encode_full, sha256_of
from protocol.session import UploadCommitted
from tests.cloud.conftest import running
from tests.cloud.world import DAY, START, Phone, QuickTrainer, connect, descriptors, usage_answers

T = TypeVar("T")

PHONES = 24
WEEKS = 3
NOW = START + (WEEKS + 1) * DAY
HOSTILE = "<script>alert(1)</script>\"'&{{7*7}}"
METRICS = {"passed": 1.0, "accuracy": 0.91, "exact": 0.9}
METRICS |= {"accuracy_templates": 0.9, "accuracy_written": 0.9}


async def live(state: Path) -> None:
    """Some usage rounds of real reports, a staged router, a dedup model that waits, alarms."""
    runtime = InProcessRuntime(inline=True)
    async with running(state, runtime) as cloud:
        phones = [Phone(number) for number in range(PHONES)]
        for week in range(WEEKS):
            at = START + week * (DAY + 60)
            await _report(cloud, phones, week, at)
            await cloud.tick(at + DAY + 30)
    await runtime.stop()
    _publish(CloudConfig(state=state, budget="demo"))


async def _report(cloud: Cloud, phones: list[Phone], week: int, at: float) -> None:
    usage = descriptors(cloud.endpoint(), cloud.public_key)["usage"]
    for number, phone in enumerate(phones):
        line, _ = await connect(phone, cloud.endpoint(), now=at)
        body = phone.report(usage, usage_answers((number + week) % 3), at)
        line.client.upload(bytes([week]) + number.to_bytes(15, "big"), body)
        events = await line.exchange()
        assert any(isinstance(event, UploadCommitted) for event in events)


def _publish(config: CloudConfig) -> None:
    url, blobs = config.database_url, config.blobs_url
    database = Database(url)
    many = [
        {"device_id": f"{n:032x}", "public_key": bytes(32), "enrolled": START} for n in range(110)
    ]
    # Strings as an attacker would have them, wherever a page shows one.
    alarm = {"kind": "drift", "raised": START, "seen": NOW, "detail": {"share": 0.41, "x": HOSTILE}}
    with database.write() as connection:
        connection.execute(insert(devices), many)
        connection.execute(insert(alarms).values(key="drift:top_layer", **alarm))
        connection.execute(
            insert(alarms).values(key=f"{HOSTILE}:x", cleared=NOW, **(alarm | {"kind": HOSTILE}))
        )
        note(connection, "hostile", "steered", NOW, {"what": HOSTILE, HOSTILE: "name"})
    router = _candidate(database, url, blobs, ROUTER, {})
    _candidate(database, url, blobs, DEDUP, {"reason": HOSTILE})
    publisher = Publisher(url, blobs, config.signing_key, str(config.keys))
    assert publisher.publish(router, NOW - DAY) == _next(database, "router") - 1
    with database.write() as connection:
        staged = (releases.c.model == "router") & (releases.c.status == "staged")
        done = connection.execute(update(releases).where(staged).values(card=_card()))
        assert done.rowcount == 1
    publisher.close()
    database.close()


def _card() -> dict[str, Any]:
    return {"unit": "one phone", "epsilon": 4.0, "slices": {"zh": 0.93, "en": 0.9}, "data": HOSTILE}


def _candidate(
    database: Database, url: str, blobs: str, spec: ModelSpec, more: dict[str, Any]
) -> int:
    version = _next(database, spec.name)
    rng = np.random.Generator(np.random.Philox(key=version))
    parameters = Parameters.of(initial_weights(spec, rng), spec, version)
    shelf = Shelf(url, blobs)
    key = shelf.blobs.put(encode_full(parameters))
    shelf.close()
    row = {"model": spec.name, "version": version, "parent": version - 1, "metrics": METRICS}
    row |= {"status": "candidate", "parameters": key, "sha256": sha256_of(parameters)}
    with database.write() as connection:
        values = {"epsilon": 4.0, "delta": 1e-6, "created": NOW - 2 * DAY, **row, **more}
        done = connection.execute(insert(releases).values(**values))
        assert done.inserted_primary_key is not None
        return int(done.inserted_primary_key[0])


def _next(database: Database, model: str) -> int:
    with database.read() as connection:
        from sqlalchemy import func, select

        newest = select(func.max(releases.c.version)).where(releases.c.model == model)
        return int(connection.execute(newest).scalar_one()) + 1


def add_hostile_document(database: Database) -> None:
    """A document of a name that no command would take."""
    row = {"name": HOSTILE, "version": 3, "sha256": bytes(32), "size": 20_000, "records": 7}
    row |= {"content": "", "whole": "", "deltas": {}, "publication": b""}
    with database.write() as connection:
        connection.execute(insert(documents).values(published=START, expires=NOW + DAY, **row))


class House:
    """A cloud behind its gateway, in a thread of its own, so that a browser can call on it."""

    def __init__(self, state: Path, **options: Any) -> None:
        self.config = CloudConfig(
            state=state, budget="demo", open_enrolment=True, seed=7, publish="by-hand"
        )
        self.now = NOW
        self.changes = 0
        self._options = options
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.database = Database(self.config.database_url)
        self.operators = Operators(self.database)
        self.url = self.call(self._start())

    def call(self, work: Awaitable[T]) -> T:
        """Run it on the house's own loop."""

        async def run() -> T:
            return await work

        future: Future[T] = asyncio.run_coroutine_threadsafe(run(), self._loop)
        return future.result(60)

    def token(self, name: str, role: Role) -> str:
        """A new operator's token."""
        return self.operators.add(name, role, self.now, 30 * DAY, SeededBits(9, name))

    def close(self) -> None:
        self.call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(20)
        self._loop.close()
        self.database.close()

    async def _start(self) -> str:
        self._runtime = InProcessRuntime(inline=True)
        bits = SeededBits(7, "house")
        self.cloud = Cloud(self.config, self._runtime, bits=bits, now=NOW, trainer=QuickTrainer)
        await self.cloud.start()
        self.desk = Desk(
            self.config,
            self.cloud.metrics,
            self._clock,
            bits,
            changed=self._changed,
            **self._options,
        )
        root = Root(self.cloud.public_key, "demo", open_enrolment=True)
        app = make_app(self.cloud.endpoint(), root, self._clock, admin=self.desk)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _stop(self) -> None:
        await self._runner.cleanup()
        await self.cloud.stop()
        await self._runtime.stop()

    async def _changed(self) -> None:
        self.changes += 1
        await self.cloud.refresh(self.now)

    def _clock(self) -> float:
        return self.now


@contextmanager
def opened(state: Path, **options: Any) -> Iterator[House]:
    """A house for the time of a test."""
    house = House(state, **options)
    try:
        yield house
    finally:
        house.close()


Made = Callable[..., House]
