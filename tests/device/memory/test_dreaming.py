from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from importlib import resources
from pathlib import Path

from device.actors import checkpoint
from device.language.events import Draft
from device.language.extractors import BuiltinExtractor, Said
from device.memory import (
    Consolidated,
    ForgetItems,
    ListItems,
    Lookup,
    RecordMany,
    TurnsAfter,
)
from device.memory.dreaming import consolidate_pending, let_fade
from device.memory.records import EventState, Item, ItemKind, TurnDraft
from tests.device.memory.conftest import Store

SHANGHAI = timezone(timedelta(hours=8))


def sample(person: str) -> list[TurnDraft]:
    text = resources.files("simulator.sample").joinpath("dialogues.jsonl").read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    return [
        TurnDraft(
            datetime.fromisoformat(r["at"]).timestamp(), r["speaker"], r["text"], r["session"]
        )
        for r in rows
        if r["person"] == person
    ]


def memorybank(path: Path) -> list[TurnDraft]:
    drafts = []
    for user in json.loads(path.read_text(encoding="utf-8")).values():
        for date, exchanges in user["history"].items():
            at = datetime.fromisoformat(date).replace(tzinfo=UTC).timestamp() + 12 * 3600
            for n, exchange in enumerate(exchanges):
                drafts.append(TurnDraft(at + 60 * n, "user", exchange["query"]))
                drafts.append(TurnDraft(at + 60 * n + 30, "agent", exchange["response"]))
    return drafts


async def test_a_dream_turns_dialogue_into_memories(store: Store) -> None:
    raw, structured, working = await store.open()
    drafts = sample("lin")
    await raw.ask(RecordMany(drafts))
    assert await consolidate_pending(raw, structured, working, batch=7, tz=SHANGHAI) == len(drafts)
    assert await consolidate_pending(raw, structured, working, batch=7, tz=SHANGHAI) == 0
    events = [i for i in await structured.ask(ListItems(ItemKind.EVENT)) if "上海出差" in i.text]
    current = [e for e in events if e.state is EventState.ACTIVE]
    assert current[0].starts == datetime(2026, 3, 19, tzinfo=SHANGHAI).timestamp()
    assert "林晓" in (await working.ask(Lookup("我叫什么")))[0].text


async def test_batch_size_does_not_change_the_outcome(store: Store) -> None:
    outcomes = []
    for batch in (1, 64):
        other = Store()
        raw, structured, working = await other.open()
        await raw.ask(RecordMany(sample("sam")))
        await consolidate_pending(raw, structured, working, batch=batch, tz=UTC)
        outcomes.append({i.id: i for i in await structured.ask(ListItems())})
        await other.system.stop()
    assert outcomes[0] == outcomes[1]


async def test_a_cancelled_dream_resumes_where_it_stopped(store: Store) -> None:
    raw, structured, working = await store.open()
    await raw.ask(RecordMany(sample("lin")))
    dream = asyncio.ensure_future(
        consolidate_pending(raw, structured, working, batch=4, tz=SHANGHAI)
    )
    while await structured.ask(Consolidated()) < 8:
        await checkpoint()
    dream.cancel()
    await asyncio.gather(dream, return_exceptions=True)
    halfway = await structured.ask(Consolidated())
    raw, structured, working = await store.open()
    done = await consolidate_pending(raw, structured, working, batch=4, tz=SHANGHAI)
    assert done == len(await raw.ask(TurnsAfter())) - halfway - 1
    interrupted = {i.id: i for i in await structured.ask(ListItems())}
    whole = Store()
    raw, structured, working = await whole.open()
    await raw.ask(RecordMany(sample("lin")))
    await consolidate_pending(raw, structured, working, tz=SHANGHAI)
    assert interrupted == {i.id: i for i in await structured.ask(ListItems())}
    await whole.system.stop()


async def test_what_is_forgotten_during_a_dream_stays_forgotten(store: Store) -> None:
    raw, structured, working = await store.open()
    await raw.ask(RecordMany([TurnDraft(1000.0, "user", "下周三去杭州出差")]))
    await consolidate_pending(raw, structured, working, tz=SHANGHAI)
    (trip,) = await structured.ask(ListItems())
    await raw.ask(RecordMany([TurnDraft(2000.0, "user", "把杭州出差改到下周四")] * 40))
    dream = asyncio.ensure_future(
        consolidate_pending(raw, structured, working, batch=1, tz=SHANGHAI)
    )
    await structured.ask(ForgetItems([trip.id]))
    await dream
    items = await structured.ask(ListItems())
    assert all("raw:0" not in item.turns for item in items)


async def test_plans_expire_when_the_dream_is_told_the_time(store: Store) -> None:
    raw, structured, working = await store.open()
    await raw.ask(RecordMany([TurnDraft(0.0, "user", "明天要去体检")]))
    await consolidate_pending(raw, structured, working, tz=SHANGHAI)
    await consolidate_pending(raw, structured, working, tz=SHANGHAI, now=10 * 86400.0)
    states = [i.state for i in await structured.ask(ListItems(ItemKind.EVENT))]
    assert states == [EventState.EXPIRED]


async def test_fading_archives_then_deletes(store: Store) -> None:
    raw, structured, working = await store.open()
    await raw.ask(
        RecordMany([TurnDraft(0.0, "user", "昨天去了动物园"), TurnDraft(0.0, "user", "我叫林晓")])
    )
    await consolidate_pending(raw, structured, working, tz=SHANGHAI)
    assert await let_fade(structured, now=5 * 86400.0) == (0, 0)
    assert await let_fade(structured, now=60 * 86400.0) == (1, 0)
    kinds = [i.kind for i in await structured.ask(ListItems())]
    assert kinds == [ItemKind.ENTITY]


async def test_real_dialogue_of_both_languages(shared_data: Path) -> None:
    for name in ("cn.json", "en.json"):
        store = Store()
        raw, structured, working = await store.open()
        drafts = memorybank(shared_data / "memorybank" / name)
        await raw.ask(RecordMany(drafts))
        assert await consolidate_pending(raw, structured, working, tz=UTC) == len(drafts)
        items: list[Item] = await structured.ask(ListItems())
        texts = {t.id: t for t in await raw.ask(TurnsAfter(-1, len(drafts)))}
        assert len(items) > 50
        assert all(texts[t].speaker == "user" for item in items for t in item.turns)
        assert {ItemKind.EVENT, ItemKind.PREFERENCE, ItemKind.ENTITY} <= {i.kind for i in items}
        await store.system.stop()


class Shouting(BuiltinExtractor):
    """An extractor of its own mind, to see that it is asked."""

    async def extract(self, turns: Sequence[Said], tz: tzinfo) -> list[list[Draft]]:
        read = await super().extract(turns, tz)
        return [[replace(draft, text=draft.text.upper()) for draft in drafts] for drafts in read]


async def test_the_extractor_that_was_chosen_reads_the_turns(store: Store) -> None:
    raw, structured, working = await store.open()
    await raw.ask(RecordMany([TurnDraft(1.78e9, "user", "I love spicy hotpot")]))
    await consolidate_pending(raw, structured, working, tz=UTC, extractor=Shouting())
    (item,) = await structured.ask(ListItems())
    assert item.text == "I LOVE SPICY HOTPOT"
