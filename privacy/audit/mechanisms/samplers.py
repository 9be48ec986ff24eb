"""The noise samplers: what they draw against the auditor's own probabilities."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privacy.audit.mechanisms.pmf import gaussian_pmf, laplace_pmf
from privacy.audit.mechanisms.statistics import ALPHA, fit_p, variance_p
from privacy.audit.mechanisms.verdict import Context, Findings
from privacy.mechanisms.exact import discrete_gaussian, discrete_laplace

__all__ = ["check_exact_gaussian", "check_exact_laplace", "expect_gaussian"]

_GAUSSIANS = (Fraction(1, 3), Fraction(2), Fraction(31, 2), Fraction(482**2))
_LAPLACES = (Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(40))
_DRAWS = 60_000
"""Draws of an exact sampler a setting, about 22 µs each."""

_REACH = 14
"""Standard deviations (or Laplace scales, times three) that expected counts cover: a value
beyond is a fault with all but 1e-12 certainty."""

_GAUSSIAN_KURTOSIS_FROM = 16
"""Variance from which a discrete Gaussian's kurtosis is the Gaussian's."""


def check_exact_gaussian(context: Context, findings: Findings) -> None:
    """`discrete_gaussian`: goodness of fit, and the variance."""
    alpha = ALPHA / (2 * len(_GAUSSIANS))
    draws = context.size(_DRAWS, 2_000)
    for sigma2 in _GAUSSIANS:
        values = np.array(discrete_gaussian(sigma2, draws, context.bits("exact", sigma2)))
        expect_gaussian(findings, values, sigma2, alpha, f"variance {float(sigma2):g}")
    findings.method("chi-square goodness of fit and pooled variance of the exact sampler")
    findings.remark(f"{draws:,} draws at each of {len(_GAUSSIANS)} variances")


def check_exact_laplace(context: Context, findings: Findings) -> None:
    """`discrete_laplace`: goodness of fit, and the mean absolute value."""
    alpha = ALPHA / (2 * len(_LAPLACES))
    draws = context.size(_DRAWS, 2_000)
    for scale in _LAPLACES:
        values = np.array(discrete_laplace(scale, draws, context.bits("laplace", scale)))
        reach = math.ceil(3 * _REACH * scale)
        pmf = laplace_pmf(scale, reach)
        label = f"scale {float(scale):g}"
        _expect_fit(findings, values, pmf, alpha, label)
        _expect_spread(findings, values, pmf, alpha, label)
    findings.method("chi-square goodness of fit and variance of the exact sampler")
    findings.remark(f"{draws:,} draws at each of {len(_LAPLACES)} scales")


def expect_gaussian(
    findings: Findings,
    values: npt.NDArray[np.int64],
    sigma2: Fraction | int,
    alpha: float,
    label: str,
) -> None:
    """Two tests at ``alpha`` each: the law of ``values`` cell by cell, and their variance."""
    pmf = gaussian_pmf(sigma2, math.ceil(_REACH * math.sqrt(sigma2)) + 1)
    _expect_fit(findings, values, pmf, alpha, label)
    if sigma2 < _GAUSSIAN_KURTOSIS_FROM:
        _expect_spread(findings, values, pmf, alpha, label)
        return
    squares = float(np.sum(values.astype(np.float64) ** 2))
    ratio = squares / len(values) / float(sigma2)
    findings.expect(
        variance_p(squares, float(sigma2), len(values)) >= alpha,
        f"{label}: noise variance is {ratio:.4f} of what is stated",
    )


def _expect_fit(
    findings: Findings,
    values: npt.NDArray[np.int64],
    pmf: npt.NDArray[np.float64],
    alpha: float,
    label: str,
) -> None:
    reach = len(pmf) // 2
    if not findings.expect(
        int(np.max(np.abs(values))) <= reach, f"{label}: a value that cannot occur was drawn"
    ):
        return
    observed = np.bincount(values + reach, minlength=len(pmf))
    findings.expect(
        fit_p(observed, pmf * len(values)).p >= alpha, f"{label}: draws do not follow the law"
    )


def _expect_spread(
    findings: Findings,
    values: npt.NDArray[np.int64],
    pmf: npt.NDArray[np.float64],
    alpha: float,
    label: str,
) -> None:
    """Normal test of the mean square against its exact mean and standard error."""
    support = np.arange(len(pmf), dtype=np.float64) - len(pmf) // 2
    mean = float(np.dot(pmf, support**2))
    error = math.sqrt((float(np.dot(pmf, support**4)) - mean**2) / len(values))
    z = (float(np.mean(values.astype(np.float64) ** 2)) - mean) / error
    findings.expect(
        math.erfc(abs(z) / math.sqrt(2.0)) >= alpha,
        f"{label}: noise variance is off by {z:.1f} standard errors",
    )
