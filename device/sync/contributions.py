"""What the phone gives to open rounds: usage counts and local training, through the one door."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from device.actors import Clock
from device.learning import ExampleStore, local_update
from device.observer import Charged, Observer, Released, Tallied
from device.sync.adoption import Shelf
from device.sync.outbox import Outbox
from device.sync.usage import Usage, UsageAnswers
from privacy import (
    BitSource,
    BudgetExceeded,
    Gate,
    Ledger,
    PrivateReport,
    RoundAlreadyCharged,
    RoundRefused,
)
from privacy.accounting import pure_units, rho_units
from protocol.models import SPECS, Weights, head_dimension
from protocol.rounds import LocalRound, Round, RoundDescriptor

__all__ = ["Contributions", "Joined"]

LOCAL_EPOCHS = 3
LOCAL_RATE = 0.5
"""Learning rate of the local steps."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Rounds a report was made for, and why others were left out."""

    rounds: tuple[str, ...]
    problems: tuple[str, ...]


class Contributions:
    """Makes at most one report for each open round."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        bits: BitSource,
        outbox: Outbox,
        usage: Usage,
        examples: ExampleStore,
        shelf: Shelf,
        rng: np.random.Generator,
        clock: Clock,
        observer: Observer,
        helper_key: bytes = b"",
    ) -> None:
        """`helper_key`: the pinned helper; b"" trusts the first one the ledger charged for."""
        self._gate = Gate(ledger, bits, helper_key)
        self._outbox = outbox
        self._usage = usage
        self._examples = examples
        self._shelf = shelf
        self._rng = rng
        self._clock = clock
        self._observer = observer

    def make(self, rounds: list[Round], *, records: int) -> Joined:
        """Put a report into the outbox for every round this phone may still join.

        A phone with nothing to say reports zeros under the same noise, so that silence tells
        nothing. A round already charged is passed over; so is one that this phone's own budget,
        floors or choice of helper forbid, which its owner sees and the cloud does not.
        """
        joined: list[str] = []
        problems: list[str] = []
        for descriptor in rounds:
            name = f"{descriptor.task}/{descriptor.round}"
            try:
                self._join(descriptor, records)
                joined.append(name)
            except RoundAlreadyCharged:
                continue
            except (BudgetExceeded, RoundRefused) as error:
                problems.append(f"{name} left out: {error}")
        return Joined(tuple(joined), tuple(problems))

    def _join(self, descriptor: Round, records: int) -> None:
        # First: neither a training nor the log is wanted for a round that has its report.
        if isinstance(descriptor, LocalRound):
            self._gate.check_local(descriptor, at=self._clock.now())
        else:
            self._gate.check(descriptor, at=self._clock.now())
            if descriptor.task != "usage":
                self._release(descriptor, self._update(descriptor), None)
                return
        answers = self._usage.answers(records)
        if isinstance(descriptor, LocalRound):
            self._release_local(descriptor, answers)
        else:
            self._release(descriptor, answers.vector(), answers)
        self._usage.forget(answers.through)

    def _release(
        self,
        descriptor: RoundDescriptor,
        vector: NDArray[np.floating],
        answers: UsageAnswers | None,
    ) -> None:
        store = self._storing(lambda: rho_units(descriptor.clip, descriptor.sigma), answers)
        self._gate.release(descriptor, vector, at=self._clock.now(), store=store)

    def _release_local(self, descriptor: LocalRound, answers: UsageAnswers) -> None:
        answer = answers.bins.get(descriptor.histogram, "")  # the gate refuses an unknown one
        store = self._storing(lambda: pure_units(descriptor.epsilon), answers)
        self._gate.release_local(descriptor, answer, at=self._clock.now(), store=store)

    def _storing(
        self, charge: Callable[[], int], answers: UsageAnswers | None
    ) -> Callable[[PrivateReport], None]:
        """What puts one report into the outbox; `charge`, asked once it is paid, says how much."""

        def store(report: PrivateReport) -> None:
            # The gate calls this only once the ledger holds the charge durably (law 1).
            now = self._clock.now()
            self._observer.on(Charged(now, report.task, report.round, charge()))
            kept = self._outbox.put(report)
            self._observer.on(
                Released(now, report.report_id, report.task, report.round, kept.sha256)
            )
            if answers is not None:
                self._observer.on(Tallied(now, report.report_id, answers.places()))

        return store

    def _update(self, descriptor: RoundDescriptor) -> NDArray[np.float32]:
        """The change local training makes to the model's head; zeros where there is no ground
        to train on: another base version in use, or no example yet."""
        spec = SPECS[descriptor.task]
        weights = self._base_of(descriptor)
        if weights is None or not self._examples.count(descriptor.task):
            return np.zeros(head_dimension(spec), dtype=np.float32)
        inputs, labels = self._examples.training_set(descriptor.task)
        return local_update(
            spec, weights, inputs, labels, epochs=LOCAL_EPOCHS, lr=LOCAL_RATE, rng=self._rng
        )

    def _base_of(self, descriptor: RoundDescriptor) -> Weights | None:
        """The weights in use where they are the version the round trains from."""
        if self._shelf.version(descriptor.task) != descriptor.base_version:
            return None
        return self._shelf.weights(descriptor.task)
