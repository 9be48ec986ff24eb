"""Merging stored memories: what becomes one, what it keeps, and that it can be undone exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device.memory.changes import Change
from device.memory.judgement import Judgement
from device.memory.lifecycle import Transition
from device.memory.merging import CannotUndo, about, alike, merge, parted, undo
from device.memory.records import EventState, Item, ItemKind
from tests.device.memory.dedup_models import KEEPS_BOTH, NO_MODEL, SURE

DAY = 86_400.0
NOW = 50 * DAY


def item(number: int, text: str = "我喜欢喝茶", **fields: Any) -> Item:
    given: dict[str, Any] = {
        "kind": ItemKind.PREFERENCE,
        "created": number * DAY,
        "updated": number * DAY,
        "turns": (f"raw:{number}",),
        "subject": "user",
        "action": "like",
        "accesses": number,
        "last_access": number * DAY + 60.0,
        "confidence": 0.3,
    }
    return Item(id=f"mem:{number * 64}", text=text, **(given | fields))


def applied(items: Sequence[Item], changes: Sequence[Change]) -> dict[str, Item]:
    held = {i.id: i for i in items}
    return held | {change.item.id: change.item for change in changes}


OLDER, NEWER = item(1), item(2, "我喜欢喝茶呢")


def test_the_later_telling_stands_with_all_turns_and_uses() -> None:
    held = applied([OLDER, NEWER], merge(OLDER, NEWER, SURE, NOW))
    kept, gone = held[NEWER.id], held[OLDER.id]
    assert (kept.text, kept.state) == (NEWER.text, EventState.ACTIVE)
    assert kept.turns == ("raw:1", "raw:2")
    assert (kept.created, kept.updated) == (OLDER.created, NEWER.updated)
    assert kept.accesses == 3
    assert kept.confidence > 0.3
    assert (gone.replaced_by, gone.state) == (NEWER.id, EventState.EXPIRED)
    assert replace(gone, replaced_by="", state=EventState.ACTIVE) == OLDER


def test_every_merge_leaves_a_change_record() -> None:
    record = merge(OLDER, NEWER, SURE, NOW)[2].item
    assert record.kind is ItemKind.CHANGE
    assert (record.subject, record.action) == (OLDER.id, Transition.MERGED)
    assert record.turns == ("raw:1", "raw:2")
    assert record.created == NOW
    assert OLDER.text.encode() not in record.detail


def test_a_merge_verdict_keeps_both() -> None:
    assert merge(OLDER, NEWER, KEEPS_BOTH, NOW) == []
    assert merge(OLDER, item(2, "我喜欢喝绿茶"), SURE, NOW) == []


def test_without_a_model_only_equal_words_merge() -> None:
    assert merge(OLDER, NEWER, NO_MODEL, NOW) == []
    assert merge(OLDER, item(2, "我喜欢喝茶。"), NO_MODEL, NOW)


def test_undo_restores_both_exactly() -> None:
    held = applied([OLDER, NEWER], merge(OLDER, NEWER, SURE, NOW))
    for name in (OLDER.id, NEWER.id, *(i for i in held if i not in (OLDER.id, NEWER.id))):
        back = applied(list(held.values()), undo(name, held, NOW + 1))
        assert back[OLDER.id] == OLDER
        assert back[NEWER.id] == NEWER
        assert parted(back.values()) == {OLDER.id}


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([ItemKind.EVENT, ItemKind.PREFERENCE, ItemKind.ENTITY]),
    st.lists(st.integers(0, 30), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(0, 30), min_size=1, max_size=4, unique=True),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(0, 9),
)
def test_undo_restores_any_two_memories(
    kind: ItemKind, first: list[int], second: list[int], sure: float, surer: float, uses: int
) -> None:
    a = item(1, kind=kind, turns=tuple(f"raw:{n}" for n in first), confidence=sure)
    b = item(2, kind=kind, turns=tuple(f"raw:{n}" for n in second), confidence=surer, accesses=uses)
    held = applied([a, b], merge(a, b, SURE, NOW))
    back = applied(list(held.values()), undo(a.id, held, NOW))
    assert (back[a.id], back[b.id]) == (a, b)


def test_undo_leaves_what_was_learnt_since() -> None:
    held = applied([OLDER, NEWER], merge(OLDER, NEWER, SURE, NOW))
    kept = held[NEWER.id]
    later = replace(kept, turns=(*kept.turns, "raw:9"), accesses=kept.accesses + 4, updated=9 * DAY)
    apart = applied([], undo(OLDER.id, held | {later.id: later}, NOW))[NEWER.id]
    assert apart.turns == ("raw:2", "raw:9")
    assert apart.accesses == NEWER.accesses + 4
    assert (apart.created, apart.updated) == (NEWER.created, 9 * DAY)


def test_a_chain_is_undone_from_its_end() -> None:
    last = item(3)
    held = applied([OLDER, NEWER, last], merge(OLDER, NEWER, SURE, NOW))
    held = applied(list(held.values()), merge(held[NEWER.id], last, SURE, NOW))
    assert held[last.id].turns == ("raw:1", "raw:2", "raw:3")
    with pytest.raises(CannotUndo, match="first"):
        undo(OLDER.id, held, NOW)
    held = applied(list(held.values()), undo(NEWER.id, held, NOW))
    held = applied(list(held.values()), undo(OLDER.id, held, NOW))
    assert [held[i.id] for i in (OLDER, NEWER, last)] == [OLDER, NEWER, last]


@pytest.mark.parametrize("name", [OLDER.id, "mem:77", "raw:1", ""])
def test_what_was_never_merged_cannot_be_undone(name: str) -> None:
    with pytest.raises(CannotUndo):
        undo(name, {OLDER.id: OLDER, NEWER.id: NEWER}, NOW)


def test_a_merge_with_a_forgotten_side_cannot_be_undone() -> None:
    held = applied([OLDER, NEWER], merge(OLDER, NEWER, SURE, NOW))
    del held[NEWER.id]
    with pytest.raises(CannotUndo, match="forgotten"):
        undo(OLDER.id, held, NOW)


@pytest.mark.parametrize(
    "other",
    [
        {"kind": ItemKind.EVENT},
        {"subject": "小李"},
        {"action": "dislike"},
        {"starts": 5.0, "ends": 6.0},
        {"place": "成都"},
        {"people": ("小李",)},
    ],
)
def test_memories_of_another_kind_subject_time_or_place_are_no_candidates(
    other: dict[str, Any],
) -> None:
    assert about(OLDER) == about(item(2, "我喜欢喝茶呢"))
    assert about(OLDER) != about(item(2, **other))


@pytest.mark.parametrize(
    "ended",
    [
        {"state": EventState.CANCELLED},
        {"replaced_by": "mem:3"},
        {"kind": ItemKind.CHANGE},
        {"kind": ItemKind.FACT},
    ],
)
def test_what_has_ended_or_is_a_record_is_no_candidate(ended: dict[str, Any]) -> None:
    assert about(item(1, **ended)) is None


def test_events_without_a_time_are_one_only_within_a_day() -> None:
    def told(day: float) -> Item:
        return item(int(day * 10), "头疼", kind=ItemKind.EVENT, updated=day * DAY)

    assert list(alike([told(1.0), told(1.5)], frozenset()))
    assert not list(alike([told(1.0), told(3.0)], frozenset()))
    assert list(alike([item(1), item(30)], frozenset()))


def test_opposite_feelings_are_no_candidates() -> None:
    assert not list(alike([item(1, sentiment=0.5), item(2, sentiment=-0.5)], frozenset()))


def test_candidates_grow_with_the_block_and_not_with_its_square() -> None:
    block = [item(n) for n in range(100)]
    assert len(list(alike(block, frozenset()))) == 99
    assert len(list(alike(block, frozenset([block[0].id])))) == 98


def test_the_model_is_asked_once_a_pair() -> None:
    asked: list[tuple[str, str]] = []

    class Counting(Judgement):
        def may_merge(self, a: str, b: str) -> bool:
            asked.append((a, b))
            return super().may_merge(a, b)

    merge(OLDER, NEWER, Counting(SURE.weights), NOW)
    assert asked == [(OLDER.text, NEWER.text)]
