import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from simulator.availability import PhoneAvailability, Track, draw_availability, fitted_window_share
from simulator.randomness import generator

START = 1_772_409_600.0  # 2026-03-02 00:00 UTC
SEED = 5
PHONES = 300
DAYS = 4


@pytest.fixture(scope="module")
def fleet() -> list[PhoneAvailability]:
    return [
        draw_availability(generator(SEED, i), start=START, days=DAYS, utc_offset=0.0)
        for i in range(PHONES)
    ]


def minutes(track: Track) -> NDArray[np.float64]:
    grid = np.zeros(DAYS * 1440)
    for begin, end in track.spans:
        grid[round((begin - START) / 60) : round((end - START) / 60)] = 1.0
    return grid


def test_hourly_eligibility_follows_the_fit(fleet: list[PhoneAvailability]) -> None:
    """The share of minutes with all three conditions is within a few points at every hour."""
    mean = np.mean([minutes(phone.window) for phone in fleet], axis=0)
    hourly = mean.reshape(DAYS, 24, 60).mean(axis=(0, 2))
    fitted = fitted_window_share()
    gap = np.abs(hourly - fitted)
    assert gap.max() < 0.06, f"seed {SEED}: worst gap {gap.max():.3f} at hour {gap.argmax()}"
    assert gap.mean() < 0.03
    assert fitted[4] == pytest.approx(0.59, abs=0.01)
    assert fitted[9] == pytest.approx(0.10, abs=0.01)


def test_windows_are_many_and_mostly_short(fleet: list[PhoneAvailability]) -> None:
    lengths = np.array([(e - s) / 60 for phone in fleet for s, e in phone.window.spans])
    per_day = len(lengths) / PHONES / DAYS
    assert 6 < per_day < 25, per_day
    assert np.median(lengths) < 25
    assert np.percentile(lengths, 99) > 90


def test_phones_differ(fleet: list[PhoneAvailability]) -> None:
    shares = [phone.window.seconds() / (DAYS * 86400) for phone in fleet]
    assert np.percentile(shares, 5) < 0.12
    assert np.percentile(shares, 95) > 0.40


def test_time_zones_shift_the_night() -> None:
    def share_at_utc_hour(offset: float, hour: int) -> float:
        total = 0.0
        for i in range(60):
            phone = draw_availability(
                generator(SEED, "zone", i), start=START, days=DAYS, utc_offset=offset
            )
            total += minutes(phone.window).reshape(DAYS, 24, 60)[:, hour].mean()
        return total / 60

    # 20:30 UTC is 04:30 in Shanghai, deep in the night, and the evening in London.
    assert share_at_utc_hour(8 * 3600.0, 20) > 0.4
    assert share_at_utc_hour(0.0, 20) < 0.3


def test_one_key_draws_one_phone() -> None:
    def draw() -> PhoneAvailability:
        return draw_availability(generator(SEED, "same"), start=START, days=2, utc_offset=0.0)

    assert draw() == draw()


spans = st.lists(st.integers(0, 500), max_size=20, unique=True).map(
    lambda edges: Track(
        tuple(
            (float(a), float(b))
            for a, b in zip(sorted(edges)[::2], sorted(edges)[1::2], strict=False)
        )
    )
)


@given(spans, spans, st.integers(0, 501))
def test_intersection_is_both(left: Track, right: Track, second: int) -> None:
    both = left.intersection(right)
    at = second + 0.5
    assert both.holds(at) == (left.holds(at) and right.holds(at))
    span = both.span_at(at)
    assert (span is not None) == both.holds(at)


@given(spans, st.integers(0, 501))
def test_next_change_is_the_next_edge(track: Track, second: int) -> None:
    edges = [edge for span in track.spans for edge in span]
    expected = min((edge for edge in edges if edge > second), default=float("inf"))
    assert track.next_change(float(second)) == expected


def test_the_shipped_table_is_the_measured_one(shared_data: Path) -> None:
    fit = shared_data / "availability" / "extrasensory_availability_fit.json"
    measured = json.loads(fit.read_text("utf-8"))["hourly"]["eligible"]
    assert np.abs(fitted_window_share() - np.array(measured)).max() < 0.002
