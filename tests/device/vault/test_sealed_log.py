from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device.vault import (
    MAX_PAYLOAD,
    MemoryStorage,
    SealedLog,
    StorageFull,
    StorageReadOnly,
    Tampered,
    VaultError,
    WrongKey,
)
from tests.device.vault.conftest import Recorder, open_log

CANARY = b"my sister Lin moves to Hangzhou"


def test_records_come_back_in_order(storage: MemoryStorage) -> None:
    log = open_log(storage)
    assert log.append(b"one") == 0
    assert log.append_many([b"two", b"three"]) == [1, 2]
    assert log.append_many([]) == []
    assert list(log.read()) == [(0, b"one"), (1, b"two"), (2, b"three")]
    assert list(log.read(after=1)) == [(2, b"three")]
    assert len(log) == 3


@given(st.lists(st.lists(st.binary(max_size=200), max_size=30), max_size=8), st.booleans())
def test_any_bytes_survive_reopening(batches: list[list[bytes]], clean: bool) -> None:
    storage = MemoryStorage()
    expected: list[bytes] = []
    for seed, batch in enumerate(batches):
        log = open_log(storage, seed=seed)
        log.append_many(batch)
        expected += batch
        if clean:
            log.close()
    assert list(open_log(storage, seed=99).read()) == list(enumerate(expected))


def test_a_large_record_and_a_large_batch(storage: MemoryStorage) -> None:
    log = open_log(storage, segment_records=1000)
    big = random.Random(1).randbytes(MAX_PAYLOAD)
    log.append_many([big, b"small"] * 4)
    log.append_many([b"%d" % n for n in range(5000)])
    assert len(list(log.read())) == len(log) == 5008
    with pytest.raises(ValueError, match="at most"):
        log.append(big + b"x")


def test_segments_close_by_count_and_by_age(storage: MemoryStorage) -> None:
    now = 0.0
    log = open_log(storage, now=lambda: now, segment_records=3)
    for n in range(4):
        log.append(b"%d" % n)
    assert len(storage.names("raw.")) == 2
    now = 86_400.0
    log.append(b"next day")
    assert len(storage.names("raw.")) == 3


def test_many_short_lives_do_not_leave_many_files(storage: MemoryStorage) -> None:
    for n in range(100):
        log = open_log(storage, seed=n, segment_records=1000)
        log.append(b"%d" % n)
        log.close()
    assert len(storage.names("raw.")) <= 20
    assert [payload for _, payload in open_log(storage, seed=-1).read()] == [
        b"%d" % n for n in range(100)
    ]


def test_logs_of_one_store_do_not_mix(storage: MemoryStorage) -> None:
    open_log(storage, "raw", seed=1).append(b"turn")
    open_log(storage, "raw2", seed=2).append(b"other")
    assert list(open_log(storage, "raw", seed=3).read()) == [(0, b"turn")]
    assert list(open_log(storage, "raw2", seed=4).read()) == [(0, b"other")]


def test_nothing_is_in_clear(storage: MemoryStorage) -> None:
    open_log(storage).append_many([CANARY] * 3)
    for name in storage.names():
        assert CANARY not in storage.read(name)
        assert CANARY[:8] not in storage.read(name)


def test_nonces_never_repeat(storage: MemoryStorage, recorder: Recorder) -> None:
    for life in range(20):
        log = open_log(storage, seed=life)
        log.append_many([b"x"] * (life % 12))
        if life % 3 == 0:
            log.erase(range(life))
    assert recorder.count > 40


def test_a_wrong_key_is_said_to_be_wrong(storage: MemoryStorage) -> None:
    open_log(storage).append(CANARY)
    with pytest.raises(WrongKey):
        open_log(storage, key=bytes(32))


def test_a_lost_keyring_is_not_replaced(storage: MemoryStorage) -> None:
    open_log(storage).append(CANARY)
    storage.delete("keyring")
    with pytest.raises(Tampered):
        open_log(storage)
    assert storage.names("raw.")


# -- damage


def filled(clean: bool) -> MemoryStorage:
    storage = MemoryStorage()
    log = open_log(storage, segment_records=6)
    for n in range(15):
        log.append(b"record %d" % n)
    if clean:
        log.close()
    return storage


@pytest.mark.parametrize("clean", [True, False])
def test_every_flipped_byte_is_noticed_or_a_dropped_tail(clean: bool) -> None:
    original = filled(clean)
    before = list(open_log(filled(clean)).read())
    names = original.names()
    dropped = 0
    for name in names:
        for offset in range(original.size(name)):
            storage = filled(clean)
            data = bytearray(storage.read(name))
            data[offset] ^= 0x40
            storage.replace(name, bytes(data))
            try:
                found = list(open_log(storage).read())
            except Tampered:
                continue
            assert not clean, f"a flip at {name}:{offset} went unnoticed after a clean close"
            assert found == before[: len(found)]
            assert len(found) >= 12, "a closed segment lost records"
            dropped += len(found) < len(before)
    assert clean or dropped


