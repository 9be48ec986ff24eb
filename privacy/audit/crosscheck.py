"""One spending, five accountants: they must agree, or one of them is wrong.

    gdp   own closed form, Gaussian DP                        exact for Gaussian noise
    zcdp  own bound from the ledger's integers                what the phone's caps rest on
    pld   google/dp-accounting, privacy-loss distributions    each charge as its Gaussian
    rdp   meta-pytorch/opacus, Rényi accountant               each charge as its Gaussian
    exact google/dp-accounting, the mechanisms themselves     discrete Gaussian, k-RR, subsets

The rule, and why each line of it must hold:

- gdp·(1 - 1e-6) ≤ pld: a privacy-loss distribution is rounded upwards, gdp is exact.
- pld ≤ zcdp·(1 + 1e-9): zcdp holds for every mechanism of that rho, the Gaussian among them.
- pld within 2 % of gdp: both describe the same Gaussians.
- pld ≤ rdp·(1 + 1e-6): a Rényi bound converts to epsilon with some loss, never with a gain.
- rdp within 0.1 % of zcdp: a Gaussian's Rényi divergence at order a is a·rho, so both minimise
  the same expression, opacus over a dense grid of orders and we by search.
- exact ≤ pld·1.02: a ledger charges what dominates its mechanism; on our lattices the discrete
  Gaussian itself costs at most 0.1 % more than the Gaussian of its parameters.

Neighbours are pinned to zero-out (REPLACE_SPECIAL): with replace-one dp-accounting's own two
accountants disagree by a factor of two (google/differential-privacy#378).
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from privacy.accounting import epsilon, gdp_epsilon, mu_of
from privacy.audit.accountants import Accountants, Release
from privacy.audit.books import Charge, LedgerAudit

__all__ = ["AGREEMENT", "CrossCheck", "cross_check", "disagreements"]

AGREEMENT = 0.02
"""Largest relative difference between pld and gdp that is not a finding."""

_BELOW = 1e-6
_ABOVE_ZCDP = 1e-9
_SAME_BOUND = 1e-3
_ABSOLUTE = 1e-3
"""Epsilon too small to tell apart: ten steps of dp-accounting's discretisation."""


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """Epsilon of everything in a ledger by five accountants, and what they disagree on."""

    delta: float
    gdp: float
    zcdp: float
    pld: float
    rdp: float
    exact: float
    disagreements: tuple[str, ...]

    @property
    def agree(self) -> bool:
        """Whether the rule holds."""
        return not self.disagreements


def cross_check(audit: LedgerAudit) -> CrossCheck:
    """All charges and quarantines of a ledger, at its delta.

    LedgerUnavailable when dp-accounting or opacus is missing; takes about 2 s to import them
    (opacus' Rényi analysis alone, without torch) and 1 s to compose a year.
    """
    quarantined = Counter(
        amount for each in audit.quarantines for amount in each.units.values() if amount
    )
    units = Counter(charge.rho_units for charge in audit.charges) + quarantined
    total = sum(amount * count for amount, count in units.items())
    gdp, zcdp = gdp_epsilon(mu_of(total), audit.delta), epsilon(total, audit.delta)
    books = Accountants.load(largest=gdp)
    noises = _noises(units)
    pld = books.gaussian_pld(noises, audit.delta)
    rdp = books.gaussian_rdp(noises, audit.delta)
    releases = Counter(_release(charge) for charge in audit.charges)
    exact = books.exact_pld(releases, _noises(quarantined), audit.delta)
    said = disagreements(gdp=gdp, zcdp=zcdp, pld=pld, rdp=rdp, exact=exact)
    return CrossCheck(audit.delta, gdp, zcdp, pld, rdp, exact, said)


def disagreements(
    *, gdp: float, zcdp: float, pld: float, rdp: float, exact: float
) -> tuple[str, ...]:
    """Each line of the rule that does not hold, in plain words; empty when all agree."""
    rule = (
        (gdp * (1 - _BELOW) - _ABSOLUTE * _BELOW <= pld, "pld is below the exact gdp"),
        (pld <= zcdp * (1 + _ABOVE_ZCDP) + _ABSOLUTE, "pld is above the zcdp bound"),
        (abs(pld - gdp) <= AGREEMENT * gdp + _ABSOLUTE, "pld and gdp differ by over 2 %"),
        (pld <= rdp * (1 + _BELOW) + _ABSOLUTE, "pld is above opacus' rdp"),
        (abs(rdp - zcdp) <= _SAME_BOUND * zcdp + _ABSOLUTE, "rdp and zcdp differ by over 0.1 %"),
        (exact <= pld * (1 + AGREEMENT) + _ABSOLUTE, "the mechanisms cost more than was charged"),
    )
    values = f"gdp {gdp:.6g}, pld {pld:.6g}, zcdp {zcdp:.6g}, rdp {rdp:.6g}, exact {exact:.6g}"
    return tuple(f"accountants disagree: {what} ({values})" for holds, what in rule if not holds)


def _noises(units: Counter[int]) -> dict[float, int]:
    """Noise over sensitivity of the Gaussian that costs so many units → how many of them."""
    return {1.0 / mu_of(amount): count for amount, count in sorted(units.items())}


def _release(charge: Charge) -> Release:
    given = charge.parameters
    if charge.pure_epsilon:
        return Release(
            epsilon=charge.pure_epsilon, bins=int(given["bins"]), size=int(given["size"])
        )
    scale, clip = int(given["scale"]), float(given["clip"])
    sigma = float(given["sigma"]) * scale
    ones = round(clip * clip)
    if ones > 1 and math.isclose(clip * clip, ones):
        # A clip of sqrt(k) is that of k one-hot histograms: k values move by one device each.
        return Release(sigma=sigma, sensitivity=scale, coordinates=ones)
    return Release(sigma=sigma, sensitivity=math.ceil(clip * scale))
