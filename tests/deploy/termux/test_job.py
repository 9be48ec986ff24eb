"""What Android's scheduler and the service daemon start: one run, gated, and with an end."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.termux.fake import FakeTermux
from tests.device.conditions.test_termux import V053, WIFI

DREAMT = "dream finished"
JOB_ENVIRONMENT = ("HOME", "PATH")
"""What a job may count on; Termux starts it without a terminal and without a profile."""


@pytest.fixture
def phone(termux: FakeTermux) -> FakeTermux:
    """Installed, with a `reverie-device` that only tells how it was called."""
    termux.keep_something()
    assert termux.install().returncode == 0
    device(
        termux, 'echo "device $* gate=$REVERIE_JOB_GATE home=$REVERIE_HOME termux=$TERMUX_VERSION"'
    )
    return termux


def device(termux: FakeTermux, script: str) -> None:
    path = termux.reverie / "venv" / "bin" / "reverie-device"
    path.unlink()
    path.write_text(f"#!/bin/sh\necho $$ >> {termux.bench.children}\n{script}\n")
    path.chmod(0o755)


def shortened(termux: FakeTermux, limit: str) -> Path:
    """The job's script with another time limit."""
    script = termux.reverie / "job.sh"
    text = script.read_text()
    assert text.count("timeout -k 5 580 ") == 1, "580 s and 5 s to stop: 585 s in all"
    script.write_text(text.replace("timeout -k 5 580 ", f"timeout {limit} "))
    return script


def start(termux: FakeTermux, script: Path, **more: str) -> subprocess.Popen[bytes]:
    environment = {name: termux.environment()[name] for name in JOB_ENVIRONMENT}
    return subprocess.Popen(
        ["sh", str(script)], env=environment | more, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def ended(process: subprocess.Popen[bytes]) -> int:
    return process.wait(timeout=60)


def log(termux: FakeTermux) -> str:
    return (termux.reverie / "run.log").read_text()


def test_a_job_is_one_gated_run(phone: FakeTermux) -> None:
    assert ended(start(phone, phone.reverie / "job.sh")) == 0
    assert f"device run gate=idle,charging,unmetered home={phone.store} termux=unknown\n" in log(
        phone
    )


def test_a_second_job_beside_the_first_does_nothing(phone: FakeTermux) -> None:
    with (phone.reverie / "run.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert ended(start(phone, phone.reverie / "job.sh")) == 0
    assert not (phone.reverie / "run.log").exists()
    assert ended(start(phone, phone.reverie / "job.sh")) == 0
    assert "device run" in log(phone)


def test_a_job_ends_when_its_time_is_over(phone: FakeTermux) -> None:
    device(phone, "exec sleep 3600")
    assert ended(start(phone, shortened(phone, "-k 5 0.2"))) == 0
    assert "the time of one job is over" in log(phone)
    assert phone.bench.left_behind() == []


def test_one_that_does_not_stop_is_killed(phone: FakeTermux) -> None:
    device(phone, "trap '' TERM; while :; do sleep 1; done")
    assert ended(start(phone, shortened(phone, "-k 0.2 0.2"))) == 0
    assert "it did not stop in time and was killed" in log(phone)
    assert phone.bench.left_behind() == []


def test_a_failure_is_the_jobs_own(phone: FakeTermux) -> None:
    device(phone, "echo error: no phone; exit 1")
    assert ended(start(phone, phone.reverie / "job.sh")) == 1
    assert "error: no phone" in log(phone)


def test_the_log_does_not_grow_for_ever(phone: FakeTermux) -> None:
    path = phone.reverie / "run.log"
    path.write_text("xx" * 131_072 + "x")
    ended(start(phone, phone.reverie / "job.sh"))
    assert "x" * 16 not in path.read_text()
    assert path.with_suffix(".log.old").stat().st_size == 262_145


def test_the_poller_promises_nothing(phone: FakeTermux) -> None:
    phone.install("--mode", "poll")
    device(phone, f'echo "device $* gate=${{REVERIE_JOB_GATE-none}}" >> {phone.log}')
    service = phone.prefix / "var" / "service" / "reverie" / "run"
    assert ended(start(phone, service, REVERIE_JOB_GATE="idle,charging,unmetered")) == 0
    assert phone.noted("device") == ["device run gate=none"]


@pytest.fixture
def real(termux: FakeTermux) -> Iterator[FakeTermux]:
    """Installed, with a phone of its own, set up by the installer, that need not settle."""
    termux.bench.prints("termux-battery-status", json.dumps(V053))
    termux.bench.prints("termux-wifi-connectioninfo", json.dumps(WIFI))
    done = termux.install("--", "--timezone", "Asia/Shanghai")
    assert done.returncode == 0, done.stderr
    settings = termux.store / "device.toml"
    settings.write_text("settle_seconds = 0.0\npoll_seconds = 0.01\n" + settings.read_text())
    os.mkfifo(termux.reverie / "run.log")  # a reader waits for lines, and no test for time
    yield termux
    assert termux.bench.left_behind() == []


def stopped_at(termux: FakeTermux, word: str, times: int = 1) -> str:
    """Start the real job, stop it when it has written `word` so often; all it wrote."""
    process = start(
        termux, termux.reverie / "job.sh", REVERIE_STATE_HOME=str(termux.root / "state")
    )
    said = ""
    with (termux.reverie / "run.log").open() as lines:
        for line in lines:
            said += line
            if said.count(word) == times:
                os.killpg(os.getpgid(_timeout_of(process.pid)), signal.SIGTERM)
                said += lines.read()
                break
    ended(process)
    return said


def _timeout_of(shell: int) -> int:
    """The child of the job's shell: `timeout`, which leads the group that the run is in."""
    children = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
    return int(children[0])


def test_the_real_phone_dreams_in_the_job_and_stops_when_told(real: FakeTermux) -> None:
    said = stopped_at(real, DREAMT)
    assert "window open: idle, charging, unmetered" in said
    assert "stopped; nothing is lost" in said


def test_an_upgrade_keeps_a_real_phone(real: FakeTermux) -> None:
    stopped_at(real, DREAMT)
    kept = real.kept()
    assert any(name.startswith("vault/") for name in kept)
    done = real.install()
    assert f"the phone in {real.store} is kept as it is" in done.stdout
    assert real.kept() == kept
    assert DREAMT in stopped_at(real, DREAMT), "and it goes on"


def test_an_unplugged_phone_does_not_dream(real: FakeTermux) -> None:
    unplugged = json.dumps(V053 | {"plugged": "UNPLUGGED", "status": "DISCHARGING"})
    log = real.reverie / "run.log"
    (real.root / "unplugged").write_text(unplugged)
    real.bench.tool("termux-battery-status", f"echo asked >> {log}; cat {real.root}/unplugged")
    said = stopped_at(real, "asked", times=4)
    assert "Reverie watches over" in said
    assert "window open" not in said
    assert "stopped; nothing is lost" in said
