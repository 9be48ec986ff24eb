import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from typer.testing import CliRunner

from simulator import availability, cli, fitting
from simulator.availability import (
    CONDITIONS,
    PhoneAvailability,
    Track,
    draw_availability,
    fitted_rhythms,
    fitted_window_share,
    goodness_of_fit,
    minutes_on,
    window_share,
)
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


def test_a_chain_s_states_are_those_of_its_steps() -> None:
    """The vectorised states against the definition, minute by minute."""
    rng = np.random.default_rng(1)
    for first in (False, True):
        for likely in (0.02, 0.5, 0.98):
            rises, falls = rng.random((2, 400)) < likely
            expected, state = [], first
            for rise, fall in zip(rises.tolist(), falls.tolist(), strict=True):
                expected.append(state)
                state = not fall if state else rise
            assert availability._states(first, rises, falls).tolist() == expected
    quiet = np.zeros(5, dtype=np.bool_)
    assert availability._states(True, quiet, quiet).tolist() == [True] * 5


def test_what_the_daily_model_draws_has_not_moved() -> None:
    """Worlds follow from these draws: a seed must keep meaning the world it meant."""
    digest = hashlib.sha256()
    for offset in (0.0, 28_800.0, -18_000.0):
        phone = draw_availability(generator(SEED, "pin"), start=START, days=2, utc_offset=offset)
        for name in CONDITIONS:
            spans = getattr(phone, name).spans
            digest.update(repr([(round(a, 3), round(b, 3)) for a, b in spans]).encode())
    assert digest.hexdigest()[:16] == "166a5ffb26fed66a"


def test_the_week_leaves_every_hour_s_mean_where_it_was() -> None:
    daily, weekly = fitted_rhythms("daily"), fitted_rhythms("weekly")
    for name in CONDITIONS:
        assert daily[name].share == pytest.approx(
            weekly[name].share.reshape(7, 24).mean(axis=0), abs=1e-6
        )
    total = window_share(weekly).mean()
    assert total == pytest.approx(fitted_window_share().mean(), abs=0.003)


def test_weekdays_are_drawn_as_modelled() -> None:
    weekly = fitted_rhythms("weekly")
    days = 14
    monday = START
    share = np.zeros(7)
    for i in range(120):
        on = minutes_on(
            generator(SEED, "week", i), local_start=monday, days=days, rhythms=weekly
        ).reshape(2, 7, 1440)
        share += on.mean(axis=(0, 2)) / 120
    model = window_share(weekly).reshape(7, 24).mean(axis=1)
    assert np.abs(share - model).max() < 0.04
    assert model.max() - model.min() > 0.04, "some days are better than others"


def test_the_shipped_goodness_is_good() -> None:
    goodness = goodness_of_fit()
    assert goodness["phones"] == 37
    assert goodness["window_minutes"]["ks"] < 0.06
    assert goodness["phone_share"]["ks"] < 0.15
    for key, most in (("by_hour", 0.03), ("by_weekday", 0.03)):
        trace, drawn = (np.array(goodness[key][kind]) for kind in ("trace", "drawn"))
        assert np.abs(trace - drawn).max() < most, key


def test_the_shipped_fit_comes_out_of_the_trace(shared_data: Path) -> None:
    """Fit anew, and compare with the trace itself by another way of counting windows."""
    trace = fitting.read_minutes(shared_data / "availability" / "extrasensory_phone_state.csv.gz")
    shipped = json.loads((Path(availability.__file__).parent / "availability_fit.json").read_text())
    for name, fitted in fitting.fit_week(trace).items():
        for key, values in fitted.items():
            assert shipped["tracks"][name][key] == values, (name, key)
    for name, (on, seen) in zip(CONDITIONS, fitting._conditionals(trace), strict=True):
        hourly = on.sum(axis=0) / seen.sum(axis=0)
        assert np.abs(hourly - shipped["tracks"][name]["on_share"]).max() < 0.001
    lengths = shipped["goodness"]["window_minutes"]
    seen_lengths = fitting._lengths(trace)
    assert len(seen_lengths) == lengths["windows_in_trace"]
    assert np.median(seen_lengths) == lengths["trace"][2]


def test_the_distance_of_two_samples_is_their_largest_gap() -> None:
    assert fitting.ks_distance(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == 0.0
    assert fitting.ks_distance(np.array([1.0, 2.0]), np.array([3.0])) == 1.0
    assert fitting.ks_distance(np.array([1.0, 2.0]), np.array([2.0, 3.0])) == 0.5


def test_the_command_shows_the_fit_and_the_habits() -> None:
    shown = CliRunner().invoke(cli.app, ["availability", "--show"])
    assert shown.exit_code == 0, shown.output
    assert "Kolmogorov-Smirnov distance of window lengths 0.0" in shown.output
    assert "Saturday" in shown.output
    told = CliRunner().invoke(cli.app, ["availability", "--json"])
    habits = json.loads(told.output)["habits"]
    assert habits["never-on-wifi"] == 0.0
    assert habits["measured"] > 0.25


def test_a_track_of_edges_is_the_track_of_its_spans() -> None:
    spans = ((1.0, 2.5), (4.0, 9.0))
    track = Track.of_edges(np.array(spans).reshape(-1))
    assert track == Track(spans)
    assert track != Track(spans[:1])
    assert hash(track) == hash(Track(spans))
    assert track.spans == spans
    assert [track.span_at(at) for at in (0.5, 1.0, 2.5, 8.9, 9.0)] == [
        None,
        spans[0],
        None,
        spans[1],
        None,
    ]
