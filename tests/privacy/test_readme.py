"""The figures that privacy/README.md tells a reviewer are those of the code."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from privacy.accounting import gdp_epsilon
from privacy.budget import DEMO, PRODUCTION, Budget
from privacy.secagg import sharing_for
from privacy.streams import USAGE_DIMENSION
from tests.privacy.parts import round_of

README = Path(__file__).parents[2] / "privacy" / "README.md"


def rows() -> list[list[str]]:
    text = README.read_text()
    table = text.split("<!-- DEFAULTS -->")[1].split("<!-- /DEFAULTS -->")[0]
    lines = table.strip().splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def figure(value: float) -> str:
    return f"{value:.3g}"


@pytest.mark.parametrize(("row", "task"), [(0, "usage"), (1, "router")])
def test_the_table_of_defaults_says_what_the_budget_says(row: int, task: str) -> None:
    stream, guarantee = PRODUCTION.stream(task), PRODUCTION.guarantee(task)
    colluding = gdp_epsilon(math.sqrt(stream.n_min) / stream.noise, PRODUCTION.delta)
    assert rows()[row][2:] == [
        figure(stream.noise),
        str(stream.n_min),
        figure(guarantee.per_report),
        figure(guarantee.month),
        figure(guarantee.year),
        figure(guarantee.lifetime),
        figure(colluding),
    ]
    assert f"at most {stream.yearly} a year" in rows()[row][1]


@pytest.mark.parametrize(("row", "budget"), [(2, PRODUCTION), (3, DEMO)])
def test_the_totals_are_those_of_the_budgets(row: int, budget: Budget) -> None:
    assert rows()[row][6:8] == [figure(budget.yearly_epsilon), figure(budget.lifetime_epsilon)]


def test_one_liar_moves_a_bin_by_what_the_readme_says() -> None:
    terms = PRODUCTION.terms("usage")
    shared = sharing_for(round_of(PRODUCTION, "usage", dimension=USAGE_DIMENSION))
    assert f"the bound is {shared.bound / terms.scale:.1f} devices in a bin" in README.read_text()
    assert f"less than the {terms.sigma:.1f} of one σ" in README.read_text()


def test_local_answers_are_as_weak_as_the_readme_says() -> None:
    text = README.read_text()
    assert f"pure ε of {PRODUCTION.local.epsilon:.2g} of its own" in text
    assert f"off by {100 * PRODUCTION.allowance(100_000).local_error:.0f} % of the fleet" in text
