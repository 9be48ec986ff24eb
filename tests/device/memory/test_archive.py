"""C: what has faded is archived, comes back when used again, and is deleted once faded further."""

from __future__ import annotations

from datetime import UTC

import pytest

from device.actors import ActorRef
from device.memory import (
    Apply,
    Archive,
    Browse,
    Change,
    ChangeKind,
    ChangesAbout,
    Covered,
    DrawnFrom,
    Forget,
    ForgetAll,
    ForgetItems,
    ItemsByIds,
    ListArchived,
    ListItems,
    RecordMany,
    Restore,
    StructuredStats,
    Together,
    Touch,
    Trace,
)
from device.memory.dreaming import consolidate_pending, let_fade
from device.memory.forgetting import ForgettingPolicy
from device.memory.itemlog import forgotten_record
from device.memory.records import ItemKind, TurnDraft
from tests.device.memory.conftest import Store
from tests.device.memory.test_structured import created, item

DAY = 86_400.0


async def ids(structured: ActorRef) -> list[str]:
    return sorted(one.id for one in await structured.ask(ListItems()))


def clear(store: Store) -> bytes:
    """Every byte that the structured log gives back with its keys."""
    return b"".join(payload for _, payload in store.logs["structured"].read())


async def test_an_archived_memory_comes_back_by_its_id_and_counts_as_used(store: Store) -> None:
    _, structured, _ = await store.open()
    await structured.ask(Apply(created(item(1), item(2)), 2))
    await structured.ask(Archive(["mem:1", "mem:2"]))
    assert await structured.ask(Restore(["mem:1", "mem:9"], at=70.0)) == ("mem:1",)
    _, structured, _ = await store.open()
    (back,) = await structured.ask(ListItems())
    assert (back.id, back.accesses, back.last_access) == ("mem:1", 1, 70.0)
    assert [one.id for one in await structured.ask(ListArchived())] == ["mem:2"]


async def test_a_turn_used_again_brings_back_what_was_drawn_from_it(store: Store) -> None:
    _, structured, _ = await store.open()
    old = item(1, replaced_by="mem:2")
    note = item(3, ItemKind.CHANGE, turn=1, subject="mem:1")
    now = item(2, turn=1)
    await structured.ask(Apply(created(old, now, note), 3))
    await structured.ask(Archive(["mem:1", "mem:2", "mem:3"]))
    assert await structured.ask(Restore(turns=["raw:1"])) == ("mem:2",)


async def test_an_archived_preference_said_again_comes_back_instead_of_being_doubled(
    store: Store,
) -> None:
    raw, structured, working = await store.open()
    await raw.ask(RecordMany([TurnDraft(0.0, "user", "I like jazz")]))
    await consolidate_pending(raw, structured, working, tz=UTC)
    (liked,) = await structured.ask(ListItems())
    await structured.ask(Archive([liked.id]))
    await raw.ask(RecordMany([TurnDraft(40 * DAY, "user", "I like jazz")]))
    await consolidate_pending(raw, structured, working, tz=UTC)
    (back,) = await structured.ask(ListItems())
    assert (back.id, back.turns) == (liked.id, ("raw:0", "raw:1"))
    assert await structured.ask(ListArchived()) == []


async def test_the_archive_goes_on_fading_until_it_is_deleted(store: Store) -> None:
    _, structured, _ = await store.open()
    await structured.ask(Apply(created(item(1), item(2)), 2))
    assert await let_fade(structured, now=40 * DAY) == (2, 0)
    await structured.ask(Restore(["mem:2"], at=40 * DAY))
    assert await let_fade(structured, now=170 * DAY) == (1, 1)
    assert [one.id for one in await structured.ask(ListArchived())] == ["mem:2"]
    assert b"text 1" not in clear(store)


async def test_thresholds_and_decay_are_the_owners_to_set(store: Store) -> None:
    _, structured, _ = await store.open()
    await structured.ask(Apply(created(item(1)), 2))
    strict = ForgettingPolicy(base_decay=0.5, archive_below=0.3, delete_below=0.05)
    assert await let_fade(structured, now=2 * DAY, policy=strict) == (1, 0)
    assert await let_fade(structured, now=4 * DAY, policy=strict) == (0, 1)


