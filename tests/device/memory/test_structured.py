from __future__ import annotations

from dataclasses import replace

import pytest

from device.memory import (
    Apply,
    Archive,
    Change,
    ChangeKind,
    Consolidated,
    Forget,
    ForgetItems,
    ItemsAfter,
    ItemsBetween,
    ItemsByIds,
    ListArchived,
    ListItems,
    StaleBatch,
    StructuredStats,
    Touch,
)
from device.memory import structured as structured_module
from device.memory.itemlog import commit_record, item_record, replay
from device.memory.records import Item, ItemKind
from tests.device.memory.conftest import Store


def item(
    n: int, kind: ItemKind = ItemKind.EVENT, turn: int | None = None, **fields: object
) -> Item:
    turns = (f"raw:{n if turn is None else turn}",)
    made = Item(f"mem:{n}", kind, f"text {n}", float(n), float(n), turns)
    return replace(made, **fields)  # type: ignore[arg-type]


def created(*items: Item) -> list[Change]:
    return [Change(ChangeKind.CREATE, one) for one in items]


async def test_a_batch_applies_once(store: Store) -> None:
    _, structured, _ = await store.open()
    assert await structured.ask(Apply(created(item(1), item(2)), 5)) == 2
    assert await structured.ask(Apply(created(item(1), item(2), item(3)), 5)) == 0
    assert await structured.ask(Consolidated()) == 5
    assert [i.id for i in await structured.ask(ListItems())] == ["mem:1", "mem:2"]


async def test_state_survives_reopening(store: Store) -> None:
    _, structured, _ = await store.open()
    await structured.ask(Apply(created(item(1), item(2)), 5))
    await structured.ask(Apply([Change(ChangeKind.UPDATE, item(1, text="newer"))], 6))
    items, stats = await structured.ask(ListItems()), await structured.ask(StructuredStats())
    _, structured, _ = await store.open()
    assert await structured.ask(ListItems()) == items
    assert (await structured.ask(StructuredStats())).revision == stats.revision
    assert await structured.ask(Consolidated()) == 6


async def test_a_crash_between_items_and_commit_applies_nothing(store: Store) -> None:
    _, structured, _ = await store.open()
    await structured.ask(Apply(created(item(1)), 1))
    store.logs["structured"].append(item_record(2, item(2)))
    _, structured, _ = await store.open()
    assert [i.id for i in await structured.ask(ListItems())] == ["mem:1"]
    await structured.ask(Apply(created(item(3)), 2))
    _, structured, _ = await store.open()
    assert [i.id for i in await structured.ask(ListItems())] == ["mem:1", "mem:3"]


async def test_an_index_catches_up_step_by_step(store: Store) -> None:
    _, structured, _ = await store.open()
    await structured.ask(Apply(created(*(item(n) for n in range(1, 11))), 1))
    await structured.ask(Apply([Change(ChangeKind.UPDATE, item(2, text="b"))], 2))
    await structured.ask(ForgetItems(["mem:3"]))
    seen: dict[str, Item] = {}
    revision, steps = 0, 0
    while revision < (await structured.ask(StructuredStats())).revision:
        items, gone, revision = await structured.ask(ItemsAfter(revision, 4))
        seen.update({i.id: i for i in items})
        for identifier in gone:
            seen.pop(identifier, None)
        steps += 1
    assert steps == 3
    assert set(seen) == {f"mem:{n}" for n in range(1, 11)} - {"mem:3"}
    assert seen["mem:2"].text == "b"


async def test_forgetting_takes_history_and_changes_along_and_lasts(store: Store) -> None:
    _, structured, _ = await store.open()
    old = item(1, replaced_by="mem:2", text="secret-canary")
    note = item(3, ItemKind.CHANGE, subject="mem:1")
    await structured.ask(Apply(created(old, item(2), note, item(4)), 9))
    assert await structured.ask(ForgetItems(["mem:2"])) == 3
    assert [i.id for i in await structured.ask(ListItems())] == ["mem:4"]
    assert all(b"secret-canary" not in payload for _, payload in store.logs["structured"].read())
    _, structured, _ = await store.open()
    assert [i.id for i in await structured.ask(ListItems())] == ["mem:4"]


