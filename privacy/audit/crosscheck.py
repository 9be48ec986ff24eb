"""A second opinion on epsilon, from google/dp-accounting, where that is installed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from privacy.audit.replay import Charge
from privacy.errors import LedgerUnavailable

__all__ = ["AGREEMENT", "second_opinion"]

AGREEMENT = 0.02
"""Largest relative difference between two accountants that is not a finding."""


def second_opinion(charges: Iterable[Charge], delta: float) -> float:
    """Epsilon of all charges at ``delta`` by privacy-loss distributions.

    Each charge is a Gaussian release of rho = 1/(2 z²). The neighbouring relation is pinned to
    zero-out: with replace-one the library's own two accountants disagree by a factor of two
    (google/differential-privacy#378). LedgerUnavailable when the library is missing.
    """
    try:
        import dp_accounting
        from dp_accounting import pld
    except ImportError:
        raise LedgerUnavailable("the cross-check needs: pip install 'reverie[cloud]'") from None
    from privacy.accounting import mu_of

    relation = dp_accounting.NeighboringRelation.REPLACE_SPECIAL
    accountant = pld.PLDAccountant(neighboring_relation=relation)
    for units, count in sorted(Counter(charge.rho_units for charge in charges).items()):
        event = dp_accounting.GaussianDpEvent(noise_multiplier=1.0 / mu_of(units))
        accountant.compose(event, count)
    return float(accountant.get_epsilon(delta))
