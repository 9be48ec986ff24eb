"""The laws of the house, checked while the world runs.

A `PhoneWatch` sees one phone's own account (its observer events), every frame on its wire and its
stored bytes, and knows the truth that the phone does not: the real condition tracks and the canary.
`check_counts` compares what phones believe acknowledged with what the cloud holds.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise

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
from protocol.errors import ProtocolError
from protocol.messages import Plan, UploadBegin, UploadChunk
from protocol.release import open_manifest
from protocol.wire import decode
from simulator.availability import Track

__all__ = ["CANARY", "LAWS", "PhoneWatch", "Tally", "check_counts", "check_published"]

CHARGED = "1 charged before release"
SAME_BYTES = "1 a retry sends the same bytes"
CANARY = "1 no canary outside the sealed store"
UNSUSPECTED = "1 no ledger in quarantine without cause"
WINDOW = "2 dreams and syncs only inside the window"
ACKED_ONCE = "3 every acknowledged upload counted exactly once"
RECEIPTED = "3 every acknowledged upload has its receipt in the ledger"
RISING = "7 versions only rise"
SIGNED = "7 only signed releases adopted"
LAWS = (
    CHARGED,
    SAME_BYTES,
    CANARY,
    UNSUSPECTED,
    WINDOW,
    ACKED_ONCE,
    RECEIPTED,
    RISING,
    SIGNED,
)

_STOP_WITHIN = 1.0
"""Seconds after a condition ends by which all work must have stopped (law 2)."""
_ROUNDING = 1e-6
"""Seconds lost when unix times are added and subtracted as floats."""
_CACHED_MANIFESTS = 64
_SHOWN = 100
"""Violations kept as text; the rest are only counted."""


@dataclass
class Tally:
    """How often each law was checked, and what broke it."""

    checked: Counter[str] = field(default_factory=Counter)
    violated: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)

    def check(self, law: str, holds: bool, who: str, what: str) -> None:
        """Count one check; when it fails, keep a line that says who did what."""
        self.checked[law] += 1
        if not holds:
            self.violated[law] += 1
            if len(self.violations) < _SHOWN:
                self.violations.append(f"law {law}: {who}: {what}")

    def merge(self, other: Tally) -> None:
        """Add another tally."""
        self.checked.update(other.checked)
        self.violated.update(other.violated)
        self.violations = (self.violations + other.violations)[:_SHOWN]


class PhoneWatch:
    """Watches one phone; it is the phone's `Observer` and its network's `Tap`."""

    def __init__(
        self, name: str, *, window: Track, settle: float, canary: str, cloud_key: bytes
    ) -> None:
        """`window` is the true one; `settle` in seconds; `cloud_key` verifies releases."""
        self.tally = Tally()
        self.events: list[PhoneEvent] = []
        """Everything seen since somebody emptied the list."""
        self.digest = 0
        """Order-free digest of every frame sent: sum of SHA-256 values modulo 2^256."""
        self.acked: list[bytes] = []
        self.released: dict[bytes, bytes] = {}
        """Report id → hash of its upload."""
        self._name, self._window, self._settle = name, window, settle
        self._canary, self._cloud_key = canary.encode(), cloud_key
        self.ledger_round: Callable[[str], int] = lambda _task: 0
        """Task → newest round that the phone's durable ledger holds a charge for."""
        self._rounds_released: set[tuple[str, int]] = set()
        self._rounds_charged: set[tuple[str, int]] = set()
        self._chunks: dict[tuple[bytes, int], bytes] = {}
        self._signed: set[tuple[str, int]] = set()
        self._seen_manifests: set[bytes] = set()
        self._versions: dict[str, int] = {}
        self._running: dict[str, float] = {}

    def on(self, event: PhoneEvent) -> None:
        """Take the phone's own account."""
        self.events.append(event)
        match event:
            case Charged():
                self._charged(event)
            case Released():
                self._released(event)
            case UploadAcked():
                self._uploaded(event)
            case Quarantined():
                self._check(UNSUSPECTED, False, "the ledger went into quarantine")
            case Adopted():
                self._adopted(event)
            case DreamStarted():
                self._began("dream", event.at)
            case DreamEnded():
                self._stopped("dream", event.at)
            case SessionOpened():
                self._began("session", event.at)
            case SessionEnded():
                self._stopped("session", event.at)

    def uplink(self, frame: bytes, at: float) -> None:
        """Law 1 and law 2 on the wire."""
        named = self._name.encode() + frame
        self.digest = (self.digest + int.from_bytes(hashlib.sha256(named).digest(), "big")) % 2**256
        self._check(CANARY, self._canary not in frame, "the canary left in a frame")
        self._inside(at, "a frame was sent")
        message = decode(frame)
        if isinstance(message, UploadBegin):
            agreed = self.released.get(message.upload_id) == message.sha256
            self._check(SAME_BYTES, agreed, "an upload was offered that no release announced")
        elif isinstance(message, UploadChunk):
            self._same(message)

    def downlink(self, frame: bytes, at: float) -> None:
        """Note which releases the cloud has really signed."""
        self._check(CANARY, self._canary not in frame, "the canary came down in a frame")
        self._inside(at, "a frame was answered")
        message = decode(frame)
        if not isinstance(message, Plan):
            return
        for blob in message.releases:
            if blob in self._seen_manifests:
                continue
            self._seen_manifests.add(blob)
            signed = _signed(blob, self._cloud_key)
            if signed is not None:
                self._signed.add(signed)

    def scan(self, blobs: Mapping[str, bytes]) -> None:
        """Look for the canary in the phone's stored bytes, by name."""
        for name, blob in sorted(blobs.items()):
            self._check(CANARY, self._canary not in blob, f"the canary is in clear in {name}")

    def audit(self, *, suspicion: str, committed: set[str], receipted: set[str]) -> None:
        """Hold the phone's own books against what it did.

        Args:
            suspicion: why the ledger is believed restored or copied; nobody did that here.
            committed: hashes of the reports the ledger says it paid for, hex.
            receipted: hashes of the reports it holds a receipt for, hex.
        """
        self._check(UNSUSPECTED, not suspicion, f"the ledger is suspected: {suspicion}")
        strange = len(receipted - committed)
        self._check(RECEIPTED, not strange, f"{strange} receipts are for reports never made")
        acked, held = len(self.acked), len(receipted)
        said = f"{acked} uploads were acknowledged, the ledger holds {held} receipts"
        self._check(RECEIPTED, held >= acked, said)

    def close(self, now: float) -> None:
        """The world ends at `now`: whatever still runs must be inside a window."""
        for what in sorted(self._running):
            self._stopped(what, now)

    def _check(self, law: str, holds: bool, what: str) -> None:
        self.tally.check(law, holds, self._name, what)

    def _charged(self, event: Charged) -> None:
        """A round is paid for once."""
        again = (event.task, event.round) in self._rounds_charged
        self._rounds_charged.add((event.task, event.round))
        self._check(CHARGED, not again, f"{event.task} round {event.round} was charged again")

    def _released(self, event: Released) -> None:
        """The ledger, not the phone's word, says whether a release was paid for, and only once."""
        paid = self.ledger_round(event.task) >= event.round
        self._check(CHARGED, paid, f"{event.task} round {event.round} was released uncharged")
        again = (event.task, event.round) in self._rounds_released
        self._check(CHARGED, not again, f"{event.task} round {event.round} was released twice")
        self._rounds_released.add((event.task, event.round))
        self.released[event.report_id] = event.sha256

    def _uploaded(self, event: UploadAcked) -> None:
        name = event.report_id.hex()
        self._check(ACKED_ONCE, event.report_id not in self.acked, f"{name} was acknowledged twice")
        known = event.report_id in self.released
        self._check(CHARGED, known, f"{name} was acknowledged but never released")
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
        late = "never was in a window" if span is None else f"ran on {at - span[1]:.1f} s after it"
        holds = span is not None and at <= span[1] + _STOP_WITHIN + _ROUNDING
        self._check(WINDOW, holds, f"a {what} {late}")

    def _inside(self, at: float, what: str) -> None:
        """`at` lies in a true window, after its settling time, or within a second of its end."""
        spans = (self._window.span_at(at), self._window.span_at(at - _STOP_WITHIN))
        settled = any(span and at - span[0] >= self._settle - _ROUNDING for span in spans)
        self._check(WINDOW, settled, f"{what} at {at:.1f}, outside the window")


