"""Sizes kept up to date, and turns read from where they are needed."""

from dataclasses import replace

import msgpack
from hypothesis import given
from hypothesis import strategies as st

from device.memory.coding import turn_from_payload, turn_of, turn_to_payload
from device.memory.records import TurnDraft
from device.memory.turnstore import BLOCK_OVERHEAD_BYTES, OPEN_TURN_OVERHEAD_BYTES, TurnStore

BLOCK = 128


def payload(number: int) -> bytes:
    return turn_to_payload(TurnDraft(float(number), "user", f"turn {number} " * (number % 5)))


@given(st.integers(0, 400), st.sets(st.integers(0, 400), max_size=60), st.integers(-1, 420))
def test_sizes_and_order_after_adding_and_forgetting(
    count: int, gone: set[int], above: int
) -> None:
    store = TurnStore()
    for number in range(count):
        store.append(number, payload(number))
    left = [number for number in range(count) if number not in gone]
    assert store.remove(gone) == count - len(left)
    for number in range(count, count + 3):
        store.append(number, payload(number))
        left.append(number)
    assert len(store) == len(left)
    assert [turn.sequence for turn in store.after(above, 1_000)] == [n for n in left if n > above]
    blocks = sum(len(b.deflated) + BLOCK_OVERHEAD_BYTES for b in store._blocks)
    waiting = sum(len(held) + OPEN_TURN_OVERHEAD_BYTES for held in store._payloads)
    assert store.resident_bytes == blocks + waiting
    assert len(store) == sum(block.count for block in store._blocks) + len(store._payloads)


def test_a_full_block_is_counted_as_a_block() -> None:
    store = TurnStore()
    for number in range(BLOCK):
        store.append(number, payload(number))
    assert len(store) == BLOCK
    assert not store._payloads
    assert store.resident_bytes == len(store._blocks[0].deflated) + BLOCK_OVERHEAD_BYTES


@given(
    st.integers(1, 300),
    st.lists(st.integers(-2, 320), max_size=30),
    st.sets(st.integers(0, 300), max_size=9),
)
def test_many_turns_are_read_as_one_by_one(count: int, asked: list[int], gone: set[int]) -> None:
    store = TurnStore()
    for number in range(count):
        store.append(number, payload(number))
    store.remove(gone)
    held = [number for number in asked if 0 <= number < count and number not in gone]
    assert [turn.sequence for turn in store.many(asked)] == held
    assert store.many(asked) == [turn for turn in map(store.get, asked) if turn is not None]


def test_a_turn_of_an_earlier_version_is_read_and_a_kind_of_its_own_is_kept() -> None:
    earlier = msgpack.packb([1.0, "user", "hello", "s", "chat", "dialogue"])
    draft = TurnDraft(1.0, "user", "hello", "s", "chat")
    assert turn_from_payload(4, earlier) == turn_from_payload(4, turn_to_payload(draft))
    said = turn_from_payload(5, turn_to_payload(replace(draft, kind="operation")))
    assert said == turn_of(5, replace(draft, kind="operation"))
