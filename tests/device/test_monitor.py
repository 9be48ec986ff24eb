"""The memory monitor: over the limit it cleans, the cheapest first, and says so (law 8)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from device.memory.records import TurnDraft
from device.monitor import BARE_PYTHON, MB, MemoryMonitor, private_bytes, steady_heap, trim_heap
from device.phone import Phone
from device.recall import layers
from tests.device.conftest import OpenPhone


class Process:
    """Private bytes as a test wants them."""

    def __init__(self, used_mb: float) -> None:
        self.used = used_mb

    def read(self) -> int:
        return BARE_PYTHON + int(self.used * MB)

    def frees(self, count: float, log: list[str], name: str) -> Callable[[], object]:
        async def clean() -> None:
            log.append(name)
            self.used -= count

        return clean


async def test_under_the_limit_nothing_is_cleaned() -> None:
    process, log = Process(49.0), list[str]()
    monitor = MemoryMonitor(50 * MB, [process.frees(9, log, "a")], process.read)  # type: ignore[list-item]
    assert not await monitor.check()
    assert not log
    assert monitor.use().cleanings == 0
    assert not monitor.use().over


async def test_cleaning_stops_as_soon_as_the_limit_is_kept() -> None:
    process, log = Process(58.0), list[str]()
    cleaners = [process.frees(9, log, "cheap"), process.frees(9, log, "dear")]
    monitor = MemoryMonitor(50 * MB, cleaners, process.read)  # type: ignore[arg-type]
    assert monitor.use().over
    assert await monitor.check()
    assert log == ["cheap"]
    assert monitor.use().cleanings == 1
    assert not monitor.use().over


async def test_what_is_needed_is_not_cleaned_again_until_it_has_grown() -> None:
    process, log = Process(60.0), list[str]()
    monitor = MemoryMonitor(50 * MB, [process.frees(1, log, "a")], process.read)  # type: ignore[list-item]
    assert await monitor.check()
    process.used = 64.5
    assert not await monitor.check()
    process.used = 65.5
    assert await monitor.check()
    assert log == ["a", "a"]


async def test_where_the_system_does_not_tell_nothing_is_watched(tmp_path: Path) -> None:
    assert private_bytes(tmp_path / "no such file") is None
    monitor = MemoryMonitor(1, [], lambda: None)
    assert not await monitor.check()
    assert monitor.use().used is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_the_reader_sees_private_memory_grow_and_shrink() -> None:
    steady_heap()
    await trim_heap()
    before = private_bytes()
    assert before is not None
    block = bytearray(b"x") * (16 * MB)
    with_block = private_bytes()
    assert with_block is not None
    assert with_block - before > 15 * MB
    del block
    await trim_heap()
    after = private_bytes()
    assert after is not None
    assert after - before < 4 * MB


async def test_a_phone_over_its_limit_lets_go_of_vectors_and_goes_on(
    open_phone: OpenPhone, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = Process(20.0)
    monkeypatch.setattr(layers, "SHARD", 64)
    phone: Phone = await open_phone(private_bytes=process.read, memory_limit_mb=30.0)
    drafts = [TurnDraft(1.7e9 + n, "user", f"note {n} about tea", "s") for n in range(200)]
    await phone.record_many(drafts)
    vectors = phone._recaller._raw._index._vectors
    assert len(vectors._rows) == 200
    process.used = 31.0
    before = await phone.recall("note 100")
    assert len(vectors._rows) == 200 - 3 * 64
    after = await phone.recall("note 100")
    assert [hit.id for hit in after.hits] == [hit.id for hit in before.hits]
    memory = (await phone.status()).memory
    assert (memory.private_mb, memory.limit_mb, memory.cleanings) == (31.0, 30.0, 1)
