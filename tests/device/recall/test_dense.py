"""A chosen embedder's vectors: made when idle, sealed, never mixed, never waited for long."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from device.memory.records import TurnDraft
from device.phone import Phone
from device.recall import dense as room
from device.recall.dense import DenseIndex
from device.recall.embedders import EmbedderError
from device.vault import MemoryStorage
from tests.device.conftest import OpenPhone

MEANINGS = {"physician": 0, "doctor": 0, "feline": 1, "cat": 1, "医生": 0, "猫": 1}


class Meanings:
    """Knows which words mean the same; everything else is noise."""

    leaves_phone = ""

    def __init__(self, name: str = "meanings", dimension: int = 8) -> None:
        self.name = name
        self.dimension = dimension
        self.asked = 0
        self.fails = False
        self.hangs = False

    async def embed_many(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += len(texts)
        if self.hangs:
            await asyncio.Event().wait()
        if self.fails:
            raise EmbedderError("the model is away")
        vectors = np.full((len(texts), self.dimension), 0.01, np.float32)
        for row, text in enumerate(texts):
            for word, axis in MEANINGS.items():
                if word in text:
                    vectors[row, axis] = 1.0
        units: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return units

    async def close(self) -> None:
        self.closed = True


SAID = [
    "my physician moved to Elm Road",
    "the feline sleeps all day",
    "loading…",
    "we bought a kettle",
    "the harbour was full of boats",
]


async def filled(open_phone: OpenPhone, embedder: Meanings, storage: MemoryStorage) -> Phone:
    phone = await open_phone(storage=storage, embedder=embedder, embedder_seconds=0.01)
    kinds = ["dialogue", "dialogue", "system", "dialogue", "dialogue"]
    drafts = [
        TurnDraft(1.7e9 + 9e4 * n, "user", text, f"s{n}", "", kind)
        for n, (text, kind) in enumerate(zip(SAID, kinds, strict=True))
    ]
    await phone.record_many(drafts)
    return phone


def dense(phone: Phone) -> DenseIndex:
    assert phone._dense is not None
    return phone._dense


async def best(phone: Phone, query: str) -> str:
    answer = await phone.recall(query)
    return answer.hits[0].text if answer.hits else ""


async def test_meaning_is_found_where_no_word_is_shared(open_phone: OpenPhone) -> None:
    embedder = Meanings()
    phone = await filled(open_phone, embedder, MemoryStorage())
    assert embedder.asked == 0, "vectors are made by an idle phone, not by whoever records"
    await phone.dream()
    assert len(dense(phone)) == 4
    assert await best(phone, "which doctor 医生") == SAID[0]
    assert (await phone.status()).embedder.name == "meanings"


async def test_vectors_are_made_once_and_sealed(open_phone: OpenPhone) -> None:
    storage, embedder = MemoryStorage(), Meanings()
    phone = await filled(open_phone, embedder, storage)
    await phone.dream()
    await phone.close()
    again = Meanings()
    phone = await open_phone(storage=storage, embedder=again)
    await phone.dream()
    assert (again.asked, dense(phone).through) == (0, 4)
    assert [number for number, _ in await dense(phone).near("the cat 猫", 1)] == [1]


async def test_vectors_of_two_models_are_never_mixed(open_phone: OpenPhone) -> None:
    for other in (Meanings("another"), Meanings("meanings", dimension=9)):
        storage = MemoryStorage()
        phone = await filled(open_phone, Meanings(), storage)
        await phone.dream()
        await phone.close()
        phone = await open_phone(storage=storage, embedder=other)
        assert not await dense(phone).near("cat", 5)
        assert len(phone._logs["embeddings"]) == 0, "the other model's vectors stay behind"
        await phone.dream()
        assert other.asked == 4
        await phone.close()


async def test_a_query_never_waits_long_and_goes_on_with_words(open_phone: OpenPhone) -> None:
    embedder = Meanings()
    phone = await filled(open_phone, embedder, MemoryStorage())
    await phone.dream()
    embedder.hangs = True
    assert await best(phone, "the kettle") == SAID[3]
    assert "0.01 s" in (await phone.status()).embedder.trouble
    embedder.hangs, embedder.fails = False, True
    assert await best(phone, "the kettle") == SAID[3]
    assert (await phone.status()).embedder.trouble == "the model is away"
    embedder.fails = False
    await phone.recall("the kettle")
    assert (await phone.status()).embedder.trouble == ""


async def test_a_failing_model_ends_the_filling_and_the_next_dream_goes_on(
    open_phone: OpenPhone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "BATCH", 2)
    embedder = Meanings()
    phone = await filled(open_phone, embedder, MemoryStorage())
    embedder.fails = True
    assert (await phone.dream()).consolidated > 0
    assert len(dense(phone)) == 0
    embedder.fails = False
    await phone.dream()
    assert len(dense(phone)) == 4


async def test_a_forgotten_turn_leaves_no_vector(open_phone: OpenPhone) -> None:
    storage = MemoryStorage()
    phone = await filled(open_phone, Meanings(), storage)
    await phone.dream()
    await phone.forget(["raw:1"])
    assert len(dense(phone)) == 3
    assert 1 not in [number for number, _ in await dense(phone).near("the cat", 10)]
    await phone.close()
    phone = await open_phone(storage=storage, embedder=Meanings())
    assert dense(phone).through == 4
    assert 1 not in [number for number, _ in await dense(phone).near("the cat", 10)]


async def test_status_says_when_words_leave_the_phone(open_phone: OpenPhone) -> None:
    class Far(Meanings):
        leaves_phone = "models.example"

    phone = await open_phone(embedder=Far())
    assert (await phone.status()).embedder.leaves_phone == "models.example"
    assert (await (await open_phone()).status()).embedder.leaves_phone == ""
