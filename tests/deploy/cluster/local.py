"""`deploy/local-cluster.sh` for a test: a folder and ports of its own, founded, up, and down."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine

from cloud.actors.runtime import InProcessRuntime
from cloud.storage.places import Places, remember
from cloud.storage.s3_blobs import S3Blobs
from tests.cloud.conftest import running
from tests.cloud.world import START
from tests.deploy.cluster.chart import DEPLOY

__all__ = ["COMPONENTS", "LocalCluster", "local_cluster"]

SCRIPT = DEPLOY / "local-cluster.sh"
COMPONENTS = (
    "postgres",
    "s3",
    "helper",
    "ray-head",
    "ray-a",
    "ray-b",
    "ticker",
    "gateway-a",
    "gateway-b",
)
PORTS = 8
FAST = "--open-enrolment --tick-seconds 0.2 --refresh-seconds 0.2 --lease-seconds 2"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}


class LocalCluster:
    """A running cluster.

    Args:
        folder: of all its state; its ports begin at `port`.
    """

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self._port = folder, port
        self.urls = [f"https://localhost:{port + 5}", f"https://localhost:{port + 6}"]
        self.authority = folder / "tls" / "ca.pem"
        self._environment = os.environ | {
            "REVERIE_CLUSTER": str(folder),
            "REVERIE_CLUSTER_PORT": str(port),
            "REVERIE_CLUSTER_SERVE": FAST,
            "PYTHON": sys.executable,
        }

    def call(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run the script."""
        done = subprocess.run(
            ["bash", str(SCRIPT), *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, (
            f"{arguments}: {done.stderr}\n{self._last_lines()}"
        )
        return done

    def found(self) -> None:
        """Found the cloud with a quick trainer: its first tick need not train for minutes."""
        self.call("up", "postgres", "s3", "helper")
        state = self.folder / "cloud"
        state.mkdir(mode=0o700)
        remember(state, Places(database_url=self.database_url, blobs_url=self.blobs_url))
        helper = {
            "helper_url": f"http://127.0.0.1:{self._port + 2}",
            "helper_token_file": self.folder / "secrets" / "helper.token",
        }

        async def first_tick() -> None:
            runtime = InProcessRuntime(inline=True)
            async with running(state, runtime, **helper) as cloud:
                await cloud.tick(START)
            await runtime.stop()

        asyncio.run(first_tick())

    @property
    def database_url(self) -> str:
        """As the script gives it to every process."""
        password = (self.folder / "secrets" / "postgres").read_text().strip()
        return f"postgresql://reverie:{password}@127.0.0.1:{self._port}/reverie"

    @property
    def blobs_url(self) -> str:
        """As the script gives it to every process."""
        return f"s3://reverie/fleet?endpoint=http://127.0.0.1:{self._port + 1}&region=us-east-1"

    def engine(self) -> Any:
        """A way into the database."""
        return create_engine(
            self.database_url.replace("postgresql", "postgresql+psycopg", 1), pool_pre_ping=True
        )

    def blobs(self) -> set[str]:
        """The keys of every blob."""
        return set(S3Blobs(self.blobs_url).keys())

    def said(self, component: str) -> dict[str, Any]:
        """What a component announced when it was started last."""
        text = (self.folder / "logs" / f"{component}.out").read_text()
        return dict(json.loads(text.splitlines()[0]))

    def binding(self) -> bytes:
        """SHA-256 of the gateways' certificate."""
        pem = (self.folder / "tls" / "server.pem").read_text()
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).digest()

    def states(self) -> dict[str, str]:
        """What `status` says of each component."""
        lines = self.call("status", check=False).stdout.splitlines()
        return {name: state.strip() for name, _, state in (line.partition(" ") for line in lines)}

    def pids(self) -> dict[str, int]:
        """The process of each component that was started."""
        files = (self.folder / "run").glob("*.pid")
        return {file.stem: int(file.read_text().split()[0]) for file in files}

    def _last_lines(self) -> str:
        logs = sorted((self.folder / "logs").glob("*.log"))
        return "\n".join(f"{log.name}: {log.read_text()[-600:]}" for log in logs)


@contextmanager
def local_cluster() -> Iterator[LocalCluster]:
    """One for the time of a test; whatever it started is ended."""
    # Not under pytest's own folder: PostgreSQL's user could not get through to it.
    cluster = LocalCluster(Path(tempfile.mkdtemp(prefix="rc-")), _free_ports())
    try:
        yield cluster
    finally:
        cluster.call("down", check=False)
        shutil.rmtree(cluster.folder, ignore_errors=True)


def _free_ports() -> int:
    """The first of several free neighbouring ports, which Ray's workers do not take."""
    for first in range(21_000 + os.getpid() % 800 * 10, 29_900, PORTS):
        if all(_is_free(port) for port in range(first, first + PORTS)):
            return first
    raise AssertionError("no free ports")


def _is_free(port: int) -> bool:
    with closing(socket.socket()) as tried:
        try:
            tried.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