@lru_cache(maxsize=_CACHED_MANIFESTS)
def _signed(blob: bytes, cloud_key: bytes) -> tuple[str, int] | None:
    """Model and version that a manifest really signs, else None: a phone must refuse it, adopting
    it anyway is the violation. Every phone of a fleet is offered the same."""
    try:
        manifest = open_manifest(blob, cloud_key)
    except ProtocolError:
        return None
    return manifest.model, manifest.version


def check_counts(
    tally: Tally,
    *,
    acked: Sequence[bytes],
    released: Iterable[bytes],
    held: Mapping[bytes, int],
    counted: Mapping[tuple[str, int], int],
    held_by_round: Mapping[tuple[str, int], int],
) -> None:
    """Law 3 across the fleet.

    Args:
        tally: where the checks are counted.
        acked: upload ids the phones hold acknowledgements for.
        released: every id that any phone released.
        held: how often the cloud holds each upload id.
        counted: reports summed in each closed round (task, round).
        held_by_round: uploads the cloud holds for those rounds.
    """
    for upload_id in acked:
        times = held.get(upload_id, 0)
        said = f"{upload_id.hex()} is held {times} times"
        tally.check(ACKED_ONCE, times == 1, "cloud", said)
    known = set(released)
    for upload_id in sorted(held):
        tally.check(ACKED_ONCE, upload_id in known, "cloud", f"{upload_id.hex()} came from nowhere")
    for task, number in sorted(counted):
        summed, rows = counted[task, number], held_by_round.get((task, number), 0)
        said = f"{task} round {number} summed {summed} reports of {rows} held"
        tally.check(ACKED_ONCE, summed == rows, "cloud", said)


def check_published(tally: Tally, model: str, versions: Sequence[int]) -> None:
    """Law 7 at the source: a model's published versions strictly rise."""
    for before, after in pairwise(versions):
        tally.check(RISING, after > before, "cloud", f"{model} published {after} after {before}")
