"""Ways of life: what each does to a phone's window, and that the default mix is as measured."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray

from simulator.availability import MODELS, Model, Rhythms, draw_availability, fitted_rhythms
from simulator.habits import EVERYDAY, HABITS, HabitName, habit_of, rhythms_of, window_share_of
from simulator.randomness import generator
from simulator.tracks import Track, seconds_by_hour

MONDAY = 1_772_409_600.0  # 2026-03-02 00:00 UTC
WEEK = 7
PHONES = 60
DAY = 86_400.0


def bent(name: HabitName) -> Rhythms:
    return rhythms_of({name: 1.0}, "weekly")[name]


def tracks(rhythms: Rhythms, condition: str, days: int = WEEK) -> list[Track]:
    drawn = [
        draw_availability(
            generator(3, "habits", i), start=MONDAY, days=days, utc_offset=0.0, rhythms=rhythms
        )
        for i in range(PHONES)
    ]
    return [getattr(phone, condition) for phone in drawn]


def by_hour(rhythms: Rhythms, condition: str, days: int = WEEK) -> NDArray[np.float64]:
    """(24,) drawn share of each hour in which the condition holds."""
    seconds = [seconds_by_hour(track, 0.0) for track in tracks(rhythms, condition, days)]
    return np.asarray(np.mean(seconds, axis=0) / (3600.0 * days))


def test_a_population_as_measured_is_left_alone() -> None:
    for model in MODELS:
        assert rhythms_of({HabitName.MEASURED: 1.0}, model)[HabitName.MEASURED] is fitted_rhythms(
            model
        )


@pytest.mark.parametrize("model", MODELS)
def test_a_balanced_population_sees_as_much_of_its_window_as_measured(model: Model) -> None:
    """Also when phones of it are drawn, not only in expectation."""
    wanted = window_share_of(fitted_rhythms(model))
    lived = rhythms_of(EVERYDAY, model, balanced=True)
    expected = sum(EVERYDAY[name] * window_share_of(each) for name, each in lived.items())
    assert expected == pytest.approx(wanted, abs=1e-6)
    total = 0.0
    for phone in range(400):
        truth = draw_availability(
            generator(8, phone),
            start=MONDAY,
            days=WEEK,
            utc_offset=0.0,
            rhythms=lived[habit_of(EVERYDAY, 8, phone)],
        )
        total += truth.window.seconds()
    assert total / (400 * WEEK * DAY) == pytest.approx(wanted, abs=0.02)


def test_shares_of_the_mix_hold_in_a_fleet_of_any_size() -> None:
    for phones in (20, 300):
        for seed in range(5):
            counts = Counter(habit_of(EVERYDAY, seed, phone) for phone in range(phones))
            for name, share in EVERYDAY.items():
                assert abs(counts[name] - share * phones) <= 3.0, (seed, name)


def test_habits_do_not_follow_the_stories() -> None:
    """Every eighth phone tells the same story; their owners must not all live alike."""
    habits = {habit_of(EVERYDAY, 1, phone) for phone in range(0, 800, 8)}
    assert len(habits) == len(EVERYDAY)


def test_a_nightly_charger_charges_at_night() -> None:
    nightly, measured = (
        by_hour(bent(n), "charging") for n in (HabitName.NIGHTLY_CHARGER, HabitName.MEASURED)
    )
    assert nightly[1:5].mean() > measured[1:5].mean() + 0.05
    assert nightly[9:20].mean() < 0.75 * measured[9:20].mean()


def test_an_opportunist_charges_shortly_and_at_any_hour() -> None:
    hours = by_hour(bent(HabitName.OPPORTUNISTIC), "charging")
    assert hours.max() - hours.min() < 0.35
    lengths = [
        np.mean(
            [end - begin for track in tracks(bent(n), "charging") for begin, end in track.spans]
        )
        for n in (HabitName.OPPORTUNISTIC, HabitName.MEASURED)
    ]
    assert lengths[0] < 0.8 * lengths[1]


def test_the_night_shift_sleeps_by_day() -> None:
    night, measured = (
        by_hour(bent(n), "window") for n in (HabitName.NIGHT_SHIFT, HabitName.MEASURED)
    )
    assert night[12:17].mean() > 2 * measured[12:17].mean()
    assert night[2:6].mean() < 0.6 * measured[2:6].mean()


def test_a_commuter_is_metered_on_the_way_and_at_home_on_sundays() -> None:
    spans = tracks(bent(HabitName.COMMUTER), "unmetered")

    def share(day: int, hour: float) -> float:
        at = MONDAY + day * DAY + hour * 3600.0
        return float(np.mean([track.holds(at) for track in spans]))

    assert np.mean([share(day, 8.0) for day in range(5)]) < 0.15
    assert np.mean([share(day, 18.0) for day in range(5)]) < 0.15
    assert np.mean([share(day, 8.0) for day in (5, 6)]) > 0.6
    assert np.mean([share(day, 22.0) for day in range(5)]) > 0.6


def test_without_wifi_there_is_no_window() -> None:
    assert not any(track.spans for track in tracks(bent(HabitName.NEVER_ON_WIFI), "window"))
    assert all(track.spans for track in tracks(bent(HabitName.NEVER_ON_WIFI), "charging"))
    assert window_share_of(bent(HabitName.NEVER_ON_WIFI)) == 0.0


def test_who_rarely_charges_has_a_third_of_the_window() -> None:
    rarely = np.sum(by_hour(bent(HabitName.RARELY_CHARGING), "charging"))
    assert rarely < 0.5 * np.sum(by_hour(bent(HabitName.MEASURED), "charging"))
    assert rarely > 0.0


def test_a_shared_tablet_is_busy_in_the_evening() -> None:
    idle = by_hour(bent(HabitName.SHARED_TABLET), "idle")
    assert idle[17:21].mean() < by_hour(bent(HabitName.MEASURED), "idle")[17:21].mean() - 0.1
    assert by_hour(bent(HabitName.SHARED_TABLET), "unmetered").min() > 0.9


@pytest.mark.parametrize("name", list(HABITS))
@pytest.mark.parametrize("model", MODELS)
def test_expected_shares_are_those_that_are_drawn(name: HabitName, model: Model) -> None:
    """The tables from which populations are balanced say what the chains do."""
    lived = rhythms_of({name: 1.0}, model)[name]
    days = 14
    drawn = by_hour(lived, "window", days).mean()
    assert drawn == pytest.approx(window_share_of(lived), abs=0.06)
