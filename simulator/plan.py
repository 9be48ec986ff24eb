"""What a world and its hosts tell each other; all of it can travel."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from cloud.actors.runtime import Ref
from simulator.calls import AskAll, LaneRef, ask_each
from simulator.faults.plan import FaultPlan
from simulator.lanes import LaneLoop
from simulator.randomness import stream_key
from simulator.scenario import Scenario
from simulator.virtual_phone import WindowNote

__all__ = ["Endpoint", "WindowReport", "WorldPlan"]


@dataclass(frozen=True)
class WorldPlan:
    """Everything that decides what happens in a world; picklable."""

    phones: int
    days: int
    seed: int
    start: float
    """Unix seconds at which virtual time begins."""
    data: Path | None
    budget: Literal["demo", "production"]
    cloud_key: str
    """The cloud's Ed25519 public key in hex."""
    revisit: float
    """Seconds after which the cloud asks a phone back."""
    faults: FaultPlan = field(default_factory=FaultPlan)
    border: float = 3_600.0
    """Seconds between two meetings of hosts and cloud."""
    scenario: Scenario = field(default_factory=Scenario)
    """Who the phones' owners are; what is also named above holds as above."""

    @property
    def seconds(self) -> float:
        """Length of the virtual span."""
        return self.days * 86_400.0

    def token(self, phone: int) -> str:
        """The enrolment token of phone number `phone`."""
        return stream_key(self.seed, "token", phone).hex()


@dataclass(frozen=True)
class Endpoint:
    """The cloud's actors, as a gateway needs them."""

    registry: Ref
    intake: Ref
    rounds: Ref
    publisher: Ref
    partials: Ref
    signing_seed: bytes
    """The cloud's key, so that every gateway can prove to a phone whose it is."""
    ask_all: AskAll = ask_each
    """How several calls reach the actors at once."""

    def within(self, loop: LaneLoop) -> Endpoint:
        """The same, for phones that live in lanes of `loop`."""
        return replace(
            self,
            registry=LaneRef(loop, self.registry),
            intake=LaneRef(loop, self.intake),
            rounds=LaneRef(loop, self.rounds),
            publisher=LaneRef(loop, self.publisher),
            partials=LaneRef(loop, self.partials),
        )


@dataclass
class WindowReport:
    """What one host's phones did in one window."""

    notes: list[WindowNote]
    """By phone, of those to which something happened."""
    violations: int = 0
    """Laws broken so far."""
    lived: float = 0.0
    """Virtual seconds that its phones have lived in all; many are ahead of the border."""
