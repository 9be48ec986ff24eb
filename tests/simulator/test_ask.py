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
from simulator import (
    ask_epsilon,
    ask_fairness,
    ask_histogram,
    ask_learning,
    ask_release,
    ask_worlds,
    cli,
)
from simulator.ask_histogram import fewest
from simulator.ask_learning import Course, Lived, hits, live, noise_factor, parted, spread
from simulator.ask_release import first_chance, reached, sync_times
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


def test_a_phone_rests_between_two_syncs_and_needs_a_window_for_each() -> None:
    day = 86_400.0
    window = Track(((0.0, 2 * day), (4 * day, 4 * day + 1_000.0)))
    rest = ask_release._REST
    times = list(sync_times(window, 0.0))
    assert times[0] == ask_release._SETTLING
    assert times[1] - times[0] == pytest.approx(rest + ask_release._SYNC)
    assert times[-1] == 4 * day + ask_release._SETTLING


def test_a_release_has_reached_a_share_once_so_many_synced_after_it_was_opened_to_them() -> None:
    syncs = [np.array([1.0, 5.0]), np.array([2.0, 9.0]), np.array([3.0]), np.array([4.0, 20.0])]
    assert reached(syncs, [0.0] * 4, 0.5) == 2.0
    assert reached(syncs, [2.5] * 4, 0.75) == 5.0
    assert reached(syncs, [2.5, 10.0, 2.5, 2.5], 1.0) == math.inf


