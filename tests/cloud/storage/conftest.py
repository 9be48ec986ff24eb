"""Stores of blobs: a folder, and a bucket of a real S3 server."""

from __future__ import annotations

import urllib.request
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cloud.actors.runtime import Runtime
from cloud.config import CloudConfig
from cloud.randomness import SeededBits
from cloud.service import Cloud
from cloud.storage import Blobs, open_blobs
from cloud.storage.s3_blobs import S3Blobs
from tests.cloud.s3 import CREDENTIALS, s3_server
from tests.cloud.world import START


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The URL of one S3 server for the session."""
    pytest.importorskip("moto", reason="moto, the S3 server of the tests, is not installed")
    pytest.importorskip("obstore", reason="pip install 'reverie[s3]'")
    with s3_server() as url:
        yield url


@pytest.fixture
def bucket(s3: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The blobs' URL of a new bucket."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    name = f"b{uuid.uuid4().hex[:12]}"
    request = urllib.request.Request(f"{s3}/{name}", method="PUT", data=b"")
    request.add_header("Host", "s3.amazonaws.com")
    urllib.request.urlopen(request).close()
    return f"s3://{name}/models?endpoint={s3}&region=us-east-1"


class NoTrainer:
    """Trains nothing: what becomes of counts and files needs no model."""

    def __init__(self, *_given: object) -> None:
        pass

    def bootstrap(self, now: float) -> None:
        pass


@asynccontextmanager
async def untrained(state: Path, runtime: Runtime) -> AsyncIterator[Cloud]:
    """A started cloud that opens rounds of counts only."""
    config = CloudConfig(state=state, budget="demo", open_enrolment=True, seed=7)
    cloud = Cloud(config, runtime, bits=SeededBits(7, "cloud"), now=START, trainer=NoTrainer)
    await cloud.start()
    try:
        yield cloud
    finally:
        await cloud.stop()


class Store:
    """A store, and a way to damage what is in it."""

    def __init__(self, blobs: Blobs, overwrite: Callable[[str, bytes], None]) -> None:
        self.blobs, self.overwrite = blobs, overwrite


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "folder":
        folder = tmp_path / "blobs"
        return Store(open_blobs(folder), lambda key, data: _write(folder / key, data))
    bucket = S3Blobs(request.getfixturevalue("bucket"))
    return Store(bucket, lambda key, data: _overwrite(bucket, key, data))


def _overwrite(bucket: S3Blobs, key: str, data: bytes) -> None:
    bucket._store.put(key, data)


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