async def test_a_batch_computed_before_a_forgetting_is_refused(store: Store) -> None:
    _, structured, _ = await store.open()
    await structured.ask(Apply(created(item(1), item(2)), 1))
    basis = (await structured.ask(StructuredStats())).revision
    await structured.ask(ForgetItems(["mem:1"]))
    with pytest.raises(StaleBatch):
        await structured.ask(Apply(created(item(3)), 2, basis))
    assert await structured.ask(Consolidated()) == 1


async def test_nothing_is_drawn_again_from_a_forgotten_turn(store: Store) -> None:
    _, structured, _ = await store.open()
    await structured.ask(Apply(created(item(1)), 1))
    assert await structured.ask(Forget(["raw:1", "raw:7"])) == 1
    _, structured, _ = await store.open()
    assert await structured.ask(Apply(created(item(1), item(7), item(8)), 9)) == 1
    assert [i.id for i in await structured.ask(ListItems())] == ["mem:8"]


async def test_a_preference_outlives_an_older_turn_of_it(store: Store) -> None:
    _, structured, _ = await store.open()
    liked = item(1, ItemKind.PREFERENCE, turns=("raw:1", "raw:2"))
    await structured.ask(Apply(created(liked), 3))
    assert await structured.ask(Forget(["raw:1"])) == 0
    assert await structured.ask(Forget(["raw:2"])) == 1


async def test_the_archive_leaves_the_working_set_but_stays_erasable(store: Store) -> None:
    _, structured, _ = await store.open()
    await structured.ask(Apply(created(item(1), item(2)), 1))
    assert await structured.ask(Archive(["mem:1"])) == 1
    assert await structured.ask(ItemsByIds(["mem:1"])) == []
    _, structured, _ = await store.open()
    assert [i.id for i in await structured.ask(ListArchived())] == ["mem:1"]
    assert await structured.ask(ForgetItems(["mem:1"])) == 1
    assert await structured.ask(ListArchived()) == []


async def test_touches_are_written_with_the_next_batch(store: Store) -> None:
    _, structured, _ = await store.open()
    await structured.ask(Apply(created(item(1)), 1))
    assert await structured.ask(Touch(["mem:1", "mem:9"], 50.0)) == 1
    await structured.ask(Apply(created(item(2)), 2))
    _, structured, _ = await store.open()
    (touched,) = await structured.ask(ItemsByIds(["mem:1"]))
    assert (touched.accesses, touched.last_access) == (1, 50.0)


async def test_items_are_found_by_the_time_they_name(store: Store) -> None:
    _, structured, _ = await store.open()
    await structured.ask(Apply(created(item(1, starts=100.0, ends=200.0), item(2)), 1))
    assert [i.id for i in await structured.ask(ItemsBetween(150.0, 160.0))] == ["mem:1"]
    assert [i.id for i in await structured.ask(ItemsBetween(0.0, 10.0))] == ["mem:2"]
    assert await structured.ask(ItemsBetween(200.0, 300.0)) == []


async def test_superseded_records_are_compacted(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(structured_module, "COMPACT_FLOOR", 8)
    _, structured, _ = await store.open()
    await structured.ask(Apply(created(item(1)), 0))
    for n in range(1, 20):
        await structured.ask(Apply([Change(ChangeKind.UPDATE, item(1, text=f"v{n}"))], n))
    texts = [payload for _, payload in store.logs["structured"].read()]
    assert sum(b"text" in p or b"v" in p for p in texts) < 12
    _, structured, _ = await store.open()
    assert (await structured.ask(ListItems()))[0].text == "v19"


def test_a_commit_covers_its_own_batch_only() -> None:
    records = [item_record(1, item(1)), item_record(2, item(2)), commit_record(2, 2, 4)]
    state = replay(enumerate(records))
    assert (list(state.items), state.leftover, state.through) == (["mem:2"], [0], 4)
