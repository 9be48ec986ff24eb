"""Recall: latency beside a plain BM25, evidence recall on public data, routing, local training."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from device.learning import local_update
from device.learning.mlp import clipped_gradient, loss
from device.memory import RecordMany
from device.memory.records import TurnDraft
from device.recall import Router
from device.recall.analysis import terms
from device.recall.index import Entry, LayerIndex, Ranking
from protocol.models import EMBEDDING, ROUTER, Weights, add_to_head, initial_weights
from protocol.params import Parameters
from tests.benchmarks.recall_evidence import evidence_rows
from tests.benchmarks.recall_peers import PlainBm25
from tests.benchmarks.row import Row, best_seconds
from tests.device.recall.rig import Rig, open_rig

SHARED = Path(__file__).parents[3] / "shared" / "data"
"""Public data sets beside the repository; rows that need them are left out where they are not."""
RECORDS = 10_000
QUERIES = 200
TURN_SECONDS = 30.0
DEPTH = 10
ROUTER_BOUND_MS = 5.0
"""002: the router answers in under 5 ms."""
TRAINING_BOUND_MS = 20.0
EXAMPLES = 500
EPOCHS, RATE, BATCH = 3, 0.5, 32
Array = NDArray[np.float32]


def rows() -> Iterator[Row]:
    """All rows of this room."""
    yield from asyncio.run(_latency())
    yield _routing()
    yield _training()
    if (SHARED / "locomo").is_dir():
        yield from evidence_rows(SHARED)
    if (SHARED / "madial").is_dir():
        yield _madial()


async def _latency() -> list[Row]:
    rng = np.random.Generator(np.random.Philox(key=11))
    drafts, queries = _world(rng)
    plain = PlainBm25([draft.text for draft in drafts])
    peer = [_milliseconds(partial(plain.search, query, DEPTH)) for query in queries]
    async with open_rig() as rig:
        rig.clock.at = drafts[-1].at + TURN_SECONDS
        await rig.raw.ask(RecordMany(drafts))
        start = time.perf_counter()
        await rig.recaller.catch_up()
        indexing = 1e6 * (time.perf_counter() - start) / RECORDS
        ours = [await _recall(rig, query) for query in queries]
    return [
        _beside("recall p50 at 10k records", ours, peer, 50),
        _beside("recall p95 at 10k records", ours, peer, 95),
        Row("indexing a new turn", indexing, "µs"),
    ]


async def _recall(rig: Rig, query: str) -> float:
    start = time.perf_counter()
    await rig.recaller.recall(query, DEPTH)
    return 1e3 * (time.perf_counter() - start)


def _world(rng: np.random.Generator) -> tuple[list[TurnDraft], list[str]]:
    """Turns and queries of Zipf-drawn words, half of them Chinese pairs, in sessions of 20."""
    syllables = ["ka", "lo", "mi", "ren", "su", "tav", "po", "dil", "nor", "esh"]
    words = [a + b + c for a in syllables for b in syllables for c in syllables]
    words += [chr(0x4E00 + 7 * n) + chr(0x5000 + 11 * n) for n in range(1000)]
    order = rng.permutation(len(words))

    def say(count: int) -> str:
        picks = np.minimum(rng.zipf(1.3, count) - 1, len(words) - 1)
        return " ".join(words[order[pick]] for pick in picks)

    drafts = [
        TurnDraft(1.7e9 + n * TURN_SECONDS, "user", say(14), f"s{n // 20}") for n in range(RECORDS)
    ]
    return drafts, [say(5) for _ in range(QUERIES)]


def _routing() -> Row:
    rng = np.random.Generator(np.random.Philox(key=12))
    router = Router(Parameters.of(initial_weights(ROUTER, rng), ROUTER, version=1))
    now = datetime(2026, 5, 13, tzinfo=UTC).timestamp()
    queries = [
        "我养的花",
        "the colour of my bike",
        "tell me about the cat",
        "客厅里的那盏灯",
    ]
    decided = {router.route(query, now).decided_by for query in queries}
    assert decided == {"model"}, "the slow path must be the one that is timed"
    seconds = best_seconds(lambda: [router.route(query, now) for query in queries])
    return Row(
        "routing a query, rules and model",
        1e3 * seconds / len(queries),
        "ms",
        bound=ROUTER_BOUND_MS,
        target=ROUTER_BOUND_MS,
    )


def _training() -> Row:
    rng = np.random.Generator(np.random.Philox(key=13))
    weights = initial_weights(ROUTER, rng)
    inputs = rng.normal(size=(EXAMPLES, ROUTER.layers[0])).astype(np.float32)
    labels = np.eye(3, dtype=np.float32)[rng.integers(3, size=EXAMPLES)]

    def ours() -> Array:
        order = np.random.Generator(np.random.Philox(key=14))
        return local_update(ROUTER, weights, inputs, labels, epochs=EPOCHS, lr=RATE, rng=order)

    trained = add_to_head(weights, ours(), ROUTER)
    assert loss(trained, inputs, labels, ROUTER) < loss(weights, inputs, labels, ROUTER)
    bare = best_seconds(lambda: _bare_training(weights, inputs, labels))
    return Row(
        f"local training, {EXAMPLES} examples, {EPOCHS} epochs, clipped",
        1e3 * best_seconds(ours),
        "ms",
        peer="bare numpy loop, whole net, no clipping",
        peer_value=1e3 * bare,
        target=TRAINING_BOUND_MS,
    )


def _bare_training(weights: Weights, inputs: Array, labels: Array) -> Weights:
    """The peer: the same batches through the whole net, no per-example norms."""
    current = dict(weights)
    for _ in range(EPOCHS):
        for start in range(0, EXAMPLES, BATCH):
            span = slice(start, start + BATCH)
            gradient = clipped_gradient(current, inputs[span], labels[span], ROUTER)
            for name, slope in gradient.arrays.items():
                current[name] = current[name] - np.float32(RATE) * slope
    return current


def _madial() -> Row:
    """Chinese: the memories that a dialogue so far calls for."""
    memories = [
        next(iter(json.loads(line).items()))
        for line in _lines(SHARED / "madial" / "MADial-Bench-zh-memory.json")
    ]
    index = LayerIndex(terms, dimension=EMBEDDING, ranking=Ranking())
    index.add([Entry(int(i), m["event"], 0.0, i) for i, m in memories])
    numbers = [int(i) for i, _ in memories]
    peer = PlainBm25([m["event"] for _, m in memories], _pairs)
    ours, plain = [], []
    for line in _lines(SHARED / "madial" / "MADial-Bench-zh-dialogue.json"):
        dialogue = json.loads(line)
        said = dialogue["dialogue"][1 : dialogue["test-turn"][0]]
        query = " ".join(re.sub(r"^<[^>]*>:", "", turn) for turn in said)
        wanted = set(dialogue["relevant-id"])
        found = {match.number for match in index.search(query, DEPTH)}
        ours.append(len(wanted & found) / len(wanted))
        plain.append(len(wanted & {numbers[n] for n in peer.search(query, DEPTH)}) / len(wanted))
    return Row(
        "MADial zh memory recall@10",
        float(np.mean(ours)),
        "share",
        peer="plain bigram BM25",
        peer_value=float(np.mean(plain)),
        target=float(np.mean(plain)),
        better="high",
    )


def _lines(path: Path) -> list[str]:
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _pairs(text: str) -> list[str]:
    """Words, and of Chinese the overlapping pairs."""
    found: list[str] = []
    for run in re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]+", text.lower()):
        alone = run[0].isascii() or len(run) == 1
        found += [run] if alone else [run[i : i + 2] for i in range(len(run) - 1)]
    return found


def _beside(name: str, ours: list[float], peer: list[float], percent: int) -> Row:
    return Row(
        name,
        float(np.percentile(ours, percent)),
        "ms",
        peer="plain BM25 in dicts, ranking only",
        peer_value=float(np.percentile(peer, percent)),
    )


def _milliseconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - start)
