"""Privacy: the speed of the mechanisms on a phone, the error of what is learnt, a year's cost."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from privacy import DEMO, PRODUCTION
from privacy.accounting import epsilon, gdp_epsilon, mu_of, rho_units
from privacy.estimation import estimate_histograms, estimate_local, local_error, total_noise
from privacy.lattice import SMALLEST_SHARE, share_variance, total_variance
from privacy.mechanisms import (
    GaussianTable,
    SubsetSelection,
    clip_to_lattice,
    discrete_gaussian,
    discrete_laplace,
)
from privacy.streams import USAGE_CLIP, USAGE_DIMENSION, USAGE_HISTOGRAMS
from tests.benchmarks.row import Row, best_seconds

_DRAWS = 5_000
_HEAD = 1_300
_MS = 1e3
_US = 1e6

_EPSILONS = (1.0, 4.0, 8.0)
_FLEETS = {1_000: 50, 10_000: 10, 100_000: 3}
"""Phones → simulated fleets of that size; a few hundred estimates a cell tell it to about 8 %."""

_LOCAL_BINS = 20
"""Answers of the local histogram: enough that subset selection and k-RR both appear."""

_DELTA = 1e-6
_PERCENT = 100.0
_SLACK = 1.35
"""Measured over formula that still counts as the formula: four standard errors."""


def rows() -> Iterator[Row]:
    """Rows of the privacy room; about twenty seconds."""
    yield from _sampler_rows()
    yield _clip_row()
    for error in (_two_server_error, _local_error):
        for epsilon_ in _EPSILONS:
            for phones, fleets in _FLEETS.items():
                yield error(epsilon_, phones, fleets)
    yield from _epsilon_rows()


def _sampler_rows() -> Iterator[Row]:
    sigma = 320  # a phone's share of a demo model round, in lattice units
    table = GaussianTable(sigma * sigma)
    ours = best_seconds(lambda: table.sample(_DRAWS, os.urandom))
    exact = best_seconds(lambda: discrete_gaussian(sigma * sigma, _DRAWS, os.urandom), 2)
    name = f"noise, {_DRAWS:,} draws"
    yield Row(name, ours * _MS, "ms", "exact CKS20", exact * _MS, target=5.0)
    laplace = best_seconds(lambda: discrete_laplace(sigma, _DRAWS, os.urandom), 2)
    for shape, seconds in (("gaussian", exact), ("laplace", laplace)):
        theirs = _opendp_seconds(shape, sigma)
        if theirs is None:
            continue
        if shape == "gaussian":
            yield Row(name, ours * _MS, "ms", "OpenDP (Rust)", theirs * _MS, target=5.0)
        yield Row(
            f"exact {shape}, {_DRAWS:,} draws",
            seconds * _MS,
            "ms",
            "OpenDP (Rust)",
            theirs * _MS,
            target=150.0,
        )
    for wide in (sigma, 1_024, 100_000):
        build = best_seconds(lambda wide=wide: GaussianTable(wide * wide), 3)  # type: ignore[misc]
        yield Row(
            f"noise table, sigma {wide:,}",
            build * _MS,
            "ms",
            f"{_DRAWS:,} exact draws instead",
            exact * _MS,
            target=50.0,
        )


def _opendp_seconds(shape: str, scale: int) -> float | None:
    """OpenDP's vector mechanism on integers of the same length, where it is installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    if shape == "laplace":
        mechanism = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=float(scale))
    else:
        mechanism = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(scale))
    zeros = [0] * _DRAWS
    return best_seconds(lambda: mechanism(zeros), 3)


def _clip_row() -> Row:
    vector = np.linspace(-0.05, 0.05, _HEAD)
    scale = PRODUCTION.terms("router").scale
    clip = best_seconds(lambda: clip_to_lattice(vector, 1.0, scale, os.urandom), 20)
    plain = best_seconds(lambda: _float_clip(vector, scale), 20)
    return Row(
        f"clip {_HEAD:,} values, norm proven",
        clip * _US,
        "µs",
        "float clip and round, unproven",
        plain * _US,
    )


def _float_clip(vector: npt.NDArray[np.float64], scale: int) -> npt.NDArray[np.float64]:
    return np.rint(vector * (scale * min(1.0, 1.0 / float(np.linalg.norm(vector)))))


