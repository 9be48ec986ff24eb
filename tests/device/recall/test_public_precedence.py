"""Own memory wins: ties, conflicts, places. Whole recalls with a public layer beside the others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from device.memory import ItemsByIds, Note, RawStats, RecordMany, StructuredStats
from device.memory.records import PUBLIC, Hit, Layer, Published, TurnDraft
from device.recall.candidates import Candidate
from device.recall.folding import judge_with
from device.recall.origin import origin_line
from device.recall.public_precedence import with_public
from tests.device.recall.rig import Rig, open_rig
from tests.device.recall.shelf import METRO, Shelf

NOON = datetime(2026, 5, 13, 12, tzinfo=UTC).timestamp()
SAME_WORDS = judge_with(None)


def own(text: str, score: float, relevance: float = 0.5, number: int = 1) -> Candidate:
    hit = Hit(f"raw:{number}", Layer.RAW, text, NOON, score, (f"raw:{number}",))
    return Candidate(hit, relevance)


def public(text: str, score: float, relevance: float = 0.5, record: str = "a") -> Candidate:
    source = Published("metro", 1, record)
    hit = Hit(f"pub:metro/{record}", PUBLIC, text, NOON + 9e6, score, public=source)
    return Candidate(hit, relevance)


def texts(candidates: list[Candidate]) -> list[str]:
    return [candidate.hit.text for candidate in candidates]


def test_a_tie_is_the_own_memorys() -> None:
    """Though the public record is newer."""
    both = with_public([own("mine", 0.5)], [public("theirs", 0.5, 0.9)], SAME_WORDS, 5)
    assert texts(both) == ["mine", "theirs"]


def test_what_carries_as_much_of_the_question_stands_first_whatever_the_scores() -> None:
    both = with_public([own("mine", 0.1, 0.6)], [public("theirs", 0.9, 0.6)], SAME_WORDS, 5)
    assert texts(both) == ["mine", "theirs"]


def test_a_record_that_knows_more_stands_above_a_memory_that_hardly_answers() -> None:
    both = with_public([own("mine", 0.1, 0.2)], [public("theirs", 0.9, 0.9)], SAME_WORDS, 5)
    assert texts(both) == ["theirs", "mine"]


def test_where_both_speak_of_one_thing_the_own_memory_is_believed() -> None:
    mine = "The harbour museum opens at ten now"
    theirs = "The harbour museum opens at nine every day except Mondays"
    both = with_public([own(mine, 0.1, 0.2)], [public(theirs, 0.9, 0.9)], SAME_WORDS, 5)
    assert texts(both) == [mine, theirs]


def test_what_the_own_memory_says_already_is_not_said_again() -> None:
    both = with_public([own("The pool is shut", 0.2, 0.2)], [public("the pool is shut!", 0.9, 0.9)],
                       SAME_WORDS, 5)  # fmt: skip
    assert texts(both) == ["The pool is shut"]


def test_half_the_places_stay_for_the_own_memory() -> None:
    mine = [own(f"apple{n}", 0.1 - n / 100, 0.1, n) for n in range(4)]
    theirs = [public(f"pear{n}", 0.9, 0.9, str(n)) for n in range(4)]
    assert texts(with_public(mine, theirs, SAME_WORDS, 4)) == [
        "pear0", "pear1", "apple0", "apple1",
    ]  # fmt: skip
    assert len(with_public(mine[:1], theirs, SAME_WORDS, 4)) == 4


def test_a_mere_likeness_is_shown_only_where_nothing_else_is() -> None:
    alike = [public(f"theirs {n}", 0.3, 0.0, str(n)) for n in range(4)]
    assert texts(with_public([own("mine", 0.01, 0.0)], alike, SAME_WORDS, 5)) == ["mine"]
    assert texts(with_public([], alike, SAME_WORDS, 5)) == ["theirs 0", "theirs 1"]


@pytest_asyncio.fixture
async def rig() -> AsyncIterator[Rig]:
    shelf = Shelf()
    await shelf.take(METRO)
    async with open_rig(public=shelf.layer) as opened:
        opened.clock.at = NOON
        yield opened


async def tell(rig: Rig, text: str) -> str:
    draft = TurnDraft(rig.clock.at, "user", text, "s", "chat:1")
    (turn,) = await rig.raw.ask(RecordMany([draft]))
    await rig.working.ask(Note(turn))
    return str(turn.id)


async def test_a_recall_names_the_document_behind_a_public_hit(rig: Rig) -> None:
    answer = await rig.recaller.recall("what does a metro ticket cost")
    assert answer.hits[0].public == Published("metro", 1, "fare")
    assert origin_line(answer.hits[0], NOON) == "public: from the document metro, version 1 (fare)"
    assert origin_line(answer.hits[0], NOON, "zh") == "公开资料：来自文档 metro 第 1 版（fare）"
    assert set(answer.weights) == {layer.value for layer in Layer}


async def test_what_the_person_said_stands_above_what_everybody_is_told(rig: Rig) -> None:
    mine = await tell(rig, "A metro ticket costs 3 yuan with my student card")
    answer = await rig.recaller.recall("what does a metro ticket cost")
    assert answer.hits[0].id == mine
    assert [hit.id for hit in answer.hits if hit.public] == ["pub:metro/fare"]


async def test_a_gap_that_a_public_record_fills_is_not_called_missing(rig: Rig) -> None:
    await tell(rig, "I take metro line 1 home")
    answer = await rig.recaller.recall("until when does metro line 1 run")
    assert METRO["line-1"] in [hit.text for hit in answer.hits]
    assert "time" not in answer.missing


async def test_an_attribute_of_the_user_is_never_looked_up_in_public() -> None:
    shelf = Shelf()
    await shelf.take({"a": "The name of the city is Shenzhen", "b": "这座城市的名字叫深圳"})
    async with open_rig(public=shelf.layer) as rig:
        assert (await rig.recaller.recall("the name of the city")).hits
        for query in ("what is my name?", "我叫什么名字？"):
            assert (await rig.recaller.recall(query)).hits == ()


async def test_nothing_public_is_ever_written_into_a_memory(rig: Rig) -> None:
    await rig.recaller.recall("what does a metro ticket cost")
    assert (await rig.raw.ask(RawStats())).turns == 0
    assert (await rig.structured.ask(StructuredStats())).items == 0
    assert await rig.structured.ask(ItemsByIds(["pub:metro/fare"])) == []


async def test_damage_to_a_document_does_not_keep_anyone_from_their_memory() -> None:
    shelf = Shelf()
    await shelf.take(METRO)
    shelf.pieces.erase(list(shelf.store.held[0].pieces))
    async with open_rig(public=shelf.layer) as rig:
        mine = await tell(rig, "A metro ticket costs 3 yuan")
        answer = await rig.recaller.recall("metro ticket")
        assert [hit.id for hit in answer.hits] == [mine]


@pytest.mark.parametrize("query", ["", "   ", "?"])
async def test_an_empty_question_finds_nothing(rig: Rig, query: str) -> None:
    assert (await rig.recaller.recall(query)).hits == ()
