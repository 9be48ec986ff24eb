"""One report a round: shared or local, usage from one place, and only with the helper pinned."""

from __future__ import annotations

import os
from hashlib import sha256

import numpy as np
import pytest

from device.learning import ExampleStore
from device.observer import Charged, Released, Tallied
from device.sync.adoption import Shelf
from device.sync.contributions import LOCAL_EPOCHS, Contributions
from device.sync.outbox import Outbox
from device.sync.usage import Usage
from privacy import BUDGETS, Ledger
from privacy.accounting import pure_units, rho_units
from privacy.chain import LocalMechanism, Reserve
from privacy.streams import USAGE_DIMENSION, USAGE_HISTOGRAMS
from protocol.models import ROUTER, ModelSpec, head_dimension
from protocol.rounds import Round
from protocol.update import decode_report
from tests.device.conftest import Notes
from tests.device.sync.conftest import HELPER_KEY, Vault, descriptor, local_round
from tests.device.sync.test_bookkeeping import Clock
from tests.device.sync.test_usage import answer

OTHER_KEY = bytes([5, *bytes(31)])


class Phone:
    def __init__(self, vault: Vault, helper_key: bytes = b"") -> None:
        self.notes = Notes()
        logs = vault.logs("ledger", "outbox", "usage", "examples", "releases")
        self.ledger = Ledger(logs["ledger"], BUDGETS["demo"])
        self.outbox = Outbox(logs["outbox"])
        self.usage = Usage(logs["usage"])
        self.examples = ExampleStore(logs["examples"])
        self.rng = np.random.Generator(np.random.Philox(key=1))
        self._contributions = Contributions(
            ledger=self.ledger,
            bits=os.urandom,
            outbox=self.outbox,
            usage=self.usage,
            examples=self.examples,
            shelf=Shelf(logs["releases"]),
            rng=self.rng,
            clock=Clock(),
            observer=self.notes,
            helper_key=helper_key,
        )

    def join(self, *rounds: Round) -> tuple[tuple[str, ...], tuple[str, ...]]:
        joined = self._contributions.make(list(rounds), records=1)
        return joined.rounds, joined.problems


def usage_round(round_: int = 1, helper_key: bytes = HELPER_KEY) -> Round:
    return descriptor(round_=round_, dimension=USAGE_DIMENSION, helper_key=helper_key)


def test_a_shared_round_is_charged_stored_and_forgotten(vault: Vault) -> None:
    phone = Phone(vault)
    phone.usage.answered(answer())
    about = descriptor(dimension=USAGE_DIMENSION)
    assert phone.join(about) == (("usage/1",), ())
    (waiting,) = phone.outbox.waiting()
    report = decode_report(waiting.body)
    assert (report.task, report.round) == ("usage", 1)
    assert report.sealed_seed
    (charged,), (released,) = phone.notes.of(Charged), phone.notes.of(Released)
    assert isinstance(charged, Charged)
    assert isinstance(released, Released)
    (tallied,) = phone.notes.of(Tallied)
    assert isinstance(tallied, Tallied)
    assert tallied.report_id == released.report_id
    assert charged.rho_units == rho_units(about.clip, about.sigma)
    assert released.sha256 == waiting.sha256
    assert phone.usage.answers(0).through == -1
    assert phone.join(about) == ((), ())
    assert len(phone.outbox.waiting()) == 1


def test_an_onlooker_is_told_what_a_released_report_says_without_its_noise(vault: Vault) -> None:
    phone = Phone(vault)
    phone.usage.answered(answer())
    bins = phone.usage.answers(1).bins
    phone.join(usage_round())
    (tallied,) = phone.notes.of(Tallied)
    assert isinstance(tallied, Tallied)
    said = {
        one.name: one.bins[place] for one, place in zip(USAGE_HISTOGRAMS, tallied.bins, strict=True)
    }
    assert said == bins
    phone.join(usage_round())  # already charged: nothing is released, nothing is told
    assert len(phone.notes.of(Tallied)) == 1