def _two_server_error(epsilon_: float, phones: int, fleets: int) -> Row:
    """One usage report a phone: its share of the noise from each, the helper's on top."""
    sigma = USAGE_CLIP / _largest_mu(epsilon_)
    n_min = phones * 3 // 4
    scale = 256
    while sigma * scale / math.sqrt(n_min) < SMALLEST_SHARE:  # as the rounds' own check demands
        scale *= 2
    share = GaussianTable(share_variance(sigma, scale, n_min))
    helper = GaussianTable(total_variance(sigma, scale))
    noise = total_noise(sigma, phones, n_min)
    true = _usage_counts(phones)

    def errors() -> list[float]:
        total = true * scale + helper.sample(USAGE_DIMENSION, os.urandom)
        for start in range(0, phones, _DRAWS):
            block = share.sample(min(_DRAWS, phones - start) * USAGE_DIMENSION, os.urandom)
            total += block.reshape(-1, USAGE_DIMENSION).sum(axis=0)
        estimates = estimate_histograms(total, phones, scale, noise)
        return [bin_.estimate - t / phones for bin_, t in zip(estimates, true, strict=True)]

    return _error_row("two-server, 8 histograms", epsilon_, phones, fleets, errors, noise / phones)


def _local_error(epsilon_: float, phones: int, fleets: int) -> Row:
    """One answer a phone through the shipped randomiser; no server adds or hides anything."""
    randomiser = SubsetSelection(_LOCAL_BINS, epsilon_)
    answers = [i % _LOCAL_BINS for i in range(phones)]
    true = np.bincount(answers, minlength=_LOCAL_BINS) / phones
    bits = np.arange(_LOCAL_BINS)

    def errors() -> list[float]:
        masks = np.array([randomiser.randomise(answer, os.urandom) for answer in answers])
        counts = np.array([np.count_nonzero(masks >> bit & 1) for bit in bits], dtype=np.int64)
        estimates = estimate_local(counts, phones, randomiser)
        return [bin_.share - t for bin_, t in zip(estimates, true, strict=True)]

    formula = math.sqrt(np.mean([local_error(randomiser, phones, t) ** 2 for t in true]))
    name = f"local {randomiser.name}, 1 of {_LOCAL_BINS}"
    return _error_row(name, epsilon_, phones, fleets, errors, formula)


def _error_row(
    name: str,
    epsilon_: float,
    phones: int,
    fleets: int,
    errors: Callable[[], list[float]],
    formula: float,
) -> Row:
    """Root mean square error of a share over all bins and fleets, beside its formula."""
    squares = [error**2 for _ in range(fleets) for error in errors()]
    return Row(
        f"error, {name}, ε {epsilon_:g}, {phones:,} phones",
        math.sqrt(math.fsum(squares) / len(squares)) * _PERCENT,
        "% of phones",
        bound=formula * _PERCENT,
        target=formula * _PERCENT * _SLACK,
    )


def _usage_counts(phones: int) -> npt.NDArray[np.int64]:
    """True counts of a fleet in which every answer to a histogram is about as common."""
    return np.concatenate(
        [
            [(phones + i) // len(histogram.bins) for i in range(len(histogram.bins))]
            for histogram in USAGE_HISTOGRAMS
        ]
    ).astype(np.int64)


def _largest_mu(epsilon_: float) -> float:
    """The largest mu whose Gaussian mechanism is (epsilon, _DELTA)-DP."""
    low, high = 0.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gdp_epsilon(middle, _DELTA) <= epsilon_ else (low, middle)
    return low


def _epsilon_rows() -> Iterator[Row]:
    """Our epsilon of a production year beside dp-accounting's."""
    units = PRODUCTION.yearly_cap
    try:
        import dp_accounting
        from dp_accounting import pld
    except ImportError:
        return
    accountant = pld.PLDAccountant(
        neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_SPECIAL
    )
    for stream in PRODUCTION.streams:
        accountant.compose(dp_accounting.GaussianDpEvent(stream.noise), stream.yearly)
    theirs = float(accountant.get_epsilon(PRODUCTION.delta))
    yield Row(
        "epsilon of a production year",
        gdp_epsilon(mu_of(units), PRODUCTION.delta),
        "epsilon",
        "dp-accounting PLD",
        theirs,
        target=8.0,
    )
    yield Row(
        "epsilon of three demo days",
        gdp_epsilon(mu_of(3 * _demo_day()), DEMO.delta),
        "epsilon",
        "zCDP upper bound",
        epsilon(3 * _demo_day(), DEMO.delta),
    )


def _demo_day() -> int:
    terms = [DEMO.terms(task) for task in DEMO.tasks]
    return sum(rho_units(term.clip, term.sigma) for term in terms)
