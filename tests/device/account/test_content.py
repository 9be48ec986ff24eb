"""What travels of an item comes back as it was, on any device."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device.account.content import (
    SHARED_KINDS,
    Names,
    alternatives,
    digest_of,
    pack_item,
    status_of,
    unpack_item,
)
from device.account.errors import EnvelopeRefused
from device.account.replica import ItemRef, Status
from device.agent.keeping import fact_item, fact_of, run_item, skill_item
from device.agent.records import Fact, FactKind, Outcome, Run, Skill, Trigger
from device.memory.foreign import foreign_turn, told_on
from device.memory.merging import MERGE_NUMBERS
from device.memory.records import EventState, Item, ItemKind
from device.owner.keeping import TURNLESS

ONE, TWO, THREE = "1" * 32, "2" * 32, "3" * 32
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
TIME = st.floats(0, 4e9, allow_nan=False)
NUMBERS = st.one_of(
    st.integers(0, 1 << 40), st.integers(TURNLESS, TURNLESS + 999),
    st.integers(MERGE_NUMBERS, MERGE_NUMBERS + 999),
)  # fmt: skip
IDS = NUMBERS.map("mem:{}".format)
TURNS = st.one_of(
    st.integers(0, 1 << 40).map("raw:{}".format),
    st.tuples(st.sampled_from([TWO, THREE]), st.integers(0, 999)).map(lambda p: foreign_turn(*p)),
    TEXT,
)
KINDS = st.sampled_from(
    [ItemKind.EVENT, ItemKind.PREFERENCE, ItemKind.ENTITY, ItemKind.CHANGE]
)  # fmt: skip


@st.composite
def items(draw: st.DrawFn) -> Item:
    kind = draw(KINDS)
    return Item(
        id=draw(IDS),
        kind=kind,
        text=draw(TEXT),
        created=draw(TIME),
        updated=draw(TIME),
        turns=tuple(draw(st.lists(TURNS, max_size=3))),
        subject=draw(IDS if kind is ItemKind.CHANGE else TEXT),
        people=tuple(draw(st.lists(TEXT, max_size=2))),
        starts=draw(st.none() | TIME),
        ends=draw(st.none() | TIME),
        sentiment=draw(st.floats(-1, 1)),
        state=draw(st.sampled_from(list(EventState))),
        replaced_by=draw(st.just("") | IDS),
        detail=draw(st.binary(max_size=8)),
    )


def carried(item: Item, there: Names, here: Names) -> Item:
    ref = there.ref(item.id)
    assert ref is not None
    return unpack_item(pack_item(item, there), ref, status_of(item, there), here)


@given(items())
@settings(deadline=None)
def test_there_and_back_changes_nothing(item: Item) -> None:
    one, two, three = Names(ONE, []), Names(TWO, [THREE]), Names(THREE, [])
    content = pack_item(item, one)
    there = carried(item, one, two)
    assert pack_item(there, two) == content
    assert status_of(there, two) == status_of(item, one)
    onward = carried(there, two, three)
    assert pack_item(onward, three) == content
    back = carried(onward, three, one)
    assert back == item
    assert there.id != item.id
    assert onward.id != item.id


@given(items(), items())
@settings(deadline=None)
def test_no_two_items_share_an_id_on_a_device(a: Item, b: Item) -> None:
    two, met = Names(TWO, []), Names(ONE, [])
    ids = {carried(a, met, two).id, a.id, carried(b, met, two).id, b.id}
    assert len(ids) == (4 if a.id != b.id else 2)
    assert all(int(i.removeprefix("mem:")) < 10**18 for i in ids)


def test_what_an_agent_learnt_travels_whole() -> None:
    one, two = Names(ONE, []), Names(TWO, [])
    sources = ("mem:1000000000001", "mem:1000000000002")
    fact = Fact("shop", "checkout needs a login", next(iter(FactKind)), 0.5, 9.0, 0.0, sources)
    there = carried(fact_item("mem:1000000000009", fact, 5.0), one, two)
    assert fact_of(there).sources == tuple(
        two.local(ItemRef(ONE, number)) for number in (1000000000001, 1000000000002)
    )
    assert fact_of(carried(there, two, one)) == fact
    trigger = Trigger(("shop",), (), ("order",))
    skill = Skill("order tea", trigger, ("open", "buy"), sources=sources)
    taught = skill_item("mem:1000000000019", skill, 5.0)
    assert carried(carried(taught, one, two), two, one) == replace(
        taught, accesses=0, last_access=0.0
    )


def test_runs_and_patterns_stay_home() -> None:
    assert {ItemKind.RUN, ItemKind.PATTERN}.isdisjoint(SHARED_KINDS)
    run = run_item("mem:5", Run("t", "g", "app", (), next(iter(Outcome)), 1.0))
    with pytest.raises(EnvelopeRefused):
        unpack_item(pack_item(run, Names(ONE, [])), ItemRef(ONE, 5), Status(EventState.ACTIVE),
                    Names(TWO, []))  # fmt: skip


@given(st.binary(max_size=60))
def test_junk_is_no_item(junk: bytes) -> None:
    with pytest.raises(EnvelopeRefused):
        unpack_item(junk, ItemRef(ONE, 1), Status(EventState.ACTIVE), Names(TWO, []))


def test_versions_that_say_the_same_are_one() -> None:
    names = Names(ONE, [])
    tea = Item("mem:1", ItemKind.EVENT, "tea", 1.0, 1.0, ())
    later = Item("mem:1", ItemKind.EVENT, "tea", 2.0, 3.0, ("raw:1",))
    other = Item("mem:1", ItemKind.EVENT, "green tea", 1.0, 1.0, ())
    packed = [pack_item(item, names) for item in (tea, later, other, other)]
    assert alternatives(packed) == [packed[2]]
    assert alternatives([]) == []
    assert digest_of(packed[0], status_of(tea, names)) != digest_of(
        packed[1], status_of(later, names)
    )


def test_foreign_turns_name_their_device() -> None:
    assert told_on(foreign_turn(ONE, 12)) == (ONE, 12)
    for other in ("raw:12", "device:x/1", f"device:{ONE}/-1", ""):
        assert told_on(other) is None
