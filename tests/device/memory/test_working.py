from __future__ import annotations

from datetime import UTC

import pytest

from device.memory import (
    EndTask,
    Forget,
    ForgetAll,
    ForgetValue,
    ListItems,
    Lookup,
    Note,
    RecordMany,
    Remember,
    Tasks,
    Tidy,
    Values,
    WorkingStats,
)
from device.memory import working as working_module
from device.memory.dreaming import consolidate_pending
from device.memory.records import Layer, Turn, TurnDraft
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
    await working.ask(EndTask("task:1", 0.0))
    await working.ask(Remember("name", "Sam", at=1.0))
    await working.ask(Lookup("what is my name"))
    for n in range(4):
        await working.ask(Remember(f"note{n}", "x", at=2.0 + n))
    await working.ask(Remember("note9", "x", at=5000.0))
    kept = [v.key for v in await working.ask(Values())]
    assert kept == ["name", "note3", "note9"]


async def test_a_tasks_state_stays_for_the_decay_window_after_the_task_ended(store: Store) -> None:
    _, _, working = await store.open()
    await working.ask(Remember("task:book", "two seats chosen", at=0.0))
    assert not await working.ask(EndTask("task:none", 5.0))
    # While it runs it stays, however long it takes.
    assert [task.key for task in await working.ask(Tasks(50_000.0))] == ["task:book"]
    assert await working.ask(EndTask("task:book", 50_000.0))
    _, _, working = await store.open()
    await working.ask(Tidy(50_000.0 + 3599.0))
    assert [task.value for task in await working.ask(Tasks(53_599.0))] == ["two seats chosen"]
    await working.ask(Tidy(50_000.0 + 3601.0))
    assert await working.ask(Values()) == []


async def test_an_abandoned_task_ends_by_itself(store: Store) -> None:
    _, _, working = await store.open()
    await working.ask(Remember("task:book", "half done", at=0.0))
    await working.ask(Tidy(2 * 86_400.0))
    assert await working.ask(Tasks(2 * 86_400.0)) == []


async def test_how_often_a_value_was_used_outlives_the_process(store: Store) -> None:
    _, _, working = await store.open()
    await working.ask(Remember("name", "Sam", at=1.0))
    for _ in range(3):
        await working.ask(Lookup("what is my name?"))
    await working.ask(Tidy(2.0))
    _, _, working = await store.open()
    assert [(v.key, v.uses) for v in await working.ask(Values())] == [("name", 3)]


async def test_dialogue_details_leave_by_age(store: Store) -> None:
    _, _, working = await store.open()
    await working.ask(Note(turn(1, "the red bicycle is in the shed")))
    await working.ask(Tidy(6 * 86_400.0))
    assert await working.ask(Lookup("red bicycle"))
    await working.ask(Tidy(8 * 86_400.0))
    assert await working.ask(Lookup("red bicycle")) == []


async def test_the_ring_holds_a_summary_of_a_long_turn(store: Store) -> None:
    _, _, working = await store.open()
    await working.ask(Note(turn(1, "bicycle " + "word " * 1000)))
    (hit,) = await working.ask(Lookup("bicycle"))
    assert len(hit.text) <= working_module.SUMMARY_CHARACTERS
    assert hit.text.endswith("…")


async def test_an_older_value_of_a_forgotten_turn_is_shredded_too(store: Store) -> None:
    _, _, working = await store.open()
    await working.ask(Remember("city", "canary-ville", "raw:1", 1.0))
    await working.ask(Remember("city", "Oslo", "raw:2", 2.0))
    await working.ask(Forget(["raw:1"]))
    assert [v.value for v in await working.ask(Values())] == ["Oslo"]
    assert all(b"canary" not in payload for _, payload in store.logs["working"].read())


async def test_a_value_said_again_outlives_its_first_turn(store: Store) -> None:
    _, _, working = await store.open()
    await working.ask(Remember("city", "Oslo", "raw:1", 1.0))
    await working.ask(Remember("city", "Oslo", "raw:2", 2.0))
    await working.ask(Forget(["raw:1"]))
    assert [v.source for v in await working.ask(Values())] == ["raw:2"]


async def test_a_dream_under_way_cannot_bring_back_what_was_forgotten(store: Store) -> None:
    _, _, working = await store.open()
    await working.ask(Forget(["raw:5"]))
    await working.ask(Remember("name", "canary", "raw:5", 9.0))
    await working.ask(Note(turn(5, "my name is Canary Bird")))
    assert await working.ask(Values()) == []
    await working.ask(ForgetAll(7))
    await working.ask(Remember("name", "canary", "raw:7", 9.0))
    await working.ask(Remember("name", "Ann", "raw:8", 9.0))
    assert [v.value for v in await working.ask(Values())] == ["Ann"]


async def test_overflow_of_the_ring_never_loses_an_unconsolidated_turn(store: Store) -> None:
    """What the dream takes in comes from the raw layer, not from the ring."""
    raw, structured, working = await store.open()
    for n in range(60):
        drafts = [TurnDraft(float(n), "user", f"I like thing{n}")]
        for said in await raw.ask(RecordMany(drafts)):
            await working.ask(Note(said))
    assert (await working.ask(WorkingStats())).turns == 16
    assert await consolidate_pending(raw, structured, working, tz=UTC) == 60
    liked = {item.object for item in await structured.ask(ListItems())}
    assert liked == {f"thing{n}" for n in range(60)}
