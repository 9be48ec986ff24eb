"""The command line as a user runs it: real processes, ended by id."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

EXIT_SECONDS = 30.0


class Process:
    """A running `reverie-cloud` command that has announced itself as JSON."""

    def __init__(self, arguments: list[str]) -> None:
        code = "from cloud.cli import main; main()"
        self._popen = subprocess.Popen(
            [sys.executable, "-c", code, *arguments, "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        assert self._popen.stdout is not None
        line = self._popen.stdout.readline()
        if not line:
            raise AssertionError(self._popen.communicate()[1])
        self.said: dict[str, Any] = json.loads(line)

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; the exit code and what was written to standard error."""
        self._popen.send_signal(number)
        _, errors = self._popen.communicate(timeout=EXIT_SECONDS)
        return self._popen.returncode, errors

    def kill(self) -> None:
        """End it at once if it still runs."""
        if self._popen.poll() is None:
            self._popen.kill()
            self._popen.communicate()


@contextmanager
def running_process(*arguments: str) -> Iterator[Process]:
    """A process for the time of a test."""
    process = Process(list(arguments))
    try:
        yield process
    finally:
        process.kill()
