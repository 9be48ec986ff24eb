"""What privacy has cost this phone and what is left: for its owner, never for the cloud."""

from __future__ import annotations

import hashlib

from device.status import BudgetStatus, StreamStatus
from privacy import Ledger
from privacy.accounting import gdp_epsilon, mu_of
from privacy.budget import DAY, YEAR, Stream
from privacy.chain import Quarantine

__all__ = ["budget_status", "helper_fingerprint"]

MONTH = 30 * DAY
"""Seconds."""


def budget_status(ledger: Ledger, *, helper_key: bytes, now: float) -> BudgetStatus:
    """The budget at unix time `now`; `helper_key` is the pinned one, b"" when none is."""
    budget = ledger.budget
    spent = ledger.spent()
    left = ledger.remaining(now)
    return BudgetStatus(
        name=budget.name,
        private=budget.private,
        epsilon_spent=spent.epsilon,
        epsilon_month=ledger.spent(now - MONTH).epsilon,
        epsilon_year=ledger.spent(now - YEAR).epsilon,
        epsilon_cap=budget.yearly_epsilon,
        epsilon_lifetime=budget.lifetime_epsilon,
        delta=spent.delta,
        reports=spent.charges,
        streams={
            stream.name: _stream(stream, left[stream.name], spent.delta)
            for stream in budget.streams
        },
        suspicion=ledger.suspicion,
        quarantine=_why(ledger) if ledger.quarantined_at is not None else "",
        quarantined_at=ledger.quarantined_at,
        helper=helper_fingerprint(helper_key) if helper_key else ledger.helper_fingerprint,
        helper_pinned=bool(helper_key),
    )


def helper_fingerprint(helper_key: bytes) -> str:
    """How a helper's key is shown: its SHA-256 in hex, as the ledger writes it."""
    return hashlib.sha256(helper_key).hexdigest()


def _stream(stream: Stream, left: int, delta: float) -> StreamStatus:
    one = stream.yearly_cap // stream.yearly
    return StreamStatus(
        tasks=stream.tasks,
        left=left / stream.yearly_cap,
        epsilon_left=gdp_epsilon(mu_of(left), delta),
        epsilon_report=gdp_epsilon(mu_of(one), delta),
    )


def _why(ledger: Ledger) -> str:
    """The reason of the newest quarantine."""
    reasons = [entry.reason for entry in ledger.entries() if isinstance(entry, Quarantine)]
    return reasons[-1]
