"""A pocket fleet: real phones' gates, a real leader's sums and a real helper, in one process.

Everything here only calls the product's public functions, with storage in memory and bits from
the audit's seed. The one thing it can do that no operator can: it holds the helper's key and the
leader's shares together, and so sees what a phone's noise was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from privacy.anchor import Mark
from privacy.audit.mechanisms.verdict import Context
from privacy.bits import BitSource
from privacy.budget import DAY, Budget
from privacy.gate import Gate, PrivateReport
from privacy.ledger import Ledger
from privacy.secagg.batch import Batch, MaskSum, SealedShare
from privacy.secagg.helper import Helper, HelperStore, MemoryHelperStore
from privacy.secagg.mask import SealContext, open_seed, report_key, report_query, share_hash
from privacy.secagg.sharing import Sharing, sharing_for

__all__ = [
    "START",
    "AuditLocalRound",
    "AuditRound",
    "MemoryAnchor",
    "MemoryLog",
    "PocketFleet",
    "audit_round",
]

START = 1_772_000_000.0
"""Seconds UTC at which the audit's first rounds open."""

Lattice = npt.NDArray[np.int64]
Vector = npt.NDArray[np.float64]


class MemoryLog:
    """A ledger's log in memory: what was appended, in order."""

    def __init__(self, payloads: Sequence[bytes] = ()) -> None:
        self.payloads = list(payloads)

    def append(self, payload: bytes) -> int:
        """Keep one entry."""
        self.payloads.append(payload)
        return len(self.payloads) - 1

    def read(self) -> Iterator[tuple[int, bytes]]:
        """Every entry, oldest first."""
        yield from enumerate(list(self.payloads))


class MemoryAnchor:
    """The mark a phone keeps outside its data folder."""

    def __init__(self, mark: Mark | None = None) -> None:
        self.mark = mark

    def read(self) -> Mark | None:
        """The last mark written."""
        return self.mark

    def write(self, mark: Mark) -> None:
        """Replace it."""
        self.mark = mark


@dataclass(frozen=True, slots=True)
class AuditRound:
    """A round as its signed descriptor would give it to the gate. Reals in real units."""

    task: str
    round: int
    dimension: int
    scale: int
    clip: float
    sigma: float
    n_min: int
    helper_key: bytes
    budget: str
    opens: float = START
    closes: float = START + DAY


@dataclass(frozen=True, slots=True)
class AuditLocalRound:
    """A local round as its signed descriptor would give it to the gate."""

    task: str
    round: int
    histogram: str
    epsilon: float
    n_min: int
    budget: str
    opens: float = START
    closes: float = START + DAY


def audit_round(
    budget: Budget, task: str, dimension: int, helper_key: bytes, number: int = 1, fleet: int = 0
) -> AuditRound:
    """The round this budget would plan for ``fleet`` phones: its own clip, sigma, scale, n_min."""
    terms = budget.terms(task, fleet)
    return AuditRound(
        task, number, dimension, terms.scale, terms.clip, terms.sigma, terms.n_min,
        helper_key, budget.name,
    )  # fmt: skip


class PocketFleet:
    """One round of one task: any number of phones, a leader and a helper.

    ``planned``: phones the round is planned for (its n_min). Every phone, and the helper, gets a
    stream of bits of its own from the context.
    """

    def __init__(
        self,
        context: Context,
        budget: Budget,
        task: str,
        dimension: int,
        planned: int = 0,
        *,
        store: HelperStore | None = None,
    ) -> None:
        self._context = context
        self.budget = budget
        self._secret = context.bits("helper key")(32)
        self.store = MemoryHelperStore() if store is None else store
        self.helper = Helper(self._secret, self.store, context.bits("helper", task), budget)
        self.round = audit_round(budget, task, dimension, self.helper.public_key, fleet=planned)
        self.planned = planned
        self.sharing: Sharing = sharing_for(self.round)
        self._phones = 0

    def report(self, vector: Vector) -> tuple[PrivateReport, int]:
        """A new phone's report of ``vector`` by the real gate, and what its ledger charged."""
        self._phones += 1
        ledger = Ledger(MemoryLog(), self.budget)
        gate = Gate(ledger, self.phone_bits(self._phones))
        report = gate.release(self.round, vector, START, _keep)
        return report, ledger.spent().rho_units

    def phone_bits(self, number: int) -> BitSource:
        """The random bits of one phone."""
        return self._context.bits("phone", self.round.task, self.budget.name, number)

    def open(self, report: PrivateReport) -> Lattice:
        """The noisy lattice vector of one report: both servers' halves put together."""
        mine = self.round
        context = SealContext(
            mine.task, mine.round, report.report_id, share_hash(report.share),
            mine.dimension, mine.scale, mine.clip, mine.sigma, mine.n_min,
        )  # fmt: skip
        secret = X25519PrivateKey.from_private_bytes(self._secret)
        seed = open_seed(report.sealed_seed, secret, context.aad())
        key = report_key(seed, mine.task, mine.round, report.report_id)
        sharing = self.sharing
        leader = sharing.total([sharing.read(report.share)])
        return sharing.join(leader, sharing.total([sharing.expand(key)]), 1)

    def batch(self, reports: Sequence[PrivateReport], number: int = 1, **changes: object) -> Batch:
        """The leader's batch of these reports, verifiers included."""
        query_key = self.helper.query_key(self.round.task, self.round.round)
        shares = tuple(
            SealedShare(
                report.report_id,
                share_hash(report.share),
                report.sealed_seed,
                self.sharing.verifier(
                    self.sharing.read(report.share), report_query(query_key, report.report_id)
                ),
            )
            for report in reports
        )
        mine = self.round
        fields: dict[str, object] = {
            "batch_id": number.to_bytes(16, "big"),
            "task": mine.task,
            "round": mine.round,
            "dimension": mine.dimension,
            "scale": mine.scale,
            "clip": mine.clip,
            "sigma": mine.sigma,
            "n_min": mine.n_min,
            "shares": shares,
        }
        return Batch(**(fields | changes))  # type: ignore[arg-type]

    def join(self, reports: Sequence[PrivateReport], answer: MaskSum) -> Lattice:
        """The leader's end: its own total and the helper's answer, in lattice units."""
        total = self.sharing.total(self.sharing.read(report.share) for report in reports)
        return self.sharing.join(total, answer.vector, answer.count)


def _keep(_report: PrivateReport) -> None:
    """The audit's outbox: reports are returned to it as well."""
