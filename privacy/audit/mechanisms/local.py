"""k-RR and subset selection: the exact worst likelihood ratio, and that sampling follows it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from statistics import NormalDist

import numpy as np

from privacy.audit.mechanisms.fleet import START, AuditLocalRound, MemoryLog
from privacy.audit.mechanisms.pmf import exp_below
from privacy.audit.mechanisms.statistics import ALPHA, fit_p, proportion_bounds
from privacy.audit.mechanisms.verdict import Context, Findings
from privacy.budget import BUDGETS, Budget
from privacy.gate import Gate
from privacy.ledger import Ledger
from privacy.mechanisms.local import SubsetSelection
from privacy.streams import USAGE_HISTOGRAMS, Histogram

__all__ = ["check_k_rr", "check_subset_selection"]

_FURTHER = (
    (2, 0.25), (2, 1.0), (3, 0.5), (4, 2.0), (5, 1.0), (5, 4.0), (8, 1.0), (10, 0.5), (12, 3.0),
    (16, 1.0), (20, 0.1), (24, 2.0),
)  # fmt: skip
"""Further (bins, epsilon), so that a threshold right by luck is found out."""

_DRAWS = 60_000
"""Sampled answers per setting: a truth probability 1 % too high is 7 standard errors away."""

_SAMPLED_SETTINGS = 6
_LARGEST_SUPPORT = 2_000
"""Outputs of a setting whose distribution is tested cell by cell."""

_REPORTS = 400
"""Reports of the gate a histogram and budget."""

_WORD = 1 << 64
_RHO_UNIT = 1 << 40
_ARITHMETIC = 1e-9
"""Relative error of the corner in doubles."""


def check_k_rr(context: Context, findings: Findings) -> None:
    """Every setting in which the product answers with one bin."""
    _check(context, findings, "k-rr")


def check_subset_selection(context: Context, findings: Findings) -> None:
    """Every setting in which the product answers with a set of bins."""
    _check(context, findings, "subset-selection")


def _check(context: Context, findings: Findings, name: str) -> None:
    chosen = [randomiser for randomiser in _settings() if randomiser.name == name]
    if not findings.expect(bool(chosen), f"no setting uses {name}"):
        return
    for randomiser in chosen:
        _check_ratio(findings, randomiser)
    findings.method("exact rational likelihood ratio over all outputs")
    sampled = chosen[:_SAMPLED_SETTINGS]
    for randomiser in sampled:
        _check_sampling(context, findings, randomiser, ALPHA / len(sampled))
    findings.method("chi-square of sampled answers")
    for budget in BUDGETS.values():
        for histogram in USAGE_HISTOGRAMS:
            if SubsetSelection(len(histogram.bins), budget.local.epsilon).name == name:
                _check_gate(context, findings, budget, histogram)
    findings.method("chi-square and charge of reports of the real gate")
    findings.remark(f"{len(chosen)} settings, {len(sampled)} of them sampled")


def _settings() -> Iterator[SubsetSelection]:
    """The budgets' own settings first, each once; then the further ones."""
    bins = sorted({len(histogram.bins) for histogram in USAGE_HISTOGRAMS})
    own = [(size, budget.local.epsilon) for budget in BUDGETS.values() for size in bins]
    for size, epsilon in dict.fromkeys([*own, *_FURTHER]):
        yield SubsetSelection(size, epsilon)


def _label(randomiser: SubsetSelection) -> str:
    return f"{randomiser.bins} bins at epsilon {randomiser.epsilon:.4g}"


def _check_ratio(findings: Findings, randomiser: SubsetSelection) -> None:
    bins, size = randomiser.bins, randomiser.size
    truthful = Fraction(randomiser.include, _WORD)
    if not findings.expect(
        0 < truthful < 1 and 1 <= size < bins, f"{_label(randomiser)}: not a randomiser"
    ):
        return
    inside = truthful / math.comb(bins - 1, size - 1)
    outside = (1 - truthful) / math.comb(bins - 1, size)
    worst = max(inside / outside, outside / inside)
    allowed = exp_below(Fraction(randomiser.epsilon))
    claim = f"{_label(randomiser)}: worst likelihood ratio {float(worst):.6g}"
    findings.expect(worst <= allowed, f"{claim} exceeds e^epsilon = {float(allowed):.6g}")
    findings.expect(randomiser.ratio() == worst, f"{claim} is not the one stated")
    findings.expect(
        randomiser.inclusion() == (truthful, _other_inclusion(truthful, bins, size)),
        f"{_label(randomiser)}: stated inclusion probabilities are wrong",
    )


