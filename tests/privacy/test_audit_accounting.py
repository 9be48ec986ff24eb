"""Windows, and five accountants that must agree or be called out."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import pytest

from privacy import PRODUCTION, Ledger, LedgerUnavailable
from privacy.accounting import epsilon, gdp_epsilon, mu_of, pure_units, rho_units
from privacy.audit import accountants
from privacy.audit.crosscheck import CrossCheck, cross_check, disagreements
from privacy.audit.odometer import MONTH, Posting, RollingSum, measure, to_epsilon
from privacy.audit.replay import audit_ledger
from privacy.budget import YEAR
from tests.privacy.audit_parts import DEVICE, reserve_local, rich_ledger
from tests.privacy.parts import DAY, START, MemoryLog, used_ledger

pytest.importorskip("dp_accounting")
pytest.importorskip("opacus", reason="the cloud extra")


def posting(at: float, units: int = 1, latest: float = 0.0, *, release: bool = True) -> Posting:
    return Posting("counts", at, max(at, latest), units, 100 * units, Fraction(0), release)


def test_a_window_is_open_at_its_start_and_closed_at_its_end() -> None:
    window = RollingSum(MONTH)
    assert window.add(posting(0.0), 1) == 1
    assert window.add(posting(MONTH - 1), 1) == 2
    assert window.add(posting(MONTH), 1) == 2  # the first has left
    assert window.worst == 2
    assert window.ending(3 * MONTH) == 0


def test_a_charge_of_an_uncertain_date_stays_until_its_latest() -> None:
    window = RollingSum(MONTH)
    window.add(posting(0.0, latest=10 * DAY), 1)
    assert window.add(posting(MONTH), 1) == 2


def test_the_odometer_counts_integers_per_window() -> None:
    week = [posting(7 * DAY * n, units=10) for n in range(60)]
    measured = measure("counts", week, 1e-6, yearly_cap=520, lifetime_cap=2600)
    assert measured.units.report == 10
    assert measured.units.month == 50
    assert measured.units.year == 530  # days 0 to 364 inclusive
    assert measured.units.lifetime == 600
    assert measured.collusion.lifetime == to_epsilon(60_000, 1e-6)
    assert measured.epsilon.year == gdp_epsilon(mu_of(530), 1e-6)
    assert measured.current_year == 530


def test_a_quarantine_is_spent_and_is_no_report() -> None:
    lines = [posting(0.0, 3), posting(1.0, 90, release=False)]
    measured = measure("counts", lines, 1e-6, 100, 500)
    assert (measured.units.report, measured.units.month) == (3, 93)


def test_local_reports_are_added_up_linearly_as_well() -> None:
    log = MemoryLog()
    ledger = Ledger(log, PRODUCTION, device_id=DEVICE)
    for week in range(1, 11):
        ledger.commit(reserve_local(ledger, week, START + 7 * DAY * week), bytes(32))
    audit = audit_ledger(log.payloads)
    once = PRODUCTION.local.epsilon
    assert audit.total.pure.report == once
    assert audit.total.pure.month == pytest.approx(5 * once)
    assert audit.total.pure.lifetime == pytest.approx(10 * once)
    assert audit.lifetime_rho_units == 10 * pure_units(once)
    assert audit.total.collusion == audit.total.epsilon  # nobody to collude with


def test_five_accountants_agree_on_every_kind_of_charge() -> None:
    audit = audit_ledger(rich_ledger())
    found = cross_check(audit)
    assert found.agree
    assert found.gdp == audit.lifetime
    assert found.gdp <= found.pld <= found.rdp <= 1.001 * found.zcdp
    assert found.exact < found.gdp  # local reports leak less than they are charged
    assert found.zcdp == audit.lifetime_bound


def test_a_year_of_discrete_gaussians_costs_what_the_closed_form_says() -> None:
    found = cross_check(audit_ledger(used_ledger(weeks=3).payloads))
    assert found.agree
    assert found.exact == pytest.approx(found.gdp, rel=0.002)


def test_an_empty_ledger_costs_nothing_by_any_account() -> None:
    found = cross_check(audit_ledger([]))
    assert (found.gdp, found.zcdp, found.pld, found.rdp, found.exact) == (0, 0, 0, 0, 0)
    assert found.agree


GOOD = {"gdp": 5.3506, "zcdp": 5.7143, "pld": 5.3507, "rdp": 5.7145, "exact": 5.36}


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("pld", 5.30, "below the exact"),
        ("pld", 5.47, "over 2 %"),
        ("pld", 5.80, "above the zcdp"),
        ("rdp", 5.20, "above opacus"),
        ("rdp", 6.00, "over 0.1 %"),
        ("zcdp", 5.60, "over 0.1 %"),
        ("gdp", 10.7, "over 2 %"),  # replace-one for zero-out
        ("exact", 5.60, "cost more"),
    ],
)
def test_accountants_that_disagree_are_called_out(name: str, value: float, words: str) -> None:
    assert disagreements(**GOOD) == ()
    said = disagreements(**(GOOD | {name: value}))
    assert any(words in line for line in said)
    assert not CrossCheck(delta=1e-6, **(GOOD | {name: value}), disagreements=said).agree


def test_the_relation_is_zero_out_not_replace_one() -> None:
    books = accountants.Accountants.load()
    noise = 6.66
    assert books.gaussian_pld({noise: 1}, 1e-6) == pytest.approx(
        gdp_epsilon(1 / noise, 1e-6), rel=1e-4
    )


def test_opacus_gives_its_opinion_without_torch() -> None:
    before = "torch" in sys.modules
    books = accountants.Accountants.load()
    units = 13 * rho_units(1.0, 3.33)
    assert books.gaussian_rdp({3.33: 13}, 1e-6) == pytest.approx(epsilon(units, 1e-6), rel=1e-3)
    assert ("torch" in sys.modules) is before


def test_sampled_gaussians_cost_less_than_whole_ones() -> None:
    books = accountants.Accountants.load()
    sampled = books.sampled_pld(3.5, 0.25, 200, 1e-5)
    assert 0 < sampled < gdp_epsilon(math.sqrt(200) / 3.5, 1e-5)


def test_a_local_report_is_dominated_by_what_it_is_charged() -> None:
    books = accountants.Accountants.load()
    for bins, size, pure in ((4, 2, 0.12), (4, 1, 2.0), (5, 1, 5.0), (3, 1, 0.5)):
        release = accountants.Release(epsilon=pure, bins=bins, size=size)
        for count in (1, 13):
            true = books.exact_pld({release: count}, {}, 1e-6)
            charged = to_epsilon(count * pure_units(pure), 1e-6)
            assert true <= charged * (1 + 1e-3)
            assert true <= count * pure * (1 + 1e-3)


def test_a_missing_library_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(LedgerUnavailable, match=r"reverie\[cloud\]"):
        cross_check(audit_ledger(rich_ledger()))


def test_a_missing_opacus_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    accountants.renyi_analysis.cache_clear()
    with pytest.raises(LedgerUnavailable, match=r"reverie\[cloud\]"):
        accountants.Accountants.load()


def test_the_largest_charges_still_have_an_epsilon() -> None:
    assert to_epsilon(1 << 200, 1e-6) == to_epsilon(1 << 60, 1e-6) < math.inf
    assert YEAR > MONTH
