"""Law 1 and law 3 at the outbox: only gated reports enter, and their bytes never change."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from device.sync.outbox import Outbox
from privacy import Gate, PrivateReport
from privacy.secagg.mask import report_digest
from privacy.streams import USAGE_DIMENSION
from protocol.update import Report, decode_report
from tests.device.sync.conftest import NOW, Vault, descriptor

FIELDS = ("task", "round", "report_id", "share", "sealed_seed", "sha256")


def make(gate: Gate, store: Callable[[PrivateReport], None], round_: int = 1) -> PrivateReport:
    about = descriptor(round_=round_, dimension=USAGE_DIMENSION)
    return gate.release(about, np.zeros(USAGE_DIMENSION), at=NOW, store=store)


def fill(gate: Gate, outbox: Outbox, round_: int = 1) -> bytes:
    def store(report: PrivateReport) -> None:
        outbox.put(report)

    return make(gate, store, round_).report_id


def lookalike(real: PrivateReport) -> object:
    return SimpleNamespace(**{name: getattr(real, name) for name in FIELDS})


def wire_report(real: PrivateReport) -> object:
    return Report("usage", real.round, real.report_id, real.share, real.sealed_seed)


def of_a_subclass(real: PrivateReport) -> object:
    kind: Any = type("Forged", (PrivateReport,), {})
    forged = object.__new__(kind)
    for name in (*FIELDS, "_seal"):
        object.__setattr__(forged, name, getattr(real, name))
    return forged


def past_the_door(real: PrivateReport) -> object:
    forged = object.__new__(PrivateReport)
    for name in FIELDS:
        object.__setattr__(forged, name, getattr(real, name))
    return forged


def with_a_door_of_its_own(real: PrivateReport) -> object:
    forged = past_the_door(real)
    object.__setattr__(forged, "_seal", (object(), real.sha256))
    return forged


def empty(_: PrivateReport) -> object:
    return object.__new__(PrivateReport)


def with_another_share(real: PrivateReport) -> object:
    object.__setattr__(real, "share", b"what the user said")
    return real


def with_another_share_and_hash(real: PrivateReport) -> object:
    share = b"what the user said"
    digest = report_digest(real.task, real.round, real.report_id, share, real.sealed_seed)
    object.__setattr__(real, "share", share)
    object.__setattr__(real, "sha256", digest)
    return real


def of_another_round(real: PrivateReport) -> object:
    object.__setattr__(real, "round", real.round + 1)
    return real


@pytest.mark.parametrize(
    "forge",
    [
        lookalike, wire_report, of_a_subclass, past_the_door, with_a_door_of_its_own, empty,
        with_another_share, with_another_share_and_hash, of_another_round,
    ],
)  # fmt: skip
def test_only_what_the_gate_made_is_taken(
    vault: Vault, gate: Gate, forge: Callable[[PrivateReport], object]
) -> None:
    outbox = Outbox(vault.log("outbox"))
    forged = forge(make(gate, lambda _: None))
    with pytest.raises(TypeError, match="privacy gate"):
        outbox.put(forged)  # type: ignore[arg-type]
    assert outbox.waiting() == []
    assert list(vault.log("outbox").read()) == []


def test_a_report_can_be_made_copied_and_changed_by_nobody_else(gate: Gate) -> None:
    real = make(gate, lambda _: None)
    fields = ("usage", 1, bytes(16), b"share", b"")
    with pytest.raises(TypeError):
        PrivateReport(*fields)
    with pytest.raises(TypeError):
        PrivateReport.__new__(PrivateReport, *fields)
    with pytest.raises(TypeError):
        PrivateReport(*fields, door=object())
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            duplicate(real)
    with pytest.raises(AttributeError):
        real.share = b"other"
    assert not hasattr(real, "__dict__")


def test_a_report_waits_across_a_restart_with_the_same_bytes(vault: Vault, gate: Gate) -> None:
    outbox = Outbox(vault.log("outbox"))
    made: list[PrivateReport] = []

    def store(report: PrivateReport) -> None:
        outbox.put(report)
        made.append(report)

    real = make(gate, store)
    before = outbox.waiting()
    assert made == [real]
    assert decode_report(before[0].body).report_id == real.report_id
    assert before[0].digest == real.sha256
    assert Outbox(vault.log("outbox")).waiting() == before


def test_settled_reports_are_gone_and_others_stay_in_order(vault: Vault, gate: Gate) -> None:
    outbox = Outbox(vault.log("outbox"))
    first, second, third = (fill(gate, outbox, round_) for round_ in (1, 2, 3))
    outbox.settle(second)
    outbox.settle(second)
    assert [entry.report_id for entry in outbox.waiting()] == [first, third]
    reopened = Outbox(vault.log("outbox"))
    assert [entry.report_id for entry in reopened.waiting()] == [first, third]
