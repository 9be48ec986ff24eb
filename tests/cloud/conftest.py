"""Runtimes and clouds for the cloud's tests."""

from __future__ import annotations

import asyncio
import shutil
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from cloud.actors.ray_runtime import RayRuntime
from cloud.actors.runtime import InProcessRuntime, Runtime
from cloud.config import CloudConfig
from cloud.randomness import SeededBits
from cloud.service import Cloud
from cloud.storage.places import Places, remember
from tests.cloud.postgres import INSTALL, PostgresServer, programs
from tests.cloud.world import START, QuickTrainer, database_in

RUNTIMES = ["inline", "threads", pytest.param("ray", marks=pytest.mark.ray)]


DATABASES = ["sqlite", "postgresql"]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "postgres: needs the programs of a PostgreSQL server")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        chosen = getattr(item, "callspec", None)
        given = {} if chosen is None else chosen.params
        if any(type(value) is str and value == "postgresql" for value in given.values()):
            item.add_marker("postgres")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One PostgreSQL server for the session."""
    if programs() is None:
        pytest.skip(f"PostgreSQL is not installed: {INSTALL}")
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(params=DATABASES)
def each_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The same tests over every database: `tmp_path` says where its own is, see `database_in`."""
    with _database(request, tmp_path, PostgresServer.migrated) as url:
        yield url


@pytest.fixture(params=DATABASES)
def each_empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """As `each_database`, without tables."""
    with _database(request, tmp_path, PostgresServer.database) as url:
        yield url


@contextmanager
def _database(
    request: pytest.FixtureRequest, folder: Path, make: Callable[[PostgresServer], str]
) -> Iterator[str]:
    if request.param == "sqlite":
        yield database_in(folder)
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = make(server)
    remember(folder, Places(database_url=url))
    yield url
    server.drop(url)


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[Callable[[], RayRuntime]]:
    """One local cluster for the session; each call gives a runtime with a namespace of its own."""
    owner = RayRuntime(namespace="owner")
    yield lambda: RayRuntime(namespace=f"test-{uuid.uuid4().hex[:8]}")
    asyncio.run(owner.stop())


@pytest.fixture(params=RUNTIMES)
async def runtime(request: pytest.FixtureRequest) -> AsyncIterator[Runtime]:
    """The same tests over every runtime."""
    made: Runtime
    if request.param == "ray":
        made = request.getfixturevalue("ray_cluster")()
    else:
        made = InProcessRuntime(inline=request.param == "inline")
    yield made
    await made.stop()


@pytest.fixture
async def inline() -> AsyncIterator[Runtime]:
    """Actors called directly."""
    made = InProcessRuntime(inline=True)
    yield made
    await made.stop()


@asynccontextmanager
async def running(state: Path, runtime: Runtime, **settings: Any) -> AsyncIterator[Cloud]:
    """A started cloud on the demo budget with open enrolment and a quick trainer."""
    values = {"budget": "demo", "open_enrolment": True, "seed": 7} | settings
    config = CloudConfig(state=state, **values)
    cloud = Cloud(config, runtime, bits=SeededBits(7, "cloud"), now=START, trainer=QuickTrainer)
    await cloud.start()
    try:
        yield cloud
    finally:
        await cloud.stop()


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state folder of a stopped cloud after its first tick: training once serves all tests."""
    state = tmp_path_factory.mktemp("published") / "cloud"

    async def first_tick() -> None:
        runtime = InProcessRuntime(inline=True)
        async with running(state, runtime) as cloud:
            await cloud.tick(START)
        await runtime.stop()

    asyncio.run(first_tick())
    return state


@pytest.fixture
def state(published: Path, tmp_path: Path) -> Path:
    """A copy of `published` of the test's own."""
    return Path(shutil.copytree(published, tmp_path / "cloud"))


@pytest.fixture
async def cloud(state: Path, inline: Runtime) -> AsyncIterator[Cloud]:
    """A cloud with its actors inline, ticked once: models published, rounds open."""
    async with running(state, inline) as made:
        yield made
