"""The public layer: sealed documents, their index, and what a query finds in them."""

from __future__ import annotations

import asyncio

import pytest

from device.memory.records import PUBLIC, Published
from device.recall.layers import Seek
from device.recall.public import ANALYSIS
from device.recall.public_store import PASSAGE
from device.vault import Tampered
from protocol.documents import describe
from protocol.errors import DocumentRefused
from tests.device.recall.rig import START
from tests.device.recall.shelf import METRO, Shelf, document, facts

MANY = {f"r{number:04}": f"Stop {number} is called Harbour {number}" for number in range(1500)}


def found(shelf: Shelf, query: str, k: int = 5) -> list[str]:
    return [candidate.hit.text for candidate in shelf.layer.search(Seek(query, query), k)]


async def test_a_record_is_found_and_says_which_document_it_is_of() -> None:
    shelf = Shelf()
    await shelf.take(METRO, version=3)
    best = shelf.layer.search(Seek("metro ticket", "metro ticket"), 5)[0].hit
    assert best.text == METRO["fare"]
    assert best.layer is PUBLIC
    assert best.public == Published("metro", 3, "fare")
    assert best.id == "pub:metro/fare"
    assert best.turns == ()


async def test_chinese_is_found_by_the_same_tokens_as_elsewhere() -> None:
    shelf = Shelf()
    await shelf.take(METRO)
    assert found(shelf, "三号线末班车几点")[0] == METRO["line-3"]


async def test_tags_source_and_time_serve_the_record() -> None:
    shelf = Shelf()
    record = facts({"a": "Gate 7 moved"}, tags=["aéroport", "airport"], source="Notice 12")
    content = document([{**record[0], "time": "2026-05-01"}])
    await shelf.layer.take(describe("air", 1, content), content, START, START)
    hit = shelf.layer.search(Seek("airport", "airport"), 5)[0].hit
    assert (hit.text, hit.source, hit.at) == ("Gate 7 moved", "Notice 12", 1_777_593_600.0)


async def test_after_a_restart_it_is_read_back_and_not_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shelf = Shelf()
    await shelf.take(METRO)
    shelf.open()
    monkeypatch.setattr("device.recall.index.embed_many", None)  # nothing is embedded again
    assert found(shelf, "line 2 Sundays")[0] == METRO["line-2"]


async def test_only_the_passages_of_the_hits_are_opened() -> None:
    shelf = Shelf()
    await shelf.take(MANY)
    shelf.open()
    held = shelf.store.held[0]
    assert len(held.passages) > 3
    assert held.passages[1][1] < len(MANY)
    assert found(shelf, "Harbour 777", 1) == [MANY["r0777"]]
    assert sum(len(line) for line in shelf.store.lines(held, [777]).values()) < PASSAGE
    lines = shelf.store.lines(held, [0, 777, len(MANY) - 1])
    assert [lines[place].split(b'"')[3] for place in (0, 777, 1499)] == [
        b"r0000", b"r0777", b"r1499",
    ]  # fmt: skip
    assert shelf.store.content(held) == document(facts(MANY))


async def test_a_newer_version_takes_the_place_of_the_older_one() -> None:
    shelf = Shelf()
    await shelf.take(METRO)
    before = len(shelf.pieces)
    await shelf.take({**METRO, "fare": "A metro ticket costs 5 yuan"}, version=2)
    assert found(shelf, "metro ticket costs", 1) == ["A metro ticket costs 5 yuan"]
    assert len(shelf.pieces) == before
    shelf.open()
    assert found(shelf, "metro ticket costs", 1) == ["A metro ticket costs 5 yuan"]


async def test_two_documents_stand_side_by_side_and_one_can_be_dropped() -> None:
    shelf = Shelf()
    await shelf.take(METRO)
    await shelf.take({"a": "The ticket office of the harbour opens at 8"}, name="harbour")
    assert len(found(shelf, "ticket")) == 2
    assert shelf.store.drop("metro")
    assert found(shelf, "ticket") == ["The ticket office of the harbour opens at 8"]
    shelf.open()
    assert [held.name for held in shelf.store.held] == ["harbour"]
    assert shelf.store.unwanted == ("metro",)
    assert len(shelf.pieces) == sum(1 for _ in shelf.store.held[0].pieces)


