"""Merging in a dream, through the structured layer's log, and undoing it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from device.actors import ActorRef
from device.memory import Apply, ListItems
from device.memory.changes import Change, ChangeKind
from device.memory.deduplication import merge_duplicates, undo_merge
from device.memory.forgetting import ForgettingPolicy, faded
from device.memory.itemcalls import Archive, ChangesAbout, Trace
from device.memory.lifecycle import Transition
from device.memory.merging import CannotUndo
from device.memory.raw import Forget
from device.memory.records import EventState, Item
from tests.device.memory.conftest import Store
from tests.device.memory.dedup_models import NO_MODEL, SURE
from tests.device.memory.test_merging import DAY, NOW, item

FORMS = ("我喜欢喝茶", "我喜欢喝茶呢", "我喜欢喝茶吧", "我喜爱喝茶")


async def fill(structured: ActorRef, items: list[Item]) -> None:
    await structured.ask(Apply([Change(ChangeKind.CREATE, i) for i in items]))


async def held(structured: ActorRef) -> dict[str, Item]:
    return {i.id: i for i in await structured.ask(ListItems())}


async def test_a_dream_merges_near_duplicates_and_undo_parts_them(store: Store) -> None:
    _, structured, _ = await store.open()
    tea, again, coffee = item(1), item(2, FORMS[1]), item(3, "我喜欢喝咖啡")
    await fill(structured, [tea, again, coffee])
    assert await merge_duplicates(structured, SURE, now=NOW) == 1
    merged = await held(structured)
    assert merged[tea.id].replaced_by == again.id
    assert merged[coffee.id] == coffee
    trace = await structured.ask(Trace(again.id))
    assert trace is not None
    assert [old.id for old in trace.older] == [tea.id]
    assert await merge_duplicates(structured, SURE, now=NOW) == 0
    assert await undo_merge(structured, again.id, now=NOW) == (again.id, tea.id)
    back = await held(structured)
    assert (back[tea.id], back[again.id]) == (tea, again)


async def test_what_was_parted_stays_apart(store: Store) -> None:
    _, structured, _ = await store.open()
    await fill(structured, [item(1), item(2)])
    await merge_duplicates(structured, SURE, now=NOW)
    await undo_merge(structured, item(1).id, now=NOW)
    assert await merge_duplicates(structured, SURE, now=NOW) == 0
    notes = [i for i in (await held(structured)).values() if i.action == Transition.PARTED]
    assert len(notes) == 1
    assert faded(notes, NOW + 1000 * DAY, ForgettingPolicy()) == ([], [])
    with pytest.raises(CannotUndo):
        await undo_merge(structured, item(1).id, now=NOW)


async def test_a_merge_survives_a_restart_and_can_still_be_undone(store: Store) -> None:
    _, structured, _ = await store.open()
    await fill(structured, [item(1), item(2)])
    await merge_duplicates(structured, SURE, now=NOW)
    before = await held(structured)
    _, structured, _ = await store.open()
    assert await held(structured) == before
    await undo_merge(structured, item(2).id, now=NOW)
    back = await held(structured)
    assert (back[item(1).id], back[item(2).id]) == (item(1), item(2))


async def test_a_merge_can_be_undone_once_its_history_is_archived(store: Store) -> None:
    _, structured, _ = await store.open()
    await fill(structured, [item(1), item(2)])
    await merge_duplicates(structured, SURE, now=NOW)
    hidden = [i.id for i in (await held(structured)).values() if i.id != item(2).id]
    await structured.ask(Archive(hidden))
    await undo_merge(structured, item(2).id, now=NOW)
    assert (await held(structured))[item(1).id] == item(1)


async def test_no_model_merges_equal_words_only(store: Store) -> None:
    _, structured, _ = await store.open()
    await fill(structured, [item(1), item(2, "我喜欢喝茶。"), item(3, FORMS[1])])
    assert await merge_duplicates(structured, NO_MODEL, now=NOW) == 1


async def test_many_tellings_become_one_in_batches(store: Store) -> None:
    _, structured, _ = await store.open()
    told = [item(n, FORMS[n % len(FORMS)]) for n in range(1, 40)]
    others = [item(n, f"我喜欢第{n}号茶") for n in range(40, 60)]
    await fill(structured, [*told, *others])
    assert await merge_duplicates(structured, SURE, now=NOW, batch=5) == len(told) - 1
    items = await held(structured)
    standing = [i for i in items.values() if i.state is EventState.ACTIVE]
    assert len(standing) == 1 + len(others)
    assert items[told[-1].id].turns == tuple(f"raw:{n}" for n in range(1, 40))
    assert items[told[-1].id].accesses == sum(i.accesses for i in told)


async def test_merging_broken_off_goes_on_in_the_next_dream(store: Store) -> None:
    _, structured, _ = await store.open()
    pairs = [item(n, f"我喜欢第{n // 2}号茶") for n in range(2, 42)]
    await fill(structured, pairs)
    running = asyncio.ensure_future(merge_duplicates(structured, SURE, now=NOW, batch=1))
    for _ in range(10_000):
        if any(i.replaced_by for i in (await held(structured)).values()):
            break
        await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    done = sum(bool(i.replaced_by) for i in (await held(structured)).values())
    assert 0 < done < 20
    assert await merge_duplicates(structured, SURE, now=NOW) == 20 - done


async def test_a_merge_record_is_context_and_no_answer(store: Store) -> None:
    _, structured, _ = await store.open()
    await fill(structured, [item(1), item(2)])
    await merge_duplicates(structured, SURE, now=NOW)
    (record,) = await structured.ask(ChangesAbout([item(2).id]))
    assert record.text == "已合并：我喜欢喝茶"
    assert record.state is EventState.CANCELLED  # hidden from recall


async def test_forgetting_one_telling_leaves_no_trace_of_its_words(store: Store) -> None:
    _, structured, _ = await store.open()
    await fill(structured, [item(1), item(2, FORMS[1])])
    await merge_duplicates(structured, SURE, now=NOW)
    await structured.ask(Forget(["raw:1"]))
    left = await held(structured)
    assert [i.turns for i in left.values()] == [("raw:2",)]
    with pytest.raises(CannotUndo):
        await undo_merge(structured, item(2).id, now=NOW)


async def test_one_shared_turn_belongs_to_both_after_an_undo(store: Store) -> None:
    _, structured, _ = await store.open()
    first = item(1, turns=("raw:1", "raw:5"))
    second = replace(item(2), turns=("raw:5",))
    await fill(structured, [first, second])
    assert await merge_duplicates(structured, SURE, now=NOW) == 1
    await undo_merge(structured, first.id, now=NOW)
    back = await held(structured)
    assert (back[first.id], back[second.id]) == (first, second)
