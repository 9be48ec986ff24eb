"""Faults of the one door out: order, retries, floors, bits."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from privacy import gate
from privacy.bits import BitSource
from privacy.budget import Budget
from privacy.errors import RoundAlreadyCharged
from privacy.gate import Gate, PrivateReport
from privacy.ledger import Ledger
from privacy.local_plan import LocalPlan
from privacy.mechanisms.local import SubsetSelection
from privacy.secagg.mask import keystream
from tests.privacy.mutants.surgery import Mutant, edit, rebind

__all__ = ["GATE_MUTANTS"]

_CHARGE = """        reservation = self._ledger.reserve(
            descriptor.task, descriptor.round, mechanism, cost, earliest, latest
        )
"""


def dedented(source: str) -> str:
    return source.replace("\n    ", "\n").removeprefix("    ")


def charge_after_release(patch: pytest.MonkeyPatch) -> None:
    release = """        report = self._randomise(descriptor, vector)
        store(report)
"""
    edit(patch, Gate, "release", dedented(_CHARGE + release), dedented(release + _CHARGE))


def noise_before_the_charge(patch: pytest.MonkeyPatch) -> None:
    edit(
        patch,
        Gate,
        "release",
        dedented(_CHARGE),
        "    self._bits(64)  # a pool filled in advance\n" + dedented(_CHARGE),
    )


def commit_before_the_store(patch: pytest.MonkeyPatch) -> None:
    commit = "self._ledger.commit(reservation, report.sha256)"
    edit(
        patch,
        Gate,
        "release",
        f"store(report)\n    {commit}",
        f"{commit}\n    store(report)",
    )


def commit_about_something_else(patch: pytest.MonkeyPatch) -> None:
    edit(patch, Gate, "release", "(reservation, report.sha256)", "(reservation, bytes(32))")


def retry_is_noised_again(patch: pytest.MonkeyPatch) -> None:
    reserve = Ledger.reserve

    def lenient(self: Ledger, task: str, number: int, *rest: Any) -> Any:
        try:
            return reserve(self, task, number, *rest)
        except RoundAlreadyCharged:
            return self._state.charge(task, number)

    commit = Ledger.commit

    def once(self: Ledger, reservation: Any, sha256: bytes) -> None:
        if reservation.seq not in self._state.committed:
            commit(self, reservation, sha256)

    patch.setattr(Ledger, "reserve", lenient)
    patch.setattr(Ledger, "commit", once)


def clip_after_noise(patch: pytest.MonkeyPatch) -> None:
    """The noisy vector is cut back to the clip: the noise that should hide it is cut as well."""
    edit(
        patch,
        Gate,
        "_randomise",
        "sharing.clamp(noisy)",
        "sharing.clamp(clip_to_lattice(noisy / descriptor.scale, descriptor.clip,"
        " descriptor.scale, self._bits))",
    )


def noise_of_the_sum_divided_twice(patch: pytest.MonkeyPatch) -> None:
    edit(
        patch,
        Gate,
        "_randomise",
        "descriptor.scale, descriptor.n_min)\n    noisy",
        "descriptor.scale, 2 * descriptor.n_min)\n    noisy",
    )


def floors_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Budget, "check", lambda self, parameters: None)


def local_epsilon_not_bounded(patch: pytest.MonkeyPatch) -> None:
    edit(patch, LocalPlan, "check", "terms.epsilon > self.epsilon", "False")


def any_helper_will_do(patch: pytest.MonkeyPatch) -> None:
    edit(patch, Gate, "_pinned", "offered != ", "offered and not ")


def fixed_seed(patch: pytest.MonkeyPatch) -> None:
    def seeded(self: Gate, ledger: Ledger, bits: BitSource, helper_key: bytes = b"") -> None:
        start(self, ledger, np.random.Generator(np.random.Philox(key=7)).bytes, helper_key)

    start = Gate.__init__
    patch.setattr(Gate, "__init__", seeded)


def bits_of_its_own(patch: pytest.MonkeyPatch) -> None:
    def hidden(self: Gate, ledger: Ledger, bits: BitSource, helper_key: bytes = b"") -> None:
        start(self, ledger, os.urandom, helper_key)

    start = Gate.__init__
    patch.setattr(Gate, "__init__", hidden)


def mask_missing(patch: pytest.MonkeyPatch) -> None:
    rebind(patch, keystream, lambda key, size: bytes(size))


def local_answer_in_clear(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SubsetSelection, "randomise", lambda self, answer, bits: 1 << answer)


def report_without_the_door(patch: pytest.MonkeyPatch) -> None:
    make = PrivateReport.__new__

    def anyone(cls: type[PrivateReport], *fields: Any, door: object = None) -> PrivateReport:
        return make(cls, *fields, door=gate._DOOR)

    patch.setattr(PrivateReport, "__new__", staticmethod(anyone))


GATE_MUTANTS = (
    Mutant("charge after release", charge_after_release, ("gate",), "before the charge is durable"),
    Mutant("noise before the charge", noise_before_the_charge, ("gate",), "before the charge"),
    Mutant("COMMIT before the store", commit_before_the_store, ("gate",), "does not follow"),
    Mutant("COMMIT of another report", commit_about_something_else, ("gate",), "another report"),
    Mutant("re-noised retry", retry_is_noised_again, ("gate",), "a retry draws new noise"),
    Mutant("clip after noise", clip_after_noise, ("updates",), "noise variance is"),
    Mutant(
        "share of the noise halved", noise_of_the_sum_divided_twice, ("counts",), "was measured"
    ),
    Mutant("floors ignored", floors_ignored, ("gate",), "half the noise is released"),
    Mutant("local epsilon unbounded", local_epsilon_not_bounded, ("gate",), "twice the epsilon"),
    Mutant("any helper will do", any_helper_will_do, ("gate",), "another helper's key is released"),
    Mutant("fixed seed", fixed_seed, ("rng",), "share one share"),
    Mutant("bits of its own", bits_of_its_own, ("rng",), "depends on more"),
    Mutant("mask missing", mask_missing, ("counts", "updates"), "is not uniform"),
    Mutant("local answer in clear", local_answer_in_clear, ("k-rr",), "do not follow", 0.02),
    Mutant("report without the door", report_without_the_door, ("gate",), "made without the gate"),
)