def test_release_95_tells_what_the_world_did(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = report["releases"]["router"]["versions"][0]
    slow |= {"published_day": 0.0, "days_to_half": 0.5, "days_to_95": 3.0}
    late = report["releases"]["dedup"]["versions"][0]
    late |= {"published_day": 4.5, "days_to_95": None}
    asked: list[Options] = []
    monkeypatch.setattr(ask_release, "run_world", playing(report, asked))
    for told in report["releases"].values():
        del told["versions"][1:]
    told_now = ask_release.answer(phones=6, days=5, seed=4, drawn=5)
    assert asked == [Options(6, 5, 4)]
    # The one published half a day before the end is no evidence of slowness.
    assert "1 of 1 releases that had time reached 95 %" in told_now.sentence.en
    assert "3.0 days in the median" in told_now.sentence.en
    drawn = told_now.figures["drawn"]
    assert drawn["staged_half"]["median"] >= drawn["at_once_half"]["median"]
    late |= {"published_day": 0.0}
    slow |= {"days_to_95": None}
    never = ask_release.answer(phones=6, days=5, seed=4, drawn=0)
    assert "None of 2 releases that had time reached 95 %" in never.sentence.en


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
        person, language = f"person {number % 8}", ("en", "zh")[number % 2]
        phones.append(Lived(number, person, language, habit, x, y))
    return phones


def test_noise_is_scaled_to_what_a_year_costs() -> None:
    assert noise_factor(PRODUCTION.yearly_epsilon) == pytest.approx(1.0, rel=1e-3)
    assert noise_factor(1.0) > noise_factor(4.0) > noise_factor(8.0) > noise_factor(100.0)


def test_rounds_learn_what_phones_hold_and_noise_hides_it(untrained: None) -> None:
    course, taught = Course(0), people(6)
    clear = course.run(taught, 10_000, math.inf, 4, gated=False)
    buried = course.run(taught, 100, 0.05, 4, gated=False)
    assert clear.noise == 0.0
    assert buried.noise > 100.0
    assert hits(clear.parameters, taught) > hits(course.first, taught)
    assert hits(clear.parameters, taught) == 1.0
    assert hits(buried.parameters, taught) < 1.0
    ends = [course.run(taught, 10_000, 8.0, 2, gated=False).parameters for _ in range(2)]
    assert encode_full(ends[0]) == encode_full(ends[1])


def test_what_breaks_the_built_in_examples_is_not_published(
    untrained: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask_learning, "objection", lambda *_: "worse")
    course = Course(0)
    held = course.run(people(6), 10_000, math.inf, 2)
    assert held.published == 0
    assert encode_full(held.parameters) == encode_full(course.first)


def test_strangers_are_people_of_every_language_whom_nobody_trains_on() -> None:
    trained, strangers = parted(people(20), 4)
    assert {one.person for one in trained}.isdisjoint(one.person for one in strangers)
    assert {one.language for one in strangers} == {"en", "zh"}
    assert len(trained) + len(strangers) == 20


def test_a_spread_is_the_half_width_of_a_t_interval() -> None:
    assert spread([0.0, 1.0, 2.0]) == pytest.approx(4.303 / math.sqrt(3))
    assert spread([0.5, 0.5]) == 0.0


def test_phones_earn_examples_by_living(untrained: None) -> None:
    first = live(Scenario(), phones=2, days=1, seed=5, tell=lambda _: None)
    again = live(Scenario(), phones=2, days=1, seed=5, tell=lambda _: None)
    assert [len(one.x) for one in first] == [len(one.x) for one in again]
    assert all(len(one.x) > 2 for one in first)
    assert all(np.array_equal(a.x, b.x) for a, b in zip(first, again, strict=True))
    assert {one.habit for one in first} == {"measured"}


def test_epsilon_cost_tells_refusals_costs_and_what_no_seed_can_tell(
    untrained: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ask_epsilon, "live", lambda *_, **__: people(10))
    told = ask_epsilon.answer(
        phones=10, days=1, fleets=(1_000,), epsilons=(0.05, 8.0), rounds=2, seeds=2
    )
    noisy, quiet = told.figures["costs"]
    assert (noisy["epsilon"], noisy["refused"]) == (0.05, True)
    assert (quiet["epsilon"], quiet["refused"]) == (8.0, False)
    assert noisy["noise_clips"] > quiet["noise_clips"]
    assert "ε = 0.05 at 1,000 phones means no step at all" in told.sentence.en
    assert told.figures["seeds"] == [0, 1]


def test_a_cost_beyond_its_spread_is_told_and_one_within_it_is_not() -> None:
    bare = [(0.5, 0.8), (0.5, 0.8), (0.5, 0.8)]
    dear = ask_epsilon._cost(
        1_000, 1.0, [(0.5, 0.7, 0.1), (0.5, 0.71, 0.1), (0.5, 0.69, 0.1)], bare
    )
    free = ask_epsilon._cost(1_000, 8.0, [(0.5, 0.9, 0.1), (0.5, 0.7, 0.1), (0.5, 0.8, 0.1)], bare)
    said = ask_epsilon._sentence([dear, free], 0.5, (0.5, 0.8), 3).en
    assert "ε = 1 at 1,000 phones costs -10.0 ± 2.5 points" in said
    assert "elsewhere nothing that 3 seeds can tell (at most 24.8 points)" in said


def test_the_halves_differ_by_the_skew_and_lose_nobody() -> None:
    everyone = people(400)
    unheard, heard = ask_fairness.halves(everyone, 0.85, 1)
    assert len(unheard) + len(heard) == 400
    english = sum(one.language == "en" for one in unheard) / len(unheard)
    assert english == pytest.approx(0.85, abs=0.08)
    alike, _ = ask_fairness.halves(everyone, 0.5, 1)
    assert sum(one.language == "en" for one in alike) / len(alike) == pytest.approx(0.5, abs=0.1)


def test_never_wifi_tells_both_halves_apart(
    untrained: None, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = {"phones": 3, "window_hours": 0.0, "uploads_acked": 0, "answered": 10, "useful": 8}
    report["groups"] = {
        "measured": half | {"uploads_acked": 9, "useful": 9, "on_newest": {"router": 1.0}},
        "never-on-wifi": half | {"on_newest": {"router": 0.0}},
    }
    monkeypatch.setattr(ask_fairness, "run_world", lambda _: report)
    monkeypatch.setattr(ask_fairness, "live", lambda *_, **__: people(24))
    told = ask_fairness.answer(phones=6, days=1, rounds=1, seeds=2)
    assert "sent 0 of 9 reports" in told.sentence.en
    assert "help in 80 % against 90 %" in told.sentence.en
    assert set(told.figures["accuracy"]) == set(ask_fairness._ARMS)
    assert told.figures["seeds"] == [0, 1]


def test_what_is_asked_wrongly_is_refused() -> None:
    assert ask("outage", "--days", "3").exit_code == 2
    assert ask("nothing").exit_code == 2
