"""`reverie-fleet ask`: formulas held against what they stand for, and answers that are whole."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from privacy.budget import PRODUCTION
from protocol.models import SPECS
from protocol.params import encode_full
from simulator import ask_epsilon, ask_histogram, ask_learning, ask_release, ask_worlds, cli
from simulator.ask_histogram import fewest
from simulator.ask_learning import Course, Lived, hits, live, noise_factor
from simulator.ask_release import first_chance
from simulator.availability import Track
from simulator.scenario import Scenario
from simulator.world import Options

from .conftest import Report

QUESTIONS = ("histogram-error", "release-95", "epsilon-cost", "outage", "never-wifi")
CHINESE = re.compile("[\u4e00-\u9fff]")
ROUTER = SPECS["router"]


def ask(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, ["ask", *arguments], env={"COLUMNS": "160"})


def test_every_question_is_listed() -> None:
    listed = ask("--help").stdout
    assert all(question in listed for question in QUESTIONS)


@pytest.mark.parametrize("limit", [0.05, 0.01, 0.001])
def test_the_fewest_phones_are_enough_and_one_less_is_not(limit: float) -> None:
    def error(n: int) -> float:
        return 1.96 * PRODUCTION.allowance(n).counts_error

    enough = fewest(error, limit)
    assert error(enough) <= limit < error(enough - 1)


def test_the_mechanism_itself_is_as_exact_as_the_formula_says() -> None:
    told = ask_histogram.answer(within=2.0, budget="demo", phones=0).figures
    at = next(each for each in told["sizes"] if each["phones"] == told["phones_two_server"])
    assert at["error_95"] == pytest.approx(0.02, rel=0.02)
    # 1,280 bins, each within by a chance of 95 %: five standard deviations of their share.
    assert at["drawn_within"] == pytest.approx(0.95, abs=0.03)
    assert at["drawn_covered"] == pytest.approx(0.95, abs=0.03)
    assert told["phones_local"] > 5 * told["phones_two_server"]


def test_histogram_error_is_told_in_both_languages_and_as_json() -> None:
    english = ask("histogram-error", "--phones", "0", "--budget", "demo")
    assert english.exit_code == 0, english.output
    assert not CHINESE.search(english.output)
    assert (
        "部手机"
        in ask("histogram-error", "--phones", "0", "--budget", "demo", "--language", "zh").output
    )
    told = json.loads(ask("histogram-error", "--phones", "0", "--budget", "demo", "--json").stdout)
    assert told["question"] == "histogram-error"
    assert f"{told['phones_two_server']:,} phones" in told["sentence"]["en"]
    assert told["played"] is None


@pytest.mark.parametrize(
    ("at", "waited"),
    [
        (0.0, 1_000.0 + ask_release._SETTLING + ask_release._SYNC),
        (900.0, 100.0 + ask_release._SETTLING + ask_release._SYNC),
        (1_000.0 + ask_release._SETTLING, ask_release._SYNC),  # settled already
        (7_990.0, 12_010.0 + ask_release._SETTLING + ask_release._SYNC),  # too late in the window
        (25_000.0, None),
    ],
)
def test_a_chance_is_a_window_long_enough_to_settle_and_sync(
    at: float, waited: float | None
) -> None:
    short = (100.0, 100.0 + ask_release._SETTLING + ask_release._SYNC - 1.0)
    window = Track((short, (1_000.0, 8_000.0), (20_000.0, 24_000.0)))
    assert first_chance(window, at) == waited


def playing(report: Report, asked: list[Options]) -> Callable[[Options], Report]:
    """A world that was played already; it notes what is asked of it."""

    def play(options: Options) -> Report:
        asked.append(options)
        return report

    return play


def test_release_95_tells_what_the_world_did(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = report["releases"]["router"]["versions"][0]
    slow |= {"days_to_half": 0.5, "days_to_95": 3.0}
    report["releases"]["dedup"]["versions"][0]["days_to_95"] = None
    asked: list[Options] = []
    monkeypatch.setattr(ask_release, "run_world", playing(report, asked))
    told = ask_release.answer(phones=6, days=1, seed=4, drawn=5)
    assert asked == [Options(6, 1, 4)]
    assert "95 % of the phones after 3.0 days" in told.sentence.en
    assert 0 < told.figures["first_chance_days"]["0.5"] <= told.figures["first_chance_days"]["0.9"]
    report["releases"]["router"]["versions"] = []
    never = ask_release.answer(phones=6, days=1, seed=4, drawn=0)
    assert "None of the 1 releases reached 95 %" in never.sentence.en


def test_an_outage_is_told_day_by_day(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    hours = [0] * 24 * 5
    hours[3], hours[24 * 3 + 5] = 7, 9
    report["timeline"]["uploads_per_hour"] = hours
    asked: list[Options] = []
    monkeypatch.setattr(ask_worlds, "run_world", playing(report, asked))
    told = ask_worlds.outage(phones=6, days=5, seed=4)
    fault = asked[0].scenario.faults.unreachable
    assert [fault.rate_at(day * 86_400.0) for day in (0.9, 1.0, 2.9, 3.0)] == [0.0, 1.0, 1.0, 0.0]
    assert (asked[0].phones, asked[0].days, asked[0].seed) == (6, 5, 4)
    assert told.figures["uploads_by_day"] == [7, 0, 0, 9, 0]
    assert told.figures["hours_until_first_upload"] == 6
    assert "nothing was lost" in told.sentence.en
    report["invariants"]["violated"] = 2
    assert "2 checks failed" in ask_worlds.outage(phones=6, days=5, seed=4).sentence.en


@pytest.fixture
def untrained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Courses that begin with initial weights: training the first release takes long."""
    monkeypatch.setattr(ask_learning, "train_private", lambda _spec, weights, *_, **__: weights)


