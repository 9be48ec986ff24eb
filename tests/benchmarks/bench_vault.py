"""The sealed log beside plain SQLite in WAL mode with full sync, on the same disk in one run.

Both make every batch durable before the next; SQLite stores in clear, the log encrypts.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from device.actors import Actor, ActorSystem, LoopClock, Request
from device.vault import FolderStorage, Keyring, MemoryStorage, SealedLog, StaticProtector, Storage
from tests.benchmarks.row import Row, best_seconds

RECORDS = 60_000
BATCH = 256
"""Records made durable together."""
SINGLE = 200
"""Appends that are each durable on their own."""
VOCABULARY = 4_000
WORDS = 16
"""Words of one turn."""
SEALING_ALLOWANCE = 0.5
"""Share of plain SQLite's rate we ask of a log that also deflates and encrypts."""
SQLITE = "sqlite3 WAL, synchronous=FULL, in clear"
ASKS = 20_000


def turns(count: int) -> list[bytes]:
    """Records of about 150 bytes in a dialogue turn's shape.

    The words follow Zipf's law over 4,000 made-up ones: deflate then gains 3.2-fold, and on the
    sample dialogues in the same shape 3.1 (Chinese) to 3.3 (English).
    """
    rng = np.random.Generator(np.random.Philox(key=7))
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    words = ["".join(rng.choice(letters, size)) for size in rng.integers(2, 9, VOCABULARY)]
    weights = 1.0 / np.arange(1, VOCABULARY + 1)
    picks = rng.choice(VOCABULARY, (count, WORDS), p=weights / weights.sum())
    return [
        b'{"at":%d,"speaker":"user","session":"s%d","text":"%s"}'
        % (1_770_000_000 + 37 * n, n // 40, " ".join(words[pick] for pick in row).encode())
        for n, row in enumerate(picks)
    ]


def batches(records: list[bytes]) -> list[list[bytes]]:
    """`records` in runs of `BATCH`."""
    return [records[start : start + BATCH] for start in range(0, len(records), BATCH)]


def open_log(storage: Storage) -> SealedLog:
    """The log of these benchmarks, under a fixed key."""
    keyring = Keyring.open(storage, StaticProtector(bytes(32)), os.urandom)
    return SealedLog.open(storage, "raw", keyring, clock_now=lambda: 0.0)


def open_table(folder: Path) -> sqlite3.Connection:
    """The peer's table."""
    database = sqlite3.connect(folder / "peer.db", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE IF NOT EXISTS raw (sequence INTEGER PRIMARY KEY, payload BLOB)")
    return database


def rows() -> Iterator[Row]:
    """Rows of the vault and of the actors above it."""
    records = turns(RECORDS)
    with tempfile.TemporaryDirectory(prefix="reverie-bench-") as folder:
        yield from _on_disk(Path(folder), records)
    yield from _in_memory(records)
    yield _actors()


def _on_disk(folder: Path, records: list[bytes]) -> Iterator[Row]:
    storage = FolderStorage(folder / "vault")
    database = open_table(folder)
    ours, theirs = _fill(open_log(storage), database, records)
    yield Row(
        f"sealed log: {RECORDS:,} durable appends, {BATCH} a sync",
        RECORDS / ours,
        "records/s",
        SQLITE,
        RECORDS / theirs,
        target=SEALING_ALLOWANCE * RECORDS / theirs,
        better="high",
    )
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    kept = sum(storage.size(name) for name in storage.names())
    yield Row(
        "sealed log: bytes on disk a record",
        kept / RECORDS,
        "bytes",
        SQLITE,
        (folder / "peer.db").stat().st_size / RECORDS,
    )
    yield Row(
        "sealed log: open and read everything",
        RECORDS / best_seconds(lambda: sum(1 for _ in open_log(storage).read()), 3),
        "records/s",
        SQLITE,
        RECORDS / best_seconds(lambda: _scan(folder), 3),
        better="high",
    )
    yield Row(
        f"sealed log: open alone, {RECORDS:,} records",
        1e3 * best_seconds(lambda: open_log(storage), 5),
        "ms",
        "a log of one segment",
        1e3 * best_seconds(_opener_of_one_segment(folder / "small", records), 5),
    )
    yield _single(open_log(storage), database, records[:SINGLE])
    yield _erase(open_log(storage))
    database.close()
    storage.close()


def _fill(
    log: SealedLog, database: sqlite3.Connection, records: list[bytes]
) -> tuple[float, float]:
    """Seconds each takes for all batches, taken turn and turn about so that both meet the same
    disk."""
    ours = theirs = 0.0
    for batch in batches(records):
        start = time.perf_counter()
        log.append_many(batch)
        middle = time.perf_counter()
        database.execute("BEGIN")
        database.executemany("INSERT INTO raw (payload) VALUES (?)", ((one,) for one in batch))
        database.execute("COMMIT")
        theirs += time.perf_counter() - middle
        ours += middle - start
    log.close()
    return ours, theirs


def _opener_of_one_segment(folder: Path, records: list[bytes]) -> Callable[[], SealedLog]:
    storage = FolderStorage(folder)
    log = open_log(storage)
    log.append_many(records[:BATCH])
    log.close()
    return lambda: open_log(storage)


def _scan(folder: Path) -> int:
    database = open_table(folder)
    count = sum(1 for _ in database.execute("SELECT sequence, payload FROM raw"))
    database.close()
    return count


def _single(log: SealedLog, database: sqlite3.Connection, records: list[bytes]) -> Row:
    ours = theirs = 0.0
    for record in records:
        start = time.perf_counter()
        log.append(record)
        middle = time.perf_counter()
        database.execute("INSERT INTO raw (payload) VALUES (?)", (record,))
        theirs += time.perf_counter() - middle
        ours += middle - start
    log.close()
    name = "sealed log: one durable append"
    return Row(name, 1e6 * ours / len(records), "µs", SQLITE, 1e6 * theirs / len(records))


def _erase(log: SealedLog) -> Row:
    doomed = range(100, RECORDS, RECORDS // 20)
    start = time.perf_counter()
    erased = log.erase(doomed)
    seconds = time.perf_counter() - start
    log.close()
    return Row(f"sealed log: shred {erased} records in as many segments", 1e3 * seconds, "ms")


def _in_memory(records: list[bytes]) -> Iterator[Row]:
    storage = MemoryStorage()
    log = open_log(storage)
    for batch in batches(records)[:8]:
        log.append_many(batch)
    log.close()
    keyring = Keyring.open(storage, StaticProtector(bytes(32)), os.urandom)
    tracemalloc.start()
    held = [
        SealedLog.open(storage, "raw", keyring, clock_now=lambda: 0.0, read_only=True)
        for _ in range(100)
    ]
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    yield Row("sealed log: RAM of one held open", used / len(held), "bytes", target=2048.0)


@dataclass(frozen=True, slots=True)
class _Echo(Request[int]):
    value: int


class _Echoing(Actor):
    async def receive(self, message: object) -> object:
        return message.value if isinstance(message, _Echo) else None


def _actors() -> Row:
    """An ask against the least that asyncio can do for it: a future and a task switch each."""

    async def asking() -> float:
        system = ActorSystem(LoopClock(0.0))
        ref = system.spawn("echo", _Echoing)
        start = time.perf_counter()
        for value in range(ASKS):
            await ref.ask(_Echo(value))
        seconds = time.perf_counter() - start
        await system.stop()
        return seconds

    async def bare() -> float:
        async def echo(value: int) -> int:
            return value

        start = time.perf_counter()
        for value in range(ASKS):
            await asyncio.create_task(echo(value))
        return time.perf_counter() - start

    return Row(
        "actors: one ask",
        1e6 * asyncio.run(asking()) / ASKS,
        "µs",
        "a bare asyncio task",
        1e6 * asyncio.run(bare()) / ASKS,
    )
