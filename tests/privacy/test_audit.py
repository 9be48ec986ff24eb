"""The auditor must go red for every planted violation, and for no honest ledger."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from privacy import DEMO, PRODUCTION, Gate, Ledger, PrivateReport
from privacy.accounting import gdp_epsilon, mu_of, rho_units
from privacy.audit.replay import audit_ledger
from privacy.chain import Open
from tests.privacy.parts import (
    DAY,
    START,
    MemoryLog,
    Round,
    append_forged,
    forged_reserve,
    seeded_bits,
    used_ledger,
)
from tests.privacy.test_ledger import TAMPERINGS

Tamper = Callable[[MemoryLog], None]
HONEST = rho_units(8**0.5, 18.9)


def undercharge(log: MemoryLog) -> None:
    append_forged(log, lambda s, p: forged_reserve(s, p, number=9, rho=5, at=START + 99 * DAY))


def below_the_floor(log: MemoryLog) -> None:
    rho = rho_units(8**0.5, 2.0)
    append_forged(
        log,
        lambda s, p: forged_reserve(s, p, number=9, rho=rho, at=START + 99 * DAY, sigma=2.0),
    )


def overspend(log: MemoryLog) -> None:
    for number in range(10, 62):
        append_forged(
            log,
            lambda s, p, n=number: forged_reserve(  # type: ignore[misc]
                s, p, number=n, rho=HONEST, at=START + 30 * DAY + n
            ),
        )


def unknown_budget(log: MemoryLog) -> None:
    append_forged(
        log, lambda s, p: Open(seq=s, prev=p, budget="generous", delta=1e-6, device="phone-1")
    )


def softer_delta(log: MemoryLog) -> None:
    append_forged(
        log, lambda s, p: Open(seq=s, prev=p, budget="production", delta=0.1, device="phone-1")
    )


PLANTED: dict[str, Tamper] = TAMPERINGS | {
    "a charge under its cost": undercharge,
    "noise under the floor": below_the_floor,
    "more than a year's budget": overspend,
    "an unknown budget": unknown_budget,
    "a softer delta": softer_delta,
}


def test_an_honest_ledger_is_sound_and_its_sums_are_right() -> None:
    audit = audit_ledger(used_ledger().payloads)
    assert audit.sound
    assert (audit.device, audit.budget, audit.private) == ("phone-1", "production", True)
    assert (audit.entries, len(audit.charges), audit.forfeited) == (7, 3, 0)
    cost = rho_units(PRODUCTION.terms("usage").clip, PRODUCTION.terms("usage").sigma)
    assert audit.lifetime_rho_units == 3 * cost
    assert audit.lifetime == gdp_epsilon(mu_of(3 * cost), 1e-6) == audit.worst_year
    assert audit.charges[0].epsilon == pytest.approx(0.61, abs=0.01)
    assert audit.charges[0].collusion_epsilon == pytest.approx(7.8, abs=0.1)
    assert audit.lifetime < audit.lifetime_bound < 1.3 * audit.lifetime
    assert audit.verdict.startswith("OK")


def test_windows_roll() -> None:
    audit = audit_ledger(used_ledger(weeks=30).payloads)
    assert audit.sound
    assert audit.worst_month < audit.worst_year == audit.lifetime
    weekly = audit.charges[0].rho_units
    assert audit.worst_month == gdp_epsilon(
        mu_of(6 * weekly), 1e-6
    )  # days 0 to 35, each up to 7 days late


@pytest.mark.parametrize("name", PLANTED)
def test_every_planted_violation_is_found(name: str) -> None:
    log = used_ledger()
    assert audit_ledger(log.payloads).sound
    PLANTED[name](log)
    audit = audit_ledger(log.payloads)
    assert not audit.sound
    assert audit.verdict.startswith("VIOLATION")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a round twice", "charged twice"),
        ("a charge under its cost", "charged less than its noise costs"),
        ("noise under the floor", "x clip of noise"),
        ("more than a year's budget", "overspent"),
        ("COMMIT without RESERVE", "without being charged"),
        ("COMMIT twice", "two reports left for one charge"),
        ("an edited cost", "hash chain is broken"),
    ],
)
def test_a_violation_is_named_in_plain_words(name: str, words: str) -> None:
    log = used_ledger()
    PLANTED[name](log)
    assert any(words in problem.what for problem in audit_ledger(log.payloads).problems)


def test_one_edit_is_one_problem_of_the_chain() -> None:
    log = used_ledger()
    TAMPERINGS["an edited round"](log)
    broken = [p for p in audit_ledger(log.payloads).problems if "chain" in p.what]
    assert len(broken) == 1


def test_a_lifetime_spent_year_by_year_has_an_end() -> None:
    terms = PRODUCTION.terms("usage")
    cost = rho_units(terms.clip, terms.sigma)
    affordable = PRODUCTION.lifetime_cap // cost
    log = used_ledger(weeks=0)
    append_forged(
        log, lambda s, p: Open(seq=s, prev=p, budget="production", delta=1e-6, device="phone-1")
    )
    for number in range(1, affordable + 2):
        at = START + (number - 1) // 52 * 366 * DAY  # no year is over its own cap
        append_forged(
            log,
            lambda s, p, n=number, at=at: forged_reserve(  # type: ignore[misc]
                s, p, number=n, rho=cost, at=at, sigma=terms.sigma
            ),
        )
    assert audit_ledger(log.payloads[:-1]).sound
    problems = audit_ledger(log.payloads).problems
    assert [problem.what for problem in problems] == ["the lifetime cap is passed: overspent"]


def test_a_crash_is_forfeited_not_a_violation() -> None:
    log = used_ledger()

    def crash(report: PrivateReport) -> None:
        raise OSError("power lost")

    with pytest.raises(OSError):
        Gate(Ledger(log, PRODUCTION, device_id="phone-1"), seeded_bits(2)).release(
            Round(), np.zeros(40), START + 40 * DAY, crash
        )
    audit = audit_ledger(log.payloads)
    assert audit.sound
    assert audit.forfeited == 1


def test_the_demo_budget_is_called_not_private() -> None:
    audit = audit_ledger(used_ledger(DEMO).payloads)
    assert audit.sound
    assert "NOT PRIVATE" in audit.verdict


def test_an_empty_ledger_is_sound() -> None:
    assert audit_ledger([]).verdict == "OK: the ledger is intact, and nothing was ever released."
