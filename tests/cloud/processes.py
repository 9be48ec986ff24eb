"""The command line as a user runs it: real processes, ended by id."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

EXIT_SECONDS = 30.0


class Process:
    """A running `reverie-cloud` command that has announced itself as JSON."""

    def __init__(self, arguments: list[str], environment: Mapping[str, str] | None = None) -> None:
        code = "from cloud.cli import main; main()"
        # A file: a pipe that nobody reads would stop a process that has much to say.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the process)
        self._popen = subprocess.Popen(
            [sys.executable, "-c", code, *arguments, "--json"],
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"} | dict(environment or {}),
        )
        try:
            self.said: dict[str, Any] = self._announced()
        except BaseException:
            self.kill()
            raise

    @property
    def ended(self) -> bool:
        """Whether it runs no longer."""
        return self._popen.poll() is not None

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; the exit code and what was written to standard error."""
        self._popen.send_signal(number)
        self._popen.wait(EXIT_SECONDS)
        return self._popen.returncode, self._let_go()

    def kill(self) -> None:
        """End it at once if it still runs."""
        if not self.ended:
            self._popen.kill()
            self._popen.wait(EXIT_SECONDS)
        self._let_go()

    def _announced(self) -> Any:
        assert self._popen.stdout is not None
        line = self._popen.stdout.readline()
        if not line:
            self._popen.wait(EXIT_SECONDS)
            raise AssertionError(self._let_go())
        return json.loads(line)

    def _let_go(self) -> str:
        """Close the pipes; what it wrote to standard error."""
        if self._errors.closed:
            return ""
        if self._popen.stdout is not None:
            self._popen.stdout.close()
        self._errors.seek(0)
        with self._errors:
            return self._errors.read().decode(errors="replace")


@contextmanager
def running_process(*arguments: str) -> Iterator[Process]:
    """A process for the time of a test."""
    process = Process(list(arguments))
    try:
        yield process
    finally:
        process.kill()
