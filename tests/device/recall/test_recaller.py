"""Whole recalls over real actors and sealed logs: the worked examples of 002 and the laws."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest_asyncio

from device.memory import Forget, Note, RecordMany, Remember
from device.memory.dreaming import consolidate_pending
from device.memory.records import Layer, Turn, TurnDraft
from device.recall import Router
from tests.device.recall.rig import Rig, open_rig
from tests.device.recall.test_router import router_of, weights_giving

WEDNESDAY = datetime(2026, 5, 13, 9, tzinfo=UTC).timestamp()
DAY = 86_400.0


@pytest_asyncio.fixture
async def rig() -> AsyncIterator[Rig]:
    async with open_rig() as opened:
        opened.clock.at = WEDNESDAY
        yield opened


async def tell(rig: Rig, *texts: str, session: str = "s", source: str = "chat:1") -> list[Turn]:
    drafts = [
        TurnDraft(rig.clock.at + 10.0 * n, "user", text, session, source)
        for n, text in enumerate(texts)
    ]
    rig.clock.at += 10.0 * len(texts)
    return await rig.raw.ask(RecordMany(drafts))


async def dream(rig: Rig) -> None:
    await consolidate_pending(rig.raw, rig.structured, rig.working, tz=UTC)


async def test_answers_with_ids_turns_time_and_source(rig: Rig) -> None:
    said = await tell(rig, "My cat Miso hates the vacuum cleaner", "Nice weather today")
    answer = await rig.recaller.recall("the cat's vacuum")
    best = answer.hits[0]
    assert best.turns == (said[0].id,)
    assert best.at == said[0].at
    assert best.source == "chat:1"
    assert best.speaker == "user"
    assert answer.decided_by == "fallback"
    assert set(answer.weights) == {layer.value for layer in Layer}
    assert answer.rounds == 1


async def test_what_was_recorded_is_found_at_once_and_what_is_forgotten_never(rig: Rig) -> None:
    (said,) = await tell(rig, "the vault code word is zanzibar")
    assert (await rig.recaller.recall("vault code word")).hits[0].id == said.id
    (later,) = await tell(rig, "the other code word is timbuktu")
    found = {hit.id for hit in (await rig.recaller.recall("code word")).hits}
    assert found == {said.id, later.id}
    # The phone tells the recaller; the index would notice by itself as well.
    await rig.raw.ask(Forget([said.id]))
    assert [hit.id for hit in (await rig.recaller.recall("vault code word")).hits] == [later.id]
    assert len(rig.recaller._raw) == 1
    await rig.raw.ask(Forget([later.id]))
    assert rig.recaller.forget([later.id]) == 1
    assert (await rig.recaller.recall("code word")).hits == ()


async def test_a_layer_that_knows_nothing_leads_to_one_clarifying_look_in_raw(rig: Rig) -> None:
    said = await tell(rig, "I met Ana at the harbour last Friday")
    rig.clock.at += DAY
    # A time word sends the query to the structured layer alone, which is still empty.
    answer = await rig.recaller.recall("who did I meet at the harbour last Friday?")
    assert answer.decided_by == "rule"
    assert answer.weights["raw"] == 0.0
    assert answer.rounds == 2
    assert answer.hits[0].id == said[0].id


async def test_what_nobody_said_is_named_as_missing(rig: Rig) -> None:
    await tell(rig, "the sushi place was great")
    await tell(rig, *(f"we try number {n}" for n in range(20)), session="t")
    answer = await rig.recaller.recall("when did we try the sushi place?")
    assert answer.missing == ("time",)
    assert 2 <= answer.rounds <= 3


async def test_an_attribute_is_answered_from_the_working_layer_alone(rig: Rig) -> None:
    (said,) = await tell(rig, "你好，我叫林晓")
    await rig.working.ask(Note(said))
    answer = await rig.recaller.recall("我叫什么名字？")
    assert (answer.decided_by, answer.rounds) == ("rule", 1)
    assert answer.hits[0].layer is Layer.WORKING
    assert "林晓" in answer.hits[0].text
    assert answer.hits[0].turns == (said.id,)
    assert answer.hits[0].source == "chat:1"


async def test_a_named_time_prefers_but_never_excludes(rig: Rig) -> None:
    rig.router = Router(None)
    old = await tell(rig, "lunch with Ana at the harbour", session="a")
    rig.clock.at += 20 * DAY
    new = await tell(rig, "lunch with Ana at the market", session="b")
    rig.clock.at += DAY
    answer = await rig.recaller.recall("lunch with Ana yesterday")
    assert answer.hits[0].id == new[0].id
    assert {hit.id for hit in answer.hits} >= {old[0].id}


async def test_layers_under_the_floor_are_not_searched(rig: Rig) -> None:
    await tell(rig, "我最喜欢的颜色是墨绿")
    await rig.working.ask(Remember("颜色", "墨绿"))
    rig.router = router_of(weights_giving(0.05, 0.05, 0.9))
    answer = await rig.recaller.recall("墨绿")
    assert answer.decided_by == "model"
    assert {hit.layer for hit in answer.hits} == {Layer.RAW}


async def test_recalls_side_by_side_index_nothing_twice(rig: Rig) -> None:
    await tell(rig, *(f"note {n} about boats" for n in range(40)))
    answers = await asyncio.gather(*(rig.recaller.recall("boats", 50) for _ in range(5)))
    assert len(rig.recaller._raw) == 40
    assert len({answer.id for answer in answers}) == 5
    for answer in answers:
        assert [hit.id for hit in answer.hits] == [hit.id for hit in answers[0].hits]


async def test_empty_memory_and_empty_query_have_no_hits(rig: Rig) -> None:
    assert (await rig.recaller.recall("anything at all?")).hits == ()
    await tell(rig, "something")
    assert (await rig.recaller.recall("")).hits == ()
