"""The two libraries that give a second opinion, loaded only when one is asked for.

google/dp-accounting composes privacy-loss distributions; of meta-pytorch/opacus only the Rényi
analysis is used, one file that needs numpy and scipy: importing the package would load torch.
"""

from __future__ import annotations

import importlib.util
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from privacy.errors import LedgerUnavailable

__all__ = ["Accountants", "Release", "renyi_analysis"]

_FINEST = 1e-4
"""Discretisation of privacy losses, dp-accounting's default."""

_LEVELS = 1e5
"""... and coarser for an epsilon of more than this many of them: beyond 10, a relative 1e-5."""

_ORDERS = 1_200
_LEAST_EXCESS, _LARGEST_EXCESS = 1e-3, 1e7
"""Rényi orders 1 + x, x spaced evenly on a log scale: their best is within 1e-4 of the true one."""

_SAMPLED_ORDERS = [1.0 + step / 10 for step in range(1, 100)] + [float(n) for n in range(12, 64)]
"""... and those for sampled Gaussians, where each order costs a sum."""

_FINEST_LATTICE = 1 << 16
"""Noise of more lattice units than this is the continuous Gaussian to twelve figures."""

_MISSING = "the second opinion needs: pip install 'reverie[cloud]'"


@dataclass(frozen=True, slots=True)
class Release:
    """What dp-accounting is told of one release: a discrete Gaussian, or a local report.

    Discrete Gaussian: ``sigma`` and ``sensitivity`` in lattice units, the latter in each of
    ``coordinates`` values at once (one 1 in each histogram). Local report: ``epsilon``,
    ``bins`` and ``size`` of the reported set, ``sigma`` 0.
    """

    sigma: float = 0.0
    sensitivity: int = 1
    coordinates: int = 1
    epsilon: float = 0.0
    bins: int = 2
    size: int = 1


