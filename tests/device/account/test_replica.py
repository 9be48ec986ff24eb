"""The CRDT alone: any order, repetition and loss of states ends in one state."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device.account.hlc import MAX_DRIFT_MS, ZERO, Hlc, HybridClock
from device.account.payload import pack_replica, unpack_replica
from device.account.replica import Dot, ItemRef, Replica, Status, merge
from device.memory.records import EventState

DEVICES = ("a" * 32, "b" * 32, "c" * 32, "d" * 32)
REF = ItemRef("a" * 32, 7)
STATES = st.sampled_from(list(EventState))


@dataclass
class Device:
    name: str
    counter: int = 0
    state: Replica = field(default_factory=Replica)
    past: list[Replica] = field(default_factory=lambda: [Replica()])

    def stamp(self, wall: int) -> tuple[Dot, Hlc]:
        self.counter += 1
        return Dot(self.name, self.counter), Hlc(wall, 0)

    def become(self, state: Replica) -> None:
        self.state = state
        self.past.append(state)


WHO = st.integers(0, len(DEVICES) - 1)
WALL = st.integers(0, 5)
OPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), WHO, WALL, st.binary(max_size=2)),
        st.tuples(st.just("turn"), WHO, WALL, STATES),
        st.tuples(st.just("merge"), WHO, WHO, st.integers(0, 30)),
        st.tuples(st.just("bury"), WHO, st.booleans(), st.booleans()),
    ),
    max_size=24,
)


def play(ops: list[tuple]) -> list[Device]:  # type: ignore[type-arg]
    devices = [Device(name) for name in DEVICES]
    for what, who, *rest in ops:
        device = devices[who]
        if what == "write":
            device.become(device.state.written(*device.stamp(rest[0]), rest[1]))
        elif what == "turn":
            device.become(device.state.turned(*device.stamp(rest[0]), Status(rest[1])))
        elif what == "merge":
            past = devices[rest[0]].past
            device.become(merge(device.state, past[rest[1] % len(past)]))
        elif all(rest):
            device.become(device.state.buried())
    return devices


@given(OPS)
@settings(max_examples=400, deadline=None)
def test_merge_is_a_join(ops: list[tuple]) -> None:  # type: ignore[type-arg]
    a, b, c, d = (device.state for device in play(ops))
    assert merge(a, b) == merge(b, a)
    assert merge(merge(a, b), c) == merge(a, merge(b, c))
    assert merge(a, a) == a
    assert merge(merge(a, b), b) == merge(a, b)
    ends = {pack_replica(REF, _all(order)) for order in permutations((a, b, c, d))}
    assert len(ends) == 1


@given(OPS, st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_any_order_repetition_and_loss_of_states_converges(ops, chance) -> None:  # type: ignore[no-untyped-def]
    """Every device sees old states, again and shuffled; some never come, but each newest does."""
    devices = play(ops)
    seen = [state for device in devices for state in device.past]
    ends = []
    for _ in devices:
        came = [s for s in seen if chance.random() < 0.5] + [d.state for d in devices]
        came += chance.sample(came, len(came) // 2)
        chance.shuffle(came)
        ends.append(_all(came))
    assert all(end == ends[0] for end in ends)


@given(OPS)
@settings(max_examples=200, deadline=None)
def test_nothing_comes_back_and_nothing_is_made_up(ops: list[tuple]) -> None:  # type: ignore[type-arg]
    devices = play(ops)
    end = _all([device.state for device in devices])
    if any(device.state.erased for device in devices):
        assert end.erased
        assert not end.content
        assert not end.status
    for dot, write in end.content.items():
        holders = [d for d in devices if dot.counter <= d.state.context.get(dot.device, 0)]
        assert all(write == d.state.content.get(dot) for d in holders)
    assert unpack_replica(pack_replica(REF, end)) == (REF, end)


def _all(states) -> Replica:  # type: ignore[no-untyped-def]
    end = Replica()
    for state in states:
        end = merge(end, state)
    return end


def start() -> Replica:
    return Replica().written(Dot(DEVICES[0], 1), Hlc(1, 0), b"tea")


def test_concurrent_words_both_stay_and_the_newest_is_shown() -> None:
    one = start().written(Dot(DEVICES[1], 1), Hlc(5, 0), b"green tea")
    two = start().written(Dot(DEVICES[2], 1), Hlc(6, 0), b"black tea")
    both = merge(one, two)
    assert both.versions == [b"black tea", b"green tea"]
    after = both.written(Dot(DEVICES[1], 2), Hlc(2, 0), b"white tea")
    # Seen writes are superseded whatever the clocks say.
    assert merge(after, both).versions == [b"white tea"]
    assert merge(after, two).versions == [b"white tea"]


def test_a_cancelled_plan_with_new_words_is_both() -> None:
    renamed = start().written(Dot(DEVICES[1], 1), Hlc(9, 0), b"tea at four")
    cancelled = start().turned(Dot(DEVICES[2], 1), Hlc(2, 0), Status(EventState.CANCELLED))
    both = merge(renamed, cancelled)
    assert both.versions == [b"tea at four"]
    assert both.standing.state is EventState.CANCELLED


@pytest.mark.parametrize(
    ("one", "other", "holds"),
    [
        ("expired", "completed", "completed"),
        ("completed", "cancelled", "cancelled"),
        ("active", "expired", "expired"),
    ],
)
def test_concurrent_states_merge_by_rank_not_by_time(one: str, other: str, holds: str) -> None:
    for walls in ((1, 2), (2, 1)):
        a = start().turned(Dot(DEVICES[1], 1), Hlc(walls[0], 0), Status(EventState(one)))
        b = start().turned(Dot(DEVICES[2], 1), Hlc(walls[1], 0), Status(EventState(other)))
        assert merge(a, b).standing.state.value == holds
    # What was seen is superseded: a cancelled plan may be taken up again.
    again = merge(a, b).turned(Dot(DEVICES[1], 2), Hlc(3, 0), Status(EventState.ACTIVE))
    assert merge(again, merge(a, b)).standing.state is EventState.ACTIVE


def test_an_erase_beats_a_later_edit_and_keeps_no_words() -> None:
    edited = start().written(Dot(DEVICES[1], 1), Hlc(99, 0), b"secret")
    gone = merge(start().buried(), edited)
    assert gone.erased
    assert b"secret" not in pack_replica(REF, gone)
    assert gone.written(Dot(DEVICES[1], 2), Hlc(100, 0), b"back") is gone


def test_a_counter_is_never_used_twice() -> None:
    with pytest.raises(ValueError, match="counter"):
        start().written(Dot(DEVICES[0], 1), Hlc(3, 0), b"again")


def test_the_clock_follows_but_not_into_the_far_future() -> None:
    now = [1_000.0]
    clock = HybridClock(lambda: now[0])
    first = clock.tick()
    assert clock.tick() > first
    now[0] = 900.0  # set back: time still goes on
    assert clock.tick() > first
    near = Hlc(1_000_000 + MAX_DRIFT_MS // 2, 3)
    assert clock.follow(near)
    assert clock.tick() > near
    now[0] = 10_000.0
    far = Hlc(10_000_000 + MAX_DRIFT_MS + 1, 0)
    assert not clock.follow(far)
    assert clock.tick() < far


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2000), st.integers(0, 9)), max_size=40))
def test_the_clock_only_goes_forward_and_stays_near(steps: list[tuple[bool, int, int]]) -> None:
    now = [0.0]
    clock = HybridClock(lambda: now[0])
    last, newest = ZERO, 0.0
    for local, wall, logical in steps:
        if local:
            now[0] = wall
            newest = max(newest, now[0])
            stamp = clock.tick()
            assert stamp > last
            last = stamp
        else:
            seen = Hlc(wall * 1000, logical)
            if clock.follow(seen):
                last = max(last, seen)
            assert clock.last == last
        assert last.wall <= newest * 1000 + MAX_DRIFT_MS + 1


def test_a_write_is_dated_when_it_was_made_not_when_it_was_noticed() -> None:
    clock = HybridClock(lambda: 100.0)
    assert clock.tick(40.0) == Hlc(40_000, 0)
    assert clock.tick(60.0) == Hlc(60_000, 0)
    assert clock.tick(50.0) == Hlc(60_000, 1)
    assert clock.tick(500.0) == Hlc(100_000, 0)
