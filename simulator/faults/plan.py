"""Which faults a world has, how often and when, and how often each of them fired.

A fault draws from a random stream of its own, so one whose rate is 0 changes nothing in a world
without it. `Fired` proves that a fault which was asked for has really happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

__all__ = ["MALICE", "UNITS", "Fault", "FaultPlan", "Fired", "Unit", "account", "silent"]

Unit: TypeAlias = Literal["session", "frame", "phone-day", "hour", "phone"]
"""What a rate counts against. Of `session`, `frame` and `phone` (the share of phones that are so)
it is a probability; of `phone-day` and `hour` it is the expected number."""

Fired: TypeAlias = Counter[str]
"""How often each fault has happened, by name."""

_DAY: Final = 86_400.0
_HOUR: Final = 3_600.0
_HOURS: Final = 24
_CERTAIN: Final = 1.0


class Fault(BaseModel):
    """How often one fault comes, and when it may. In a file a bare number is the rate."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rate: float = Field(default=0.0, ge=0.0, allow_inf_nan=False)
    from_day: float = Field(default=0.0, ge=0.0)
    """Days of the world before the first; fractions are allowed."""
    to_day: float | None = Field(default=None, gt=0.0)
    """Days of the world after which it comes no more; None for never."""
    hours: tuple[float, float] | None = None
    """Hours of the day in UTC, from and to; a span may pass midnight."""

    @model_validator(mode="after")
    def _orderly(self) -> Fault:
        if self.to_day is not None and self.to_day <= self.from_day:
            raise ValueError("to_day must be after from_day")
        if self.hours is not None and not all(0.0 <= hour <= _HOURS for hour in self.hours):
            raise ValueError("hours must lie between 0 and 24")
        return self

    def rate_at(self, elapsed: float) -> float:
        """The rate `elapsed` seconds after the world began (at midnight UTC)."""
        day = elapsed / _DAY
        if not self.rate or day < self.from_day:
            return 0.0
        if self.to_day is not None and day >= self.to_day:
            return 0.0
        if self.hours is not None and not _within(elapsed / _HOUR % _HOURS, *self.hours):
            return 0.0
        return self.rate


def _within(hour: float, begin: float, end: float) -> bool:
    if begin <= end:
        return begin <= hour < end
    return hour >= begin or hour < end


def _bare(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"rate": value}
    return value


_Fault: TypeAlias = Annotated[Fault, BeforeValidator(_bare)]
_NEVER: Final = Fault()


class FaultPlan(BaseModel):
    """Every fault a world may have; what is not named does not happen, but for the few troubles of
    an ordinary network."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # The network, `faults/network.py`.
    unreachable: _Fault = Fault(rate=0.02)
    """No connection comes about: no route, no name, no answer."""
    captive_portal: _Fault = _NEVER
    """Somebody else's page answers in place of the cloud."""
    turned_away: _Fault = _NEVER
    """The gateway is full: HTTP 503 with Retry-After."""
    bandwidth_cap: _Fault = _NEVER
    """The session crawls."""
    silence: _Fault = _NEVER
    """The connection is half open from a frame on: what is sent is never answered."""
    cut: _Fault = Fault(rate=0.004)
    """The connection breaks at a frame, before or after that arrived."""
    cut_mid_frame: _Fault = _NEVER
    """It breaks with part of a frame sent."""
    loss: _Fault = _NEVER
    """A packet is lost and sent again: its frame is late."""
    delay: _Fault = _NEVER
    """A frame waits in somebody's queue."""
    lost_ack: _Fault = _NEVER
    """The cloud takes a frame of an upload, and its answer is lost with the connection."""
    duplication: _Fault = _NEVER
    """The frames of the phone's last session arrive a second time."""
    reordering: _Fault = _NEVER
    """The connection breaks, and what was sent last arrives after the next session has begun."""

    # The phone itself, `faults/machine.py`.
    kill: _Fault = _NEVER
    """The process dies at some await; the page cache survives."""
    torn_write: _Fault = _NEVER
    """The power goes in the middle of a write: unsynced bytes vanish or tear."""
    battery_dead: _Fault = _NEVER
    """The phone is off for hours."""
    disk_full: _Fault = _NEVER
    """Nothing can be written for a while."""
    restored_backup: _Fault = _NEVER
    """The phone's folder is put back to an earlier day's copy."""
    cloned_phone: _Fault = _NEVER
    """A second phone runs from a copy of the folder."""
    clock_skew: _Fault = _NEVER
    """The phone's clock is off, and drifts."""
    clock_jump: _Fault = _NEVER
    """The phone's clock is set, minutes to days, forward or back."""
    old_version: _Fault = _NEVER
    """The phone speaks protocol version 1 only."""

    # The cloud, `faults/cloud.py`.
    partition: _Fault = _NEVER
    """A phone cannot reach the cloud for hours."""
    gateway_restart: _Fault = _NEVER
    """A gateway ends all its sessions, with or without a goodbye."""
    actor_restart: _Fault = _NEVER
    """Actors begin anew from the database; for minutes calls to them fail."""
    database_restart: _Fault = _NEVER
    """The database does not answer for a while."""
    helper_away: _Fault = _NEVER
    """The helper that sums masks does not answer for hours."""
    cloud_down: _Fault = _NEVER
    """The whole cloud stops, and is composed again from its folder an hour or more later."""

    # Phones that lie, `faults/malice.py`.
    malicious_phone: _Fault = _NEVER
    """Next to the phone lives one that is out to harm: enrolled, patient and without scruples."""

    @model_validator(mode="after")
    def _probable(self) -> FaultPlan:
        for name, fault in self.items():
            if UNITS[name] in ("session", "frame", "phone") and fault.rate > _CERTAIN:
                raise ValueError(f"{name}: its rate is a probability, at most 1")
        return self

    def items(self) -> list[tuple[str, Fault]]:
        """Every fault by name, in order of declaration."""
        return [(name, getattr(self, name)) for name in type(self).model_fields]

    @classmethod
    def none(cls) -> FaultPlan:
        """A perfect world."""
        return cls(unreachable=_NEVER, cut=_NEVER)

    @classmethod
    def storm(cls, strength: float = 1.0, *, to_day: float | None = None) -> FaultPlan:
        """Everything at once. `strength` scales all rates; after `to_day` it is calm."""
        faults = {
            name: Fault(rate=_scaled(name, rate * strength), to_day=to_day)
            for name, rate in _STORM.items()
        }
        return cls(**faults)

    @property
    def calm_after(self) -> float | None:
        """Days of the world after which only an ordinary network's troubles and lasting traits are
        left; None when there is no such day."""
        ordinary = FaultPlan()
        last = 0.0
        for name, fault in self.items():
            if UNITS[name] == "phone" or fault.rate <= getattr(ordinary, name).rate:
                continue
            if fault.to_day is None:
                return None
            last = max(last, fault.to_day)
        return last

    def without(self, name: str) -> FaultPlan:
        """The same plan, in which the fault `name` never comes."""
        return self.model_copy(update={name: _NEVER})


