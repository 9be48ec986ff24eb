"""What a phone's owner sees of it in one glance."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from device.recall.floors import BY_DEFAULT, Floors

__all__ = [
    "BudgetStatus",
    "ConditionStatus",
    "DistillerStatus",
    "MemoryStatus",
    "ModelStatus",
    "Status",
    "StreamStatus",
]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, defer_build=True)


class ConditionStatus(_Part):
    """Each condition as read; None means unknown, which counts as no."""

    idle: bool | None
    charging: bool | None
    unmetered: bool | None
    battery: float | None
    """0–1"""
    window_open: bool
    """They let the phone dream now, the settling time apart."""
    reasons: tuple[str, ...] = ()
    """Why a condition is unknown, or what else is in the way: a line each, with what to do."""


class MemoryStatus(_Part):
    """Sizes of the three layers."""

    turns: int
    items: int
    archived: int
    """Memories in the cold archive."""
    consolidated: int
    """Turns that the structured layer has taken in."""
    working: int
    private_mb: float | None
    """Private memory of the process over a bare Python; None where the system does not tell."""
    limit_mb: float
    cleanings: int
    """How often the process passed the limit and cleaned up."""
    bytes_stored: int
    """Sealed bytes on disk, all logs."""


class EmbedderStatus(_Part):
    """Whose vectors recall compares beside words."""

    name: str
    leaves_phone: str
    """The host that is sent everything said and asked; empty: nothing leaves the phone."""
    trouble: str
    """Why the last query went without its vectors; empty: it did not."""


class DistillerStatus(_Part):
    """Who judges what an agent learnt from the tasks it did."""

    name: str
    """none | model | endpoint"""
    leaves_phone: str
    """The host that is sent what was done and seen; empty: nothing leaves the phone."""


class ModelStatus(_Part):
    """One of the models that travel."""

    version: int
    """0: none adopted yet."""
    last_outcome: str
    """What became of the newest release this phone tried."""


class StreamStatus(_Part):
    """What one stream of reports may still cost this year."""

    tasks: tuple[str, ...]
    left: float
    """Share of the year's cap not spent yet, 0–1."""
    epsilon_left: float
    """ε of what is left, at the budget's δ."""
    epsilon_report: float
    """ε of one report."""


class BudgetStatus(_Part):
    """What privacy has cost so far, and what is left. Every ε at `delta`; a device is the unit."""

    name: str
    private: bool
    """False for the demo budget, which protects nobody."""
    epsilon_spent: float
    """Of everything ever reported."""
    epsilon_month: float
    """…of the last 30 days."""
    epsilon_year: float
    """…of the last 365 days."""
    epsilon_cap: float
    """The most any 365 days may cost."""
    epsilon_lifetime: float
    """The most this ledger may ever cost."""
    delta: float
    reports: int
    streams: dict[str, StreamStatus]
    suspicion: str = ""
    """Why the ledger is believed restored or copied (`privacy.chain.Reason`); the next report or
    receipt settles it at the cost of what is left of the year. Empty: it is not."""
    quarantine: str = ""
    """Why it was put into quarantine last; empty: never."""
    quarantined_at: float | None = None
    """Unix seconds from which on the rest of that year counts as spent; None: never."""
    helper: str = ""
    """Fingerprint of the only helper this phone reports with; empty: none chosen yet."""
    helper_pinned: bool = False
    """The owner named the helper; else it is the first one ever reported with."""


class Status(_Part):
    """`reverie-device status`."""

    device_id: str
    cloud_url: str
    protector: str
    protector_secure: bool
    """False: whoever copies the folder can read it."""
    conditions: ConditionStatus
    memory: MemoryStatus
    embedder: EmbedderStatus
    extractor: str = ""
    """Where dialogue goes to be read, when a service reads it; empty: nowhere."""
    distiller: DistillerStatus
    models: dict[str, ModelStatus]
    floors: Floors = BY_DEFAULT
    """Weights under which a layer is not searched, and who set them."""
    budget: BudgetStatus
    outbox: int
    """Reports waiting for the cloud."""
    problems: tuple[str, ...] = ()
    """What went wrong in the last sync of this process, such as a round with another helper."""
    unknown: tuple[str, ...] = ()
    """What a phone in its first turns would still like to know."""
