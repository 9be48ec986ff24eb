"""The folder, the key, the sealed logs, the budget, the daemon: one thing broken at a time."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from device.conditions import Interval, ScriptedConditions
from device.interfaces.doctor import examine
from device.interfaces.doctor import versions as versions_check
from device.interfaces.doctor.checks import CHECKS
from device.interfaces.doctor.words import _WORDS
from device.interfaces.home import open_phone
from device.interfaces.service import serving
from device.vault import store_folder
from device.vault.anchor import anchor_file
from tests.device.interfaces.doctor.conftest import Doctored, MakePhone, with_settings


def test_a_healthy_phone_with_its_daemon(phone: Doctored, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in phone.environ.items():
        monkeypatch.setenv(name, value)

    async def examined() -> list[tuple[str, str]]:
        async with open_phone(phone.home) as opened, serving(opened, phone.home):
            report = await examine(phone.patient(), CHECKS)
        assert report.exit_code == 0
        return [(each.name, each.state) for each in report.findings]

    found = asyncio.run(examined())
    assert {state for _, state in found} == {"ok"}
    assert {"clock", "store", "key", "budget", "daemon", "idle", "cloud"} <= {n for n, _ in found}


def test_no_daemon_and_one_that_does_not_answer(phone: Doctored) -> None:
    assert phone.found("daemon").state == "warning"
    assert phone.found("daemon", environ=phone.environ | {"TERMUX_VERSION": "1"}).state == "ok"
    import fcntl

    with (store_folder(phone.home) / "lock").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        stuck = phone.found("daemon")
    assert (stuck.state, "fuser" in stuck.do) == ("fault", True)


def test_permissions(phone: Doctored) -> None:
    assert phone.found("permissions").state == "ok"
    (phone.home / "device.toml").chmod(0o644)
    assert phone.found("permissions").state == "ok", "nobody else can enter the folder"
    phone.home.chmod(0o755)
    open_ = phone.found("permissions")
    assert open_.state == "warning"
    assert "device.toml" in open_.said
    assert "chmod" in open_.do


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file away takes root")
def test_files_of_another_user(phone: Doctored) -> None:
    os.chown(phone.home / "vault.json", 12345, 12345)
    found = phone.found("permissions")
    assert (found.state, "vault.json" in found.said) == ("fault", True)


def left(megabytes: int, files: int = 1000) -> Any:
    def statvfs(path: Path) -> os.statvfs_result:
        blocks = megabytes * 10**6 // 4096
        return os.statvfs_result((4096, 4096, blocks, blocks, blocks, files, files, files, 0, 255))

    return statvfs


@pytest.mark.parametrize(("megabytes", "state"), [(1000, "ok"), (120, "warning"), (3, "fault")])
def test_space(phone: Doctored, megabytes: int, state: str) -> None:
    assert phone.found("space", statvfs=left(megabytes)).state == state


def test_no_more_files_can_be_made(phone: Doctored) -> None:
    def statvfs(path: Path) -> os.statvfs_result:
        return os.statvfs_result((4096, 4096, 10**6, 10**6, 10**6, 99, 0, 0, 0, 255))

    assert "no more files" in phone.found("space", statvfs=statvfs).said


@pytest.mark.parametrize(
    ("number", "why"),
    [(errno.ENOSPC, "no space"), (errno.EROFS, "read-only"), (errno.EIO, "rror")],
)
def test_a_disk_that_takes_nothing(
    phone: Doctored, monkeypatch: pytest.MonkeyPatch, number: int, why: str
) -> None:
    def fsync(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("device.interfaces.doctor.place.os.fsync", fsync)
    found = phone.found("writing")
    assert (found.state, why in found.said) == ("fault", True)
    assert not list(phone.home.glob(".doctor*")), "nothing is left behind"


@pytest.mark.skipif(not shutil.which("mount") or os.geteuid() != 0, reason="takes root")
def test_a_full_disk(phone: Doctored, tmp_path: Path) -> None:
    import subprocess

    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k,mode=700", "tmpfs", str(small)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount a tmpfs")
    try:
        shutil.copytree(phone.home, small / "phone")
        full = Doctored(small / "phone", tmp_path / "state")
        with pytest.raises(OSError):
            (small / "ballast").write_bytes(bytes(1 << 20))
        found = full.found("writing")
        assert (found.state, "no space" in found.said) == ("fault", True)
        assert full.found("space").state == "fault"
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_an_insecure_key_is_said(make_phone: MakePhone) -> None:
    phone = make_phone(secure=False)
    key = phone.found("key")
    assert (key.state, "rotate-keys" in key.do) == ("warning", True)
    next(phone.home.glob("*.key")).unlink()
    gone = phone.patient()
    report = asyncio.run(examine(replace(gone, protector=None, no_key="gone"), CHECKS))
    states = {each.name: each.state for each in report.findings}
    assert (states["key"], states["store"], states["budget"]) == ("fault", "unknown", "unknown")


def test_a_passphrase_not_at_hand(phone: Doctored) -> None:
    del phone.environ["REVERIE_PASSPHRASE"]
    said = json.loads(phone.command("doctor", "--json", code=1))
    found = {each["name"]: each for each in said["findings"]}
    assert found["key"]["state"] == "ok"
    assert found["store"]["state"] == "unknown"
    assert "REVERIE_PASSPHRASE" in found["store"]["do"]


def test_the_wrong_passphrase(phone: Doctored) -> None:
    phone.environ["REVERIE_PASSPHRASE"] = "another"
    shut = phone.found("store")
    assert (shut.state, "passphrase" in shut.do) == ("fault", True)


def segment(phone: Doctored, log: str) -> Path:
    return max(store_folder(phone.home).glob(f"{log}.*"), key=lambda path: path.stat().st_size)


def test_a_damaged_log_is_named(phone: Doctored) -> None:
    path = segment(phone, "raw")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    found = phone.found("store")
    assert (found.state, found.said) == ("fault", "damaged: raw")


def test_a_torn_tail_is_no_damage(phone: Doctored, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in phone.environ.items():
        monkeypatch.setenv(name, value)

    async def killed() -> None:
        """A phone whose process ended while it wrote."""
        async with open_phone(phone.home) as opened:
            await opened.record("this one is acknowledged")
            copied = phone.home.with_name("killed")
            shutil.copytree(phone.home, copied)

    asyncio.run(killed())
    torn = Doctored(phone.home.with_name("killed"), Path(phone.environ["REVERIE_STATE_HOME"]))
    with max(store_folder(torn.home).glob("raw.*"), key=lambda path: path.stat().st_mtime_ns).open(
        "ab"
    ) as file:
        file.write(b"half a frame")
    found = {each.state: each for each in torn.report().findings if each.name == "store"}
    assert set(found) == {"ok", "warning"}
    assert "12 bytes" in found["warning"].said


def test_nothing_stored_yet(make_phone: MakePhone) -> None:
    assert make_phone().found("store").said == "nothing was stored yet"


def test_a_copied_ledger_is_suspected(phone: Doctored) -> None:
    assert phone.found("budget").state == "ok"
    anchor = anchor_file(phone.home, phone.environ)
    anchor.parent.mkdir(parents=True, exist_ok=True)
    anchor.write_text(json.dumps({"head": "ab" * 32, "length": 7}))
    found = phone.found("ledger")
    assert (found.state, "restored or copied" in found.said) == ("fault", True)


def test_the_demo_budget_is_said(phone: Doctored) -> None:
    demo = with_settings(phone, budget="demo")
    found = [each for each in phone.report(settings=demo).findings if each.name == "budget"]
    assert [each.state for each in found] == ["warning", "ok"]
    assert "protects nobody" in found[0].said


def test_a_clock_behind_what_was_stored(phone: Doctored) -> None:
    found = phone.found("clock", now=time.time() - 86_400)
    assert (found.state, "behind" in found.said) == ("fault", True)


def test_conditions_of_a_script(phone: Doctored) -> None:
    script = ScriptedConditions(
        [Interval(start=0, end=9e9, idle=None, charging=False)], lambda: 12.0
    )
    states = {
        each.name: each.state
        for each in phone.report(conditions=script).findings
        if each.name in ("idle", "charging", "unmetered")
    }
    assert states == {"idle": "unknown", "charging": "ok", "unmetered": "ok"}


def test_a_package_that_is_too_old(phone: Doctored, monkeypatch: pytest.MonkeyPatch) -> None:
    real = versions_check._installed
    monkeypatch.setattr(
        versions_check, "_installed", lambda name: "0.9" if name == "numpy" else real(name)
    )
    found = phone.found("packages")
    assert (found.state, found.said) == ("fault", "missing or too old: numpy 0.9")


def test_a_service_without_its_key(phone: Doctored) -> None:
    chosen = with_settings(phone, embedder="endpoint")
    assert "REVERIE_EMBEDDER_KEY" in phone.found("services", settings=chosen).said
    keyed = phone.environ | {"REVERIE_EMBEDDER_KEY": "x"}
    report = phone.report(settings=chosen, environ=keyed)
    assert "services" not in {each.name for each in report.findings}


def test_what_it_prints_holds_no_secret(phone: Doctored) -> None:
    for arguments in (("doctor",), ("doctor", "--json")):
        said = phone.command(*arguments, code=1)
        assert "blue pot" not in said
        assert phone.environ["REVERIE_PASSPHRASE"] not in said
        assert str(phone.home) not in said
        assert json.loads((phone.home / "vault.json").read_text())["secret"] not in said


def test_it_speaks_chinese(phone: Doctored) -> None:
    phone.environ["LC_ALL"] = "zh_CN.UTF-8"
    found = phone.found("daemon")
    assert "守护进程" in found.said
    assert found.do.startswith("运行")


def test_every_line_is_there_twice() -> None:
    for code, (said, do) in _WORDS.items():
        assert all(said), code
        assert bool(do[0]) == bool(do[1]), code


def test_no_phone_here_is_exit_code_2(tmp_path: Path) -> None:
    said = Doctored(tmp_path / "nowhere", tmp_path / "state").command("doctor", code=2)
    assert "holds no phone yet" in said
    assert said.count("\n") == 1


def test_settings_that_cannot_be_read(phone: Doctored) -> None:
    (phone.home / "device.toml").write_text("poll_seconds = -1\n")
    assert "poll_seconds" in phone.command("doctor", code=2)


def test_a_check_that_hangs_or_breaks_stops_no_other(phone: Doctored) -> None:
    async def hangs(_patient: object) -> list[Any]:
        await asyncio.Event().wait()
        return []

    async def breaks(_patient: object) -> list[Any]:
        raise RuntimeError("the spare key is under the blue pot")

    checks = (("one", hangs), ("two", breaks), *CHECKS[:1])
    report = asyncio.run(examine(phone.patient(), checks, limit=0.3))
    found = {each.name: each for each in report.findings}
    assert (found["one"].state, found["two"].state) == ("unknown", "unknown")
    assert found["two"].said == "this check itself failed (RuntimeError)"
    assert found["versions"].state == "ok"


def test_a_disk_that_hangs_is_not_waited_for(
    phone: Doctored, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    free = threading.Event()

    def hangs(_path: Path) -> os.statvfs_result:
        free.wait()
        return os.statvfs("/")

    checks = tuple(check for check in CHECKS if check[0] == "space")
    report = asyncio.run(examine(phone.patient(statvfs=hangs), checks, limit=0.2))
    assert [each.state for each in report.findings] == ["unknown"]
    free.set()