async def test_the_floor_never_sinks_but_a_dropped_version_may_come_back() -> None:
    shelf = Shelf()
    assert shelf.store.floor("metro") == 0
    await shelf.take(METRO, version=5)
    assert shelf.store.floor("metro") == 5
    for _ in range(3):
        shelf.store.drop("metro")
        shelf.store.want("metro")
        shelf.open()
        assert shelf.store.floor("metro") == 4
    shelf.store.refuse("metro", 7)
    shelf.open()
    assert shelf.store.floor("metro") == 7


async def test_a_document_of_something_else_than_facts_changes_nothing() -> None:
    shelf = Shelf()
    await shelf.take(METRO)
    content = document([{"id": "a", "price": 4}])
    with pytest.raises(DocumentRefused, match="records"):
        await shelf.layer.take(describe("metro", 2, content), content, START, START)
    assert shelf.store.held[0].version == 1
    assert found(shelf, "metro ticket", 1) == [METRO["fare"]]


async def test_cancelled_while_it_is_taken_the_older_version_stays() -> None:
    shelf = Shelf()
    await shelf.take(MANY)
    pieces = len(shelf.pieces)
    for steps in range(1, 40, 3):
        task = asyncio.create_task(shelf.take({**MANY, "r0000": "Changed"}, version=2))
        for _ in range(steps):
            await asyncio.sleep(0)
        if task.done():
            break
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert shelf.store.held[0].version == 1
    assert steps > 1
    shelf.open()
    assert found(shelf, "Harbour 777", 1) == [MANY["r0777"]]
    assert shelf.store.held[0].version in (1, 2)
    assert len(shelf.pieces) == pieces


async def test_dropped_while_it_is_taken_it_does_not_come_back() -> None:
    shelf = Shelf()
    await shelf.take(METRO)
    task = asyncio.create_task(shelf.take(MANY, version=2))
    await asyncio.sleep(0)
    shelf.store.drop("metro")
    await task
    assert shelf.layer.empty
    assert len(shelf.pieces) == 0


async def test_another_dropped_while_it_is_taken_takes_nothing_of_it() -> None:
    shelf = Shelf()
    await shelf.take(METRO)
    task = asyncio.create_task(shelf.take(MANY, name="harbour"))
    for _ in range(1_000):
        if len(shelf.pieces) > len(list(shelf.store.held[0].pieces)):
            break
        await asyncio.sleep(0)
    assert not task.done()
    shelf.store.drop("metro")
    await task
    shelf.open()
    assert found(shelf, "Harbour 777", 1) == [MANY["r0777"]]


async def test_an_index_of_an_earlier_analysis_is_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shelf = Shelf()
    with monkeypatch.context() as patched:
        patched.setattr("device.recall.public.ANALYSIS", "older/0")
        await shelf.take(METRO)
    shelf.open()
    assert found(shelf, "metro ticket") == []
    await shelf.layer.catch_up()
    assert found(shelf, "metro ticket", 1) == [METRO["fare"]]
    shelf.open()
    assert shelf.store.held[0].analysis == ANALYSIS
    assert found(shelf, "metro ticket", 1) == [METRO["fare"]]


async def test_let_go_of_memory_it_still_answers() -> None:
    shelf = Shelf()
    await shelf.take(METRO)
    assert found(shelf, "metro ticket")
    shelf.layer.release()
    assert found(shelf, "metro ticket", 1) == [METRO["fare"]]


@pytest.mark.parametrize("resident", [0, 100])
async def test_where_words_find_nothing_likeness_does(
    monkeypatch: pytest.MonkeyPatch, resident: int
) -> None:
    """With the vectors on disk, or in RAM."""
    monkeypatch.setattr("device.recall.public.RESIDENT", resident)
    shelf = Shelf()
    await shelf.take({"a": "Trolleybuses overnight", "b": "Harbour ferries", "c": "Cable cars"})
    shelf.open()
    assert found(shelf, "trolleybusses overnite", 1) == ["Trolleybuses overnight"]
    seek = Seek("trolleybusses overnite", "trolleybusses overnite")
    assert shelf.layer.search(seek, 1, least=0.3) == []


async def test_a_missing_piece_is_damage() -> None:
    shelf = Shelf()
    await shelf.take(METRO)
    shelf.pieces.erase([next(shelf.store.held[0].pieces)])
    with pytest.raises(Tampered):
        found(shelf, "metro ticket")
