"""Audits of the mechanisms: the product's own code, through its public functions.

Nothing here is a copy of what it judges, so a product that is broken turns its check red. Each
module is one check or one tool:

local.py        k-rr, subset-selection: exact likelihood ratios, sampled answers
table.py        discrete-gaussian: every threshold of the tables in use, and what they draw
samplers.py     discrete-gaussian-exact, discrete-laplace: goodness of fit
clipping.py     clip: sensitivity in integers
release.py      counts, updates: two worlds told apart through gate, wire bytes and both servers
helper.py       helper: its noise, its refusals, its memory (proofs.py: proofs and query keys)
door.py         gate: order of steps, crashes, retries
spending.py     ledger: windows, clocks, composition, faults of the disk
copies.py       ... and ledgers that were cut, restored, copied or edited, and receipts
bookkeeping.py  accounting: exact charges, claims, independent accountants
canaries.py     canaries: one federated sum with planted vectors
randomness.py   rng: all bits are given, none is drawn

statistics.py exact tails and bounds   worlds.py two-world bound   pmf.py own probabilities
fleet.py, phone.py real parts, wired   verdict.py what comes of it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from privacy.audit.mechanisms.bookkeeping import check_accounting
from privacy.audit.mechanisms.canaries import check_canaries
from privacy.audit.mechanisms.clipping import check_clip
from privacy.audit.mechanisms.door import check_gate
from privacy.audit.mechanisms.helper import check_helper
from privacy.audit.mechanisms.local import check_k_rr, check_subset_selection
from privacy.audit.mechanisms.randomness import check_rng
from privacy.audit.mechanisms.release import check_counts, check_updates
from privacy.audit.mechanisms.samplers import check_exact_gaussian, check_exact_laplace
from privacy.audit.mechanisms.spending import check_ledger
from privacy.audit.mechanisms.table import check_table
from privacy.audit.mechanisms.verdict import Check, Context, Findings, MechanismVerdict

__all__ = ["NAMES", "MechanismVerdict", "audit"]

_CHECKS: dict[str, Check] = {
    "k-rr": check_k_rr,
    "subset-selection": check_subset_selection,
    "discrete-gaussian": check_table,
    "discrete-gaussian-exact": check_exact_gaussian,
    "discrete-laplace": check_exact_laplace,
    "clip": check_clip,
    "counts": check_counts,
    "updates": check_updates,
    "helper": check_helper,
    "gate": check_gate,
    "ledger": check_ledger,
    "accounting": check_accounting,
    "canaries": check_canaries,
    "rng": check_rng,
}

NAMES: tuple[str, ...] = tuple(_CHECKS)
"""Every mechanism there is a check for, in the order they are run."""


def audit(
    names: Sequence[str],
    *,
    seed: int,
    progress: Callable[[str], None] | None = None,
    samples: float = 1.0,
) -> list[MechanismVerdict]:
    """Run the checks called ``names``, in that order; deterministic for a seed.

    ``progress`` is told each name before its check begins. ``samples`` scales every sample alike:
    below 1.0 the audit is quicker and sees less. ValueError for an unknown name or a sample size
    that is not positive.
    """
    unknown = sorted(set(names) - set(_CHECKS))
    if unknown:
        raise ValueError(f"no such mechanism: {', '.join(unknown)} (known: {', '.join(NAMES)})")
    if not samples > 0:
        raise ValueError("the sample size must be positive")
    verdicts = []
    for name in names:
        if progress is not None:
            progress(name)
        verdicts.append(_run(name, Context(seed, samples)))
    return verdicts


def _run(name: str, context: Context) -> MechanismVerdict:
    findings = Findings()
    try:
        _CHECKS[name](context, findings)
    except Exception as error:  # whatever a broken product raises is a finding
        findings.expect(False, f"the check could not finish: {type(error).__name__}: {error}")
    return findings.verdict(name)
