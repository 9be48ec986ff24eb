from __future__ import annotations

import pytest

from device.memory import (
    Forget,
    ForgetValue,
    Lookup,
    Note,
    Remember,
    Values,
    WorkingStats,
)
from device.memory import working as working_module
from device.memory.records import Layer, Turn
from tests.device.memory.conftest import Store


def turn(n: int, text: str, speaker: str = "user", kind: str = "dialogue") -> Turn:
    return Turn(f"raw:{n}", float(n), speaker, text, kind=kind)


@pytest.mark.parametrize(
    ("said", "query", "answer"),
    [
        ("我叫林晓", "我叫什么？", "名字: 林晓"),
        ("My name is Sam Haddad", "what's my name?", "name: Sam Haddad"),
        ("我住在江晖路1702", "我的地址是什么", "地址: 江晖路1702"),
        ("我妹妹叫小雨", "我妹妹叫什么", "妹妹的名字: 小雨"),
    ],
)
async def test_what_was_said_once_is_answered_at_once(
    store: Store, said: str, query: str, answer: str
) -> None:
    _, _, working = await store.open()
    await working.ask(Note(turn(1, said)))
    hit = (await working.ask(Lookup(query)))[0]
    assert (hit.text, hit.layer, hit.turns) == (answer, Layer.WORKING, ("raw:1",))


async def test_values_survive_reopening_and_the_newer_wins(store: Store) -> None:
    _, _, working = await store.open()
    await working.ask(Remember("city", "杭州", "raw:1", 10.0))
    await working.ask(Remember("city", "上海", "raw:2", 20.0))
    await working.ask(Remember("city", "北京", "raw:3", 15.0))
    _, _, working = await store.open()
    assert [v.value for v in await working.ask(Values())] == ["上海"]


async def test_a_question_about_someone_else_is_not_answered_with_the_user(store: Store) -> None:
    _, _, working = await store.open()
    await working.ask(Note(turn(1, "我叫林晓")))
    assert all("名字" not in hit.text for hit in await working.ask(Lookup("我妹妹叫什么名字")))


async def test_recent_turns_answer_by_their_words(store: Store) -> None:
    _, _, working = await store.open()
    for n, text in enumerate(("the red bicycle is in the shed", "lunch was soup", "嗯")):
        await working.ask(Note(turn(n, text)))
    assert [h.id for h in await working.ask(Lookup("where is my red bicycle"))] == ["raw:0"]
    assert await working.ask(Lookup("嗯哼？")) == []


async def test_the_ring_is_bounded_and_leaves_system_text_out(store: Store) -> None:
    _, _, working = await store.open()
    for n in range(40):
        await working.ask(Note(turn(n, f"word{n}")))
    await working.ask(Note(turn(41, "loading…", kind="system")))
    assert (await working.ask(WorkingStats())).turns == 16
    assert await working.ask(Lookup("word1")) == []


async def test_forgetting_a_turn_takes_its_value_and_older_ones_along(store: Store) -> None:
    _, _, working = await store.open()
    await working.ask(Remember("name", "canary-old", "raw:1", 1.0))
    await working.ask(Remember("name", "canary-new", "raw:2", 2.0))
    assert await working.ask(Forget(["raw:2"])) == 1
    assert all(b"canary" not in payload for _, payload in store.logs["working"].read())
    _, _, working = await store.open()
    assert await working.ask(Values()) == []
    assert not await working.ask(ForgetValue("name"))


async def test_eviction_is_mixed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(working_module, "VALUES_LIMIT", 3)
    _, _, working = await store.open()
    await working.ask(Remember("task:1", "half done", at=0.0))
    await working.ask(Remember("name", "Sam", at=1.0))
    await working.ask(Lookup("what is my name"))
    for n in range(4):
        await working.ask(Remember(f"note{n}", "x", at=2.0 + n))
    await working.ask(Remember("note9", "x", at=5000.0))
    kept = [v.key for v in await working.ask(Values())]
    assert kept == ["name", "note3", "note9"]
