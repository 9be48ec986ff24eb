"""`deploy/emulator/walk.sh` with a real daemon and a real adb, against an adbd of ours."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.device.conditions.adb_server import connected, own_server
from tests.device.conditions.fake_adbd import running
from tests.device.conditions.fake_emulator import Emulator

ROOT = Path(__file__).resolve().parents[3]
WALK = ROOT / "deploy" / "emulator" / "walk.sh"
SECONDS = 280


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with own_server(tmp_path_factory.mktemp("adb")):
        yield


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A phone, and `reverie-device` on the PATH."""
    folder = tmp_path_factory.mktemp("walk")
    tool = folder / "bin" / "reverie-device"
    tool.parent.mkdir()
    tool.write_text(
        f'#!{sys.executable}\nimport sys\nsys.path.insert(0, "{ROOT}")\n'
        "from device.interfaces.cli import main\nmain()\n"
    )
    tool.chmod(0o755)
    subprocess.run([tool, "init", "--home", folder / "phone"], check=True, capture_output=True)
    return folder / "phone"


def environment(home: Path) -> dict[str, str]:
    path = f"{home.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    quick = {"WALK_TRIES": "40", "WALK_PAUSE": "0.01"}
    return dict(os.environ) | quick | {"REVERIE_HOME": str(home), "PATH": path}


def walk(home: Path, serial: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(WALK), serial],
        env=environment(home) | changes,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@contextmanager
def daemon(home: Path, serial: str) -> Iterator[None]:
    """`reverie-device run --adb`, ready to answer."""
    process = subprocess.Popen(
        ["reverie-device", "run", "--adb", serial],
        env=environment(home) | {"PYTHONUNBUFFERED": "1"},
        executable=str(home.parent / "bin" / "reverie-device"),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        assert "watches over" in process.stdout.readline()
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(SECONDS)
        process.stdout.close()


def test_the_window_follows_every_step(server: None, home: Path) -> None:
    emulator = Emulator()
    with running(emulator) as adbd:
        connected(adbd.serial)
        with daemon(home, adbd.serial):
            done = walk(home, adbd.serial)
    assert done.returncode == 0, done.stderr
    steps = [line.split(":")[0] for line in done.stdout.splitlines()]
    assert steps[:5] == ["unplugged", "charging", "wi-fi", "idle", "interrupted"]
    assert done.stdout.count("window_open=yes") == 1
    assert (emulator.frozen, emulator.awake, emulator.wifi) == (False, True, True), "put back"


def test_a_daemon_that_looks_elsewhere_is_found_out(server: None, home: Path) -> None:
    emulator, other = Emulator(), Emulator()
    with running(emulator) as adbd, running(other) as watched:
        connected(adbd.serial)
        connected(watched.serial)
        with daemon(home, watched.serial):
            done = walk(home, adbd.serial, WALK_TRIES="1")
    assert done.returncode == 1
    assert "unplugged: wanted" in done.stderr
    assert not emulator.frozen, "put back all the same"


def test_a_real_phone_is_not_walked(server: None, home: Path) -> None:
    emulator = Emulator(emulated=False)
    with running(emulator) as adbd:
        connected(adbd.serial)
        done = walk(home, adbd.serial)
    assert (done.returncode, "is no emulator" in done.stderr) == (2, True)
    assert not emulator.frozen


@pytest.mark.parametrize("serial", ["$(reboot)", "-s", "a b", "emulator-5554"])
def test_what_is_no_serial_or_is_not_there(server: None, home: Path, serial: str) -> None:
    done = walk(home, serial)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
