"""See and erase, with real processes: list, show, why, forget, export, restore; a warm start."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = "from device.interfaces.cli import main; main()"


class Device:
    """`reverie-device` for one folder, in one locale."""

    def __init__(self, home: Path, locale: str = "C.UTF-8") -> None:
        self.home = home
        self.environment = {**os.environ, "LC_ALL": locale}

    def run(self, command: str, *arguments: str, code: int = 0) -> tuple[str, str]:
        """(what it said, what it warned of)."""
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, command, "--home", str(self.home), *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=self.environment,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout, done.stderr

    def json(self, command: str, *arguments: str, code: int = 0) -> Any:
        return json.loads(self.run(command, *arguments, "--json", code=code)[0])

    def error(self, command: str, *arguments: str) -> str:
        """The one line of a refusal, the last thing said."""
        said = self.run(command, *arguments, code=1)[1]
        *_, last = said.rstrip("\n").split("\n")
        assert last.startswith("error: ")
        return last


@contextmanager
def daemon(device: Device, folder: Path) -> Iterator[None]:
    """The phone's daemon, its window shut: it serves, and dreams only when asked."""
    script = folder / "conditions.json"
    script.write_text('{"intervals": []}')
    arguments = ("run", "--home", str(device.home), "--conditions", str(script))
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", PROGRAM, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env=device.environment,
    )
    try:
        assert process.stdout is not None
        assert "watches over" in process.stdout.readline()
        yield
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()


def test_an_owner_sees_erases_takes_out_and_brings_back(tmp_path: Path) -> None:
    device = Device(tmp_path / "phone")
    device.run("init", "--name", "Ann Bell", "--likes", "window seats", "--timezone", "UTC")
    with daemon(device, tmp_path):
        owner_story(device, tmp_path)
    # The daemon is gone: the same commands open the phone themselves.
    assert device.json("list") == []
    device.run("record", "I live at 12 Elm Road")
    assert device.json("forget", "--query", "Elm Road", "--yes")["turns"] == 1
    files = [path.read_bytes() for path in device.home.rglob("*") if path.is_file()]
    assert all(b"Elm" not in content for content in files)


def owner_story(device: Device, folder: Path) -> None:
    # A warm start: what was told at init is known at once, and the phone says what is not.
    (liked,) = device.json("list", "--kind", "preference")
    assert (liked["object"], liked["confidence"]) == ("window seats", 1.0)
    unknown = device.json("status")["unknown"]
    assert "name" not in unknown
    assert "home" in unknown
    device.run("prefer", "I dislike coriander")

    device.run("record", "I fly to Oslo next Wednesday")
    device.run("record", "move that trip to next Thursday")
    device.run("dream", "--now")
    trip = next(i for i in device.json("list", "--kind", "event") if not i["replaced_by"])
    assert device.run("list", "--per-page", "2")[0].rstrip().endswith("--page 2")

    shown = device.json("show", trip["id"])
    assert [turn["text"] for turn in shown["sources"]] == [
        "I fly to Oslo next Wednesday", "move that trip to next Thursday",
    ]  # fmt: skip
    assert [change["action"] for change in shown["changes"]] == ["moved"]
    assert "from what you said just now" in device.run("why", trip["id"])[0]
    assert "routed by" in device.run("why", "when do I fly to Oslo?")[0]

    exported = folder / "memory.json"
    said, warned = device.run("export", str(exported))
    assert "IN CLEAR" in warned
    assert str(exported) in said.replace("\n", "")
    assert exported.stat().st_mode & 0o777 == 0o600
    assert "--force" in device.error("export", str(exported))

    # Nobody is there to ask: nothing is erased without --yes; then it is, for good.
    assert "--yes" in device.error("forget", "--query", "Oslo")
    assert device.json("forget", trip["id"], "--yes")["turns"] == 2
    assert device.json("list", "--kind", "event") == []
    assert b"Oslo" not in b"".join(p.read_bytes() for p in device.home.rglob("*") if p.is_file())

    done = device.json("restore", str(exported))
    assert (done["turns"], done["known"]) == (2, 3)
    assert device.json("restore", str(exported)) == {"turns": 0, "items": 0, "known": 5}
    back = next(i for i in device.json("list", "--kind", "event") if not i["replaced_by"])
    assert back["starts"] == trip["starts"]

    device.json("forget", "--all", "--yes")
    assert device.json("list") == []
    assert device.json("status")["memory"]["turns"] == 0
    assert "not JSON" in device.error("restore", str(device.home / "device.toml"))


def test_chinese_users_are_told_in_chinese(tmp_path: Path) -> None:
    device = Device(tmp_path / "phone", "zh_CN.UTF-8")
    device.run("init", "--name", "林晓", "--dislikes", "香菜", "--timezone", "Asia/Shanghai")
    (disliked,) = device.json("list", "--kind", "preference")
    assert disliked["action"] == "dislike"
    assert "刚才说的话" in device.run("why", disliked["id"])[0]
    said, warned = device.run("forget", "--query", "香菜", "--yes")
    assert "已永久抹去" in said
    assert "将永久抹去" in warned