def _other_inclusion(truthful: Fraction, bins: int, size: int) -> Fraction:
    """P(a given other bin is in the set): what is left of the set, spread over bins - 1."""
    return (truthful * (size - 1) + (1 - truthful) * size) / (bins - 1)


def _check_sampling(
    context: Context, findings: Findings, randomiser: SubsetSelection, alpha: float
) -> None:
    """Answers 0 and 1 many times: the law of the set, and how well the two are told apart."""
    bins = randomiser.bins
    draws = context.size(_DRAWS, 1_000)
    bits = context.bits("local", bins, randomiser.epsilon)
    seen = [
        np.array([randomiser.randomise(answer, bits) for _ in range(draws)], dtype=np.int64)
        for answer in (0, bins - 1)
    ]
    for answer, masks in zip((0, bins - 1), seen, strict=True):
        p = _law_p(randomiser, answer, masks)
        findings.expect(
            p >= alpha / 2, f"{_label(randomiser)}: sampled answers do not follow the stated law"
        )
    _bound(findings, randomiser, seen[0], seen[1])


def _law_p(randomiser: SubsetSelection, answer: int, masks: np.ndarray) -> float:
    """p-value of the sets against their exact law; 0 for a set of the wrong size."""
    bins, size = randomiser.bins, randomiser.size
    truthful = float(Fraction(randomiser.include, _WORD))
    if any(mask.bit_count() != size or mask >> bins for mask in map(int, np.unique(masks))):
        return 0.0
    if math.comb(bins, size) <= _LARGEST_SUPPORT:
        support = [
            sum(1 << member for member in members)
            for members in itertools.combinations(range(bins), size)
        ]
        inside = truthful / math.comb(bins - 1, size - 1)
        outside = (1.0 - truthful) / math.comb(bins - 1, size)
        expected = np.array([inside if mask >> answer & 1 else outside for mask in support])
        observed = np.array([np.count_nonzero(masks == mask) for mask in support])
        return fit_p(observed, expected * len(masks)).p
    held = int(np.count_nonzero(masks >> answer & 1))
    observed = np.array([held, len(masks) - held])
    return fit_p(observed, np.array([truthful, 1.0 - truthful]) * len(masks)).p


def _check_gate(context: Context, findings: Findings, budget: Budget, histogram: Histogram) -> None:
    """Reports of the real gate: the law of the mask on the wire, and what the ledger charged."""
    randomiser = SubsetSelection(len(histogram.bins), budget.local.epsilon)
    label = f"{budget.name}, {histogram.name}"
    plan, answer = budget.local, len(histogram.bins) - 1
    round_ = AuditLocalRound(plan.task, 1, histogram.name, plan.epsilon, plan.n_min, budget.name)
    bits = context.bits("local gate", label)
    masks, charged, ids = [], set(), set()
    for _ in range(context.size(_REPORTS, 100)):
        ledger = Ledger(MemoryLog(), budget)
        report = Gate(ledger, bits).release_local(
            round_, histogram.bins[answer], START, lambda _report: None
        )
        masks.append(int.from_bytes(report.share, "little"))
        charged.add(ledger.spent().rho_units)
        ids.add(report.report_id)
    p = _law_p(randomiser, answer, np.array(masks, dtype=np.int64))
    findings.expect(
        p >= ALPHA / (len(BUDGETS) * len(USAGE_HISTOGRAMS)),
        f"{label}: reports of the gate do not follow the stated law",
    )
    findings.expect(len(ids) == len(masks), f"{label}: two reports share one report_id")
    corner = NormalDist().inv_cdf(math.exp(plan.epsilon) / (1.0 + math.exp(plan.epsilon)))
    owed = (2.0 * corner) ** 2 / 2.0 * _RHO_UNIT
    findings.expect(
        min(charged) >= owed * (1.0 - _ARITHMETIC),
        f"{label}: the ledger charged {min(charged) / owed:.4g} of what a local report costs",
    )


def _bound(
    findings: Findings, randomiser: SubsetSelection, first: np.ndarray, last: np.ndarray
) -> None:
    """Pure-DP lower bound: log of the ratio of P(bin 0 in, last bin out) in the two worlds."""
    top = randomiser.bins - 1
    rates = [
        int(np.count_nonzero((masks & 1 == 1) & (masks >> top & 1 == 0))) for masks in (first, last)
    ]
    low, _ = proportion_bounds(rates[0], len(first), ALPHA / 2)
    _, high = proportion_bounds(rates[1], len(last), ALPHA / 2)
    lower_bound = math.log(low / high) if low > high else 0.0
    findings.bound(randomiser.epsilon, lower_bound)
    findings.expect(
        lower_bound <= randomiser.epsilon,
        f"{_label(randomiser)}: measured epsilon of at least {lower_bound:.3f}",
    )
