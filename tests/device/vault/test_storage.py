"""One contract for every storage, and what only a folder can do."""

from __future__ import annotations

import errno
import os
import random
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from device.vault import (
    FolderStorage,
    MemoryStorage,
    Storage,
    StorageFull,
    StorageReadOnly,
    StoreBusy,
    VaultError,
)
from tests.device.vault.conftest import open_log
from tests.device.vault.power_loss import PowerLossStorage

Make = Callable[[Path], Storage]
MAKERS: list[Make] = [
    lambda path: FolderStorage(path / "vault"),
    lambda path: MemoryStorage(),
    lambda path: PowerLossStorage(random.Random(0)),
]


@pytest.fixture(params=MAKERS, ids=["folder", "memory", "power-loss"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    made: Storage = request.param(tmp_path)
    return made


def test_the_contract(store: Storage) -> None:
    assert store.names() == []
    store.append("raw.1", b"ab")
    store.append("raw.1", b"")
    store.append("raw.1", b"c")
    store.sync("raw.1")
    store.replace("keyring", b"k1")
    store.replace("keyring", b"k2")
    store.append("keyring", b"!")
    assert store.names() == ["keyring", "raw.1"]
    assert store.names("raw.") == ["raw.1"]
    assert store.read("raw.1") == b"abc"
    assert store.size("raw.1") == 3
    assert store.read("keyring") == b"k2!"
    store.delete("raw.1")
    store.delete("raw.1")
    assert store.names() == ["keyring"]
    for call in (store.read, store.size, store.sync):
        with pytest.raises(FileNotFoundError):
            call("raw.1")


@pytest.mark.parametrize("name", ["", "../up", "A", "a/b", ".hidden", "a" * 101])
def test_names_are_plain(tmp_path: Path, name: str) -> None:
    for storage in (MemoryStorage(), FolderStorage(tmp_path / "vault")):
        with pytest.raises(ValueError):
            storage.append(name, b"")


def test_a_folder_is_private(tmp_path: Path) -> None:
    (tmp_path / "vault").mkdir(mode=0o755)
    storage = FolderStorage(tmp_path / "vault")
    storage.append("a", b"x")
    storage.replace("b", b"x")
    assert stat.S_IMODE((tmp_path / "vault").stat().st_mode) == 0o700
    for name in ("a", "b", "lock"):
        assert stat.S_IMODE((tmp_path / "vault" / name).stat().st_mode) == 0o600


def test_one_owner_at_a_time(tmp_path: Path) -> None:
    first = FolderStorage(tmp_path)
    with pytest.raises(StoreBusy):
        FolderStorage(tmp_path)
    program = (
        "import sys, pathlib; from device.vault import FolderStorage, StoreBusy\n"
        "try: FolderStorage(pathlib.Path(sys.argv[1]))\n"
        "except StoreBusy: sys.exit(7)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    assert done.returncode == 7
    FolderStorage(tmp_path, read_only=True)
    first.close()
    FolderStorage(tmp_path).close()


def test_a_read_only_folder_is_never_written(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path, read_only=True)
    writes: list[Callable[[], None]] = [
        lambda: storage.append("a", b""),
        lambda: storage.replace("a", b""),
        lambda: storage.sync("a"),
        lambda: storage.delete("a"),
    ]
    for write in writes:
        with pytest.raises(StorageReadOnly):
            write()
    assert list(tmp_path.iterdir()) == []


def test_a_closed_folder_refuses(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path)
    storage.close()
    with pytest.raises(VaultError):
        storage.append("a", b"")


def test_many_files_do_not_hold_many_descriptors(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for n in range(100):
        storage.append(f"f{n}", b"x")
    for n in range(100):
        storage.append(f"f{n}", b"y")
        storage.sync(f"f{n}")
    assert len(list(Path("/proc/self/fd").iterdir())) - before <= 16
    assert all(storage.read(f"f{n}") == b"xy" for n in range(100))


def test_left_overs_of_a_replace_are_swept(tmp_path: Path) -> None:
    (tmp_path / "keyring.new").write_bytes(b"half")
    storage = FolderStorage(tmp_path)
    assert storage.names() == []
    assert not (tmp_path / "keyring.new").exists()


def test_files_nothing_names_are_swept(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path)
    open_log(storage).append(b"x")
    storage.append("raw.0000000000000000.seg", b"written before a crash, never named")
    storage.append("other.0000000000000000.seg", b"another log's")
    assert list(open_log(storage, seed=1).read()) == [(0, b"x")]
    assert "raw.0000000000000000.seg" not in storage.names()
    assert "other.0000000000000000.seg" in storage.names()


class Calls:
    """The order in which a storage makes things durable."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.seen: list[str] = []
        self._folder = folder
        real_sync, real_data = os.fsync, os.fdatasync

        def spy(real: Callable[[int], None]) -> Callable[[int], None]:
            def call(descriptor: int) -> None:
                target = Path(f"/proc/self/fd/{descriptor}").readlink()
                self.seen.append("folder" if target == folder else target.name)
                real(descriptor)

            return call

        monkeypatch.setattr(os, "fsync", spy(real_sync))
        monkeypatch.setattr(os, "fdatasync", spy(real_data))


def test_what_is_made_durable_and_when(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = FolderStorage(tmp_path)
    calls = Calls(monkeypatch, tmp_path)
    storage.append("a", b"x")
    assert calls.seen == []
    storage.sync("a")
    storage.append("a", b"y")
    storage.sync("a")
    assert calls.seen == ["a", "folder", "a"], "a new name needs its folder synced, once"
    calls.seen.clear()
    storage.replace("b", b"z")
    assert calls.seen == ["b.new", "folder"]
    calls.seen.clear()
    storage.delete("a")
    assert calls.seen == ["folder"]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (errno.ENOSPC, StorageFull),
        (errno.EDQUOT, StorageFull),
        (errno.EROFS, StorageReadOnly),
        (errno.EIO, VaultError),
    ],
)
def test_trouble_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, expected: type[VaultError]
) -> None:
    storage = FolderStorage(tmp_path)

    def refuse(descriptor: int, data: bytes) -> int:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "write", refuse)
    with pytest.raises(VaultError) as caught:
        storage.append("a", b"x")
    assert type(caught.value) is expected
    with pytest.raises(VaultError):
        storage.replace("a", b"x")
    assert not (tmp_path / "a.new").exists()


def test_a_full_disk_for_real(tmp_path: Path) -> None:
    """Linux's /dev/full refuses every write with ENOSPC."""
    storage = FolderStorage(tmp_path)
    (tmp_path / "raw.seg").symlink_to("/dev/full")
    with pytest.raises(StorageFull):
        storage.append("raw.seg", b"x")