@pytest.mark.parametrize("histogram", [one.name for one in USAGE_HISTOGRAMS])
def test_a_local_round_gives_one_answer_of_four_bytes(vault: Vault, histogram: str) -> None:
    phone = Phone(vault)
    phone.usage.answered(answer())
    about = local_round(histogram)
    assert phone.join(about) == (("local_usage/1",), ())
    (waiting,) = phone.outbox.waiting()
    report = decode_report(waiting.body)
    (entry,) = (one for one in phone.ledger.entries() if isinstance(one, Reserve))
    assert isinstance(entry.mechanism, LocalMechanism)
    assert entry.rho == pure_units(about.epsilon)
    bins = next(one.bins for one in USAGE_HISTOGRAMS if one.name == histogram)
    mask = int.from_bytes(report.share, "little")
    assert (report.task, len(report.share), report.sealed_seed) == ("local_usage", 4, b"")
    assert mask.bit_count() == entry.mechanism.size
    assert mask < 1 << len(bins)
    (charged,) = phone.notes.of(Charged)
    assert isinstance(charged, Charged)
    assert charged.rho_units == entry.rho
    assert phone.usage.answers(0).through == -1


@pytest.mark.parametrize(
    ("about", "why"),
    [
        (local_round("shoe_size"), "histogram"),
        (local_round(epsilon=50.0), "epsilon"),
        (local_round(n_min=1), "phones"),
    ],
)
def test_a_local_round_beyond_the_budget_is_told_and_costs_nothing(
    vault: Vault, about: Round, why: str
) -> None:
    phone = Phone(vault)
    phone.usage.answered(answer())
    joined, (problem,) = phone.join(about)
    assert joined == ()
    assert why in problem
    assert phone.ledger.spent().charges == 0
    assert phone.outbox.waiting() == []
    assert phone.usage.answers(0).through >= 0, "what was not reported is kept"


def test_the_first_helper_charged_for_is_the_only_one(vault: Vault) -> None:
    phone = Phone(vault)
    phone.join(usage_round())
    assert phone.ledger.helper_fingerprint == sha256(HELPER_KEY).hexdigest()
    again = Phone(vault)
    joined, (problem,) = again.join(usage_round(2, OTHER_KEY))
    assert joined == ()
    assert problem.startswith("usage/2 left out: the round has another helper")
    assert again.join(usage_round(3)) == (("usage/3",), ())


def test_a_pinned_helper_is_the_only_one_from_the_start(vault: Vault) -> None:
    phone = Phone(vault, helper_key=OTHER_KEY)
    joined, (problem,) = phone.join(usage_round())
    assert joined == ()
    assert "helper" in problem
    assert phone.ledger.spent().charges == 0
    assert phone.join(usage_round(2, OTHER_KEY)) == (("usage/2",), ())


def test_a_round_that_has_its_report_is_no_more_work(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan names an open round at every sync, for weeks after this phone has reported."""
    phone = Phone(vault)
    trained: list[int] = []

    def train(spec: ModelSpec, *data: object, epochs: int, **how: object) -> object:
        del data, how
        trained.append(epochs)
        return np.zeros(head_dimension(spec), np.float32)

    for query in ("one", "two"):
        phone.examples.add_router(np.zeros(ROUTER.layers[0], np.float32), [0, 1, 0], query=query)
    monkeypatch.setattr("device.sync.contributions.local_update", train)
    monkeypatch.setattr(Shelf, "weights", lambda _self, _model: {})
    rounds = (usage_round(), descriptor("router", dimension=head_dimension(ROUTER)))
    assert phone.join(*rounds) == (("usage/1", "router/1"), ())
    monkeypatch.setattr(Usage, "answers", None)
    assert phone.join(*rounds) == ((), ())
    assert trained == [LOCAL_EPOCHS]
