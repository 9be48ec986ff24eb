"""Snapshots: a log whose records fold into a state stays as short as the state."""

from __future__ import annotations

import contextlib
import random

import pytest

from device.vault import MAX_PAYLOAD, MemoryStorage, StorageFull
from tests.device.vault.conftest import Recorder, open_log
from tests.device.vault.power_loss import PowerLossError, PowerLossStorage

TRIALS = 100


def records(log_of: object) -> list[tuple[int, bytes]]:
    return list(log_of.read())  # type: ignore[attr-defined]


def test_a_snapshot_replaces_all_before_it_and_keeps_counting(storage: MemoryStorage) -> None:
    log = open_log(storage)
    for number in range(30):
        log.append(b"change %d" % number)
    assert log.snapshot([b"state a", b"state b"]) == [30, 31]
    assert records(log) == [(30, b"state a"), (31, b"state b")]
    assert log.append(b"change 32") == 32
    log.close()
    again = open_log(storage, seed=1)
    assert records(again) == [(30, b"state a"), (31, b"state b"), (32, b"change 32")]
    assert len(storage.names("raw.")) <= 3


def test_an_empty_snapshot_empties_the_log(storage: MemoryStorage) -> None:
    log = open_log(storage)
    log.append(b"gone")
    assert log.snapshot([]) == []
    assert records(log) == []
    assert not storage.names("raw.")
    assert log.append(b"next") == 1


def test_what_a_snapshot_replaced_is_shredded(storage: MemoryStorage) -> None:
    log = open_log(storage)
    log.append(b"a secret of before")
    old = {name: storage.read(name) for name in storage.names("raw.")}
    log.snapshot([b"state"])
    log.close()
    for name, data in old.items():  # as if the flash had kept the old file
        storage.replace(name, data)
    again = open_log(storage, seed=1)
    assert records(again) == [(1, b"state")]
    assert not set(old) & set(storage.names("raw.")), "a file that nothing names was kept"


def test_a_refused_snapshot_leaves_the_log_as_it_was(storage: MemoryStorage) -> None:
    log = open_log(storage)
    log.append(b"kept")
    with pytest.raises(ValueError, match="at most"):
        log.snapshot([b"x", bytes(MAX_PAYLOAD + 1)])
    assert records(log) == [(0, b"kept")]


class FullStorage(MemoryStorage):
    """A store with no room for a new keyring while `full`."""

    full = False

    def replace(self, name: str, data: bytes) -> None:
        if self.full:
            raise StorageFull("no space left")
        super().replace(name, data)


def test_a_snapshot_on_a_full_disk_leaves_the_log_as_it_was() -> None:
    storage = FullStorage()
    log = open_log(storage)
    log.append(b"kept")
    storage.full = True
    with pytest.raises(StorageFull):
        log.snapshot([b"state"])
    storage.full = False
    assert records(log) == [(0, b"kept")]
    assert log.append(b"after") >= 1


def test_power_loss_leaves_the_old_state_or_the_new(recorder: Recorder) -> None:
    seen = set()
    for seed in range(TRIALS):
        rng = random.Random(seed)
        disk = PowerLossStorage(rng)
        log = open_log(disk, seed=rng.getrandbits(64))
        before = [b"change %d" % number for number in range(rng.randint(1, 20))]
        for payload in before:
            log.append(payload)
        disk.fuse = rng.randint(1, 8)
        after = [b"state %d" % number for number in range(rng.randint(0, 12))]
        with contextlib.suppress(PowerLossError):
            log.snapshot(after)
        disk = disk.after_death()
        disk.fuse = None
        found = [payload for _, payload in open_log(disk, seed=rng.getrandbits(64)).read()]
        assert found in (before, after), f"seed {seed}"
        seen.add(found == after)
    assert seen == {True, False}


class CountingStorage(MemoryStorage):
    """A store that counts the bytes read from it."""

    bytes_read = 0

    def read(self, name: str) -> bytes:
        data = super().read(name)
        if name != "keyring":
            self.bytes_read += len(data)
        return data


@pytest.mark.parametrize("segments", [5, 50])
def test_opening_reads_one_segment_however_long_the_log(segments: int) -> None:
    storage = CountingStorage()
    log = open_log(storage, segment_records=20)
    for number in range(20 * segments + 7):
        log.append(b"turn %d" % number)
    # No close: as after a kill, the last segment must be recovered.
    storage.bytes_read = 0
    again = open_log(storage, seed=1, segment_records=20)
    total = sum(storage.size(name) for name in storage.names("raw."))
    assert 0 < storage.bytes_read < 2 * total / segments
    assert len(again) == 20 * segments + 7
