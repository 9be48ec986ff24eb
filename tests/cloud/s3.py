"""An S3 server in a process of its own, on a free loopback port."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["CREDENTIALS", "s3_server"]

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "not-a-secret"}


@contextmanager
def s3_server() -> Iterator[str]:
    """Its URL; the process is ended by its id."""
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield _address(process)
    finally:
        process.terminate()
        process.communicate(timeout=30)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if found := re.search(r"Running on (http://127\.0\.0\.1:\d+)", line):
            return found[1]
    raise AssertionError(f"the S3 server did not start: {said[-2000:]}")
