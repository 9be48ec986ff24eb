"""Debian's own adb, with a server of the test's own: its port, its home, its end."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["connected", "connecting", "own_server"]

SECONDS = 30


@contextmanager
def own_server(home: Path) -> Iterator[None]:
    """adb with a server nobody else uses; skips where there is no adb."""
    if shutil.which("adb") is None:
        pytest.skip("adb is not installed: apt-get install -y adb")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANDROID_ADB_SERVER_PORT", port)
        patch.setenv("HOME", str(home))
        patch.setenv("ADB_MDNS", "0")
        patch.delenv("ANDROID_SERIAL", raising=False)
        try:
            _adb("start-server")
            yield
        finally:
            _adb("-P", port, "kill-server")


def connected(serial: str) -> str:
    """Tell the server of a phone; what it said."""
    return _adb("connect", serial)


@contextmanager
def connecting(serial: str) -> Iterator[None]:
    """`adb connect` to a phone that lets nobody in: it would wait for ten seconds."""
    asking = subprocess.Popen(["adb", "connect", serial], stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        asking.kill()
        asking.wait()


def _adb(*arguments: str) -> str:
    done = subprocess.run(
        ["adb", *arguments], capture_output=True, text=True, timeout=SECONDS, env=dict(os.environ)
    )
    return done.stdout + done.stderr
