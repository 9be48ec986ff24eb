"""The helper: its own noise, what it refuses, and that it answers once.

Drills run against the real `Helper` with reports of real gates; noise is measured as the sum both
servers join to, less what the phones' reports say one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from privacy.accounting import gdp_epsilon
from privacy.audit.mechanisms.fleet import PocketFleet
from privacy.audit.mechanisms.proofs import drill_proofs, drill_query_keys
from privacy.audit.mechanisms.release import claimed_mu, exact_units
from privacy.audit.mechanisms.samplers import expect_gaussian
from privacy.audit.mechanisms.statistics import ALPHA
from privacy.audit.mechanisms.verdict import Context, Findings
from privacy.audit.mechanisms.worlds import GROUP_SHIFT, mu_lower_bound
from privacy.budget import BUDGETS, DEMO, LARGEST_HEAD, PRODUCTION
from privacy.errors import BatchRefused, CertificateInvalid, RefusalReason
from privacy.gate import PrivateReport
from privacy.secagg.batch import Batch, MaskSum
from privacy.secagg.certificate import BatchCertificate, reports_digest
from privacy.secagg.helper import Helper, MemoryHelperStore

__all__ = ["check_helper"]

_BATCHES = 12
"""Batches a budget whose noise is pooled: 24,000 samples see a sigma 5 % off at 10 errors."""

_TESTS = 8
_DRILL_DIMENSION = 8


class _Store(MemoryHelperStore):
    """Remembers what was recorded; fails on demand."""

    def __init__(self) -> None:
        super().__init__()
        self.recorded: list[bytes] = []
        self.failing = False

    def record(self, batch_id: bytes, report_ids: Sequence[bytes], reply: bytes) -> None:
        if self.failing:
            raise OSError("the disk is full")
        super().record(batch_id, report_ids, reply)
        self.recorded.append(reply)


def check_helper(context: Context, findings: Findings) -> None:
    """Noise of both budgets, then the drills."""
    for budget in BUDGETS.values():
        _check_noise(context, findings, PocketFleet(context, budget, "router", LARGEST_HEAD))
    _drill_batches(context, findings)
    _drill_storage(context, findings)
    drill_query_keys(context, findings)
    drill_proofs(context, findings)
    findings.method("drills: too few, overlap, replay, re-parameterised, floors, storage, proofs")


def _check_noise(context: Context, findings: Findings, fleet: PocketFleet) -> None:
    """Law, variance and two-world bound of the helper's noise alone: the phones' is taken off."""
    zeros = np.zeros(fleet.round.dimension)
    noise = []
    for number in range(context.size(_BATCHES)):
        reports = [fleet.report(zeros)[0] for _ in range(fleet.round.n_min)]
        answer = fleet.helper.sum_masks(fleet.batch(reports, number))
        phones = np.sum([fleet.open(report) for report in reports], axis=0)
        noise.append(fleet.join(reports, answer) - phones)
    pooled = np.concatenate(noise)
    total = (Fraction(fleet.round.sigma) * fleet.round.scale) ** 2
    label = f"{fleet.budget.name}: the helper's noise"
    expect_gaussian(findings, pooled, total, ALPHA / _TESTS, label)
    findings.expect(len({values.tobytes() for values in noise}) == len(noise), f"{label} repeats")
    _check_worlds(findings, fleet, pooled.astype(np.float64))
    findings.method("goodness of fit, pooled variance and two-world test of the helper's noise")


def _check_worlds(findings: Findings, fleet: PocketFleet, noise: np.ndarray) -> None:
    round_, budget = fleet.round, fleet.budget
    mu = claimed_mu(exact_units(round_))
    half = len(noise) // 2
    shifted = noise[half:] + GROUP_SHIFT * round_.clip * round_.scale / mu
    lower = mu_lower_bound(noise[:half], shifted, ALPHA / _TESTS) / GROUP_SHIFT * mu
    findings.expect(
        lower <= mu,
        f"{budget.name}: the helper's noise claims mu {mu:.4f}, at least {lower:.4f} was found",
    )
    claimed, bound = gdp_epsilon(mu, budget.delta), gdp_epsilon(lower, budget.delta)
    findings.bound(claimed, bound)
    findings.remark(
        f"{budget.name}: epsilon {claimed:.3f} by the helper's noise alone, at least {bound:.3f} "
        f"({half:,} samples a world)"
    )


def _drill_batches(context: Context, findings: Findings) -> None:
    """What must be refused, and that a refused batch leaves no trace."""
    fleet = PocketFleet(context, DEMO, "router", _DRILL_DIMENSION)
    zeros = np.zeros(_DRILL_DIMENSION)
    n_min = fleet.round.n_min
    reports = [fleet.report(zeros)[0] for _ in range(2 * n_min)]
    first, second = reports[:n_min], reports[n_min:]
    whole = fleet.batch(first, 1)
    refuse = _Refusals(findings, fleet.helper)
    refuse("too_few", fleet.batch(first[:-1], 2), "a batch under n_min")
    refuse("too_few", fleet.batch(first[:1], 3), "a batch of one report")
    _expect_no_duplicates(findings, whole)
    for what, changed in _reparameterised(fleet, first, whole):
        refuse("", changed, f"a batch with {what}")
    answer = fleet.helper.sum_masks(whole)
    _check_certificate(findings, fleet.helper, whole, answer)
    findings.expect(
        fleet.helper.sum_masks(whole).encode() == answer.encode(),
        "a repeated batch is not answered with the same bytes",
    )
    refuse("overlap", fleet.batch([*second, first[0]], 4), "a batch with a report summed before")
    refuse("overlap", fleet.batch(first, 5), "a batch summed before, under another id")
    refuse("replay", fleet.batch(second, 1), "another batch under a used id")
    restarted = _Refusals(findings, _again(context, fleet, DEMO))
    restarted("overlap", fleet.batch([*second, first[0]], 6), "an overlap after a restart")
    findings.expect(
        restarted.helper.sum_masks(whole).encode() == answer.encode(),
        "after a restart a repeated batch is not answered with the same bytes",
    )
    production = _Refusals(findings, _again(context, fleet, PRODUCTION, MemoryHelperStore()))
    production("floor", whole, "a batch below the helper's own floors")


def _expect_no_duplicates(findings: Findings, whole: Batch) -> None:
    try:
        replace(whole, shares=(*whole.shares, whole.shares[0]))
    except BatchRefused:
        return
    findings.expect(False, "a batch may hold a report twice")


class _Refusals:
    """Asks a helper for what it must refuse, for the reason given ("" = any)."""

    def __init__(self, findings: Findings, helper: Helper) -> None:
        self.helper = helper
        self._findings = findings

    def __call__(self, reason: RefusalReason | str, batch: Batch, what: str) -> None:
        try:
            self.helper.sum_masks(batch)
        except BatchRefused as refusal:
            fits = reason in ("", refusal.reason)
            self._findings.expect(fits, f"{what} was refused for the wrong reason")
        else:
            self._findings.expect(False, f"the helper answers {what}")


def _reparameterised(
    fleet: PocketFleet, reports: Sequence[PrivateReport], whole: Batch
) -> list[tuple[str, Batch]]:
    """The batch under other terms than its phones sealed to, all within the floors."""
    moved = [
        share._replace(share_hash=other.share_hash)
        for share, other in zip(whole.shares, whole.shares[1:] + whole.shares[:1], strict=True)
    ]
    changes: list[tuple[str, dict[str, object]]] = [
        ("more noise than sealed", {"sigma": fleet.round.sigma * 2}),
        ("less noise than sealed", {"sigma": fleet.round.sigma / 2}),
        ("a larger clip", {"clip": fleet.round.clip * 2}),
        ("a smaller clip", {"clip": fleet.round.clip / 2}),
        ("another scale", {"scale": fleet.round.scale * 2}),
        ("a lower n_min", {"n_min": 1}),
        ("another n_min", {"n_min": len(reports) - 1}),
        ("another round", {"round": fleet.round.round + 1}),
        ("another task", {"task": "dedup"}),
        ("reports moved to other shares", {"shares": tuple(moved)}),
    ]
    return [
        (what, replace(whole, batch_id=bytes([100 + number]) * 16, **change))  # type: ignore[arg-type]
        for number, (what, change) in enumerate(changes)
    ]


def _check_certificate(findings: Findings, helper: Helper, batch: Batch, answer: MaskSum) -> None:
    try:
        signed = BatchCertificate.open(answer.certificate, helper.signing_public_key)
    except CertificateInvalid:
        findings.expect(False, "the helper's certificate does not open under its own key")
        return
    holds = (
        signed.batch_digest == batch.digest()
        and signed.count == len(batch.shares)
        and signed.reports_digest == reports_digest(batch.report_ids)
        and (signed.sigma, signed.n_min) == (batch.sigma, batch.n_min)
    )
    findings.expect(holds, "the helper's certificate is about another batch")
    forged = bytearray(answer.certificate)
    forged[-1] ^= 1
    try:
        BatchCertificate.open(bytes(forged), helper.signing_public_key)
    except CertificateInvalid:
        return
    findings.expect(False, "a forged certificate opens")


def _again(context: Context, fleet: PocketFleet, budget: object, store: object = None) -> Helper:
    """The same helper started again: its key, and its store or a new one."""
    return Helper(
        context.bits("helper key")(32),
        fleet.store if store is None else store,  # type: ignore[arg-type]
        context.bits("helper again"),
        budget,  # type: ignore[arg-type]
    )


def _drill_storage(context: Context, findings: Findings) -> None:
    """Nothing is said that is not on disk first, and a failed write releases nothing."""
    store = _Store()
    fleet = PocketFleet(context, DEMO, "router", _DRILL_DIMENSION, store=store)
    zeros = np.zeros(_DRILL_DIMENSION)
    reports = [fleet.report(zeros)[0] for _ in range(fleet.round.n_min)]
    batch = fleet.batch(reports)
    store.failing = True
    try:
        fleet.helper.sum_masks(batch)
    except OSError:
        pass
    else:
        findings.expect(False, "the helper answers although its store failed")
    store.failing = False
    answer = fleet.helper.sum_masks(batch)
    findings.expect(
        store.recorded == [answer.encode()], "the helper's answer is not what it recorded before"
    )
