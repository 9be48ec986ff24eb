"""What a phone lets an onlooker see: small facts about its own conduct, never user text.

The daemon turns them into log lines; the simulator checks the laws with them. An observer must
not fail and must not block: it is called from inside the phone's work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = [
    "Adopted",
    "Answered",
    "Charged",
    "DreamEnded",
    "DreamStarted",
    "Kept",
    "Observer",
    "PhoneEvent",
    "Quarantined",
    "Released",
    "SessionEnded",
    "SessionOpened",
    "Silent",
    "Tallied",
    "UploadAcked",
    "WindowClosed",
    "WindowOpened",
]


@dataclass(frozen=True, slots=True)
class PhoneEvent:
    """Something the phone did at unix time `at`."""

    at: float


class WindowOpened(PhoneEvent):
    """Idle, charging and unmetered have held for the settling time."""


class WindowClosed(PhoneEvent):
    """One of the three conditions ended."""


class DreamStarted(PhoneEvent):
    """Consolidation, learning and sync began."""


@dataclass(frozen=True, slots=True)
class DreamEnded(PhoneEvent):
    """The dream is over: ``finished`` or ``interrupted``."""

    outcome: str


class SessionOpened(PhoneEvent):
    """A channel to the cloud is open."""


class SessionEnded(PhoneEvent):
    """The channel to the cloud is closed."""


@dataclass(frozen=True, slots=True)
class Charged(PhoneEvent):
    """The ledger holds, durably, a charge of `rho_units` (2^-40 zCDP) for one round."""

    task: str
    round: int
    rho_units: int


@dataclass(frozen=True, slots=True)
class Released(PhoneEvent):
    """A randomised report was written to the outbox; `sha256` is over its upload bytes."""

    report_id: bytes
    task: str
    round: int
    sha256: bytes


@dataclass(frozen=True, slots=True)
class Tallied(PhoneEvent):
    """What a released usage report says without its noise: one byte per histogram, in the order of
    the streams, the number of the bin this phone is in. So that a simulator, which owns the phone,
    can hold estimates against the truth; nobody else looks, and it is never written or sent."""

    report_id: bytes
    bins: bytes


@dataclass(frozen=True, slots=True)
class UploadAcked(PhoneEvent):
    """The cloud said that it holds this report durably."""

    report_id: bytes


class Quarantined(PhoneEvent):
    """The privacy ledger was found restored, copied or cut: what is left of the year is spent."""


@dataclass(frozen=True, slots=True)
class Adopted(PhoneEvent):
    """A verified release is now in use."""

    model: str
    version: int


@dataclass(frozen=True, slots=True)
class Kept(PhoneEvent):
    """A release was not adopted; the older parameters stay."""

    model: str
    version: int
    reason: str


@dataclass(frozen=True, slots=True)
class Answered(PhoneEvent):
    """A recall was served from these layers."""

    decided_by: str
    layers: tuple[str, ...]


class Observer(Protocol):
    """Receives the phone's events in the order they happen."""

    def on(self, event: PhoneEvent) -> None:
        """Take note of `event`."""


class Silent:
    """The observer of a phone nobody watches."""

    def on(self, event: PhoneEvent) -> None:
        """Drop `event`."""
