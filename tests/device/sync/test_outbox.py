"""Law 1 and law 3 at the outbox: only gated reports enter, and their bytes never change."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from device.sync.outbox import Outbox
from privacy import Gate, PrivateReport
from privacy.streams import USAGE_DIMENSION
from protocol.update import decode_report
from tests.device.sync.conftest import NOW, Vault, descriptor


def fill(gate: Gate, outbox: Outbox, round_: int = 1) -> bytes:
    vector = np.zeros(USAGE_DIMENSION)
    about = descriptor(round_=round_, dimension=USAGE_DIMENSION)

    def store(report: PrivateReport) -> None:
        outbox.put(report)

    return gate.release(about, vector, at=NOW, store=store).report_id


def test_only_a_gated_report_is_taken(vault: Vault) -> None:
    outbox = Outbox(vault.log("outbox"))
    forged = SimpleNamespace(
        task="usage", round=1, report_id=b"r" * 16, masked=np.zeros(3, np.uint32), sealed_seed=b""
    )
    with pytest.raises(TypeError, match="privacy gate"):
        outbox.put(forged)  # type: ignore[arg-type]
    assert outbox.waiting() == []


def test_a_report_waits_across_a_restart_with_the_same_bytes(vault: Vault, gate: Gate) -> None:
    outbox = Outbox(vault.log("outbox"))
    report_id = fill(gate, outbox)
    before = outbox.waiting()
    assert decode_report(before[0].body).report_id == report_id
    assert Outbox(vault.log("outbox")).waiting() == before


def test_settled_reports_are_gone_and_others_stay_in_order(vault: Vault, gate: Gate) -> None:
    outbox = Outbox(vault.log("outbox"))
    first, second, third = (fill(gate, outbox, round_) for round_ in (1, 2, 3))
    outbox.settle(second)
    outbox.settle(second)
    assert [entry.report_id for entry in outbox.waiting()] == [first, third]
    reopened = Outbox(vault.log("outbox"))
    assert [entry.report_id for entry in reopened.waiting()] == [first, third]
