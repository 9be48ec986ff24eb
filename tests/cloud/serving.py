"""Several `serve` processes over one database, a balancer in front, and phones that call."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from email.message import Message
from itertools import cycle
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, select, text
from websockets.sync.client import ClientConnection, connect

from cloud.config import CloudConfig
from cloud.storage import Database
from cloud.storage.places import Places, remember
from cloud.storage.tables import CLOUD
from protocol.rounds import RoundDescriptor, open_descriptor
from protocol.session import Closed, Enrolled, Event, PlanReceived
from tests.cloud.processes import Process
from tests.cloud.world import Phone

REFRESH_SECONDS = "0.1"


class Serving(Process):
    """A `serve` process on a free port that looks for changes all the time."""

    def __init__(self, state: Path, *options: str) -> None:
        common = ["--state", str(state), "--port", "0", "--budget", "demo", "--open-enrolment"]
        common += ["--refresh-seconds", REFRESH_SECONDS]
        super().__init__(["serve", *common, *options])
        self.pid = self._popen.pid

    @property
    def url(self) -> str:
        """Where it listens."""
        return str(self.said["url"])

    @property
    def address(self) -> tuple[str, int]:
        """The same for a socket."""
        host, _, port = self.url.removeprefix("http://").partition(":")
        return host, int(port)

    def signal(self, number: int) -> None:
        """Send a signal and go on."""
        os.kill(self.pid, number)

    def get(self, path: str) -> tuple[int, Message, str]:
        """Status, headers and body of a page."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=30) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.headers, refusal.read().decode()

    def until_ready(self, status: int = 200, reason: str = "") -> None:
        """Look at `/readyz` until it answers this."""
        while True:
            found, _, body = self.get("/readyz")
            if found == status and reason in json.loads(body).get("reason", ""):
                return

    def metric(self, name: str) -> float:
        """A counter without labels."""
        _, _, body = self.get("/metrics")
        lines = [line for line in body.splitlines() if line.startswith(f"{name} ")]
        return float(lines[0].split()[1]) if lines else 0.0


@contextlib.contextmanager
def serving(state: Path, *options: Sequence[str]) -> Iterator[list[Serving]]:
    """Processes for the time of a test, each with its own options."""
    running: list[Serving] = []
    try:
        running.extend(Serving(state, *each) for each in options)  # kept, if a later one fails
        yield running
    finally:
        for process in running:
            process.kill()


class Balancer:
    """A TCP balancer without memory: connections go to the backends in turn."""

    def __init__(self, backends: Sequence[tuple[str, int]]) -> None:
        self._turns = cycle(backends)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                incoming, _ = self._listening.accept()
            except OSError:
                return
            outgoing = socket.create_connection(next(self._turns))
            for pair in ((incoming, outgoing), (outgoing, incoming)):
                threading.Thread(target=_pump, args=pair, daemon=True).start()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


class Call:
    """One phone's session over a socket."""

    def __init__(self, url: str, phone: Phone) -> None:
        self.phone, self.session = phone, phone.session()
        address = url.replace("http", "ws") + "/v1/session"
        self._open = contextlib.ExitStack()
        wire = connect(address, compression=None, proxy=None)
        self.wire: ClientConnection = self._open.enter_context(wire)

    def until(self, *kinds: type[Event], mute: bool = False) -> Event:
        """Carry frames until an event of one of these kinds, or of the session's end; `mute` only
        listens."""
        while True:
            if not mute:
                self.send()
            for event in self.session.receive(self.wire.recv(decode=False)):
                if isinstance(event, Enrolled):
                    self.phone.device_id = event.device_id
                if isinstance(event, (*kinds, Closed)):
                    return event

    def plan(self) -> PlanReceived:
        """Up to the plan."""
        event = self.until(PlanReceived)
        assert isinstance(event, PlanReceived), event
        return event

    def send(self, most: int | None = None) -> None:
        """Send what the session has to say, or its first frames."""
        for frame in self.session.frames_to_send()[:most]:
            self.wire.send(frame)

    def leave(self) -> None:
        """Say goodbye."""
        self.session.finish()
        self.send()
        self._open.close()

    def vanish(self) -> None:
        """As a phone that loses its network."""
        self.wire.socket.shutdown(socket.SHUT_RDWR)
        self._open.close()


def usage_round(plan: PlanReceived, public_key: str) -> RoundDescriptor:
    """The open usage round of a plan."""
    opened = [open_descriptor(blob, bytes.fromhex(public_key)) for blob in plan.rounds]
    (found,) = [one for one in opened if isinstance(one, RoundDescriptor) and one.task == "usage"]
    return found


def moved_to(state: Path, url: str) -> Engine:
    """Move a state folder's database to PostgreSQL; gives an engine on it."""
    source = Database(CloudConfig(state=state).database_url)
    target = create_engine(url.replace("postgresql", "postgresql+psycopg", 1))
    with source.read() as here, target.begin() as there:
        for table in CLOUD.sorted_tables:
            rows = [dict(row) for row in here.execute(select(table)).mappings()]
            if rows:
                there.execute(table.insert(), rows)
            if "id" in table.c and rows:
                last = max(row["id"] for row in rows)
                sequence = f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), {last})"
                there.execute(text(sequence))
    source.close()
    (state / "cloud.db").unlink()
    remember(state, Places(database_url=url))
    return target


def value(engine: Engine, query: Any) -> Any:
    """One value of the database."""
    with engine.connect() as connection:
        return connection.execute(query).scalar()


def copy_of(state: Path, folder: Path) -> Path:
    """A state folder of a process of its own."""
    return Path(shutil.copytree(state, folder))
