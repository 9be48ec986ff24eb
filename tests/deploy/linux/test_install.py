"""`deploy/linux`: the scripts against a fake systemctl, the units against systemd's verifier."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

LINUX = Path(__file__).resolve().parents[3] / "deploy" / "linux"
UNITS = ("reverie.service", "reverie-dream.service", "reverie-dream.timer")


class Desk:
    """A user's home with a phone in it, and fake programs that write down what they were asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.phone = folder / "phone"
        self.sys = folder / "sys"
        self.calls = folder / "calls"
        for each in (self.bin, self.phone, self.sys / "class" / "power_supply"):
            each.mkdir(parents=True)
        (self.phone / "device.toml").write_text("")
        self.protect("keyfile")
        for name in ("systemctl", "loginctl", "nmcli", "reverie-device"):
            self.tool(name)

    @property
    def units(self) -> Path:
        return self.folder / ".config" / "systemd" / "user"

    def protect(self, kind: str) -> None:
        (self.phone / "vault.json").write_text(f'{{\n  "protector": "{kind}"\n}}\n')

    def tool(self, name: str, script: str = "") -> None:
        path = self.bin / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.calls}\n{script}\n')
        path.chmod(0o755)

    def run(self, script: str, *options: str, **changes: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "HOME": str(self.folder),
            "PATH": f"{self.bin}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "REVERIE_HOME": str(self.phone),
            "REVERIE_SYS": str(self.sys),
            "REVERIE_AS_ROOT": "1",
        }
        return subprocess.run(
            ["sh", str(LINUX / script), *options],
            env=environment | changes,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def asked(self) -> str:
        return self.calls.read_text() if self.calls.exists() else ""

    def tree(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.units.iterdir())}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_daemon_twice_over(desk: Desk) -> None:
    first = desk.run("install.sh")
    assert first.returncode == 0, first.stderr
    assert set(desk.tree()) == set(UNITS)
    unit = (desk.units / "reverie.service").read_text()
    assert f"ExecStart={desk.bin}/reverie-device run" in unit
    assert f"REVERIE_HOME={desk.phone}" in unit
    assert "@" not in unit.replace("@system-service", "")
    assert "--user enable reverie.service" in desk.asked()
    assert "enable-linger" in desk.asked()
    before = desk.tree()
    assert desk.run("install.sh").returncode == 0
    assert desk.tree() == before


def test_the_timer_takes_the_daemons_place(desk: Desk) -> None:
    assert desk.run("install.sh", "--timer").returncode == 0
    asked = desk.asked()
    assert "--user disable --now reverie.service" in asked
    assert "--user enable --now reverie-dream.timer" in asked


def test_no_battery_is_said(desk: Desk) -> None:
    assert "mains count as charging" in desk.run("install.sh").stdout
    mouse = desk.sys / "class" / "power_supply" / "hid"
    mouse.mkdir()
    (mouse / "type").write_text("Battery\n")
    (mouse / "scope").write_text("Device\n")
    assert "mains count as charging" in desk.run("install.sh").stdout
    laptop = desk.sys / "class" / "power_supply" / "BAT0"
    laptop.mkdir()
    (laptop / "type").write_text("Battery\n")
    assert "mains" not in desk.run("install.sh").stdout


def test_a_dry_run_touches_nothing(desk: Desk) -> None:
    done = desk.run("install.sh", "--dry-run")
    assert done.returncode == 0
    assert "would write" in done.stdout
    assert not desk.units.exists()
    assert "enable" not in desk.asked().replace("enable-linger", "")


def test_uninstall_leaves_the_memory(desk: Desk) -> None:
    desk.run("install.sh")
    for _ in range(2):
        done = desk.run("uninstall.sh")
        assert done.returncode == 0, done.stderr
        assert list(desk.units.iterdir()) == []
    assert (desk.phone / "device.toml").exists()
    assert "not touched" in done.stdout


def test_a_passphrase_needs_a_place(desk: Desk) -> None:
    desk.protect("passphrase")
    refused = desk.run("install.sh")
    assert refused.returncode == 1
    assert "rotate-keys --to os-keyring" in refused.stderr
    secret = desk.folder / ".config" / "reverie" / "environment"
    secret.parent.mkdir(parents=True)
    secret.write_text("REVERIE_PASSPHRASE=four words in a row\n")
    secret.chmod(0o644)
    assert "chmod 600" in desk.run("install.sh").stderr
    secret.chmod(0o600)
    done = desk.run("install.sh")
    assert done.returncode == 0, done.stderr
    assert "four words" not in done.stdout + desk.asked()


def test_what_cannot_be_installed(desk: Desk) -> None:
    for options, changes, said in (
        (["--now"], {}, "unknown option"),
        ([], {"REVERIE_HOME": str(desk.folder / "elsewhere")}, "reverie-device init"),
        ([], {"REVERIE_HOME": str(desk.folder / "a b")}, "take no such path"),
        ([], {"REVERIE_PROGRAM": "/x;reboot"}, "take no such path"),
    ):
        done = desk.run("install.sh", *options, **changes)
        assert (done.returncode, said in done.stderr) == (1, True), done.stderr
        assert not desk.units.exists()
    (desk.bin / "reverie-device").unlink()
    assert "pip install" in desk.run("install.sh").stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="is no root")
def test_root_is_asked_twice(desk: Desk) -> None:
    assert "this is root" in desk.run("install.sh", REVERIE_AS_ROOT="").stderr


def test_a_user_manager_that_does_not_answer(desk: Desk) -> None:
    desk.tool("systemctl", "exit 1")
    done = desk.run("install.sh")
    assert done.returncode == 1
    assert "does not answer" in done.stdout
    assert set(desk.tree()) == set(UNITS)
    assert desk.run("uninstall.sh").returncode == 0


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd is not installed")
def test_systemd_takes_the_units(desk: Desk) -> None:
    desk.run("install.sh")
    runtime = desk.folder / "run"
    runtime.mkdir(mode=0o700)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", *(str(desk.units / u) for u in UNITS)],
        env={"HOME": str(desk.folder), "PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(runtime)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, [line for line in done.stderr.splitlines() if "reverie" in line]) == (
        0,
        [],
    ), done.stderr


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_shellcheck_finds_nothing() -> None:
    scripts = [*LINUX.glob("*.sh"), *(LINUX.parent / "emulator").glob("*.sh")]
    done = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True, check=False)
    assert (len(scripts), done.stdout) == (3, "")
