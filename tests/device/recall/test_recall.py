"""One recall over real memories: layers, provenance, time, a second look, forgetting."""

from __future__ import annotations

from datetime import UTC

import pytest

from device.memory import Forget, Note, RecordMany
from device.memory.dreaming import consolidate_pending
from device.memory.records import Answer, Layer, TurnDraft
from tests.device.recall.rig import START, Rig, open_rig
from tests.device.recall.test_router import router_of, weights_giving

DAY = 86_400.0


async def remember(rig: Rig, *said: tuple[float, str]) -> list[str]:
    drafts = [
        TurnDraft(START + days * DAY, "user", text, source=f"chat#{line}")
        for line, (days, text) in enumerate(said, 1)
    ]
    turns = await rig.raw.ask(RecordMany(drafts))
    for turn in turns:
        await rig.working.ask(Note(turn))
    await consolidate_pending(rig.raw, rig.structured, rig.working, tz=UTC)
    return [turn.id for turn in turns]


def turns_of(answer: Answer) -> set[str]:
    return {turn for hit in answer.hits for turn in hit.turns}


async def test_every_hit_tells_its_turns_time_and_source() -> None:
    async with open_rig() as rig:
        ids = await remember(rig, (-3, "I like sea salt ice cream"), (-2, "The bus was late"))
        answer = await rig.recaller.recall("which ice cream do I like")
        first = answer.hits[0]
        assert first.turns == (ids[0],)
        assert first.source == "chat#1"
        assert answer.decided_by == "fallback"
        assert answer.at == rig.clock.now()


async def test_the_name_comes_from_the_working_layer() -> None:
    async with open_rig() as rig:
        ids = await remember(rig, (-3, "My name is Aoife Byrne"), (-2, "The bus was late"))
        answer = await rig.recaller.recall("what is my name?")
        assert answer.decided_by == "rule"
        assert answer.hits[0].layer is Layer.WORKING
        assert "Aoife" in answer.hits[0].text
        assert answer.hits[0].turns == (ids[0],)


async def test_a_moved_trip_is_recalled_with_its_new_date() -> None:
    """002's worked example: next Wednesday, then moved to next Thursday."""
    async with open_rig() as rig:
        await remember(rig, (-1, "我下周三去杭州出差"), (-0.5, "帮我把那个出差改到下周四"))
        answer = await rig.recaller.recall("杭州出差是哪天")
        events = [hit for hit in answer.hits if hit.layer is Layer.STRUCTURED]
        assert any("下周四" in hit.text for hit in events)


async def test_a_layer_under_the_floor_is_not_searched() -> None:
    async with open_rig() as rig:
        await remember(rig, (-1, "I like sea salt ice cream"))
        rig.router = router_of(weights_giving(0.01, 0.9, 0.01))
        answer = await rig.recaller.recall("sea salt ice cream flavour")
        assert answer.decided_by == "model"
        assert answer.weights["working"] < 0.1
        assert answer.hits[0].layer is Layer.STRUCTURED


async def test_what_the_routed_layer_lacks_is_looked_up_in_raw_once() -> None:
    """Agentic recall: the structured layer knows nothing of it, the words were said though."""
    async with open_rig() as rig:
        ids = await remember(rig, (-1, "ok, the garage code is 4471"))
        rig.router = router_of(weights_giving(0.01, 0.9, 0.01))
        answer = await rig.recaller.recall("garage code")
        assert answer.rounds == 2
        assert ids[0] in turns_of(answer)


@pytest.mark.parametrize("query", ["", "   ", "？！"])
async def test_a_question_without_words_is_an_empty_answer(query: str) -> None:
    async with open_rig() as rig:
        await remember(rig, (-1, "I like sea salt ice cream"))
        assert (await rig.recaller.recall(query)).hits == ()


async def test_new_turns_are_found_at_once_and_forgotten_ones_never_again() -> None:
    async with open_rig() as rig:
        await remember(rig, (-2, "the red kayak is in the shed"))
        assert (await rig.recaller.recall("red kayak")).hits
        ids = await remember(rig, (-1, "the blue kayak is at the lake"))
        answer = await rig.recaller.recall("blue kayak lake")
        assert ids[0] in turns_of(answer)
        for actor in (rig.raw, rig.structured, rig.working):
            await actor.ask(Forget(ids))
        rig.recaller.forget(ids)
        assert ids[0] not in turns_of(await rig.recaller.recall("blue kayak lake"))


async def test_a_time_lifts_but_never_filters() -> None:
    async with open_rig() as rig:
        old, new = await remember(
            rig, (-30, "lunch with Ana at the harbour"), (-1, "lunch with Ana at the harbour again")
        )
        answer = await rig.recaller.recall("lunch with Ana yesterday")
        found = [turn for hit in answer.hits for turn in hit.turns]
        assert found.index(new) < found.index(old)
