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
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from device.actors import Actor, ActorSystem, LoopClock, Request
from device.vault import FolderStorage, Keyring, MemoryStorage, SealedLog, StaticProtector, Storage
from tests.benchmarks.row import Row, best_seconds

RECORDS = 60_000
BATCH = 256
"""Records made durable together."""
SINGLE = 200
"""Appends that are each durable on their own."""
SQLITE = "sqlite3 WAL, synchronous=FULL, in clear"
ASKS = 20_000


def turn(number: int) -> bytes:
    """A record of about 150 bytes, in the shape and with the repetition of a dialogue turn."""
    return (
        b'{"at":%d,"speaker":"user","session":"s%d","text":"On day %d I asked Lin about the trip '
        b'to Hangzhou, and she said gate %d at %d past nine."}'
        % (1_770_000_000 + 37 * number, number // 40, number % 365, number % 97, number % 60)
    )


TURNS = [turn(number) for number in range(RECORDS)]
BATCHES = [TURNS[start : start + BATCH] for start in range(0, RECORDS, BATCH)]


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
    with tempfile.TemporaryDirectory(prefix="reverie-bench-") as folder:
        yield from _on_disk(Path(folder))
    yield from _in_memory()
    yield _actors()


def _on_disk(folder: Path) -> Iterator[Row]:
    storage = FolderStorage(folder / "vault")
    database = open_table(folder)
    ours, theirs = _fill(open_log(storage), database)
    yield Row(
        f"sealed log: {RECORDS:,} durable appends, {BATCH} a sync",
        RECORDS / ours,
        "records/s",
        SQLITE,
        RECORDS / theirs,
        target=0.8 * RECORDS / theirs,
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
    yield _single(open_log(storage), database)
    yield _erase(open_log(storage))
    database.close()
    storage.close()


def _fill(log: SealedLog, database: sqlite3.Connection) -> tuple[float, float]:
    """Seconds each takes for all batches, taken turn and turn about so that both meet the same
    disk."""
    ours = theirs = 0.0
    for batch in BATCHES:
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


def _scan(folder: Path) -> int:
    database = open_table(folder)
    count = sum(1 for _ in database.execute("SELECT sequence, payload FROM raw"))
    database.close()
    return count


def _single(log: SealedLog, database: sqlite3.Connection) -> Row:
    ours = theirs = 0.0
    for record in TURNS[:SINGLE]:
        start = time.perf_counter()
        log.append(record)
        middle = time.perf_counter()
        database.execute("INSERT INTO raw (payload) VALUES (?)", (record,))
        theirs += time.perf_counter() - middle
        ours += middle - start
    log.close()
    name = "sealed log: one durable append"
    return Row(name, 1e6 * ours / SINGLE, "µs", SQLITE, 1e6 * theirs / SINGLE)


def _erase(log: SealedLog) -> Row:
    doomed = range(100, RECORDS, RECORDS // 20)
    start = time.perf_counter()
    erased = log.erase(doomed)
    seconds = time.perf_counter() - start
    log.close()
    return Row(f"sealed log: shred {erased} records in as many segments", 1e3 * seconds, "ms")


def _in_memory() -> Iterator[Row]:
    storage = MemoryStorage()
    log = open_log(storage)
    for batch in BATCHES[:8]:
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
