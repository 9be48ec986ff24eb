"""One phone with very many memories, in a process of its own so that its memory can be told.

    python -m tests.benchmarks.phone_at_scale record HOME TURNS.jsonl
    python -m tests.benchmarks.phone_at_scale ask HOME QUERIES.json

Both print one line of JSON. `record` makes a phone and keeps the turns; `ask` opens it (or one
that the command line made), recalls, and says how long that took and how much private memory the
process holds.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from device.phone import Phone

BATCH = 256
STATUS = Path("/proc/self/status")


def private_mb() -> float:
    """Anonymous resident memory of this process, in MB of 2^20 bytes."""
    line = next(row for row in STATUS.read_text().splitlines() if row.startswith("RssAnon:"))
    return int(line.split()[1]) / 1024


BARE = private_mb() if __name__ == "__main__" else 0.0
"""Read before anything of ours is imported."""


@asynccontextmanager
async def phone_in(home: Path) -> AsyncIterator[Phone]:
    """A phone as the command line opens it, without the command line in memory."""
    import numpy as np

    from device.actors import SystemClock
    from device.conditions import ScriptedConditions
    from device.monitor import private_bytes, steady_heap
    from device.phone import Machine, Phone
    from device.settings import Settings
    from device.vault import FolderStorage, protector_from_file, store_folder
    from device.vault.vault_file import VAULT_FILE

    steady_heap()
    clock = SystemClock()
    storage = FolderStorage(store_folder(home))
    machine = Machine(
        clock=clock,
        bits=os.urandom,
        storage=storage,
        protector=protector_from_file(home / VAULT_FILE, os.environ),
        conditions=ScriptedConditions.always(clock.now),
        rng=np.random.Generator(np.random.Philox(key=1)),
        private_bytes=private_bytes,
    )
    phone = await Phone.open(machine, Settings(budget="demo"))
    try:
        yield phone
    finally:
        await phone.close()
        storage.close()


async def record(home: Path, lines: Iterable[str]) -> dict[str, float]:
    """Keep turns, each a line of JSON (at, speaker, text, session)."""
    from device.memory.records import TurnDraft

    start = time.perf_counter()
    busy = time.process_time()
    async with phone_in(home) as phone:
        batch: list[TurnDraft] = []
        for line in lines:
            batch.append(TurnDraft(**json.loads(line)))
            if len(batch) == BATCH:
                await phone.record_many(batch)
                batch = []
        await phone.record_many(batch)
    return {"seconds": time.perf_counter() - start, "busy": time.process_time() - busy}


async def ask(home: Path, wanted: list[str]) -> dict[str, float]:
    """Recall every query twice: the second time is timed."""
    start = time.perf_counter()
    async with phone_in(home) as phone:
        imported = private_mb()
        hits = len((await phone.recall(wanted[0])).hits)
        first = time.perf_counter() - start
        for query in wanted:
            await phone.recall(query)
        times, busy = [], []
        for query in wanted:
            begun, worked = time.perf_counter(), time.process_time()
            await phone.recall(query)
            times.append(1e3 * (time.perf_counter() - begun))
            busy.append(1e3 * (time.process_time() - worked))
        status = await phone.status()
        times.sort()
        busy.sort()
        return {
            "turns": status.memory.turns,
            "hits": hits,
            "first": first,
            "p50": times[len(times) // 2],
            "p95": times[int(len(times) * 0.95)],
            "busy_p50": busy[len(busy) // 2],
            "busy_p95": busy[int(len(busy) * 0.95)],
            "opened_mb": imported - BARE,
            "private_mb": private_mb() - BARE,
            "cleanings": status.memory.cleanings,
        }


def main() -> None:
    """Run what the command line names."""
    job, home = sys.argv[1], Path(sys.argv[2])
    if job == "record":
        from device.vault import create_protector

        create_protector("keyfile", home, bits=os.urandom)
    with Path(sys.argv[3]).open(encoding="utf-8") as given:
        work = record(home, given) if job == "record" else ask(home, json.load(given))
        sys.stdout.write(json.dumps(asyncio.run(work)) + "\n")


if __name__ == "__main__":
    main()
