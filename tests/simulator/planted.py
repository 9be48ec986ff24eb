"""Bugs to plant, each against one law; the storm must find every one of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

from device.actors.window import Window
from device.phone import Phone
from device.sync.adoption import Shelf
from device.sync.backoff import Backoff
from device.sync.client import SyncClient
from device.sync.identity import Identity
from privacy.anchor import AppendLog, Suspicion
from privacy.ledger import Ledger
from protocol import release
from simulator.faults.disk import Disk

__all__ = [
    "adopting_anything",
    "believing_any_ledger",
    "charging_after_release",
    "decoding_before_verifying",
    "ignoring_the_window",
    "never_letting_go",
    "never_resting",
    "not_checking_proofs",
    "not_syncing_the_ledger",
    "not_syncing_the_memory",
    "taking_randomness",
    "writing_in_clear",
]

Patch = pytest.MonkeyPatch


def ignoring_the_window(patch: Patch) -> None:
    """Law 2: work that has begun is not stopped when the window closes."""

    async def run_while_open(_self: Window, work: Callable[[], Any]) -> str:
        await work()
        return "finished"

    patch.setattr(Window, "run_while_open", run_while_open)


def _keep(*report_ids: bytes) -> None:
    """Settle nothing."""


def never_letting_go(patch: Patch) -> None:
    """Law 3: an acknowledged report stays in the outbox and is handed in again."""

    def settled(self: SyncClient, acked: Any, over: Any, report: Any) -> None:
        settle, self._outbox.settle = self._outbox.settle, _keep  # type: ignore[method-assign]
        try:
            original(self, acked, over, report)
        finally:
            self._outbox.settle = settle  # type: ignore[method-assign]

    original = SyncClient._settle
    patch.setattr(SyncClient, "_settle", settled)


def _not_syncing(patch: Patch, log: str) -> None:
    sync = Disk.sync

    def skipping(self: Disk, name: str) -> None:
        if not name.startswith(log):
            sync(self, name)

    patch.setattr(Disk, "sync", skipping)


def not_syncing_the_ledger(patch: Patch) -> None:
    """Law 1: noise is drawn before the charge is durable."""
    _not_syncing(patch, "ledger")


def not_syncing_the_memory(patch: Patch) -> None:
    """Law 3: a record is acknowledged before it is durable."""
    _not_syncing(patch, "raw")


def charging_after_release(patch: Patch) -> None:
    """Law 1: a round that was charged once may be charged again."""
    patch.setattr(Ledger, "last_round", lambda _self, _task: 0)


def not_checking_proofs(patch: Patch) -> None:
    """Law 3: the helper sums whatever phones say of themselves."""
    patch.setattr("privacy.secagg.proven.ProvenSharing.accepts", lambda *_: True)


def decoding_before_verifying(patch: Patch) -> None:
    """Law 4: a release is decoded first, and held against its manifest afterwards."""

    def opened(manifest: Any, blob: bytes, base: Any, spec: Any) -> Any:
        if base is None:
            vars(release)["decode_full"](blob, spec, manifest.version)
        return original(manifest, blob, base, spec)

    original = release.open_release
    patch.setattr("device.sync.adoption.open_release", opened)


def writing_in_clear(patch: Patch) -> None:
    """Law 5: somebody left a debug file in."""
    record = Phone.record

    async def recording(self: Phone, text: str, **about: Any) -> Any:
        self._machine.storage.append("debug", text.encode())
        return await record(self, text, **about)

    patch.setattr(Phone, "record", recording)


def taking_randomness(patch: Patch) -> None:
    """Law 6: a new phone's identity asks the machine for its randomness."""
    # As the phone's own code would: whose it is, is told by the file.
    source = "def spoke(self, version):\n    os.urandom(1)\n    given(self, version)"
    code = compile(source, Identity.spoke.__code__.co_filename, "exec")
    scope: dict[str, Any] = {"os": os, "given": Identity.spoke}
    exec(code, scope)
    patch.setattr(Identity, "spoke", scope["spoke"])


def adopting_anything(patch: Patch) -> None:
    """Law 7: whatever is offered is newer."""
    patch.setattr(Shelf, "have", lambda _self: {})
    patch.setattr(Shelf, "version", lambda _self, _model: 0)


def never_resting(patch: Patch) -> None:
    """Law 8: a phone syncs whenever it may, and takes everything anew each time."""
    patch.setattr(Backoff, "due", lambda *_: True)
    patch.setattr(Shelf, "trusted", lambda _self: {})


def believing_any_ledger(patch: Patch) -> None:
    """Law 1: a ledger that was set back is not noticed."""

    def believed(payloads: Any, _anchor: AppendLog) -> tuple[list[bytes], Suspicion]:
        return list(payloads), ""

    patch.setattr("privacy.ledger.compared", believed)
