"""The laws of the house, checked while the world runs.

A `PhoneWatch` sees one phone's own account (its observer events), every frame on its wire and its
stored bytes, and knows the truth that the phone does not: the real condition tracks and the canary.
What only the whole fleet can tell is checked in `fleet_checks`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from typing import Any

from device.observer import (
    Adopted,
    Charged,
    DreamEnded,
    DreamStarted,
    PhoneEvent,
    Quarantined,
    Released,
    SessionEnded,
    SessionOpened,
    UploadAcked,
)
from protocol.messages import Bye, Hello, Plan, UploadBegin, UploadChunk
from protocol.wire import decode
from simulator.availability import Track
from simulator.laws import (
    ACKED_ONCE,
    CANARY,
    CHARGED,
    RECEIPTED,
    RISING,
    SAME_BYTES,
    SIGNED,
    UNSUSPECTED,
    WINDOW,
    WITHIN_BUDGET,
    Tally,
)
from simulator.manifests import signed_by

__all__ = ["PhoneWatch"]

_STOP_WITHIN = 1.0
"""Seconds after a condition ends by which all work must have stopped (law 2)."""
_PLAN = Plan.model_fields["type"].default.encode()
"""In every frame that holds a plan."""
_ROUNDING = 1e-6
"""Seconds lost when unix times are added and subtracted as floats."""


class PhoneWatch:
    """Watches one phone; it is the phone's `Observer` and its network's `Tap`."""

    def __init__(
        self,
        name: str,
        *,
        window: Track,
        settle: float,
        canary: str,
        cloud_key: bytes,
        now: Callable[[], float] | None = None,
        caps: Callable[[str], tuple[str, int]] | None = None,
    ) -> None:
        """What one phone is watched by.

        Args:
            name: in violations.
            window: the true one; settle: seconds it must have held.
            canary: must never be seen in clear; cloud_key: verifies releases.
            now: the true unix time, where the phone's own clock may be off.
            caps: task -> the stream that pays for it and the units it may spend in the world.
        """
        self.tally = Tally()
        self.events: list[PhoneEvent] = []
        """Everything seen since somebody emptied the list."""
        self.digest = 0
        """Order-free digest of every frame sent: sum of SHA-256 values modulo 2^256."""
        self.acked: list[bytes] = []
        self.released: dict[bytes, bytes] = {}
        """Report id → hash of its upload."""
        self.device_id = ""
        """The cloud's name for the phone, once it was seen in a frame."""
        self.name, self._window, self._settle = name, window, settle
        self._canary, self._cloud_key = canary.encode(), cloud_key
        self.ledger_round: Callable[[str], int] = lambda _task: 0
        """Task → newest round that the phone's durable ledger holds a charge for."""
        self._rounds_released: set[tuple[str, int]] = set()
        self._rounds_charged: set[tuple[str, int]] = set()
        self._chunks: dict[tuple[bytes, int], bytes] = {}
        self._signed: set[tuple[str, int]] = set()
        self._versions: dict[str, int] = {}
        self._running: dict[str, float] = {}
        self._now, self._caps = now, caps
        self.told: Callable[[PhoneEvent], None] | None = None
        """Told every event as it comes."""
        self.spent: Counter[str] = Counter()
        """Units charged by stream on whatever copy of this phone's ledger: the truth of law 1."""
        self.set_back = ""
        """Why this phone's ledger may be suspected; "" while nobody has touched it."""
        self.copied = False
        """Whether a second phone runs from a copy of it: that one's reports are its evidence."""
        self.forgetful = False
        """Whether its anchor was set back too, so that only receipts can tell."""
        self.finished = 0
        """Sessions that ended in good order."""
        self.synced_at: float | None = None
        """When the last session ended in good order, unix seconds."""

    def of_copy(self) -> PhoneWatch:
        """A watch for a second phone that runs from a copy of this one's folder."""
        watch = PhoneWatch(
            f"{self.name}'s copy",
            window=self._window,
            settle=self._settle,
            canary=self._canary.decode(),
            cloud_key=self._cloud_key,
            now=self._now,
            caps=self._caps,
        )
        watch.spent, watch.set_back = self.spent, "it is a copy"
        watch.released, watch._chunks = dict(self.released), dict(self._chunks)
        return watch

    def died(self) -> None:
        """The phone's process ended; nothing of it runs on."""
        self._running.clear()

    def restored(self, *, whole: bool) -> None:
        """The phone's folder was put back, `whole` with its anchor: what it knows is older now."""
        self.set_back = "a backup was put back"
        self.forgetful |= whole
        self._versions.clear()

    def recovered(self, report_id: bytes, task: str, number: int, sha256: bytes) -> None:
        """A report waits in the outbox of a phone that has just been opened. The life that made it
        may have died before it said so; it counts as released then."""
        if report_id not in self.released and not self.set_back:
            self._check(CHARGED, self.ledger_round(task) >= number, f"{task} {number} is unpaid")
            self._rounds_released.add((task, number))
        self.released.setdefault(report_id, sha256)

    def on(self, event: PhoneEvent) -> None:
        """Take the phone's own account, dated by the true time."""
        if self._now is not None:
            event = replace(event, at=self._now())
        self.events.append(event)
        if self.told is not None:
            self.told(event)
        held_against = _HELD_AGAINST.get(type(event))
        if held_against is not None:
            held_against(self, event)

    def uplink(self, frame: bytes, at: float) -> None:
        """Law 1 and law 2 on the wire."""
        named = self.name.encode() + frame
        self.digest = (self.digest + int.from_bytes(hashlib.sha256(named).digest(), "big")) % 2**256
        self._check(CANARY, self._canary not in frame, "the canary left in a frame")
        self._inside(at, "a frame was sent")
        message = decode(frame)
        if isinstance(message, UploadBegin):
            agreed = self.released.get(message.upload_id) == message.sha256
            self._check(SAME_BYTES, agreed, "an upload was offered that no release announced")
        elif isinstance(message, UploadChunk):
            self._same(message)
        elif isinstance(message, Hello):
            self.device_id = message.device_id or self.device_id
        elif isinstance(message, Bye) and message.reason == "done":
            self.synced_at = at
            self.finished += 1

    def downlink(self, frame: bytes, at: float) -> None:
        """Note which releases the cloud has really signed."""
        self._check(CANARY, self._canary not in frame, "the canary came down in a frame")
        self._inside(at, "a frame was answered")
        if _PLAN not in frame:
            return  # half of a watch would be spent reading what it does not look at
        message = decode(frame)
        if not isinstance(message, Plan):
            return
        for blob in message.releases:
            signed = signed_by(blob, self._cloud_key)
            if signed is not None:
                self._signed.add(signed)

    def scan(self, blobs: Mapping[str, bytes]) -> None:
        """Look for the canary in the phone's stored bytes, by name."""
        for name, blob in sorted(blobs.items()):
            self._check(CANARY, self._canary not in blob, f"the canary is in clear in {name}")

    def audit(self, *, suspicion: str, committed: Set[str], receipted: Set[str]) -> None:
        """Hold the phone's own books against what it did.

        Args:
            suspicion: why the ledger is believed restored or copied; nobody did that here.
            committed: hashes of the reports the ledger says it paid for, hex.
            receipted: hashes of the reports it holds a receipt for, hex.
        """
        if suspicion:
            self._suspected(f"the ledger is suspected: {suspicion}")
        else:
            self._check(UNSUSPECTED, True, "")
        if self.set_back:
            return  # its ledger is an older one: it holds less than this phone ever did
        strange = len(receipted - committed)
        self._check(
            RECEIPTED, self.copied or not strange, f"{strange} receipts are for reports never made"
        )
        acked, held = len(self.acked), len(receipted)
        said = f"{acked} uploads were acknowledged, the ledger holds {held} receipts"
        self._check(RECEIPTED, held >= acked, said)

    def close(self, now: float) -> None:
        """The world ends at `now`: whatever still runs must be inside a window."""
        for what in sorted(self._running):
            self._stopped(what, now)

    def _check(self, law: str, holds: bool, what: str) -> None:
        self.tally.check(law, holds, self.name, what)

    def _charged(self, event: Charged) -> None:
        """A round is paid for once."""
        again = (event.task, event.round) in self._rounds_charged and not self.forgetful
        self._rounds_charged.add((event.task, event.round))
        self._check(CHARGED, not again, f"{event.task} round {event.round} was charged again")
        if self._caps is not None:
            stream, cap = self._caps(event.task)
            self.spent[stream] += event.rho_units
            said = f"{self.spent[stream]} of {cap} units of the {stream} stream are spent"
            self._check(WITHIN_BUDGET, self.spent[stream] <= cap, said)

    def _suspected(self, what: str) -> None:
        """A suspicion is right exactly when somebody has set the phone back, or copied it."""
        self._check(UNSUSPECTED, self.copied or bool(self.set_back), what)

    def _released(self, event: Released) -> None:
        """The ledger, not the phone's word, says whether a release was paid for, and only once."""
        paid = self.ledger_round(event.task) >= event.round
        self._check(CHARGED, paid, f"{event.task} round {event.round} was released uncharged")
        again = (event.task, event.round) in self._rounds_released and not self.forgetful
        self._check(CHARGED, not again, f"{event.task} round {event.round} was released twice")
        self._rounds_released.add((event.task, event.round))
        self.released[event.report_id] = event.sha256

    def _uploaded(self, event: UploadAcked) -> None:
        name = event.report_id.hex()
        again = event.report_id in self.acked
        # From a backup a report comes back that was acknowledged since; the cloud says so again.
        self._check(ACKED_ONCE, not again or bool(self.set_back), f"{name} was acknowledged twice")
        known = event.report_id in self.released
        self._check(CHARGED, known, f"{name} was acknowledged but never released")
        if not again:
            self.acked.append(event.report_id)

    def _adopted(self, event: Adopted) -> None:
        previous = self._versions.get(event.model, 0)
        said = f"{event.model} went from version {previous} to {event.version}"
        self._check(RISING, event.version > previous, said)
        self._versions[event.model] = event.version
        signed = (event.model, event.version) in self._signed
        self._check(SIGNED, signed, f"{event.model} {event.version} was adopted unsigned")

    def _same(self, chunk: UploadChunk) -> None:
        place = (chunk.upload_id, chunk.offset)
        digest = hashlib.sha256(chunk.data).digest()
        same = self._chunks.setdefault(place, digest) == digest
        self._check(SAME_BYTES, same, f"{chunk.upload_id.hex()} was sent again with other bytes")

    def _began(self, what: str, at: float) -> None:
        self._running[what] = at
        self._inside(at, f"a {what} began")

    def _stopped(self, what: str, at: float) -> None:
        """It must have ended within a second of the window in which it began."""
        span = self._window.span_at(self._running.pop(what, at))
        if span is None:
            self._check(WINDOW, False, f"a {what} never was in a window")
            return
        holds = at <= span[1] + _STOP_WITHIN + _ROUNDING
        said = "" if holds else f"a {what} ran on {at - span[1]:.1f} s after it"
        self._check(WINDOW, holds, said)

    def _inside(self, at: float, what: str) -> None:
        """`at` lies in a true window, after its settling time, or within a second of its end."""
        settled = self._settled(at, at) or self._settled(at - _STOP_WITHIN, at)
        said = "" if settled else f"{what} at {at:.1f}, outside the window"
        self._check(WINDOW, settled, said)

    def _settled(self, inside: float, at: float) -> bool:
        """Whether the true window that `inside` lies in had held for the settling time at `at`."""
        span = self._window.span_at(inside)
        return span is not None and at - span[0] >= self._settle - _ROUNDING


_HELD_AGAINST: Mapping[type, Callable[[PhoneWatch, Any], None]] = {
    Charged: PhoneWatch._charged,
    Released: PhoneWatch._released,
    UploadAcked: PhoneWatch._uploaded,
    Quarantined: lambda watch, _: watch._suspected("the ledger went into quarantine"),
    Adopted: PhoneWatch._adopted,
    DreamStarted: lambda watch, event: watch._began("dream", event.at),
    DreamEnded: lambda watch, event: watch._stopped("dream", event.at),
    SessionOpened: lambda watch, event: watch._began("session", event.at),
    SessionEnded: lambda watch, event: watch._stopped("session", event.at),
}
"""Which laws an event is held against; most are counted and no more."""
