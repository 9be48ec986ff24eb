"""Laws 3, 4 and 7 for public documents: from the publisher to a phone's recall, over frames."""

from __future__ import annotations

from typing import Any

import pytest

from device.phone import Phone
from device.sync.channel import ChannelClosed
from device.sync.client import SyncFailed
from device.vault import MemoryStorage
from protocol.messages import Fetch, ReleaseBlob
from protocol.wire import decode, encode
from tests.device.recall.shelf import METRO, document, facts
from tests.laws.conftest import OpenWorld
from tests.laws.world import Cut, Wire, World

TICKET = "what does a metro ticket cost"


async def publish(w: World, texts: dict[str, str]) -> int:
    """As `reverie-cloud publish knowledge` does, beside the running cloud; shown from its tick."""
    published = await w.cloud.library.ask("publish", "metro", document(facts(texts)), w.clock.now())
    await w.cloud.tick(w.clock.at)
    return int(published.version)


async def best(phone: Phone, query: str = TICKET) -> str:
    return (await phone.recall(query)).hits[0].text


def fetches(wire: Wire) -> list[tuple[str, int, int]]:
    asked = [decode(frame) for frame in wire.up]
    documents = [m for m in asked if isinstance(m, Fetch) and m.model.startswith("knowledge/")]
    return [(m.model, m.version, m.base) for m in documents]


async def test_from_the_operators_file_to_recall_by_increments_across_restarts(
    open_world: OpenWorld,
) -> None:
    async with open_world() as w:
        await publish(w, METRO)
        storage, wire = MemoryStorage(), Wire()
        phone = await w.phone(storage=storage, wire=wire)
        report = await phone.sync_now()
        assert [(each.name, each.taken) for each in report.documents] == [("metro", True)]
        assert await best(phone) == METRO["fare"]
        # Not closed: a killed process does not close anything.
        await publish(w, {**METRO, "fare": "A metro ticket costs 5 yuan"})
        again = await w.phone(storage=storage, wire=wire)
        assert await best(again) == METRO["fare"]
        await again.sync_now()
        assert await best(again) == "A metro ticket costs 5 yuan"
        await again.sync_now()
        assert fetches(wire)[0] == ("knowledge/metro", 1, 0)
        assert fetches(wire)[1:] in (
            [("knowledge/metro", 2, 1)],  # with an encoder installed
            [("knowledge/metro", 2, 0)],
        )


@pytest.mark.parametrize("when", ["before", "after"])
async def test_cut_at_any_frame_a_document_is_there_whole_or_not_at_all(
    open_world: OpenWorld, when: str
) -> None:
    async with open_world() as w:
        await publish(w, METRO)
        cut, done = 0, False
        while not done:
            wire, storage = Wire(), MemoryStorage()
            crossed = 0

            def hook(_frame: bytes, at: int = cut) -> None:
                nonlocal crossed
                crossed += 1
                if crossed > at:
                    raise Cut

            if when == "before":
                wire.on_up = hook
            else:
                wire.on_down = hook
            phone = await w.phone(wire=wire, storage=storage)
            try:
                await phone.sync_now()
                done = True
            except (ChannelClosed, SyncFailed):
                pass
            again = await w.phone(storage=storage)
            assert [each.version for each in await again.knowledge()] in ([], [1])
            await again.sync_now()
            assert await best(again) == METRO["fare"]
            cut += 1
        assert cut > 3


async def test_changed_on_the_way_it_is_never_decoded(
    open_world: OpenWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flip(frame: bytes) -> bytes:
        message = decode(frame)
        if not isinstance(message, ReleaseBlob) or not message.model.startswith("knowledge/"):
            return frame
        data = message.data[:-1] + bytes([message.data[-1] ^ 1])
        return encode(message.model_copy(update={"data": data}))

    async with open_world() as w:
        await publish(w, METRO)
        wire = Wire()
        wire.change = flip
        phone = await w.phone(wire=wire)
        monkeypatch.setattr("protocol.documents.inflate", None)
        report = await phone.sync_now()
        assert any("(hash)" in problem for problem in report.problems)
        assert await phone.knowledge() == []


async def test_nothing_of_it_is_counted_learnt_or_written_to_memory(open_world: OpenWorld) -> None:
    async with open_world() as w:
        await publish(w, METRO)
        phone = await w.phone()
        await phone.sync_now()
        answer = await phone.recall(TICKET)
        assert [hit.layer.value for hit in answer.hits] == ["public"] * len(answer.hits)
        assert phone.usage.answers(0).bins["top_layer"] == "none"
        before = phone.usage.answers(0).bins
        await phone.feedback(answer, [answer.hits[0].id])
        assert phone.usage.answers(0).bins == before
        assert len(phone.examples.training_set("router")[0]) == 0
        await phone.record("A metro ticket costs me 3 yuan")
        mixed = await phone.recall(TICKET)
        assert mixed.hits[0].public is None
        await phone.recall(TICKET)
        assert phone.usage.answers(0).bins["top_layer"] != "none"
        await phone.feedback(mixed, [hit.id for hit in mixed.hits])
        assert len(phone.examples.training_set("router")[0]) == 1
        assert {turn.text for turn in await phone.turns()} == {"A metro ticket costs me 3 yuan"}


async def test_dropped_it_is_gone_from_disk_and_stays_away(open_world: OpenWorld) -> None:
    async with open_world() as w:
        await publish(w, METRO)
        storage = MemoryStorage()
        phone = await w.phone(storage=storage)
        await phone.sync_now()
        assert pieces(storage)
        await phone.drop_knowledge("metro")
        assert not pieces(storage)
        await publish(w, {**METRO, "fare": "A metro ticket costs 5 yuan"})
        again = await w.phone(storage=storage)
        assert (await again.sync_now()).documents == []
        assert (await again.recall(TICKET)).hits == ()
        (known,) = await again.knowledge()
        assert (known.name, known.dropped) == ("metro", True)
        await again.want_knowledge("metro")
        await again.sync_now()
        assert await best(again) == "A metro ticket costs 5 yuan"


async def test_every_phone_asks_for_the_same_whatever_its_owner_asks(open_world: OpenWorld) -> None:
    """Law 1: what is fetched, and when, says nothing of anyone's questions."""
    async with open_world() as w:
        await publish(w, METRO)
        asked = []
        for query in (TICKET, "anything else"):
            wire = Wire()
            phone = await w.phone(wire=wire)
            await phone.recall(query)
            await phone.sync_now()
            await phone.recall(query)
            asked.append(fetches(wire))
            assert not any(query.encode() in frame for frame in wire.up)
        assert asked[0] == asked[1] == [("knowledge/metro", 1, 0)]


async def test_sealed_at_rest(open_world: OpenWorld) -> None:
    """Law 5: public or not, which documents a phone has is its owner's affair."""
    async with open_world() as w:
        await publish(w, METRO)
        storage = MemoryStorage()
        phone = await w.phone(storage=storage)
        await phone.sync_now()
        stored = b"".join(storage.read(name) for name in storage.names())
        assert b"metro" not in stored.lower()


def pieces(storage: MemoryStorage) -> list[Any]:
    return [name for name in storage.names() if name.startswith("passages")]
