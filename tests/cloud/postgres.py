"""A PostgreSQL server of the test session's own: a temporary folder, a unix socket, no port."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import Any

from sqlalchemy import URL, create_engine, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

__all__ = ["INSTALL", "PostgresServer", "programs"]

INSTALL = "apt-get install -y --no-install-recommends postgresql"
_TEMPLATE = "template_migrated"
_TRIES = 600


def programs() -> Path | None:
    """The folder of the newest server's programs; None when there is none."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda each: int(each.parts[-3])
    )
    if found:
        return found[-1].parent
    on_path = shutil.which("postgres")
    return Path(on_path).parent if on_path else None


class PostgresServer:
    """Started when made; `stop` ends the process and removes its folder.

    Args:
        durable: keep fsync, as an operator would; else commits are only as fast as memory.
    """

    def __init__(self, *, durable: bool = False) -> None:
        where = programs()
        assert where is not None, f"no PostgreSQL: {INSTALL}"
        self.programs = where
        # A short path of its own: a socket's name has some 100 bytes, and the server must enter.
        self.folder = Path(tempfile.mkdtemp(prefix="pg-"))
        self._user = _unprivileged()
        if self._user:
            shutil.chown(self.folder, self._user)
        self._run("initdb", "-D", str(self.folder / "data"), "-A", "trust", "-U", "tester", "-N")
        settings = ["listen_addresses=", f"unix_socket_directories={self.folder}"]
        settings += ["max_connections=100", "shared_buffers=32MB"]
        settings += [] if durable else ["fsync=off", "full_page_writes=off"]
        self._flags = [flag for setting in settings for flag in ("-c", setting)]
        self._log = (self.folder / "log").open("wb")
        self._template_made = False
        self.resume()

    def resume(self) -> None:
        """Start the process, again after `halt`."""
        self._process = subprocess.Popen(
            [str(self.programs / "postgres"), "-D", str(self.folder / "data"), *self._flags],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            **self._as_user(),
        )
        try:
            self._wait()
        except BaseException:
            self.stop()
            raise

    def halt(self, number: int = signal.SIGINT) -> None:
        """End the process by its id, cutting off every session; what it wrote stays. SIGINT is
        its "fast" end, SIGQUIT its "immediate" one, as after a loss of power."""
        if self._process.poll() is None:
            self._process.send_signal(number)
            self._process.wait(30)

    def url(self, name: str) -> str:
        """The URL of one of its databases."""
        socket = {"host": str(self.folder)}
        made = URL.create("postgresql", username="tester", database=name, query=socket)
        return made.render_as_string(hide_password=False)

    def database(self, like: str = "template1") -> str:
        """A new database, a copy of ``like``; gives its URL."""
        name = f"t{uuid.uuid4().hex[:12]}"
        self._sql(f'CREATE DATABASE "{name}" TEMPLATE "{like}"')
        return self.url(name)

    def migrated(self) -> str:
        """A new database with the cloud's tables; migrated once, copied ever after."""
        if not self._template_made:
            from cloud.storage import Database

            self._sql(f'CREATE DATABASE "{_TEMPLATE}"')
            Database(self.url(_TEMPLATE)).close()
            self._template_made = True
        return self.database(_TEMPLATE)

    def drop(self, url: str) -> None:
        """Remove a database, whoever still has it open."""
        self._sql(f'DROP DATABASE "{_name(url)}" WITH (FORCE)')

    def disconnect(self) -> None:
        """End everybody's sessions, as a restart does."""
        self._sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type ="
            " 'client backend' AND pid <> pg_backend_pid()"
        )

    def program(self, name: str, *arguments: str) -> None:
        """Run one of PostgreSQL's own programs."""
        self._run(name, *arguments)

    def stop(self) -> None:
        """End the server by its process id and remove what it wrote."""
        self.halt()
        self._log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait(self) -> None:
        for _ in range(_TRIES):
            assert self._process.poll() is None, (self.folder / "log").read_text()[-2000:]
            try:
                self._sql("SELECT 1")
            except OperationalError:
                # Paced by the clock of the child: its own tool waits a moment for us.
                subprocess.run(
                    [self.programs / "pg_isready", "-q", "-t", "1", "-h", self.folder], check=False
                )
            else:
                return
        raise TimeoutError((self.folder / "log").read_text()[-2000:])

    def _sql(self, statement: str) -> None:
        url = self.url("postgres").replace("postgresql", "postgresql+psycopg", 1)
        engine = create_engine(url, isolation_level="AUTOCOMMIT", poolclass=NullPool)
        with engine.connect() as connection:
            connection.execute(text(statement))

    def _run(self, name: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self.programs / name), *arguments],
            capture_output=True,
            text=True,
            check=False,
            **self._as_user(),
        )
        assert done.returncode == 0, f"{name}: {done.stderr[-2000:]}"

    def _as_user(self) -> dict[str, Any]:
        """The server refuses to run as root."""
        env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}
        common: dict[str, Any] = {"cwd": self.folder, "env": env}
        if self._user is None:
            return common
        group = pwd.getpwnam(self._user).pw_gid
        return common | {"user": self._user, "group": group, "extra_groups": []}


def _name(url: str) -> str:
    return url.rpartition("/")[2].partition("?")[0]


def _unprivileged() -> str | None:
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    raise AssertionError("PostgreSQL refuses to run as root and there is no other user")
