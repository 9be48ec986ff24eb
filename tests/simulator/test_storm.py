"""The storm: every fault at once over small worlds, and bugs planted for it to find.

`REVERIE_STORMS=200` plays as many seeds, and looks for each bug in as many.
"""

from __future__ import annotations

import gc
import os
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from device.actors.errors import ActorError, DomainError
from device.actors.window import Window
from device.phone import Phone
from device.sync.client import SyncClient
from privacy.anchor import AppendLog, Suspicion
from simulator.faults.disk import Disk
from simulator.laws import ACKED_ONCE, CANARY, CHARGED, KEPT, UNSUSPECTED, WINDOW

from .storms import storm

SEEDS = int(os.environ.get("REVERIE_STORMS", "2"))
FIRST = 1
MANY = 100
"""Seeds from which on every fault of the storm must have fired."""


def test_the_laws_hold_in_every_storm() -> None:
    fired: Counter[str] = Counter()
    for seed in range(FIRST, FIRST + SEEDS):
        report = storm(seed)
        laws = report["invariants"]
        assert laws["violated"] == 0, (seed, laws["violations"])
        fired.update({name: told["fired"] for name, told in report["faults"].items()})
    assert {"kill", "cut", "loss"} <= {name for name, count in fired.items() if count}
    if SEEDS >= MANY:
        assert all(fired.values()), [name for name, count in fired.items() if not count]


def test_a_storm_is_replayed_bit_for_bit() -> None:
    one, two = storm(FIRST), storm(FIRST)
    del one["wall_clock"], two["wall_clock"]
    assert one == two


def ignoring_the_window(patch: pytest.MonkeyPatch) -> None:
    """Law 2: work that has begun is not stopped when the window closes."""

    async def run_while_open(_self: Window, work: Callable[[], Any]) -> str:
        await work()
        return "finished"

    patch.setattr(Window, "run_while_open", run_while_open)


def _keep(report_id: bytes) -> None:
    """Settle nothing."""


def never_letting_go(patch: pytest.MonkeyPatch) -> None:
    """Law 3: an acknowledged report stays in the outbox and is handed in again."""

    def committed(self: SyncClient, event: Any, report: Any) -> None:
        settle, self._outbox.settle = self._outbox.settle, _keep  # type: ignore[method-assign]
        try:
            original(self, event, report)
        finally:
            self._outbox.settle = settle  # type: ignore[method-assign]

    original = SyncClient._committed
    patch.setattr(SyncClient, "_committed", committed)


def not_syncing_the_ledger(patch: pytest.MonkeyPatch) -> None:
    """Law 1: noise is drawn before the charge is durable."""
    sync = Disk.sync

    def skipping(self: Disk, name: str) -> None:
        if not name.startswith("ledger"):
            sync(self, name)

    patch.setattr(Disk, "sync", skipping)


def not_syncing_the_memory(patch: pytest.MonkeyPatch) -> None:
    """Law 3: a record is acknowledged before it is durable."""
    sync = Disk.sync

    def skipping(self: Disk, name: str) -> None:
        if not name.startswith("raw"):
            sync(self, name)

    patch.setattr(Disk, "sync", skipping)


def writing_in_clear(patch: pytest.MonkeyPatch) -> None:
    """Law 5: somebody left a debug file in."""
    record = Phone.record

    async def recording(self: Phone, text: str, **about: Any) -> Any:
        self._machine.storage.append("debug", text.encode())
        return await record(self, text, **about)

    patch.setattr(Phone, "record", recording)


def believing_any_ledger(patch: pytest.MonkeyPatch) -> None:
    """Law 1: a ledger that was set back is not noticed."""

    def believed(payloads: Any, _anchor: AppendLog) -> tuple[list[bytes], Suspicion]:
        return list(payloads), ""

    patch.setattr("privacy.ledger.compared", believed)


# A world that a bug ends in the middle leaves tasks that never ran to their end.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("plant", "law"),
    [
        (ignoring_the_window, WINDOW),
        (never_letting_go, ACKED_ONCE),
        (not_syncing_the_ledger, UNSUSPECTED),
        (not_syncing_the_memory, KEPT),
        (writing_in_clear, CANARY),
        pytest.param(
            believing_any_ledger,
            CHARGED,
            marks=pytest.mark.skipif(SEEDS < MANY, reason="a restored backup is rare"),
        ),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_planted_bug_is_found(
    monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None], law: str
) -> None:
    plant(monkeypatch)
    try:
        assert _found(law), f"no storm found it: {law}"
    finally:
        gc.collect()  # what a world that ended in the middle left behind complains here


def _found(law: str) -> bool:
    for seed in range(FIRST, FIRST + max(SEEDS, 25)):
        try:
            told = storm(seed)["invariants"]["by_law"][law]
        except (ActorError, DomainError):
            return True  # a phone that does not open again ends the world: found as well
        if told["violated"]:
            return True
    return False
