"""The public layer beside a person's own memory: what a recall takes with it, and what it holds."""

from __future__ import annotations

import asyncio
import gc
import json
import random
import time
import tracemalloc
from collections.abc import Iterator
from itertools import cycle

import numpy as np

from device.memory import RecordMany
from device.memory.records import TurnDraft
from device.recall import Recaller
from device.recall.layers import Seek
from protocol.documents import describe
from protocol.facts import each_fact
from protocol.records import canonical
from tests.benchmarks.difference_versions import knowledge
from tests.benchmarks.row import Row
from tests.device.recall.rig import Rig, open_rig
from tests.device.recall.shelf import Shelf

TURNS = 2_000
QUERIES = 60
K = 5
NO_DOCUMENT_MS = 2.0
"""What a phone without a document may pay at most."""
DOCUMENT_KIB = 1024.0
"""RAM of the index of 4,000 facts."""
_MILLISECONDS = 1e3


def rows() -> Iterator[Row]:
    """All rows of this room."""
    yield from asyncio.run(_measured())


async def _measured() -> list[Row]:
    rng = random.Random(5)
    content = _facts()
    texts = [fact.text for fact in each_fact(content)]
    empty, full = Shelf(), Shelf()
    started = time.perf_counter()
    await full.layer.take(describe("places", 1, content), content, 0.0, 0.0)
    taking = (time.perf_counter() - started) * _MILLISECONDS
    full.open()  # after a restart: what was needed to take it is gone
    held, opening = _opened(full)
    own = [" ".join(rng.sample(text.split(), 6)) for text in rng.choices(texts, k=TURNS)]
    about_own = [" ".join(rng.sample(text.split(), 3)) for text in rng.sample(own, QUERIES)]
    about_all = [" ".join(rng.sample(text.split(), 3)) for text in rng.sample(texts, QUERIES)]
    async with open_rig() as rig:
        await rig.raw.ask(
            RecordMany([TurnDraft(rig.clock.at + n, "user", text) for n, text in enumerate(own)])
        )
        ways = {"none": _recaller(rig, None), "empty": _recaller(rig, empty)}
        ways["full"] = _recaller(rig, full)
        on_own = await _times(ways, about_own)
        on_all = await _times(ways, about_all)
    what = f"recall, {TURNS:,} turns"
    return [
        Row(
            f"{what}, no public document",
            on_own["empty"],
            "ms",
            "without the layer",
            on_own["none"],
            target=on_own["none"] + NO_DOCUMENT_MS,
        ),
        Row(
            f"{what}, {len(texts):,} public facts, asked of the own memory",
            on_own["full"],
            "ms",
            "without the layer",
            on_own["none"],
        ),
        Row(
            f"{what}, {len(texts):,} public facts, asked of the facts",
            on_all["full"],
            "ms",
            "without the layer",
            on_all["none"],
        ),
        Row("public layer, RAM of 4,000 facts", held, "KiB", bound=len(content) / 1024,
            target=DOCUMENT_KIB),
        Row("public layer, first question after a restart", opening, "ms"),
        Row("public layer, to take 4,000 facts, idle", taking, "ms"),
    ]  # fmt: skip


def _facts() -> bytes:
    """The directory of 4,000 places of the other rows, as facts."""
    records = [json.loads(line) for line in next(iter(knowledge())).base.splitlines()]
    return canonical(
        {"id": str(record["id"]), "text": record["text"], "language": "en"} for record in records
    )


def _opened(shelf: Shelf) -> tuple[float, float]:
    """KiB that the layer holds once it has answered, and the milliseconds of that first answer."""
    gc.collect()
    started = time.perf_counter()
    shelf.layer.search(Seek("nothing", "nothing"), K)
    opening = (time.perf_counter() - started) * _MILLISECONDS
    shelf.layer.release()
    gc.collect()
    tracemalloc.start()
    shelf.layer.search(Seek("nothing", "nothing"), K)
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / 1024, opening


def _recaller(rig: Rig, shelf: Shelf | None) -> Recaller:
    public = shelf.layer if shelf is not None else None
    return Recaller(
        rig.raw, rig.structured, rig.working, lambda: rig.router, rig.clock, public=public
    )


async def _times(ways: dict[str, Recaller], queries: list[str]) -> dict[str, float]:
    """Median milliseconds of each way, asked in turn: a busy machine is busy for all of them. Each
    asks twice and the second counts, so that none profits from what another left in the caches."""
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for query, _ in zip(cycle(queries), range(3 * len(queries)), strict=False):
        for name, recaller in ways.items():
            await recaller.recall(query, K)
            started = time.perf_counter()
            await recaller.recall(query, K)
            taken[name].append((time.perf_counter() - started) * _MILLISECONDS)
    return {name: float(np.median(values)) for name, values in taken.items()}
