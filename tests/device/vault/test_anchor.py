"""The ledger's anchor: durable, outside the phone's folder, and never mistaken for another's."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from device.vault import StorageReadOnly
from device.vault.anchor import STATE_VARIABLE, FileAnchor, MemoryAnchor, anchor_file
from privacy.anchor import Mark

HEAD = "ab" * 32


def test_a_mark_survives_and_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "state" / "anchors" / "a.json"
    anchor = FileAnchor(path)
    assert anchor.read() is None
    anchor.write(Mark(1, HEAD))
    anchor.write(Mark(2, "cd" * 32))
    assert FileAnchor(path).read() == Mark(2, "cd" * 32)
    assert [entry.name for entry in path.parent.iterdir()] == ["a.json"]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_every_write_is_synced_before_it_takes_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """File first, then the rename, then the folder: after a power loss it is old or new, whole."""
    steps: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        steps.append("folder" if Path(f"/proc/self/fd/{descriptor}").is_dir() else "file")
        fsync(descriptor)

    def replaced(path: Path, target: Path) -> Path:
        steps.append("rename")
        return replace(path, target)

    anchor = FileAnchor(tmp_path / "a.json")
    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    anchor.write(Mark(1, HEAD))
    assert steps == ["file", "rename", "folder"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b'{"length": 1}',
        json.dumps({"head": HEAD, "length": -1}).encode(),
        json.dumps({"head": HEAD, "length": True}).encode(),
        json.dumps({"head": HEAD, "length": 1.0}).encode(),
        json.dumps({"head": HEAD.upper(), "length": 1}).encode(),
        json.dumps({"head": HEAD, "length": 1, "more": 2}).encode(),
        json.dumps({"head": HEAD, "length": 1}).encode() + b" " * 1024,
    ],
)
def test_what_is_no_mark_counts_as_none(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(body)
    assert FileAnchor(path).read() is None


def test_a_place_that_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        blocked = Path("/proc/reverie-anchors")
    else:
        blocked = tmp_path / "blocked"
        blocked.mkdir(mode=0o500)
    with pytest.raises((StorageReadOnly, FileNotFoundError)):
        FileAnchor(blocked / "anchors" / "a.json").write(Mark(1, HEAD))


def test_each_place_has_its_own_file_outside_the_phone(tmp_path: Path) -> None:
    environ = {STATE_VARIABLE: str(tmp_path / "state")}
    first = anchor_file(tmp_path / "phone", environ)
    assert first == anchor_file(tmp_path / "x" / ".." / "phone", environ)
    assert first.parent == tmp_path / "state" / "anchors"
    assert anchor_file(tmp_path / "copy", environ) != first
    usual = anchor_file(tmp_path / "phone", {})
    assert usual.name == first.name
    assert (tmp_path / "phone") not in usual.parents


def test_an_anchor_in_ram_keeps_the_last_mark() -> None:
    anchor = MemoryAnchor()
    assert anchor.read() is None
    anchor.write(Mark(3, HEAD))
    assert anchor.read() == Mark(3, HEAD)
