"""The one door out (law 1): the only maker of anything user-derived that may leave a phone.

Order, each step finished before the next begins:
1. the round is held against this phone's own floors, its helper and its clock;
2. the ledger is charged, durably;
3. the vector is clipped and rounded onto the integer lattice;
4. this phone's share of the noise is added, and the result moved into the range that can be shared;
5. it is split between leader and helper, the helper's key sealed to it;
6. the report is stored, durably, by the caller's outbox;
7. the ledger records the report's hash.
A local report is randomised whole instead of 3 to 5.

Not one random bit is drawn before step 2 is durable. A crash between 2 and 6 forfeits the charge;
after 6 the outbox holds the final bytes, a retry sends those, and a missing step 7 is made up for
at the next start (`Ledger.complete`).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Final, NoReturn, Protocol, TypeAlias, final

import numpy as np
import numpy.typing as npt

from privacy.accounting import pure_units, rho_units
from privacy.bits import BitSource, draw
from privacy.budget import DAY
from privacy.chain import GaussianMechanism, LocalMechanism
from privacy.errors import RoundRefused
from privacy.lattice import RoundParameters, share_variance
from privacy.ledger import Ledger
from privacy.local_plan import LocalTerms
from privacy.mechanisms.clip import clip_to_lattice
from privacy.mechanisms.local import SubsetSelection
from privacy.mechanisms.table import gaussian_table
from privacy.secagg.mask import (
    KEY_BYTES,
    REPORT_ID_BYTES,
    SEED_BYTES,
    SealContext,
    report_digest,
    report_key,
    seal_seed,
    share_hash,
)
from privacy.secagg.sharing import sharing_for
from privacy.streams import usage_histogram

__all__ = ["LOCAL_SHARE_BYTES", "Gate", "GateRound", "LocalRoundParameters", "PrivateReport",
           "made_by_gate"]  # fmt: skip

LOCAL_SHARE_BYTES = 4
"""A local report: one bit per answer, little-endian."""


LARGEST_DOUBT = 90 * DAY
"""Seconds by which the phone's clock and a round's dates may differ. A charge counts for a year
after the latest of them, so without a limit one absurd date would silence a phone for good. A model
round alone is open for 56 days."""

_DOOR: Final = object()
"""Held by the gate alone: without it no PrivateReport can be made."""


class _Dated(Protocol):
    @property
    def opens(self) -> float:
        """Seconds UTC; no phone has seen the round before."""
        ...

    @property
    def closes(self) -> float:
        """Seconds UTC; no phone is asked for it after."""
        ...

    @property
    def budget(self) -> str:
        """Name of the budget the cloud planned the round under; this phone checks its own."""
        ...


class GateRound(RoundParameters, _Dated, Protocol):
    """The fields of a (verified) round descriptor that the gate reads."""

    @property
    def helper_key(self) -> bytes:
        """X25519 public key of the helper."""
        ...


class LocalRoundParameters(LocalTerms, _Dated, Protocol):
    """The fields of a (verified) local round that the gate reads."""


@final
class PrivateReport:
    """A randomised report: safe to store and send, made by the `Gate` alone.

    ``share``: the leader's share of the vector, or a local report's answers as a 4-byte
    little-endian mask. ``sealed_seed``: for the helper; b"" in a local report. ``sha256``: 32
    bytes, `report_digest` of all fields, as committed in the ledger. Immutable; not picklable or
    copyable.
    """

    __slots__ = ("_seal", "report_id", "round", "sealed_seed", "sha256", "share", "task")

    task: str
    round: int
    report_id: bytes
    share: bytes
    sealed_seed: bytes
    sha256: bytes
    _seal: tuple[object, bytes]

    def __new__(
        cls,
        task: str,
        round: int,  # noqa: A002
        report_id: bytes,
        share: bytes,
        sealed_seed: bytes,
        *,
        door: object = None,
    ) -> PrivateReport:
        """TypeError for every caller but the gate."""
        if door is not _DOOR:
            raise TypeError("only the privacy gate makes a PrivateReport")
        report = super().__new__(cls)
        digest = report_digest(task, round, report_id, share, sealed_seed)
        fields = (task, round, report_id, share, sealed_seed, digest, (door, digest))
        names = ("task", "round", "report_id", "share", "sealed_seed", "sha256", "_seal")
        for name, value in zip(names, fields, strict=True):
            object.__setattr__(report, name, value)
        return report

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a PrivateReport cannot be changed")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a PrivateReport cannot be copied or pickled")


def made_by_gate(report: object) -> bool:
    """Whether the gate made ``report`` and nothing of it was changed since.

    No object of another type or of a subclass is; nor one built past the door or written into
    later. (Who imports the private names of this module can forge one: Python cannot stop that.)
    """
    if type(report) is not PrivateReport:
        return False
    try:
        digest = report_digest(
            report.task, report.round, report.report_id, report.share, report.sealed_seed
        )
        door, sealed = report._seal
        return door is _DOOR and report.sha256 == sealed == digest
    except (AttributeError, TypeError, ValueError):
        return False


Store: TypeAlias = Callable[[PrivateReport], None]


class Gate:
    """The door of one phone: its ledger, and its source of random bits.

    ``helper_key``: the only helper this phone reports with; b"" keeps to the first one its ledger
    ever charged for.
    """

    def __init__(self, ledger: Ledger, bits: BitSource, helper_key: bytes = b"") -> None:
        self._ledger = ledger
        self._bits = bits
        self._helper = _fingerprint(helper_key) if helper_key else ""

    def check(self, descriptor: GateRound, at: float) -> None:
        """Refuse now what `release` would refuse whatever the vector is: one that took a training
        need not be made for a round that has its report. Raises as `release` does before a charge.
        """
        self._check_terms(descriptor, at)
        self._ledger.check_new(descriptor.task, descriptor.round)

    def check_local(self, descriptor: LocalRoundParameters, at: float) -> None:
        """As `check`, for `release_local`."""
        self._ledger.budget.check_local(descriptor)
        _dates(descriptor, at)
        self._ledger.check_new(descriptor.task, descriptor.round)

    def release(
        self, descriptor: GateRound, vector: npt.NDArray[np.floating], at: float, store: Store
    ) -> PrivateReport:
        """Charge, randomise, split and store one report of a round.

        ``vector``: float[descriptor.dimension] in real units; NaN or infinity makes it zeros.
        ``at``: the phone's clock, seconds UTC. ``store``: writes the report durably before it
        returns; called once. Raises RoundRefused / FloorViolated, RoundAlreadyCharged,
        BudgetExceeded (nothing charged), LedgerUnavailable, or whatever ``store`` raises (charge
        forfeited, unless the report was stored all the same).
        """
        helper, (earliest, latest) = self._check_terms(descriptor, at)
        if vector.shape != (descriptor.dimension,):
            raise RoundRefused("the vector and the round differ in dimension")
        mechanism = GaussianMechanism(
            clip=descriptor.clip,
            sigma=descriptor.sigma,
            scale=descriptor.scale,
            dimension=descriptor.dimension,
            n_min=descriptor.n_min,
            helper=helper,
        )
        cost = rho_units(descriptor.clip, descriptor.sigma)
        reservation = self._ledger.reserve(
            descriptor.task, descriptor.round, mechanism, cost, earliest, latest
        )
        report = self._randomise(descriptor, vector)
        store(report)
        self._ledger.commit(reservation, report.sha256)
        return report

    def release_local(
        self, descriptor: LocalRoundParameters, answer: str, at: float, store: Store
    ) -> PrivateReport:
        """Charge, randomise and store one answer that needs no server's trust.

        ``answer``: a bin of the histogram the round names (ValueError, nothing charged). Otherwise
        as `release`.
        """
        self._ledger.budget.check_local(descriptor)
        bins = usage_histogram(descriptor.histogram).bins
        if answer not in bins:
            raise ValueError(f"histogram {descriptor.histogram!r} needs one of its own bins")
        earliest, latest = _dates(descriptor, at)
        randomiser = SubsetSelection(len(bins), descriptor.epsilon)
        mechanism = LocalMechanism(
            name="k-rr" if randomiser.size == 1 else "subset-selection",
            bins=randomiser.bins,
            size=randomiser.size,
            epsilon=randomiser.epsilon,
            histogram=descriptor.histogram,
        )
        cost = pure_units(descriptor.epsilon)
        reservation = self._ledger.reserve(
            descriptor.task, descriptor.round, mechanism, cost, earliest, latest
        )
        chosen = randomiser.randomise(bins.index(answer), self._bits)
        report = PrivateReport(
            descriptor.task,
            descriptor.round,
            draw(self._bits, REPORT_ID_BYTES),
            chosen.to_bytes(LOCAL_SHARE_BYTES, "little"),
            b"",
            door=_DOOR,
        )
        store(report)
        self._ledger.commit(reservation, report.sha256)
        return report

    def _check_terms(self, descriptor: GateRound, at: float) -> tuple[str, tuple[float, float]]:
        """The helper's fingerprint, and bounds of the real time."""
        self._ledger.budget.check(descriptor)
        if len(descriptor.helper_key) != KEY_BYTES:
            raise RoundRefused(f"a helper key has {KEY_BYTES} bytes")
        helper, dates = self._pinned(descriptor.helper_key), _dates(descriptor, at)
        sharing_for(descriptor)  # refuses now what could not be shared once it is paid for
        return helper, dates

    def _pinned(self, helper_key: bytes) -> str:
        offered = _fingerprint(helper_key)
        if offered != (self._helper or self._ledger.helper_fingerprint or offered):
            raise RoundRefused("the round has another helper than the one this phone trusts")
        return offered

    def _randomise(self, descriptor: GateRound, vector: npt.NDArray[np.floating]) -> PrivateReport:
        task, number = descriptor.task, descriptor.round
        sharing = sharing_for(descriptor)
        lattice = clip_to_lattice(vector, descriptor.clip, descriptor.scale, self._bits)
        variance = share_variance(descriptor.sigma, descriptor.scale, descriptor.n_min)
        noisy = lattice + gaussian_table(variance).sample(descriptor.dimension, self._bits)
        report_id = draw(self._bits, REPORT_ID_BYTES)
        seed = draw(self._bits, SEED_BYTES)
        key = report_key(seed, task, number, report_id)
        share = sharing.split(sharing.clamp(noisy), key, self._bits)
        context = SealContext(
            task=task,
            round=number,
            report_id=report_id,
            share_hash=share_hash(share),
            dimension=descriptor.dimension,
            scale=descriptor.scale,
            clip=descriptor.clip,
            sigma=descriptor.sigma,
            n_min=descriptor.n_min,
        )
        sealed = seal_seed(seed, descriptor.helper_key, context.aad(), self._bits)
        return PrivateReport(task, number, report_id, share, sealed, door=_DOOR)


def _dates(descriptor: _Dated, at: float) -> tuple[float, float]:
    """Bounds of the real time, which hold while the phone's clock or the round is honest."""
    dates = (at, descriptor.opens, descriptor.closes)
    if not all(map(math.isfinite, dates)):
        raise RoundRefused("the round has no dates")
    earliest, latest = min(at, descriptor.opens), max(at, descriptor.closes)
    if latest - earliest > LARGEST_DOUBT:
        raise RoundRefused("the round's dates and this phone's clock disagree: is the clock right?")
    return max(0.0, earliest), max(0.0, latest)


def _fingerprint(helper_key: bytes) -> str:
    return hashlib.sha256(helper_key).hexdigest()
