"""Exactly once over many reports, sessions, faults and restarts, against the database itself.

The small cases are covered one by one in tests/protocol/test_delivery_model.py; here hypothesis
drives the same phone, gateway and link through long lives, with intake and partial uploads over
SQLite, and looks for a shorter life that breaks a promise.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from hypothesis import Phase, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from privacy.receipts import open_receipt
from privacy.secagg.mask import report_digest
from protocol import session_transfers
from protocol.update import decode_report
from tests.protocol.delivery import DEVICE, FAULTS, Phone, Script, Session, WatchedStorage
from tests.protocol.delivery_stores import CLOUD, DatabaseStore, LocalReports

CHUNK = 12
"""Bytes: a report of a local round then takes four chunks."""
MOST_REPORTS = 6


class Weather(Script):
    """Faults by a seed: one move in ``calm`` is the first that breaks something."""

    def __init__(self, seed: int, faults: int, calm: int) -> None:
        super().__init__([], faults)
        self._rng = random.Random(seed)
        self._calm = calm

    def choose(self, moves: Sequence[str]) -> str:
        bad = [move for move in moves if move.split(":")[0] in FAULTS]
        good = [move for move in moves if move not in bad]
        if bad and self.faults_left and self._rng.randrange(self._calm) == 0:
            self.faults_left -= 1
            move = self._rng.choice(bad)
            self.told.append(f"{len(self.taken)}:{move}")
            return move
        return self._rng.choice(good)


class Delivery(RuleBasedStateMachine):
    """One phone, one cloud."""

    @initialize()
    def begin(self) -> None:
        self._chunks = patch.object(session_transfers, "MAX_CHUNK", CHUNK)
        self._chunks.start()
        self._folder = TemporaryDirectory(prefix="delivery-")
        self.store = DatabaseStore(Path(self._folder.name))
        self.storage = WatchedStorage()
        self.phone = Phone(self.storage, self.store)
        self.gate = LocalReports()
        self.bodies: dict[bytes, bytes] = {}
        self.receipts: dict[bytes, bytes] = {}

    @rule()
    def make_a_report(self) -> None:
        number = len(self.bodies) + 1
        if number > MOST_REPORTS:
            return
        if number > 1:
            self.store.open_round(number)
        (report,) = self.gate.make(number)
        self.bodies[report.report_id] = self.phone.put(report)

    @rule(
        seed=st.integers(0, 2**20),
        faults=st.integers(0, 5),
        calm=st.sampled_from([3, 6, 15]),
    )
    def sync(self, seed: int, faults: int, calm: int) -> None:
        waiting = {each.report_id for each in self.phone.outbox.waiting()}
        weather = Weather(seed, faults, calm)
        session = Session(self.phone, self.store, weather)
        alive = session.run()
        self.receipts |= self.phone.receipts
        if alive is None:
            self.storage.before_write = None
            self.phone = Phone(self.storage, self.store)
        for told in weather.told:
            event(f"struck by {told.split(':')[1]}")
        if any(session.offsets):
            event("resumed at an offset")
        if not weather.told:
            assert not self.phone.outbox.waiting(), "a session without a fault left something"
            assert self.store.parts() == 0
        assert {each.report_id for each in self.phone.outbox.waiting()} <= waiting

    @rule()
    def restart_the_phone(self) -> None:
        self.phone = Phone(self.storage, self.store)

    @rule()
    def restart_the_gateway(self) -> None:
        self.store.close()
        self.store.restart()

    @invariant()
    def nothing_is_lost_doubled_or_changed(self) -> None:
        waiting = {each.report_id: each.body for each in self.phone.outbox.waiting()}
        counted = self.store.rows()
        assert waiting | counted == self.bodies
        for report_id in self.bodies.keys() - waiting.keys():
            assert report_id in counted, "let go of before it was counted"
            self._check_receipt(report_id)

    def _check_receipt(self, report_id: bytes) -> None:
        receipt = open_receipt(self.receipts[report_id], CLOUD.public)
        report = decode_report(self.bodies[report_id])
        digest = report_digest(
            report.task, report.round, report.report_id, report.share, report.sealed_seed
        )
        assert (receipt.device, receipt.round, receipt.sha256) == (DEVICE, report.round, digest)

    def teardown(self) -> None:
        if not hasattr(self, "store"):
            return
        Session(self.phone, self.store, Script([], 0)).run()
        try:
            assert self.phone.outbox.waiting() == []
            assert self.store.rows() == self.bodies
        finally:
            self.store.close()
            self._folder.cleanup()
            self._chunks.stop()


TestDelivery = Delivery.TestCase
# A failing life is shown as it was found: to make it shorter takes longer than a test may.
TestDelivery.settings = settings(
    max_examples=12,
    stateful_step_count=20,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
