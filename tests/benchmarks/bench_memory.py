"""Memory and language: sizes, speeds and how many dates come out right."""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections.abc import Iterator
from datetime import UTC
from importlib import resources
from pathlib import Path

from device.actors import ActorSystem, SystemClock
from device.memory import (
    Lookup,
    Note,
    RawMemory,
    RawStats,
    Record,
    RecordMany,
    StructuredMemory,
    TurnsAfter,
    WorkingMemory,
)
from device.memory.consolidation import Consolidator
from device.memory.dreaming import consolidate_pending
from device.memory.forgetting import ForgettingPolicy
from device.memory.records import Turn, TurnDraft
from device.vault import Keyring, MemoryStorage, SealedLog, StaticProtector
from tests.benchmarks import forgetting_replay as replayed
from tests.benchmarks.row import Row, best_seconds

SHARED_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
KEK = bytes(range(32))
TURNS = 20_000
BATCH = 64
LOOKUPS = 200
KEPT, SPACE = 0.95, 0.40
"""002: share of the useful memories kept, in this share of the space."""
LEAST_RECENT = "least recently used"


def rows() -> Iterator[Row]:
    """Every row of this room; those on public data only where it is present."""
    yield from asyncio.run(_memory())
    yield from _consolidation()
    yield from _forgetting()


def _drafts() -> list[TurnDraft]:
    text = resources.files("simulator.sample").joinpath("dialogues.jsonl").read_text("utf-8")
    sample = [json.loads(line) for line in text.splitlines()]
    return [
        TurnDraft(float(n), row["speaker"], f"{row['text']} {n}", row["session"], f"chat#{n}")
        for n, row in zip(range(TURNS), sample * (TURNS // len(sample) + 1), strict=False)
    ]


async def _memory() -> list[Row]:
    storage, bits = MemoryStorage(), random.Random(1).randbytes
    keyring = Keyring.open(storage, StaticProtector(KEK), bits)
    logs = {
        name: SealedLog.open(storage, name, keyring, clock_now=lambda: 0.0)
        for name in ("raw", "structured", "working")
    }
    system = ActorSystem(SystemClock())
    raw = system.spawn("raw", lambda: RawMemory(logs["raw"]))
    structured = system.spawn("structured", lambda: StructuredMemory(logs["structured"]))
    working = system.spawn("working", lambda: WorkingMemory(logs["working"]))
    drafts = _drafts()
    await raw.ask(RecordMany(drafts))
    turns = await raw.ask(TurnsAfter(-1, TURNS))
    size = await raw.ask(RawStats())
    for turn in turns[-200:]:
        await working.ask(Note(turn))
    await working.ask(Note(Turn("raw:0", float(TURNS), "user", "我叫林晓")))
    start = time.perf_counter()
    for _ in range(LOOKUPS):
        await working.ask(Lookup("我叫什么名字？"))
    lookup = (time.perf_counter() - start) / LOOKUPS
    scan = best_seconds(lambda: [t for t in turns if "我叫" in t.text])
    start = time.perf_counter()
    await raw.ask(Record("我明天去北京", "user", float(TURNS)))
    record = time.perf_counter() - start
    start = time.perf_counter()
    await consolidate_pending(raw, structured, working, tz=UTC)
    dream = time.perf_counter() - start
    await system.stop()
    return [
        Row("memory: RAM per turn, 20,000 turns", size.bytes_per_turn, "bytes",
            "the same turns as Python objects", sum(map(_object_bytes, turns)) / len(turns),
            target=120.0),
        Row("memory: a known value looked up, through the mailbox", lookup * 1e6, "µs",
            "scan of 20,000 turns in RAM", scan * 1e6, target=1000.0),
        Row("memory: one turn recorded while 20,000 are held (RAM disk)", record * 1e3, "ms",
            bound=50.0, target=50.0),
        Row("memory: turns consolidated a second, 20,000 held", TURNS / dream, "turns/s",
            bound=500.0, target=500.0, better="high"),
    ]  # fmt: skip


def _object_bytes(turn: Turn) -> int:
    fields = (turn.id, turn.at, turn.text, turn.source)
    return sys.getsizeof(turn) + sum(map(sys.getsizeof, fields))


def _consolidation() -> Iterator[Row]:
    turns = [
        Turn(f"raw:{n}", d.at, d.speaker, d.text, d.session, d.source)
        for n, d in enumerate(_drafts()[: 40 * BATCH])
    ]
    consolidator, worst = Consolidator([]), 0.0
    for first in range(0, len(turns), BATCH):
        start = time.perf_counter()
        consolidator.consolidate(turns[first : first + BATCH], UTC)
        worst = max(worst, time.perf_counter() - start)
    yield Row(
        "memory: longest time between two checkpoints of a dream", worst * 1e3, "ms",
        bound=1000.0, target=500.0,
    )  # fmt: skip


def _forgetting() -> Iterator[Row]:
    """Thresholds chosen on every second dialogue, figures from the others."""
    if not (SHARED_DATA / "locomo").is_dir():
        return
    dialogues = replayed.locomo(SHARED_DATA / "locomo")
    defaults = ForgettingPolicy()
    for name, law in replayed.LAWS.items():
        outcomes = {
            peer: [replayed.replay(one, law(one), score) for one in dialogues]
            for peer, score in replayed.POLICIES.items()
        }
        ours = outcomes.pop("ours")
        for peer, theirs in outcomes.items():
            yield Row(
                f"memory: later-used at hand, working set 40 % of the bytes; {name}",
                _kept_within(SPACE, ours), "share", peer, _kept_within(SPACE, theirs),
                target=KEPT, better="high",
            )  # fmt: skip
        yield Row(
            f"memory: bytes that keep 95 % at hand; {name}", _space_keeping(KEPT, ours), "share",
            LEAST_RECENT, _space_keeping(KEPT, outcomes[LEAST_RECENT]), target=SPACE,
        )  # fmt: skip
        held_back = ours[1::2]
        space = replayed.space_at(defaults.archive_below, held_back)
        yield Row(
            f"memory: working set with the default settings; {name}", space, "share",
            bound=1.0, target=SPACE,
        )  # fmt: skip
        yield Row(
            f"memory: later-used at hand or brought back by their use, same settings; {name}",
            replayed.kept_at(defaults.delete_below, held_back), "share",
            f"{LEAST_RECENT}, as many bytes, no archive",
            _kept_within(space, outcomes[LEAST_RECENT]), target=KEPT, better="high",
        )  # fmt: skip


def _kept_within(space: float, outcomes: list[replayed.Outcome]) -> float:
    threshold = replayed.threshold_within(space, outcomes[0::2])
    return replayed.kept_at(threshold, outcomes[1::2])


def _space_keeping(share: float, outcomes: list[replayed.Outcome]) -> float:
    threshold = replayed.threshold_keeping(share, outcomes[0::2])
    return replayed.space_at(threshold, outcomes[1::2])