async def test_a_use_of_its_turn_keeps_a_memory_from_fading(store: Store) -> None:
    _, structured, _ = await store.open()
    await structured.ask(Apply(created(item(1), item(2)), 2))
    assert await structured.ask(Touch([], 30 * DAY, ["raw:2"])) == 1
    assert await let_fade(structured, now=40 * DAY) == (1, 0)
    assert await ids(structured) == ["mem:2"]


async def test_forgetting_reaches_the_archive_by_id_and_by_turn(store: Store) -> None:
    _, structured, _ = await store.open()
    old = item(1, replaced_by="mem:2", text="canary-old")
    note = item(3, ItemKind.CHANGE, turn=1, subject="mem:1", text="canary-note")
    await structured.ask(
        Apply(created(old, item(2, text="canary-new"), note, item(4, text="canary-four")), 9)
    )
    await structured.ask(Archive(["mem:1", "mem:2", "mem:3", "mem:4"]))
    _, structured, _ = await store.open()
    assert await structured.ask(ForgetItems(["mem:2"])) == 3
    assert await structured.ask(Forget(["raw:4"])) == 1
    assert b"canary" not in clear(store)
    _, structured, _ = await store.open()
    assert await structured.ask(ListArchived()) == []


async def test_older_forms_of_what_outlives_a_forgotten_turn_are_shredded(store: Store) -> None:
    """The log held the preference as the forgotten turn had put it."""
    _, structured, _ = await store.open()
    liked = item(1, ItemKind.PREFERENCE, text="canary-first", turns=("raw:1",), confidence=0.9)
    again = item(1, ItemKind.PREFERENCE, text="said newly", turns=("raw:1", "raw:2"))
    await structured.ask(Apply(created(liked), 1))
    await structured.ask(Apply([Change(ChangeKind.UPDATE, again)], 2))
    assert await structured.ask(Forget(["raw:1"])) == 0
    assert b"canary" not in clear(store)
    for _ in range(2):
        (left,) = await structured.ask(ListItems())
        assert (left.text, left.turns) == ("said newly", ("raw:2",))
        assert left.confidence < again.confidence
        _, structured, _ = await store.open()


async def test_an_archived_item_outlives_an_older_turn_in_the_archive(store: Store) -> None:
    _, structured, _ = await store.open()
    liked = item(1, ItemKind.PREFERENCE, turns=("raw:1", "raw:2"))
    await structured.ask(Apply(created(liked), 3))
    await structured.ask(Archive(["mem:1"]))
    await structured.ask(Forget(["raw:1"]))
    for _ in range(2):
        assert await ids(structured) == []
        (left,) = await structured.ask(ListArchived())
        assert left.turns == ("raw:2",)
        _, structured, _ = await store.open()


@pytest.mark.parametrize("reopened", [1, 2])
async def test_a_crash_in_the_midst_of_forgetting_leaves_nothing_behind(
    store: Store, reopened: int
) -> None:
    _, structured, _ = await store.open()
    gone = item(1, text="canary-gone")
    liked = item(2, ItemKind.PREFERENCE, text="canary-liked", turns=("raw:1",))
    again = item(2, ItemKind.PREFERENCE, text="said newly", turns=("raw:1", "raw:2"))
    await structured.ask(Apply(created(gone, liked), 1))
    await structured.ask(Apply([Change(ChangeKind.UPDATE, again)], 2))
    revision = (await structured.ask(StructuredStats())).revision
    # The mark is durable, and then the phone dies before anything is erased or rewritten.
    store.logs["structured"].append(forgotten_record(revision + 1, ["mem:1"], [1]))
    for _ in range(reopened):
        _, structured, _ = await store.open()
    (left,) = await structured.ask(ListItems())
    assert (left.id, left.turns) == ("mem:2", ("raw:2",))
    assert b"canary" not in clear(store)