UNITS: Final[Mapping[str, Unit]] = {
    "unreachable": "session",
    "captive_portal": "session",
    "turned_away": "session",
    "bandwidth_cap": "session",
    "silence": "frame",
    "cut": "frame",
    "cut_mid_frame": "frame",
    "loss": "frame",
    "delay": "frame",
    "lost_ack": "frame",
    "duplication": "session",
    "reordering": "frame",
    "kill": "phone-day",
    "torn_write": "phone-day",
    "battery_dead": "phone-day",
    "disk_full": "phone-day",
    "restored_backup": "phone-day",
    "cloned_phone": "phone",
    "clock_skew": "phone",
    "clock_jump": "phone-day",
    "old_version": "phone",
    "partition": "phone-day",
    "gateway_restart": "hour",
    "actor_restart": "hour",
    "database_restart": "hour",
    "helper_away": "hour",
    "cloud_down": "hour",
    "malicious_phone": "phone",
}
"""What each fault's rate counts against."""

_STORM: Final[Mapping[str, float]] = {
    "unreachable": 0.06,
    "captive_portal": 0.05,
    "turned_away": 0.04,
    "bandwidth_cap": 0.06,
    "silence": 0.003,
    "cut": 0.01,
    "cut_mid_frame": 0.01,
    "loss": 0.05,
    "delay": 0.02,
    "lost_ack": 0.08,
    "duplication": 0.08,
    "reordering": 0.008,
    "kill": 3.0,
    "torn_write": 1.0,
    "battery_dead": 0.25,
    "disk_full": 0.5,
    "restored_backup": 0.15,
    "cloned_phone": 0.1,
    "clock_skew": 0.2,
    "clock_jump": 0.25,
    "old_version": 0.1,
    "partition": 0.2,
    "gateway_restart": 0.1,
    "actor_restart": 0.1,
    "database_restart": 0.05,
    "helper_away": 0.05,
    "cloud_down": 0.02,
    "malicious_phone": 0.25,
}
"""Rates of the storm at strength 1: a day of it is worse than a year of a phone's life."""


def _scaled(name: str, rate: float) -> float:
    return rate if UNITS[name] in ("phone-day", "hour") else min(_CERTAIN, rate)


def account(plan: FaultPlan, fired: Mapping[str, int]) -> dict[str, dict[str, float]]:
    """The report's ``faults``: rate and count of each that was asked for or has happened; of
    malicious phones also by kind."""
    rates = {name: fault.rate for name, fault in plan.items()}
    rates |= dict.fromkeys(_kinds(), plan.malicious_phone.rate)
    return {
        name: {"rate": rate, "fired": fired.get(name, 0)}
        for name, rate in rates.items()
        if rate or fired.get(name, 0)
    }


def silent(plan: FaultPlan, fired: Mapping[str, int]) -> list[str]:
    """Faults that were asked for and never happened: such a run has proven nothing of them."""
    return [name for name, told in account(plan, fired).items() if not told["fired"]]


MALICE: Final = (
    "replay",
    "other_name",
    "other_round",
    "closed_round",
    "poison",
    "unproven",
    "malformed",
    "other_bytes",
    "garbage",
    "oversized",
    "used_token",
    "chunk_storm",
    "flood",
)
"""What malicious phones do, `faults/malice.py`."""


def _kinds() -> list[str]:
    return [f"malicious_phone: {kind}" for kind in MALICE]
