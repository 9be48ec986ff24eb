"""Key rotation: section E's keys, changed without a moment in which nothing opens the store."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
from pathlib import Path
from typing import cast

import pytest

from device.vault import (
    FolderStorage,
    Keyring,
    MemoryStorage,
    SealedLog,
    StaticProtector,
    StoreBusy,
    Tampered,
    VaultError,
    WrongKey,
    create_protector,
    protector_from_file,
    rotate_keys,
    store_folder,
)
from device.vault.vault_file import VAULT_FILE, ProtectorKind
from tests.device.vault.conftest import Recorder, open_log
from tests.device.vault.power_loss import PowerLossError, PowerLossStorage

RECORDS = [b"turn %d" % number for number in range(60)]
TRIALS = 60


def phone(folder: Path) -> None:
    """A phone with three segments in two logs, its key in a file."""
    create_protector("keyfile", folder, bits=os.urandom)
    storage = FolderStorage(store_folder(folder))
    keyring = Keyring.open(storage, protector_from_file(folder / VAULT_FILE), os.urandom)
    for name in ("raw", "structured"):
        log = SealedLog.open(storage, name, keyring, clock_now=lambda: 0.0, segment_records=25)
        for payload in RECORDS:
            log.append(payload)
        log.close()
    storage.close()


def rotate(folder: Path, kind: ProtectorKind = "keyfile", passphrase: str = "") -> dict[str, int]:
    protector = protector_from_file(folder / VAULT_FILE)
    made = rotate_keys(
        folder, protector, kind, bits=os.urandom, clock_now=lambda: 0.0, passphrase=passphrase
    )
    return dict(made)


def contents(folder: Path, passphrase: str = "") -> dict[str, list[bytes]]:
    storage = FolderStorage(store_folder(folder))
    try:
        protector = protector_from_file(folder / VAULT_FILE, {"REVERIE_PASSPHRASE": passphrase})
        keyring = Keyring.open(storage, protector, os.urandom)
        return {
            name: [
                payload
                for _, payload in SealedLog.open(
                    storage, name, keyring, clock_now=lambda: 0.0
                ).read()
            ]
            for name in keyring.logs
        }
    finally:
        storage.close()


def test_rotation_keeps_every_record_and_leaves_no_old_key(tmp_path: Path) -> None:
    phone(tmp_path)
    store = store_folder(tmp_path)
    (old_secret,) = tmp_path.glob("*.key")
    key = old_secret.read_bytes()
    old_files = {path.name: path.read_bytes() for path in store.iterdir()}
    assert rotate(tmp_path) == {"raw": 3, "structured": 3}
    assert contents(tmp_path) == {"raw": RECORDS, "structured": RECORDS}
    assert not old_secret.exists()
    kept = {path.name for path in store.glob("*.seg")} & set(old_files)
    assert not kept, "a segment under an old key is still there"
    # Whoever copied the old secret opens the new keyring with it no more.
    with pytest.raises(WrongKey):
        Keyring.open(FolderStorage(store, read_only=True), KeyOf(key), os.urandom)


class KeyOf(StaticProtector):
    name = "keyfile"


def test_a_key_file_can_become_a_passphrase_and_back(tmp_path: Path) -> None:
    phone(tmp_path)
    rotate(tmp_path, "passphrase", "correct horse")
    assert not list(tmp_path.glob("*.key"))
    assert contents(tmp_path, "correct horse") == {"raw": RECORDS, "structured": RECORDS}
    with pytest.raises(WrongKey):
        contents(tmp_path, "wrong horse")
    protector = protector_from_file(tmp_path / VAULT_FILE, {"REVERIE_PASSPHRASE": "correct horse"})
    list(rotate_keys(tmp_path, protector, "keyfile", bits=os.urandom, clock_now=lambda: 0.0))
    assert contents(tmp_path) == {"raw": RECORDS, "structured": RECORDS}


def test_rotation_waits_for_no_daemon(tmp_path: Path) -> None:
    phone(tmp_path)
    storage = FolderStorage(store_folder(tmp_path))
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(StoreBusy):
        rotate(tmp_path)
    storage.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert contents(tmp_path)["raw"] == RECORDS


def test_a_rotation_killed_anywhere_can_be_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store and vault.json agree after every durable step, whichever was the last."""
    steps = 0

    class StoppedError(BaseException):
        pass

    def counted(name: str) -> None:
        real = getattr(FolderStorage, name)

        def stopping(self: FolderStorage, *arguments: object) -> object:
            nonlocal steps
            if steps == 0:
                raise StoppedError
            steps -= 1
            return real(self, *arguments)

        monkeypatch.setattr(FolderStorage, name, stopping)

    phone(tmp_path)
    for name in ("append", "sync", "replace", "delete"):
        counted(name)
    for last in range(200):
        steps = last
        try:
            rotate(tmp_path)
            break
        except StoppedError:
            steps = 10_000
            assert contents(tmp_path) == {"raw": RECORDS, "structured": RECORDS}, last
    else:
        pytest.fail("the rotation never ended")
    assert last > 20
    steps = 10_000
    assert contents(tmp_path) == {"raw": RECORDS, "structured": RECORDS}


def test_rekeying_survives_power_loss(recorder: Recorder) -> None:
    for seed in range(TRIALS):
        rng = random.Random(seed)
        disk = PowerLossStorage(rng)
        log = open_log(disk, seed=rng.getrandbits(64))
        for payload in RECORDS[:30]:
            log.append(payload)
        disk.fuse = rng.randint(1, 20)
        with contextlib.suppress(PowerLossError):
            log.rekey()
        disk = disk.after_death()
        disk.fuse = None
        again = open_log(disk, seed=rng.getrandbits(64))
        assert [payload for _, payload in again.read()] == RECORDS[:30], f"seed {seed}"
        assert again.rekey() >= 4
        assert [payload for _, payload in again.read()] == RECORDS[:30], f"seed {seed}"


def test_every_segment_gets_a_fresh_key(storage: MemoryStorage) -> None:
    log = open_log(storage)
    for payload in RECORDS[:20]:
        log.append(payload)
    log.close()
    before = {one.key for one in Keyring.open(storage, STATIC, os.urandom).log("raw").segments}
    again = open_log(storage, seed=1)
    assert again.rekey() == len(before) == 3
    again.close()
    after = {one.key for one in Keyring.open(storage, STATIC, os.urandom).log("raw").segments}
    assert len(after) == 3
    assert not before & after


STATIC = StaticProtector(bytes(range(32)))


@pytest.mark.parametrize("where", range(0, 400, 7))
def test_a_keyring_head_altered_and_digested_anew_is_refused(
    storage: MemoryStorage, where: int
) -> None:
    """The digest is no secret: whoever alters the head can repair it, and must not crash us."""
    Keyring.open(storage, STATIC, random.Random(1).randbytes)
    sealed = bytearray(storage.read("keyring")[:-8])
    sealed[where % len(sealed)] ^= 0x41
    storage.replace("keyring", bytes(sealed) + hashlib.sha256(sealed).digest()[:8])
    with pytest.raises(VaultError) as caught:
        Keyring.open(storage, STATIC, random.Random(2).randbytes)
    assert isinstance(caught.value, cast("tuple[type, ...]", (Tampered, WrongKey)))
