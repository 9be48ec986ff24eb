"""Shared pieces of the privacy tests: logs that fail on demand, seeded bits, rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from privacy import DEMO, PRODUCTION, Budget, Gate, Ledger, PrivateReport
from privacy.bits import BitSource
from privacy.chain import Commit, Mechanism, Open, Reserve, encode_entry, entry_hash
from privacy.secagg import Batch, Helper, MemoryHelperStore, SealedShare, masked_hash

DAY = 86_400.0
START = 1_772_000_000.0
HELPER_KEY = bytes(range(1, 33))


def seeded_bits(seed: int) -> BitSource:
    return np.random.Generator(np.random.Philox(key=seed)).bytes


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
        yield from enumerate(self.payloads)


@dataclass(frozen=True)
class Round:
    """A GateRound; production floors unless said otherwise."""

    task: str = "router"
    round: int = 1
    dimension: int = 40
    scale: int = 4096
    clip: float = 1.0
    sigma: float = 3.33
    n_min: int = 100
    helper_key: bytes = field(default=b"")
    budget: str = "production"

    def __post_init__(self) -> None:
        if not self.helper_key:
            key = Helper(HELPER_KEY, MemoryHelperStore(), seeded_bits(0)).public_key
            object.__setattr__(self, "helper_key", key)


def round_of(budget: Budget, task: str, number: int = 1, dimension: int = 40) -> Round:
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
    )


def batch_of(
    round_: Round, reports: list[PrivateReport], batch_id: bytes = b"b" * 16, **changes: Any
) -> Batch:
    shares = tuple(SealedShare(r.report_id, masked_hash(r.masked), r.sealed_seed) for r in reports)
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
    gate = Gate(Ledger(log, budget, device_id="phone-1"), seeded_bits(1))
    for week in range(weeks):
        gate.release(
            round_of(budget, "usage", week + 1, 32), np.zeros(32), START + 7 * DAY * week, keep
        )
    return log


Forge = Callable[[int, str], Open | Reserve | Commit]


def append_forged(log: MemoryLog, forge: Forge) -> None:
    """Append an entry whose chain is right and whose content is `forge`'s."""
    head = entry_hash(log.payloads[-1]) if log.payloads else "0" * 64
    log.payloads.append(encode_entry(forge(len(log.payloads), head)))


def forged_reserve(
    seq: int, prev: str, *, number: int, rho: int, at: float, sigma: float = 18.9
) -> Reserve:
    mechanism = Mechanism(clip=8**0.5, sigma=sigma, scale=256, dimension=32, n_min=100)
    return Reserve(
        seq=seq, prev=prev, task="usage", round=number, mechanism=mechanism, rho=rho, at=at
    )


def raw_helper_key() -> X25519PrivateKey:
    return X25519PrivateKey.from_private_bytes(HELPER_KEY)
