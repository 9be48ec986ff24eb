"""Judges the rounds a fleet shows: floors, batch sizes, certificates, noise, overlap."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from privacy.audit.evidence import RoundEvidence
from privacy.audit.findings import Findings, finite
from privacy.budget import Budget
from privacy.errors import CertificateInvalid, FloorViolated, RoundRefused
from privacy.secagg.certificate import BatchCertificate, reports_digest

__all__ = ["CLOSED", "RoundRow", "check_uniqueness", "round_row"]

LOCAL_TASK = "local_usage"

CLOSED = "closed"
"""Status of a round whose sum was published."""

_SAME_NOISE = 1e-9
"""Relative: doubles that went through JSON and back."""

_LARGEST_INTEGER = 1 << 53
"""No number of a real round comes near; larger ones have no float."""


@dataclass(frozen=True, slots=True)
class RoundRow:
    """What one round came to, for the table."""

    task: str
    round: int
    status: str
    reports: int
    n_min: int
    noise: float
    """sigma over clip, or epsilon of a local report."""
    certificate: str
    """valid, invalid, missing, not needed, or not checked."""
    sound: bool


def check_uniqueness(rounds: Iterable[RoundEvidence], found: Findings) -> None:
    """No round twice, no report in two sums or twice in one."""
    known = Counter((each.task, each.round) for each in rounds)
    for (task, number), count in sorted(known.items()):
        if count > 1:
            found.report("round", f"{task} round {number}", "the round is shown more than once")
    owner: dict[bytes, str] = {}
    for each in rounds:
        where = _name(each)
        for report_id in each.report_ids:
            other = owner.setdefault(report_id, where)
            if other != where:
                found.report("overlap", where, f"a report was summed in {other} as well")
                break
        if len(set(each.report_ids)) != len(each.report_ids):
            found.report("overlap", where, "a report was summed twice")


def round_row(each: RoundEvidence, budget: Budget | None, key: bytes, found: Findings) -> RoundRow:
    """Check one round, and say what it came to."""
    local = each.task == LOCAL_TASK
    if max(map(abs, (each.dimension, each.scale, each.n_min, each.reports))) > _LARGEST_INTEGER:
        found.report("floor", _name(each), "a number in it is larger than any round's")
        return RoundRow(each.task, each.round, each.status, 0, 0, 0.0, "not checked", False)
    if budget is not None:
        (_check_local_floor if local else _check_floor)(each, budget, found)
    certificate = "not needed"
    if each.status == CLOSED:
        _check_count(each, found)
        if not local:
            certificate = _check_certificate(each, key, found)
            _check_noise(each, found)
    noise = each.epsilon if local else each.sigma / each.clip if each.clip > 0 else 0.0
    sound = not found.at(_name(each))
    return RoundRow(
        each.task,
        each.round,
        each.status,
        each.reports,
        each.n_min,
        finite(noise),
        certificate,
        sound,
    )


def _check_floor(each: RoundEvidence, budget: Budget, found: Findings) -> None:
    try:
        budget.check(each)
    except (FloorViolated, RoundRefused) as error:
        found.report("floor", _name(each), str(error))


def _check_local_floor(each: RoundEvidence, budget: Budget, found: Findings) -> None:
    plan, where = budget.local, _name(each)
    if not 0.0 < each.epsilon <= plan.epsilon:
        found.report(
            "floor",
            where,
            f"epsilon {each.epsilon:g} a report, the {budget.name} budget allows {plan.epsilon:g}",
        )
    if each.n_min < plan.n_min:
        found.report(
            "floor", where, f"n_min {each.n_min}, the {budget.name} budget wants {plan.n_min}"
        )


def _check_count(each: RoundEvidence, found: Findings) -> None:
    where = _name(each)
    if each.reports < each.n_min:
        found.report("too-few", where, f"{each.reports} reports were summed, n_min is {each.n_min}")
    if each.report_ids and len(each.report_ids) != each.reports:
        found.report(
            "count", where, f"{len(each.report_ids)} report ids for {each.reports} reports"
        )


def _check_noise(each: RoundEvidence, found: Findings) -> None:
    """Phones add sigma²/n_min each, the helper sigma²: the sum carries exactly this much."""
    if each.n_min < 1 or each.reports < 0:
        return  # a floor, or the count, already says so
    expected = each.sigma * math.sqrt(each.reports / each.n_min + 1.0)
    if not math.isclose(each.total_sigma, expected, rel_tol=_SAME_NOISE):
        found.report(
            "noise",
            _name(each),
            f"claims noise of {each.total_sigma:.6g}, its parameters give {expected:.6g}",
        )


def _check_certificate(each: RoundEvidence, key: bytes, found: Findings) -> str:
    where = _name(each)
    if not each.certificate:
        found.report("certificate", where, "was summed without a certificate of the helper")
        return "missing"
    if not key:
        found.report("certificate", where, "no helper key is known to check the certificate under")
        return "invalid"
    try:
        certificate = BatchCertificate.open(each.certificate, key)
    except CertificateInvalid as error:
        found.report("certificate", where, str(error))
        return "invalid"
    names = ("task", "round", "dimension", "scale", "clip", "sigma", "n_min")
    wrong = [name for name in names if getattr(certificate, name) != getattr(each, name)]
    if certificate.count != each.reports:
        wrong.append("count")
    if wrong:
        found.report(
            "certificate", where, f"the helper certified another {', '.join(wrong)} than shown"
        )
    if each.report_ids and certificate.reports_digest != reports_digest(each.report_ids):
        found.report("certificate", where, "the helper certified other reports than those shown")
        wrong.append("reports")
    return "invalid" if wrong else "valid"


def _name(each: RoundEvidence) -> str:
    return f"{each.task} round {each.round}"
