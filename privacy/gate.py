"""The one door out (law 1): the only maker of anything user-derived that may leave a phone.

Order, each step finished before the next begins:
1. the round is held against this phone's own floors;
2. the ledger is charged, durably;
3. the vector is clipped onto the integer lattice;
4. this phone's share of the noise is added;
5. the result is masked, the mask's seed sealed to the helper;
6. the report is stored, durably, by the caller's outbox;
7. the ledger records the report's hash.

Not one random bit is drawn before step 2 is durable. A crash between 2 and 6 forfeits the charge;
after 6 the outbox holds the final bytes, and a retry sends those.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final, NoReturn, Protocol, final

import numpy as np
import numpy.typing as npt

from privacy.accounting import rho_units
from privacy.bits import BitSource, draw
from privacy.chain import Mechanism
from privacy.errors import RoundRefused
from privacy.lattice import RoundParameters, share_variance
from privacy.ledger import Ledger
from privacy.mechanisms import clip_to_lattice, gaussian_table
from privacy.secagg.mask import (
    KEY_BYTES,
    REPORT_ID_BYTES,
    SEED_BYTES,
    SealContext,
    add_mask,
    expand_mask,
    masked_hash,
    seal_seed,
)

__all__ = ["Gate", "GateRound", "PrivateReport"]

_DOOR: Final = object()
"""Held by the gate alone: without it no PrivateReport can be made."""


class GateRound(RoundParameters, Protocol):
    """The fields of a (verified) round descriptor that the gate reads."""

    @property
    def helper_key(self) -> bytes:
        """X25519 public key of the helper."""
        ...

    @property
    def budget(self) -> str:
        """Name of the budget the cloud planned the round under; this phone checks its own."""
        ...


@final
class PrivateReport:
    """A randomised, masked report: safe to store and send, made by the `Gate` alone.

    ``masked``: uint32[dimension], read-only. ``sealed_seed``: for the helper. ``sha256``: 32
    bytes over all fields, as committed in the ledger. Immutable; not picklable or copyable.
    """

    __slots__ = ("masked", "report_id", "round", "sealed_seed", "sha256", "task")

    task: str
    round: int
    report_id: bytes
    masked: npt.NDArray[np.uint32]
    sealed_seed: bytes
    sha256: bytes

    def __new__(
        cls,
        task: str,
        round: int,  # noqa: A002
        report_id: bytes,
        masked: npt.NDArray[np.uint32],
        sealed_seed: bytes,
        *,
        door: object = None,
    ) -> PrivateReport:
        """TypeError for every caller but the gate."""
        if door is not _DOOR:
            raise TypeError("only the privacy gate makes a PrivateReport")
        report = super().__new__(cls)
        masked.flags.writeable = False
        digest = hashlib.sha256()
        for part in (f"{task}|{round}|".encode(), report_id, masked_hash(masked), sealed_seed):
            digest.update(part)
        fields = (task, round, report_id, masked, sealed_seed, digest.digest())
        names = ("task", "round", "report_id", "masked", "sealed_seed", "sha256")
        for name, value in zip(names, fields, strict=True):
            object.__setattr__(report, name, value)
        return report

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a PrivateReport cannot be changed")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a PrivateReport cannot be copied or pickled")


class Gate:
    """The door of one phone: its ledger, and its source of random bits."""

    def __init__(self, ledger: Ledger, bits: BitSource) -> None:
        self._ledger = ledger
        self._bits = bits

    def release(
        self,
        descriptor: GateRound,
        vector: npt.NDArray[np.floating],
        at: float,
        store: Callable[[PrivateReport], None],
    ) -> PrivateReport:
        """Charge, randomise, mask and store one report of a round.

        ``vector``: float[descriptor.dimension] in real units; NaN or infinity makes it zeros.
        ``at``: seconds UTC. ``store``: writes the report durably before it returns; called once.
        Raises RoundRefused / FloorViolated, RoundAlreadyCharged, BudgetExceeded (nothing charged),
        LedgerUnavailable, or whatever ``store`` raises (charge forfeited).
        """
        self._ledger.budget.check(descriptor)
        _check_fit(descriptor, vector)
        mechanism = Mechanism(
            clip=descriptor.clip,
            sigma=descriptor.sigma,
            scale=descriptor.scale,
            dimension=descriptor.dimension,
            n_min=descriptor.n_min,
        )
        cost = rho_units(descriptor.clip, descriptor.sigma)
        reservation = self._ledger.reserve(descriptor.task, descriptor.round, mechanism, cost, at)
        report = self._randomise(descriptor, vector)
        store(report)
        self._ledger.commit(reservation, report.sha256)
        return report

    def _randomise(self, descriptor: GateRound, vector: npt.NDArray[np.floating]) -> PrivateReport:
        lattice = clip_to_lattice(vector, descriptor.clip, descriptor.scale)
        variance = share_variance(descriptor.sigma, descriptor.scale, descriptor.n_min)
        noisy = lattice + gaussian_table(variance).sample(descriptor.dimension, self._bits)
        report_id = draw(self._bits, REPORT_ID_BYTES)
        seed = draw(self._bits, SEED_BYTES)
        mask = expand_mask(seed, descriptor.task, descriptor.round, report_id, descriptor.dimension)
        masked = add_mask(noisy, mask)
        context = SealContext(
            task=descriptor.task,
            round=descriptor.round,
            report_id=report_id,
            masked_hash=masked_hash(masked),
            dimension=descriptor.dimension,
            scale=descriptor.scale,
            clip=descriptor.clip,
            sigma=descriptor.sigma,
            n_min=descriptor.n_min,
        )
        sealed = seal_seed(seed, descriptor.helper_key, context.aad(), self._bits)
        return PrivateReport(
            descriptor.task, descriptor.round, report_id, masked, sealed, door=_DOOR
        )


def _check_fit(descriptor: GateRound, vector: npt.NDArray[np.floating]) -> None:
    if vector.shape != (descriptor.dimension,):
        raise RoundRefused("the vector and the round differ in dimension")
    if len(descriptor.helper_key) != KEY_BYTES:
        raise RoundRefused(f"a helper key has {KEY_BYTES} bytes")
