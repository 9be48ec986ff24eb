"""Floors, lattice limits, and what a budget says about a fleet."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from privacy import DEMO, PRODUCTION, Budget, FloorViolated, RoundRefused
from privacy.accounting import pure_units
from privacy.lattice import share_variance, total_variance
from privacy.streams import USAGE_CLIP, USAGE_DIMENSION
from tests.privacy.parts import LocalRound, Round, round_of


@pytest.mark.parametrize("budget", [PRODUCTION, DEMO])
@pytest.mark.parametrize("task", ["usage", "router", "dedup"])
@pytest.mark.parametrize("fleet", [0, 50, 1_000, 20_000])
def test_a_budgets_own_terms_pass_its_own_floors(budget: object, task: str, fleet: int) -> None:
    chosen = PRODUCTION if budget is PRODUCTION else DEMO
    terms = chosen.terms(task, fleet)
    dimension = USAGE_DIMENSION if task == "usage" else 2_000
    chosen.check(Round(task, 1, dimension, terms.scale, terms.clip, terms.sigma, terms.n_min))
    assert chosen.parameters(task, fleet) == (terms.sigma, terms.n_min, terms.cadence)


def test_production_refuses_a_demo_round_and_not_the_reverse() -> None:
    for task, dimension in (("usage", 32), ("router", 40)):
        with pytest.raises(FloorViolated):
            PRODUCTION.check(round_of(DEMO, task, 1, dimension))
        DEMO.check(round_of(PRODUCTION, task, 1, dimension))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"sigma": 3.32}, FloorViolated),
        ({"clip": 1.01}, FloorViolated),
        ({"n_min": 99}, FloorViolated),
        ({"sigma": math.nan}, RoundRefused),
        ({"clip": math.inf}, RoundRefused),
        ({"clip": -1.0}, RoundRefused),
        ({"scale": 0}, RoundRefused),
        ({"round": 0}, RoundRefused),
        ({"scale": 8}, RoundRefused),
        ({"n_min": 10**9}, RoundRefused),
        ({"scale": 1 << 30}, RoundRefused),
        ({"task": "location"}, RoundRefused),
    ],
)
def test_rounds_below_a_floor_or_off_the_lattice(
    change: dict[str, object], error: type[Exception]
) -> None:
    good = Round()
    PRODUCTION.check(good)
    with pytest.raises(error):
        PRODUCTION.check(replace(good, **change))  # type: ignore[arg-type]


def test_a_usage_round_has_the_usage_dimension() -> None:
    with pytest.raises(RoundRefused):
        PRODUCTION.check(round_of(PRODUCTION, "usage", 1, 33))


@pytest.mark.parametrize("n_min", [1, 20, 100, 777])
def test_n_min_phones_together_add_the_full_noise(n_min: int) -> None:
    sigma, scale = 0.71 * USAGE_CLIP, 256
    whole = total_variance(sigma, scale)
    assert whole >= (sigma * scale) ** 2 * (1 - 1e-12)
    assert whole <= share_variance(sigma, scale, n_min) * n_min < whole + n_min


def test_what_a_fleet_is_allowed() -> None:
    fifty, thousand = PRODUCTION.allowance(50), PRODUCTION.allowance(1_000)
    assert not fifty.counts_useful
    assert not fifty.updates_useful
    assert fifty.counts_error == pytest.approx(0.46, abs=0.01)
    assert thousand.counts_useful
    assert thousand.updates_useful
    assert not PRODUCTION.allowance(499).counts_useful
    assert PRODUCTION.allowance(500).counts_useful
    assert "refuses to publish" in PRODUCTION.allows(50)
    assert "2.9 % of the fleet" in PRODUCTION.allows(1_000)
    assert DEMO.allowance(50).updates_useful
    with pytest.raises(ValueError):
        PRODUCTION.allows(0)


def test_what_a_fleet_is_allowed_without_a_helper() -> None:
    thousand, many = PRODUCTION.allowance(1_000), PRODUCTION.allowance(100_000)
    assert not thousand.local_useful
    assert many.local_useful
    assert thousand.local_error == pytest.approx(10 * many.local_error)
    # k-RR and subset selection of 2 among 5, one local report
    odds = math.exp(PRODUCTION.local.epsilon)
    p, w = 2 * odds / (2 * odds + 3), 2
    q = p * (w - 1) / 4 + (1 - p) * w / 4
    assert many.local_error == pytest.approx(math.sqrt(q * (1 - q) / 100_000) / (p - q), rel=1e-6)
    assert "refuses to publish" in thousand.local_sentence
    assert "4.3 % of the fleet" in many.local_sentence
    assert "no model updates" in many.local_sentence
    assert DEMO.allowance(50).local_useful
    assert not DEMO.allowance(19).local_useful


@pytest.mark.parametrize("budget", [PRODUCTION, DEMO], ids=["production", "demo"])
def test_a_year_of_local_reports_costs_what_the_stream_may_spend(budget: Budget) -> None:
    stream = budget.stream(budget.local.task)
    one = pure_units(budget.local.epsilon)
    assert stream.name == "counts"
    assert stream.yearly * one <= stream.yearly_cap < (stream.yearly + 1) * one
    assert stream.yearly * one >= 0.999 * stream.yearly_cap
    budget.check_local(LocalRound(epsilon=budget.local.epsilon))
    with pytest.raises(FloorViolated):
        budget.check_local(LocalRound(epsilon=budget.local.epsilon * 1.01))
    with pytest.raises(FloorViolated):
        budget.check_local(LocalRound(epsilon=budget.local.epsilon, n_min=budget.local.n_min - 1))


def test_a_local_task_has_no_vector() -> None:
    with pytest.raises(RoundRefused, match="no vector"):
        PRODUCTION.check(replace(Round(), task="local_usage"))


def test_the_planned_guarantees_have_their_windows() -> None:
    counts, models = PRODUCTION.guarantee("usage"), PRODUCTION.guarantee("router")
    for one in (counts, models):
        assert one.per_report < one.month < one.year < one.lifetime
        assert one.delta == 1e-6
        assert one.year == pytest.approx(5.35, abs=0.01)
    assert counts.per_report == pytest.approx(0.613, abs=0.001)
    assert models.per_report == pytest.approx(1.293, abs=0.001)
    assert PRODUCTION.guarantee("local_usage") == counts
