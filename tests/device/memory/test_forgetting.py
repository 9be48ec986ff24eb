from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from device.memory.confidence import preference_confidence
from device.memory.forgetting import Fate, ForgettingPolicy, fate, retention
from device.memory.records import EventState, Item, ItemKind

POLICY = ForgettingPolicy()
DAY = 86_400.0
EVENT = Item("mem:1", ItemKind.EVENT, "t", 0.0, 0.0, ("raw:0",))

days = st.floats(0, 2000)
counts = st.integers(0, 1000)
feelings = st.floats(-1, 1)


@given(days, days, counts, counts, feelings)
def test_retention_is_bounded_and_monotone(
    near: float, further: float, few: int, more: int, feeling: float
) -> None:
    item = replace(EVENT, accesses=few, sentiment=feeling)
    now = retention(item, near * DAY, POLICY)
    assert 0.0 <= now <= 1.0
    assert retention(item, (near + further) * DAY, POLICY) <= now
    assert retention(replace(item, accesses=few + more), near * DAY, POLICY) >= now
    assert retention(replace(item, sentiment=0.0), near * DAY, POLICY) <= now


def test_a_memory_never_read_is_not_forgotten_on_its_first_day() -> None:
    assert retention(EVENT, 0.0, POLICY) == 1.0
    assert fate(EVENT, 3600.0, POLICY) is Fate.KEEP


def test_fates_follow_one_another() -> None:
    fates = [fate(EVENT, n * DAY, POLICY) for n in range(200)]
    assert fates == sorted(fates, key=["keep", "archive", "delete"].index)
    assert fates[-1] is Fate.DELETE


def test_what_the_user_is_and_what_is_to_come_never_fades() -> None:
    far = 5000 * DAY
    assert fate(replace(EVENT, kind=ItemKind.ENTITY), far, POLICY) is Fate.KEEP
    assert fate(replace(EVENT, starts=far, ends=far + DAY), far, POLICY) is Fate.KEEP
    cancelled = replace(EVENT, starts=far, ends=far + DAY, state=EventState.CANCELLED)
    assert fate(cancelled, far, POLICY) is Fate.DELETE


@given(st.integers(1, 50), st.floats(0, 1e7), st.floats(0, 1))
def test_confidence_grows_with_each_argument(times: int, span: float, emotion: float) -> None:
    base = preference_confidence(times, span, emotion)
    assert 0.0 <= base <= 1.0
    assert preference_confidence(times + 1, span, emotion) >= base
    assert preference_confidence(times, span + DAY, emotion) >= base
