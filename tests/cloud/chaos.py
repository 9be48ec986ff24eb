"""A whole cloud of real processes in which anything may be killed at any moment.

What is dead is started again when the storm says so, as a supervisor would. Two worlds: one
process over SQLite, and two over PostgreSQL whose actors live on a Ray cluster.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, select, update
from sqlalchemy.exc import OperationalError

from cloud.storage.tables import rounds
from tests.cloud.postgres import PostgresServer
from tests.cloud.processes import Process
from tests.cloud.ray_head import RayHead, free_port, titles

__all__ = ["Backing", "World"]

ACTOR = re.compile(r"^ray::(.*:)?Host\b")
"""What a worker with one of our actors calls itself, idle or at work."""
LEASE = ["--tick-seconds", "0.1", "--refresh-seconds", "0.1", "--lease-seconds", "2"]


class Backing:
    """What lies behind the processes: nothing, or a PostgreSQL server and a Ray cluster."""

    def __init__(self, postgres: PostgresServer | None = None, ray: RayHead | None = None) -> None:
        self.postgres, self.ray = postgres, ray
        self.node = 0

    @property
    def options(self) -> list[str]:
        """What every `serve` is told about it."""
        if self.ray is None:
            return []
        return ["--runtime", "ray", "--ray-address", self.ray.address]

    @property
    def environment(self) -> dict[str, str]:
        """What every `serve` needs to reach it."""
        return {} if self.ray is None else self.ray.environment


class World:
    """Processes over one state folder.

    Args:
        state: of a cloud that was founded before.
        folder: of the helper and its token.
        url: the cloud's database.
        backing: see there.
    """

    def __init__(self, state: Path, folder: Path, url: str, backing: Backing) -> None:
        self.backing = backing
        self.engine: Engine = create_engine(url)
        helper_port = free_port()
        token = str(folder / "helper.token")
        common = ["--state", str(state), "--budget", "demo", "--open-enrolment", *LEASE]
        common += ["--helper", f"http://127.0.0.1:{helper_port}", "--helper-token-file", token]
        common += backing.options
        helper = ["helper", "--state", str(folder / "helper"), "--port", str(helper_port)]
        self._commands = {"helper": [*helper, "--budget", "demo", "--token-file", token]}
        serves = {"cloud": "all"} if backing.ray is None else {"cloud": "all", "gateway": "gateway"}
        self.urls = []
        for name, role in serves.items():
            port = free_port()
            self.urls.append(f"http://127.0.0.1:{port}")
            self._commands[name] = ["serve", "--role", role, "--port", str(port), *common]
        self._running: dict[str, Process] = {}
        self.kills: dict[str, int] = {}

    def found(self) -> tuple[bytes, str]:
        """The first start: trust this helper. Gives the cloud's public key and the helper's."""
        self._start("helper")
        self._start("cloud", "--new-helper")
        said = self._running["cloud"].said
        self.revive()
        return bytes.fromhex(said["public_key"]), str(said["helper_key"])

    def revive(self) -> None:
        """Start whatever is dead, the helper first: a cloud may wait for it."""
        for name in self._commands:
            process = self._running.get(name)
            if process is None or process.ended:
                self._start(name)

    def victims(self) -> list[str]:
        """What may be killed here; what is cheap to start again stands there more often."""
        if self.backing.ray is None:
            return ["cloud", "cloud", "helper"]
        often = ["actor"] * 12 + ["postgres"] * 3
        return [*often, "helper", "helper", "gateway", "gateway", "cloud", "node", "head"]

    def kill(self, victim: str, choice: float) -> None:
        """SIGKILL at whatever it is doing; `choice` in [0, 1) picks one of several."""
        ray = self.backing.ray
        match victim:
            case "actor":
                assert ray is not None
                found = sorted(titles(ray.family()).items())
                actors = [pid for pid, title in found if ACTOR.match(title)]
                if not actors:
                    return
                _sigkill(actors[int(choice * len(actors))])
            case "node":
                assert ray is not None
                ray.kill_node(self.backing.node)
                self.backing.node = ray.add_node()
            case "head":
                assert ray is not None
                ray.kill()
                ray.start()
                self.backing.node = ray.add_node()
            case "postgres":
                assert self.backing.postgres is not None
                self.backing.postgres.halt(signal.SIGQUIT)
                self.backing.postgres.resume()
            case _:
                self._running.pop(victim).kill()
        self.kills[victim] = self.kills.get(victim, 0) + 1

    def rows(self, query: Any) -> Sequence[Any]:
        """Rows of the cloud's database; none while they cannot be had."""
        try:
            with self.engine.connect() as connection:
                return connection.execute(query).all()
        except OperationalError:
            return []

    def close_rounds(self, *tasks: str) -> None:
        """Let the time of the open rounds of these tasks be over."""
        due = rounds.c.task.in_(tasks) & (rounds.c.status == "open")
        try:
            with self.engine.begin() as connection:
                connection.execute(update(rounds).where(due).values(closes=0.0))
        except OperationalError:
            return  # at the next turn, then

    def until_settled(self, patience: threading.Event, looks: int) -> None:
        """Look until no usage round is closing; fails after so many looks."""
        busy = select(rounds.c.round).where(rounds.c.task == "usage", rounds.c.status == "closing")
        closed = select(rounds.c.round).where(rounds.c.closes == 0.0, rounds.c.status == "open")
        for _ in range(looks):
            self.revive()
            if not self.rows(busy) and not self.rows(closed) and self.rows(select(rounds.c.round)):
                return
            patience.wait(0.1)
        raise AssertionError(f"stuck: {self.rows(select(rounds.c.task, rounds.c.status))}")

    def stop(self) -> None:
        """End every process."""
        for process in self._running.values():
            process.kill()
        self.engine.dispose()

    def _start(self, name: str, *more: str) -> None:
        environment = {} if name == "helper" else self.backing.environment
        self._running[name] = Process([*self._commands[name], *more], environment)


def _sigkill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
