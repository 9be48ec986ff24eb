"""Every mutant turns its audits red for the right reason; the product itself is green there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache

import pytest

from privacy.audit.accountants import Accountants
from privacy.audit.mechanisms import NAMES, MechanismVerdict, audit
from privacy.errors import LedgerUnavailable
from tests.privacy.mutants.accounts import ACCOUNT_MUTANTS
from tests.privacy.mutants.gate import GATE_MUTANTS
from tests.privacy.mutants.ledger import LEDGER_MUTANTS
from tests.privacy.mutants.mechanisms import MECHANISM_MUTANTS
from tests.privacy.mutants.servers import SERVER_MUTANTS
from tests.privacy.mutants.surgery import Mutant

SEED = 5

MUTANTS = (
    *MECHANISM_MUTANTS,
    *GATE_MUTANTS,
    *LEDGER_MUTANTS,
    *SERVER_MUTANTS,
    *ACCOUNT_MUTANTS,
)


def forget_caches() -> None:
    """Tables and sharings are kept per process: a mutant must neither meet nor leave one."""
    for name, module in list(sys.modules.items()):
        if name == "privacy" or name.startswith("privacy."):
            for value in list(vars(module).values()):
                getattr(value, "cache_clear", lambda: None)()


@pytest.fixture(autouse=True)
def own_accountants(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The libraries take seconds to load; the auditor's own formulas must find these faults."""

    def missing(largest: float = 0.0) -> Accountants:
        raise LedgerUnavailable("not installed")

    monkeypatch.setattr(Accountants, "load", missing)
    yield
    forget_caches()


@cache
def healthy(name: str, samples: float) -> MechanismVerdict:
    return audit([name], seed=SEED, samples=samples)[0]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutant_turns_the_audit_red(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in mutant.red:
        sound = healthy(name, mutant.samples)
        assert sound.ok, sound.detail
    forget_caches()
    mutant.operate(monkeypatch)
    for name in mutant.red:
        verdict = audit([name], seed=SEED, samples=mutant.samples)[0]
        assert not verdict.ok
        assert mutant.finds in verdict.detail


def test_every_audit_can_fail() -> None:
    assert {name for mutant in MUTANTS for name in mutant.red} == set(NAMES)
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
