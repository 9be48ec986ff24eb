"""Shared pieces of the privacy tests: storage that fails on demand, seeded bits, rounds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from privacy import DEMO, PRODUCTION, Budget, Gate, Ledger, Mark, PrivateReport
from privacy.bits import BitSource
from privacy.budget import YEAR
from privacy.chain import Entry, GaussianMechanism, Reserve, encode_entry, entry_hash
from privacy.secagg import Batch, SealedShare, share_hash, sharing_for
from privacy.secagg.mask import report_query

DAY = 86_400.0
START = 1_772_000_000.0
HELPER_KEY = bytes(range(1, 33))
DEVICE = "phone-1"


def seeded_bits(seed: int) -> BitSource:
    return np.random.Generator(np.random.Philox(key=seed)).bytes


class Key:
    """An Ed25519 key: a device's or a cloud's."""

    def __init__(self, seed: int) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)

    @property
    def public(self) -> bytes:
        return self._key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        return self._key.sign(message)


class MemoryLog:
    """A durable log in memory; `fail_next` makes appends raise before or after they are kept."""

    def __init__(self, payloads: list[bytes] | None = None) -> None:
        self.payloads = list(payloads or [])
        self.fail_next = ""

    def append(self, payload: bytes) -> int:
        failure, self.fail_next = self.fail_next, ""
        if failure == "lost":
            raise OSError("disk full")
        self.payloads.append(payload)
        if failure == "kept":
            raise OSError("the answer of fsync was lost")
        return len(self.payloads) - 1

    def read(self) -> Iterator[tuple[int, bytes]]:
        yield from enumerate(list(self.payloads))


class MemoryAnchor:
    """A mark in memory; outlives the ledger, as a phone's state folder does."""

    def __init__(self, mark: Mark | None = None) -> None:
        self.mark = mark

    def read(self) -> Mark | None:
        return self.mark

    def write(self, mark: Mark) -> None:
        self.mark = mark


@dataclass(frozen=True)
class Round:
    """A GateRound; production floors unless said otherwise. Open as long as a clock may doubt."""

    task: str = "router"
    round: int = 1
    dimension: int = 40
    scale: int = 4096
    clip: float = 1.0
    sigma: float = 3.33
    n_min: int = 100
    helper_key: bytes = field(default=b"")
    budget: str = "production"
    opens: float = START
    closes: float = START + 7 * DAY

    def __post_init__(self) -> None:
        if not self.helper_key:
            key = raw_helper_key().public_key().public_bytes_raw()
            object.__setattr__(self, "helper_key", key)


@dataclass(frozen=True)
class LocalRound:
    """A LocalRoundParameters."""

    task: str = "local_usage"
    round: int = 1
    histogram: str = "language"
    epsilon: float = PRODUCTION.local.epsilon
    n_min: int = 100
    opens: float = START
    closes: float = START + 7 * DAY
    budget: str = "production"


def round_of(
    budget: Budget, task: str, number: int = 1, dimension: int = 40, opens: float = START
) -> Round:
    terms = budget.terms(task)
    return Round(
        task=task,
        round=number,
        dimension=dimension,
        scale=terms.scale,
        clip=terms.clip,
        sigma=terms.sigma,
        n_min=terms.n_min,
        budget=budget.name,
        opens=opens,
        closes=opens + terms.cadence,
    )


def batch_of(
    round_: Round,
    reports: list[PrivateReport],
    query_key: bytes,
    batch_id: bytes = b"b" * 16,
    **changes: Any,
) -> Batch:
    """What a leader would commit of these reports."""
    sharing = sharing_for(round_)
    shares = tuple(
        SealedShare(
            r.report_id,
            share_hash(r.share),
            r.sealed_seed,
            sharing.verifier(sharing.read(r.share), report_query(query_key, r.report_id)),
        )
        for r in reports
    )
    fields: dict[str, Any] = {
        "batch_id": batch_id,
        "task": round_.task,
        "round": round_.round,
        "dimension": round_.dimension,
        "scale": round_.scale,
        "clip": round_.clip,
        "sigma": round_.sigma,
        "n_min": round_.n_min,
        "shares": shares,
    }
    return Batch(**(fields | changes))


def keep(_report: PrivateReport) -> None:
    """An outbox for tests that only need the reports returned."""


def new_gate(seed: int, budget: Budget = PRODUCTION) -> Gate:
    return Gate(Ledger(MemoryLog(), budget), seeded_bits(seed))


def demo_reports(round_: Round, vectors: np.ndarray, seed: int = 0) -> list[PrivateReport]:
    return [
        new_gate(seed + i, DEMO).release(round_, vector, START, keep)
        for i, vector in enumerate(vectors)
    ]


def used_ledger(budget: Budget = PRODUCTION, weeks: int = 3) -> MemoryLog:
    """A ledger of `weeks` honest usage releases."""
    log = MemoryLog()
    gate = Gate(Ledger(log, budget, device_id=DEVICE, signer=Key(7)), seeded_bits(1))
    for week in range(weeks):
        at = START + 7 * DAY * week
        gate.release(round_of(budget, "usage", week + 1, 32, at), np.zeros(32), at, keep)
    return log


Forge = Callable[[int, str], Entry]


def append_forged(log: MemoryLog, forge: Forge) -> None:
    """Append an entry whose chain is right and whose content is `forge`'s."""
    head = entry_hash(log.payloads[-1]) if log.payloads else "0" * 64
    log.payloads.append(encode_entry(forge(len(log.payloads), head)))


def gaussian(sigma: float = 18.9, helper: str = "") -> GaussianMechanism:
    """A usage release's mechanism."""
    return GaussianMechanism(
        clip=8**0.5, sigma=sigma, scale=256, dimension=32, n_min=100, helper=helper
    )


def forged_reserve(
    seq: int, prev: str, *, number: int, rho: int, at: float, sigma: float = 18.9
) -> Reserve:
    return Reserve(
        seq=seq,
        prev=prev,
        task="usage",
        round=number,
        mechanism=gaussian(sigma),
        rho=rho,
        at=at,
        latest=at,
    )


def raw_helper_key() -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(HELPER_KEY)


def fingerprint(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()


def worst_year(spent: list[tuple[float, int]]) -> int:
    """Most units within any 365 days of (moment, units)."""
    return max(
        (sum(units for at, units in spent if end - YEAR < at <= end) for end, _ in spent),
        default=0,
    )