class Accountants:
    """dp-accounting and opacus' Rényi analysis under one relation: zero-out."""

    def __init__(self, library: Any, losses: Any, renyi: Any, interval: float) -> None:
        self._library = library
        self._losses = losses
        self._renyi = renyi
        self._interval = interval

    @classmethod
    def load(cls, largest: float = 0.0) -> Accountants:
        """Both libraries, for epsilons up to about ``largest``; LedgerUnavailable without them."""
        try:
            import dp_accounting
            from dp_accounting import pld
        except ImportError:
            raise LedgerUnavailable(_MISSING) from None
        interval = max(_FINEST, largest / _LEVELS)
        return cls(dp_accounting, pld, renyi_analysis(), interval)

    def gaussian_pld(self, noises: Mapping[float, int], delta: float) -> float:
        """Epsilon of Gaussians, noise over sensitivity → how many, by loss distributions."""
        return self._pld(
            ((self._library.GaussianDpEvent(noise), count) for noise, count in noises.items()),
            delta,
            self._interval,
        )

    def sampled_pld(self, noise: float, rate: float, steps: int, delta: float) -> float:
        """Epsilon of ``steps`` Poisson-sampled Gaussians, by loss distributions.

        Opacus' bound, computed first, sets how fine the distribution must be.
        """
        rdp = self._renyi.compute_rdp(
            q=rate, noise_multiplier=noise, steps=steps, orders=_SAMPLED_ORDERS
        )
        bound = self._bound(_SAMPLED_ORDERS, rdp, delta)
        event = self._library.PoissonSampledDpEvent(rate, self._library.GaussianDpEvent(noise))
        return self._pld([(event, steps)], delta, max(_FINEST, bound / _LEVELS))

    def gaussian_rdp(self, noises: Mapping[float, int], delta: float) -> float:
        """Epsilon of Gaussians by opacus' Rényi analysis over a dense grid of orders."""
        if not noises:
            return 0.0
        ratio = math.log(_LARGEST_EXCESS / _LEAST_EXCESS) / (_ORDERS - 1)
        orders = [1.0 + _LEAST_EXCESS * math.exp(ratio * step) for step in range(_ORDERS)]
        rdp = sum(
            self._renyi.compute_rdp(q=1.0, noise_multiplier=noise, steps=count, orders=orders)
            for noise, count in noises.items()
        )
        return self._bound(orders, rdp, delta)

    def exact_pld(
        self, releases: Mapping[Release, int], noises: Mapping[float, int], delta: float
    ) -> float:
        """Epsilon of the mechanisms themselves, with plain Gaussians beside them."""
        parts = [
            self._loss(release).self_compose(count * release.coordinates)
            for release, count in releases.items()
        ]
        make = self._losses.privacy_loss_distribution.from_gaussian_mechanism
        parts += [
            make(noise, value_discretization_interval=self._interval).self_compose(count)
            for noise, count in noises.items()
        ]
        if not parts:
            return 0.0
        total = parts[0]
        for part in parts[1:]:
            total = total.compose(part)
        return float(total.get_epsilon_for_delta(delta))

    def _bound(self, orders: Sequence[float], rdp: Any, delta: float) -> float:
        with warnings.catch_warnings():  # it warns of a best order at the grid's end
            warnings.simplefilter("ignore")
            value, _ = self._renyi.get_privacy_spent(orders=orders, rdp=rdp, delta=delta)
        return max(0.0, float(value))

    def _pld(self, events: Any, delta: float, interval: float) -> float:
        accountant = self._losses.PLDAccountant(
            neighboring_relation=self._library.NeighboringRelation.REPLACE_SPECIAL,
            value_discretization_interval=interval,
        )
        for event, count in events:
            accountant.compose(event, count)
        return float(accountant.get_epsilon(delta))

    def _loss(self, release: Release) -> Any:
        make = self._losses.privacy_loss_distribution
        if release.sigma > _FINEST_LATTICE:
            return make.from_gaussian_mechanism(
                release.sigma / release.sensitivity, value_discretization_interval=self._interval
            )
        if release.sigma:
            return make.from_discrete_gaussian_mechanism(
                release.sigma,
                sensitivity=release.sensitivity,
                value_discretization_interval=self._interval,
            )
        likely, unlikely, same = _set_outcomes(release)
        mine = {0: likely, 1: unlikely, 2: same}
        other = {0: unlikely, 1: likely, 2: same}
        # Probabilities of zero have no logarithm, and no place in a mass function.
        lower = {key: math.log(chance) for key, chance in mine.items() if chance > 0}
        upper = {key: math.log(chance) for key, chance in other.items() if chance > 0}
        return make.from_two_probability_mass_functions(
            lower, upper, value_discretization_interval=self._interval
        )


def _set_outcomes(release: Release) -> tuple[float, float, float]:
    """Of two answers a and b: P(the set holds a, not b), P(b, not a), P(both or neither), given a.

    A set of w of k bins holds the true one with p = w·e^ε / (w·e^ε + k - w), the rest uniformly
    (Ye & Barg 2018, arXiv 1702.00610, section III; w = 1 is k-ary randomised response).
    """
    k, w = release.bins, release.size
    weight = w * math.exp(release.epsilon)
    holds = weight / (weight + k - w)
    likely = holds * (k - w) / (k - 1)
    unlikely = (1.0 - holds) * w / (k - 1)
    return likely, unlikely, max(0.0, 1.0 - likely - unlikely)


@cache
def renyi_analysis() -> ModuleType:
    """opacus' module of Rényi analysis, without the package around it.

    Raises:
        LedgerUnavailable: opacus is not installed.
    """
    found = importlib.util.find_spec("opacus")  # finds the package, does not import it
    if found is None or not found.submodule_search_locations:
        raise LedgerUnavailable(_MISSING)
    path = Path(found.submodule_search_locations[0]) / "accountants" / "analysis" / "rdp.py"
    spec = importlib.util.spec_from_file_location("reverie_opacus_rdp", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise LedgerUnavailable(_MISSING)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
