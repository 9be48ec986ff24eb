"""What one phone and a crowd of them may take of a gateway."""

from __future__ import annotations

import heapq
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud.gateway.limits import (
    DAY_SECONDS,
    LONGEST_WAIT_SECONDS,
    SPREAD,
    Door,
    Limits,
    Rations,
    spread,
)
from device.sync.backoff import Backoff

PHONES = 20_000
RATE = 200.0
"""Sessions a second that the cloud of the herd can begin."""


def door(**limits: float) -> Door:
    return Door(Limits(**limits), lambda: 0.5)  # type: ignore[arg-type]


def test_a_door_admits_a_burst_then_a_rate() -> None:
    ours = door(starts_per_second=10.0, starts_burst=3.0)
    assert [ours.enter(0.0) > 0.0 for _ in range(5)] == [False, False, False, True, True]
    assert ours.enter(0.1) == 0.0
    assert ours.enter(0.1) > 0.0
    assert ours.enter(1e6) == ours.enter(1e6) == ours.enter(1e6) == 0.0
    assert ours.enter(1e6) > 0.0


def test_a_full_house_admits_when_someone_leaves() -> None:
    ours = door(open_sessions=2)
    assert ours.enter(0.0) == ours.enter(0.0) == 0.0
    assert ours.enter(100.0) > 0.0
    ours.leave()
    assert ours.enter(100.0) == 0.0
    assert ours.open == 2


def test_the_turned_away_get_places_one_after_the_other() -> None:
    ours = door(starts_per_second=10.0, starts_burst=1.0)
    ours.enter(0.0)
    waits = [ours.enter(0.0) for _ in range(100)]
    assert waits == sorted(waits)
    assert waits[-1] > 9.9
    assert max(door(starts_burst=0.0, starts_per_second=1e-6).enter(0.0) for _ in range(3)) <= (
        LONGEST_WAIT_SECONDS * (1.0 + SPREAD)
    )


def test_a_clock_that_jumps_back_earns_nothing() -> None:
    ours = door(starts_per_second=1.0, starts_burst=1.0)
    assert ours.enter(100.0) == 0.0
    assert ours.enter(0.0) > 0.0
    assert ours.enter(100.5) > 0.0


@given(st.floats(0, 1e6), st.floats(0, 1, exclude_max=True))
def test_a_spread_wait_is_never_shorter_and_at_most_a_quarter_longer(
    seconds: float, chance: float
) -> None:
    assert seconds <= spread(seconds, chance) <= seconds + max(1.0, seconds * SPREAD)


def test_a_device_has_a_ration_of_sessions() -> None:
    rations = Rations(Limits(device_sessions_burst=2.0, device_sessions_a_day=24.0))
    assert rations.start("a", 0.0) == rations.start("a", 0.0) == 0.0
    assert rations.start("a", 0.0) == pytest.approx(3600.0)
    assert rations.start("b", 0.0) == 0.0, "one device takes nothing from another"
    assert rations.start("a", 3601.0) == 0.0
    assert rations.start("a", 0.0) > 0.0, "a clock that goes back gives nothing"


def test_a_device_has_a_ration_of_bytes_and_may_owe_some() -> None:
    rations = Rations(Limits(device_bytes_a_day=1000.0))
    assert rations.wait("a", 1000, 0.0) == 0.0
    rations.spend("a", 1500, 0.0)
    assert rations.wait("a", 100, 0.0) == pytest.approx(0.6 * DAY_SECONDS)
    assert rations.wait("a", 100, 0.6 * DAY_SECONDS) == pytest.approx(0.0, abs=1e-6)
    assert rations.wait("a", 10**9, 10 * DAY_SECONDS) == 0.0, "no body waits for ever"


def test_only_so_many_devices_are_remembered() -> None:
    rations = Rations(Limits(devices_remembered=10, device_sessions_burst=1.0))
    for number in range(1000):
        rations.start(f"device-{number}", 0.0)
    assert len(rations._devices) == 10
    assert rations.start("device-999", 0.0) > 0.0
    assert rations.start("device-0", 0.0) == 0.0


def herd(
    outage: float, *, jitter: bool = True, hints: bool = True
) -> tuple[list[int], list[float]]:
    """Phones that all lose their session at 0 with a cloud that is back after `outage` seconds.

    Gives the knocks in every second from then on, and when each phone was served, in order.
    """
    rng = np.random.Generator(np.random.Philox(key=9))
    ours = Door(Limits(starts_per_second=RATE, starts_burst=RATE), rng.random)
    phones = [Backoff(3600.0, rng) for _ in range(PHONES)]
    failures = [0] * PHONES
    queue: list[tuple[float, int]] = []

    def again(number: int, now: float, hint: float) -> None:
        phones[number].failed(now, hint if hints else 0.0)
        failures[number] += 1
        ladder = now + min(3600.0, 15.0 * 2.0 ** failures[number])
        heapq.heappush(queue, (phones[number].not_before if jitter else ladder, number))

    for number in range(PHONES):
        again(number, 0.0, 0.0)
    knocks: Counter[int] = Counter()
    served = []
    while queue and (jitter or queue[0][0] < outage + 60.0):
        now, number = heapq.heappop(queue)
        knocks[int(now - outage)] += now >= outage
        wait = ours.enter(now) if now >= outage else 0.0
        if now < outage or wait:
            again(number, now, wait)
        else:
            ours.leave()
            served.append(now - outage)
    return [knocks[second] for second in range(max(knocks) + 1)], served


def test_a_herd_of_20_000_phones_comes_back_as_a_queue_and_not_as_a_storm() -> None:
    knocks, served = herd(60.0)
    assert len(served) == PHONES
    assert max(knocks) <= 3 * RATE, "no second sees much more than can be served"
    assert sum(knocks) <= 1.25 * PHONES, "hardly anyone knocks twice"
    # One after the other at the full rate, 99 of 100 would be served in 99 s.
    assert served[PHONES * 99 // 100] <= 6 * PHONES / RATE


def test_after_a_short_outage_it_is_the_hint_that_keeps_the_herd_apart() -> None:
    told, served = herd(1.0)
    untold, _ = herd(1.0, hints=False)
    assert len(served) == PHONES
    assert sum(told) <= 2 * PHONES
    assert max(told) <= 4 * RATE
    assert sum(untold) > 1.1 * sum(told)
    assert sum(told[30:]) < sum(untold[30:])


def test_without_jitter_the_same_herd_is_a_storm() -> None:
    knocks, _ = herd(60.0, jitter=False)
    assert max(knocks) == PHONES


def test_a_clock_that_was_far_ahead_for_a_while_starves_nobody() -> None:
    rations = Rations(Limits(device_sessions_burst=1.0, device_sessions_a_day=24.0))
    assert rations.start("a", 400 * DAY_SECONDS) == 0.0
    assert rations.start("a", 0.0) > 0.0  # set right: no session for nothing
    assert rations.start("a", DAY_SECONDS / 24) == 0.0  # and one an hour again
