"""Clocks set back and forward, and clouds that lie about dates: neither alone renews a budget."""

from __future__ import annotations

from itertools import product

import pytest

from tests.privacy.parts import DAY, START, worst_year
from tests.privacy.phones import CADENCE, SMALL, Cloud, Memory, Phone, really_spent

HONEST = (0.0, 0.0)
WRONG_CLOCKS = [(days * DAY, 0.0) for days in (-400, -69, -55, -30, 30, 55, 69, 400)]
LYING_CLOUDS = [(0.0, days * DAY) for days in (-400, -89, -55, -30, 30, 55, 69, 400)]
SYNC = CADENCE
LATE = 19 * DAY
"""Into a round, when its opening is furthest from the truth."""


def spell(phone: Phone, cloud: Cloud, start: float, days: int, liar: tuple[float, float]) -> float:
    """Syncs late in every round with (clock's error, rounds' error); the moment it ended."""
    skew, lie = liar
    for step in range(int(days * DAY / SYNC)):
        phone.session(cloud, start + step * SYNC + LATE, skew=skew, lie=lie)
    return start + days * DAY


def worst(cloud: Cloud) -> dict[str, int]:
    return {each.name: worst_year(really_spent(cloud, each.name)) for each in SMALL.streams}


CAPS = {each.name: each.yearly_cap for each in SMALL.streams}


@pytest.mark.parametrize("first", [HONEST, *WRONG_CLOCKS, *LYING_CLOUDS])
def test_no_order_of_lies_renews_the_year(first: tuple[float, float]) -> None:
    """A spell under one liar, then under another or none, at every length where dates could meet.

    A charge dated 55 days too early leaves the year 55 days too soon, and so on.
    """
    later = [HONEST, WRONG_CLOCKS[2], WRONG_CLOCKS[5], LYING_CLOUDS[2], LYING_CLOUDS[5]]
    for second, days in product(later, (60, 320)):
        phone, cloud = Phone(Memory()), Cloud()
        now = spell(phone, cloud, START, days, first)
        now = spell(phone, cloud, now, 200, second)
        spell(phone, cloud, now, 160, HONEST)
        for stream, units in worst(cloud).items():
            assert units <= CAPS[stream]


@pytest.mark.parametrize("liar", [*WRONG_CLOCKS, *LYING_CLOUDS])
def test_a_liar_for_good_gains_nothing(liar: tuple[float, float]) -> None:
    phone, cloud = Phone(Memory()), Cloud()
    spell(phone, cloud, START, 900, liar)
    for stream, units in worst(cloud).items():
        assert units <= CAPS[stream]


def test_an_honest_phone_reports_all_that_its_year_allows() -> None:
    """Three in 365 days, the rounds' own 20 days, and what is left of the round they end in."""
    phone, cloud = Phone(Memory()), Cloud()
    spell(phone, cloud, START, 1_200, HONEST)
    moments = [round((at - START) / DAY) for at, _ in really_spent(cloud, "counts")]
    assert moments == [first + each for first in (19, 419, 819) for each in (0, 20, 40)]


def test_a_wrong_clock_now_and_then_only_costs_time() -> None:
    phone, cloud = Phone(Memory()), Cloud()
    now = spell(phone, cloud, START, 100, WRONG_CLOCKS[0])
    assert cloud.seen == {}  # 400 days off: refused, nothing charged
    spell(phone, cloud, now, 100, HONEST)
    assert len(really_spent(cloud, "counts")) == 3
