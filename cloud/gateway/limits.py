"""How much of a gateway one phone, and all of them together, may take.

Pure bookkeeping over a given clock. Every refusal says when to come back, and says something else
to everyone it turns away, so that a crowd that knocked together does not knock together again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

__all__ = ["Door", "Limits", "Rations", "spread"]

DAY_SECONDS: Final = 86_400.0
LONGEST_WAIT_SECONDS: Final = 3_600.0
SPREAD: Final = 0.25
"""Share of a wait added at random."""
KIB: Final = 1024
SET_BACK_SECONDS: Final = 3_600.0
"""No session is so old: then this machine's clock was wrong before, and a ration counts anew from
now. Else nobody who was seen by that clock would earn any more."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a gateway takes.

    A phone at its defaults opens a few sessions and moves 20 KiB a day: the bounds stop a broken
    or hostile one, not a busy one.
    """

    open_sessions: int = 10_000
    starts_per_second: float = 500.0
    starts_burst: float = 2_000.0
    device_sessions_a_day: float = 1_440.0
    device_sessions_burst: float = 240.0
    device_bytes_a_day: float = 64 * 1024 * KIB
    """Bytes of bodies both ways; as many at once after a quiet day."""
    devices_remembered: int = 100_000
    enrolments_a_day: float = 100_000.0
    """Of all devices together; as many at once after a quiet day."""


def spread(seconds: float, chance: float) -> float:
    """A wait of at least ``seconds``, longer by up to a quarter; ``chance`` is uniform in [0, 1).

    Less than a second of it would be no spread at all.
    """
    return seconds + max(1.0, seconds * SPREAD) * chance


class Door:
    """Admits sessions: a number at once, and a rate of new ones. Times in seconds, monotonic.

    Whoever is turned away gets a place of their own in time, one after the other at the rate that
    can be served: a crowd after an outage comes back as a queue.
    """

    def __init__(self, limits: Limits, chance: Callable[[], float]) -> None:
        self._limits, self._chance = limits, chance
        self._tokens = limits.starts_burst
        self._at = float("-inf")
        self._next_place = float("-inf")
        self.open = 0
        """Sessions inside."""

    def enter(self, now: float) -> float:
        """0 when a session may begin (then `leave` must follow), else seconds until it may knock
        again."""
        limits = self._limits
        if self._at > float("-inf"):
            earned = max(0.0, now - self._at) * limits.starts_per_second
            self._tokens = min(limits.starts_burst, self._tokens + earned)
        self._at = max(now, self._at)
        if self.open < limits.open_sessions and self._tokens >= 1.0:
            self._tokens -= 1.0
            self.open += 1
            return 0.0
        place = max(now, self._next_place) + 1.0 / limits.starts_per_second
        self._next_place = min(place, now + LONGEST_WAIT_SECONDS)
        return spread(self._next_place - now, self._chance())

    def leave(self) -> None:
        """A session that was admitted has ended."""
        self.open -= 1


@dataclass(slots=True)
class _Ration:
    sessions: float
    size: float
    at: float


class Rations:
    """Sessions and bytes left to each proven device, as token buckets. Times are unix seconds.

    Only a bounded number is remembered, the most recently seen; a device that is forgotten has a
    full ration again.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._devices: OrderedDict[str, _Ration] = OrderedDict()
        self._enrolments, self._enrolled = limits.enrolments_a_day, float("-inf")

    def start(self, device: str, now: float) -> float:
        """Take one session from a device's ration: 0, or seconds until it has one."""
        ration = self._of(device, now)
        if ration.sessions < 1.0:
            return (1.0 - ration.sessions) * DAY_SECONDS / self._limits.device_sessions_a_day
        ration.sessions -= 1.0
        return 0.0

    def enrolment(self, now: float) -> float:
        """Seconds until one more device may enrol; 0 when it may now."""
        a_day = self._limits.enrolments_a_day
        if self._enrolled > float("-inf"):
            earned = max(0.0, now - self._enrolled) / DAY_SECONDS * a_day
            self._enrolments = min(a_day, self._enrolments + earned)
        self._enrolled = now
        return max(0.0, 1.0 - self._enrolments) * DAY_SECONDS / a_day

    def enrolled(self) -> None:
        """A device has enrolled. Only then is it counted: whoever guesses tokens takes nothing."""
        self._enrolments -= 1.0

    def wait(self, device: str, size: int, now: float) -> float:
        """Seconds until a device may move ``size`` bytes; 0 when it may now."""
        lacking = min(float(size), self._limits.device_bytes_a_day) - self._of(device, now).size
        return max(0.0, lacking) * DAY_SECONDS / self._limits.device_bytes_a_day

    def spend(self, device: str, size: int, now: float) -> None:
        """``size`` bytes were moved; a device may owe some."""
        self._of(device, now).size -= size

    def _of(self, device: str, now: float) -> _Ration:
        limits = self._limits
        ration = self._devices.get(device)
        if ration is None:
            ration = _Ration(limits.device_sessions_burst, limits.device_bytes_a_day, now)
            self._devices[device] = ration
            while len(self._devices) > limits.devices_remembered:
                self._devices.popitem(last=False)
        self._devices.move_to_end(device)
        if ration.at - now > SET_BACK_SECONDS:
            ration.at = now
        days = (now - ration.at) / DAY_SECONDS
        ration.sessions = min(
            limits.device_sessions_burst, ration.sessions + days * limits.device_sessions_a_day
        )
        ration.size = min(limits.device_bytes_a_day, ration.size + days * limits.device_bytes_a_day)
        ration.at = now
        return ration