async def test_everything_can_be_forgotten_at_once(store: Store) -> None:
    _, structured, _ = await store.open()
    await structured.ask(Apply(created(*(item(n, text=f"canary {n}") for n in range(5))), 4))
    await structured.ask(Archive(["mem:3"]))
    assert await structured.ask(ForgetAll(7)) == 5
    assert b"canary" not in clear(store)
    for later in (9, 10):
        assert await structured.ask(ListArchived()) == []
        # A dream that was under way can bring none of it back; what is said later stays.
        assert await structured.ask(Apply(created(item(2), item(later)), later)) == 1
        _, structured, _ = await store.open()
    assert await ids(structured) == ["mem:10", "mem:9"]


async def test_a_traced_item_shows_what_it_was_and_what_changed_it(store: Store) -> None:
    _, structured, _ = await store.open()
    first, second = item(1, replaced_by="mem:2"), item(2, replaced_by="mem:3")
    notes = [
        item(n, ItemKind.CHANGE, subject=s, created=float(n))
        for n, s in ((7, "mem:1"), (8, "mem:2"))
    ]
    await structured.ask(Apply(created(first, second, item(3), *notes), 9))
    await structured.ask(Archive(["mem:1"]))
    for _ in range(2):
        trace = await structured.ask(Trace("mem:3"))
        assert trace is not None
        assert [one.id for one in trace.older] == ["mem:2", "mem:1"]
        assert [one.id for one in trace.changes] == ["mem:7", "mem:8"]
        assert not trace.archived
        cold = await structured.ask(Trace("mem:1"))
        assert cold is not None
        assert cold.archived
        whole = await structured.ask(Together(["mem:3"]))
        assert [one.id for one in whole] == ["mem:1", "mem:2", "mem:3", "mem:7", "mem:8"]
        context = await structured.ask(ChangesAbout(["mem:3"]))
        assert [one.id for one in context] == ["mem:8", "mem:7"]
        assert await structured.ask(Trace("mem:77")) is None
        _, structured, _ = await store.open()


async def test_what_is_drawn_from_a_turn_is_told_beforehand(store: Store) -> None:
    _, structured, _ = await store.open()
    note = item(3, ItemKind.CHANGE, turn=5, subject="mem:1")
    await structured.ask(Apply(created(item(1), item(2), note), 9))
    await structured.ask(Archive(["mem:1"]))
    drawn = await structured.ask(DrawnFrom(["raw:1"]))
    assert [one.id for one in drawn] == ["mem:1", "mem:3"]
    assert await structured.ask(Forget(["raw:1"])) == len(drawn)


async def test_the_list_is_read_page_by_page_newest_first(store: Store) -> None:
    _, structured, _ = await store.open()
    await structured.ask(Apply(created(*(item(n) for n in range(1, 8))), 9))
    await structured.ask(Archive(["mem:4", "mem:5"]))
    first = await structured.ask(Browse(offset=0, limit=3))
    second = await structured.ask(Browse(offset=3, limit=3))
    assert [one.id for one in (*first.items, *second.items)] == [
        f"mem:{n}" for n in (7, 6, 3, 2, 1)
    ]
    assert first.total == second.total == 5
    cold = await structured.ask(Browse(archived=True))
    assert [one.id for one in cold.items] == ["mem:5", "mem:4"]
    assert (await structured.ask(Browse(ItemKind.ENTITY))).total == 0


async def test_turns_told_to_be_covered_are_not_consolidated(store: Store) -> None:
    raw, structured, working = await store.open()
    things = ("jazz", "green tea")
    await raw.ask(
        RecordMany([TurnDraft(float(n), "user", f"I like {t}") for n, t in enumerate(things)])
    )
    await structured.ask(Apply([], covered=[0]))
    raw, structured, working = await store.open()
    assert await structured.ask(Covered()) == frozenset({0})
    assert await consolidate_pending(raw, structured, working, tz=UTC) == 1
    assert [one.object for one in await structured.ask(ListItems())] == ["green tea"]
    assert await structured.ask(Covered()) == frozenset()


async def test_an_unknown_item_is_neither_restored_nor_archived(store: Store) -> None:
    _, structured, _ = await store.open()
    await structured.ask(Apply(created(item(1)), 1))
    assert await structured.ask(Archive(["mem:5"])) == 0
    assert await structured.ask(Restore(["mem:1"])) == ()
    assert await structured.ask(ItemsByIds(["mem:1"]))
