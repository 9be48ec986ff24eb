"""The sealed index: opening reads it back, a forgotten memory leaves it, half is not believed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

import pytest

from device.actors import SystemClock
from device.memory.records import TurnDraft
from device.phone import Phone
from device.recall import layers, shards
from device.recall.layers import RawLayer
from device.recall.parts import Part
from device.recall.shards import IndexShards
from device.vault import Keyring, MemoryStorage, SealedLog, StaticProtector
from tests.device.conftest import OpenPhone

WORDS = ["boat", "lamp", "tree", "tennis", "chess", "kettle", "violin", "harbour"]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (shards, layers):
        monkeypatch.setattr(module, "SHARD", 64)


def drafts(count: int, first: int = 0) -> list[TurnDraft]:
    return [
        TurnDraft(
            1.7e9 + n,
            "Mia" if n % 2 else "Ben",
            f"note {n} about the {WORDS[n % 8]}，第{n}天去杭州",
            f"day-{n // 10}",
        )
        for n in range(first, first + count)
    ]


def raw_layer(phone: Phone) -> RawLayer:
    return phone._recaller._raw


async def found(phone: Phone, query: str) -> Sequence[tuple[str, float]]:
    layer = raw_layer(phone)
    await layer.catch_up()
    matches = layer._index.search(query, 20)
    return [(f"raw:{m.number}", round(m.score, 4)) for m in matches]


QUERIES = ("note 77", "violin", "杭州", "Mia kettle", "zzyzx qqq")


async def test_what_is_read_back_ranks_as_what_was_built(
    open_phone: OpenPhone, monkeypatch: pytest.MonkeyPatch
) -> None:
    for resident in (0, 1_000_000):
        monkeypatch.setattr(layers, "RESIDENT", resident)
        storage = MemoryStorage()
        phone = await open_phone(storage=storage)
        await phone.record_many(drafts(300))
        built = [await found(phone, query) for query in QUERIES]
        await phone.close()
        again = await open_phone(storage=storage)
        layer = raw_layer(again)
        layer._restore()
        assert len(layer) == layer._shards.memories == 256  # type: ignore[union-attr]
        assert len(layer._index._vectors._rows) == (0 if resident == 0 else 256)
        assert [await found(again, query) for query in QUERIES] == built
        assert len(layer) == 300
        await again.close()


async def test_sessions_go_on_over_a_restart(open_phone: OpenPhone) -> None:
    storage = MemoryStorage()
    phone = await open_phone(storage=storage)
    await phone.record_many(drafts(64))
    await phone.close()
    again = await open_phone(storage=storage)
    # Turn 64 continues "day-6", whose first turns are in the shard.
    await again.record_many(drafts(2, first=64))
    numbers = [identifier for identifier, _ in await found(again, "note 60")]
    assert "raw:64" in numbers


async def test_a_forgotten_turn_leaves_its_shard_at_once(open_phone: OpenPhone) -> None:
    storage = MemoryStorage()
    phone = await open_phone(storage=storage)
    await phone.record_many(drafts(200))
    await phone._recaller.seal()
    await phone.forget(["raw:70", "raw:71"])
    held = list(raw_layer(phone)._shards.load())  # type: ignore[union-attr]
    assert [len(part) for part in held] == [64, 62, 64]
    assert not any({70, 71} & set(part.numbers.tolist()) for part in held)
    expected = [await found(phone, query) for query in QUERIES]
    await phone.close()
    again = await open_phone(storage=storage)
    assert [await found(again, query) for query in QUERIES] == expected
    assert "raw:70" not in [identifier for identifier, _ in await found(again, "note 70")]


async def test_forgetting_before_any_recall_reaches_the_sealed_index(open_phone: OpenPhone) -> None:
    storage = MemoryStorage()
    phone = await open_phone(storage=storage)
    await phone.record_many(drafts(130))
    await phone.close()
    again = await open_phone(storage=storage)
    await again.forget(["raw:3"])
    await again.close()
    third = await open_phone(storage=storage)
    parts = list(raw_layer(third)._shards.load())  # type: ignore[union-attr]
    assert [len(part) for part in parts] == [63, 64]


async def test_sealing_stops_at_a_checkpoint_and_goes_on(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    await phone.record_many(drafts(300))
    task = asyncio.create_task(phone._recaller.seal())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    layer = raw_layer(phone)
    assert layer._shards is not None
    assert 0 < layer._shards.memories < 256
    await phone._recaller.seal()
    assert layer._shards.memories == 256


class Logs:
    """Two logs over one storage, opened again at will."""

    def __init__(self) -> None:
        self.storage = MemoryStorage()

    def open(self, model: str = "one") -> IndexShards:
        keyring = Keyring.open(self.storage, StaticProtector(b"s" * 32), os.urandom)
        columns, rows = (
            SealedLog.open(
                self.storage, name, keyring, clock_now=SystemClock().now, segment_records=1
            )
            for name in ("index", "vectors")
        )
        return IndexShards(columns, rows, model)


async def part_of(phone: Phone, first: int, last: int) -> Part:
    await raw_layer(phone).catch_up()
    return raw_layer(phone)._index.extract(first, last)


async def test_vectors_of_two_embedders_are_never_mixed(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    await phone.record_many(drafts(64))
    logs = Logs()
    logs.open("one").save(await part_of(phone, 0, 64))
    assert len(list(logs.open("one").load())) == 1
    assert not list(logs.open("two").load())
    assert not list(logs.open("one").load()), "the other embedder's vectors were not shredded"


async def test_half_a_shard_is_not_believed(open_phone: OpenPhone) -> None:
    phone = await open_phone()
    await phone.record_many(drafts(128))
    logs = Logs()
    kept = logs.open()
    kept.save(await part_of(phone, 0, 64))
    kept._write(await part_of(phone, 64, 128), 64, 127)  # the power goes before it is listed
    opened = logs.open()
    assert not list(opened.load())
    assert (len(opened._columns), len(opened._rows)) == (0, 0)


async def test_an_index_of_turns_the_raw_layer_lacks_is_made_anew(open_phone: OpenPhone) -> None:
    storage = MemoryStorage()
    phone = await open_phone(storage=storage)
    await phone.record_many(drafts(130))
    await phone.close()
    again = await open_phone(storage=storage)
    layer = raw_layer(again)
    layer._restore()
    layer._through = 10_000
    assert "raw:100" in [identifier for identifier, _ in await found(again, "note 100")]
    assert len(layer) == 130