def people(count: int, habit: str = "measured") -> list[Lived]:
    """Phones whose questions all are answered by the first layer."""
    rng = np.random.default_rng(3)
    phones = []
    for number in range(count):
        x = rng.random((8, ROUTER.layers[0]), np.float32)
        y = np.zeros((8, ROUTER.layers[-1]), np.float32)
        y[:, 0] = 1.0
        phones.append(Lived(number, f"person {number % 5}", habit, x, y))
    return phones


def test_noise_is_scaled_to_what_a_year_costs() -> None:
    assert noise_factor(PRODUCTION.yearly_epsilon) == pytest.approx(1.0, rel=1e-3)
    assert noise_factor(1.0) > noise_factor(4.0) > noise_factor(8.0) > noise_factor(100.0)


def test_rounds_learn_what_phones_hold_and_noise_hides_it(untrained: None) -> None:
    course, taught = Course(0), people(6)
    clear = course.run(taught, 10_000, math.inf, 4)
    buried = course.run(taught, 100, 0.05, 4)
    assert clear.noise == 0.0
    assert buried.noise > 100.0
    assert hits(clear.parameters, taught) > hits(course.first, taught)
    assert hits(clear.parameters, taught) == 1.0
    assert hits(buried.parameters, taught) < 1.0
    first, again = (encode_full(course.run(taught, 10_000, 8.0, 2).parameters) for _ in range(2))
    assert first == again


def test_phones_earn_examples_by_living(untrained: None) -> None:
    first = live(Scenario(), phones=2, days=1, seed=5, tell=lambda _: None)
    again = live(Scenario(), phones=2, days=1, seed=5, tell=lambda _: None)
    assert [len(one.x) for one in first] == [len(one.x) for one in again]
    assert all(len(one.x) > 2 for one in first)
    assert all(np.array_equal(a.x, b.x) for a, b in zip(first, again, strict=True))
    assert {one.habit for one in first} == {"measured"}


def test_epsilon_cost_keeps_strangers_apart(
    untrained: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask_epsilon, "live", lambda *_, **__: people(10))
    told = ask_epsilon.answer(phones=10, days=1, fleet=1_000, rounds=2)
    assert [one["epsilon"] for one in told.figures["ends"]] == [1.0, 4.0, 8.0, None]
    noises = [one["noise_clips"] for one in told.figures["ends"]]
    assert noises == sorted(noises, reverse=True)
    assert "strangers: 4 phones of 2 other people" in told.basis.en


def test_never_wifi_tells_both_halves_apart(
    untrained: None, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = {"phones": 3, "window_hours": 0.0, "uploads_acked": 0, "answered": 10, "useful": 8}
    report["groups"] = {
        "measured": half | {"uploads_acked": 9, "useful": 9, "on_newest": {"router": 1.0}},
        "never-on-wifi": half | {"on_newest": {"router": 0.0}},
    }
    monkeypatch.setattr(ask_worlds, "run_world", lambda _: report)
    both = [*people(3), *people(3, "never-on-wifi")]
    monkeypatch.setattr(ask_worlds, "live", lambda *_, **__: both)
    monkeypatch.setattr(ask_worlds, "_ROUNDS", 1)
    told = ask_worlds.never_wifi(phones=6, days=1)
    assert "0 % of it are on the newest router against 100 %" in told.sentence.en
    assert "help in 80 % against 90 %" in told.sentence.en
    assert set(told.figures["router_accuracy"]) == {"first", "half", "all"}


def test_what_is_asked_wrongly_is_refused() -> None:
    assert ask("outage", "--days", "3").exit_code == 2
    assert ask("nothing").exit_code == 2