def test_damage_before_a_later_append_is_no_torn_tail(storage: MemoryStorage) -> None:
    log = open_log(storage)
    log.append(b"first")
    log.append(b"second")
    (name,) = storage.names("raw.")
    data = bytearray(storage.read(name))
    data[6] ^= 1  # inside the first frame, whose append was acknowledged before the second's
    storage.replace(name, bytes(data))
    with pytest.raises(Tampered):
        open_log(storage)


@pytest.mark.parametrize("keep", [0, 1, 20])
def test_a_truncated_closed_segment_is_noticed(keep: int) -> None:
    storage = filled(clean=True)
    name = storage.names("raw.")[0]
    storage.replace(name, storage.read(name)[:keep])
    with pytest.raises(Tampered):
        list(open_log(storage).read())


def test_a_missing_or_swapped_segment_is_noticed() -> None:
    storage = filled(clean=True)
    first, second, *_ = storage.names("raw.")
    storage.replace(first, storage.read(second))
    with pytest.raises(Tampered):
        list(open_log(storage).read())
    storage = filled(clean=True)
    storage.delete(storage.names("raw.")[0])
    with pytest.raises(Tampered):
        list(open_log(storage).read())


# -- trouble with the medium


class Failing(MemoryStorage):
    """Runs out of space in the middle of a write, when told to."""

    __slots__ = ("fail",)

    def __init__(self) -> None:
        super().__init__()
        self.fail = ""

    def append(self, name: str, data: bytes) -> None:
        if self.fail == "append":
            super().append(name, data[: len(data) // 2])
            raise StorageFull("full")
        super().append(name, data)

    def sync(self, name: str) -> None:
        if self.fail == "sync":
            raise StorageFull("full")
        super().sync(name)

    def replace(self, name: str, data: bytes) -> None:
        if self.fail == "replace":
            raise StorageFull("full")
        super().replace(name, data)


@pytest.mark.parametrize("where", ["append", "sync", "replace"])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_a_refused_write_leaves_the_log_as_it_was(
    where: str, count: int, recorder: Recorder
) -> None:
    storage = Failing()
    log = open_log(storage, segment_records=4)
    log.append_many([b"a", b"b", b"c", b"d"])
    storage.fail = where
    with pytest.raises(StorageFull):
        log.append_many([b"lost"] * count)
    assert [payload for _, payload in log.read()] == [b"a", b"b", b"c", b"d"]
    storage.fail = ""
    assert log.append(b"e") == 4
    assert [payload for _, payload in log.read()] == [b"a", b"b", b"c", b"d", b"e"]
    again = open_log(storage, seed=1, segment_records=4)
    assert [payload for _, payload in again.read()] == [b"a", b"b", b"c", b"d", b"e"]


def test_a_closed_or_read_only_log_refuses_writes(storage: MemoryStorage) -> None:
    log = open_log(storage)
    log.append(b"x")
    log.close()
    log.close()
    with pytest.raises(VaultError):
        log.append(b"y")
    reader = open_log(storage, seed=1, read_only=True)
    assert list(reader.read()) == [(0, b"x")]
    with pytest.raises(StorageReadOnly):
        reader.append(b"y")
    with pytest.raises(StorageReadOnly):
        reader.erase([0])


def test_reading_goes_on_through_appends_and_erases(storage: MemoryStorage) -> None:
    log = open_log(storage, segment_records=4)
    log.append_many([b"%d" % n for n in range(12)])
    seen: list[int] = []
    for sequence, _ in log.read():
        seen.append(sequence)
        if sequence == 3:
            log.erase([9])
            log.append(b"late")
    assert seen == [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12]


@pytest.mark.parametrize("name", ["", "Raw", "a.b", "../x", "a" * 33])
def test_log_names_are_plain(storage: MemoryStorage, name: str) -> None:
    with pytest.raises(ValueError):
        open_log(storage, name)


def test_a_store_opened_for_one_record_again_and_again_stays_few_files_and_few_writes() -> None:
    class Counted(MemoryStorage):
        written = 0

        def append(self, name: str, data: bytes) -> None:
            self.written += len(data) if name.endswith(".seg") else 0
            super().append(name, data)

    storage, said = Counted(), b"the dentist moved the appointment to %d o'clock on Friday"
    for time in range(400):
        log = open_log(storage, seed=time, segment_records=1000)
        log.append(said % time)
        log.close()
    assert [payload for _, payload in log.read()] == [said % time for time in range(400)]
    assert len(storage.names("raw")) < 10
    whole = sum(len(said % time) for time in range(400))
    assert sum(storage.size(name) for name in storage.names("raw")) < whole / 4
    assert storage.written < 4 * whole


def test_an_open_log_is_small_in_ram(storage: MemoryStorage) -> None:
    import tracemalloc

    def opened() -> SealedLog:
        return open_log(storage, segment_records=1000)

    opened().append_many([CANARY * 10] * 5000)
    warm: list[Callable[[], object]] = [opened]
    warm[0]()
    tracemalloc.start()
    log = opened()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(log) == 5000
    assert used < 20_000, f"{used} bytes for an open log of 5,000 records"
