"""What report.json holds, field by field: its schema, from which everything that reads one checks.

Shares are 0 … 1 unless a unit says otherwise; days and hours are virtual time. Everything but
``wall_clock`` follows from the seed and the options. `reverie-fleet schema` prints this as JSON
schema.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "SCHEMA_VERSION",
    "BinError",
    "Estimates",
    "Group",
    "Report",
    "RoundErrors",
    "Staleness",
    "VersionTold",
    "json_schema",
]

SCHEMA_VERSION = 1
"""Goes up when a key changes its meaning or goes away; a new key does not raise it."""

Count: TypeAlias = Annotated[int, Field(ge=0)]
Amount: TypeAlias = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
Share: TypeAlias = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Number: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]
ByHour: TypeAlias = Annotated[list[Share], Field(min_length=24, max_length=24)]
WeekHour: TypeAlias = Annotated[list[Share | None], Field(min_length=24, max_length=24)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Recall(_Part):
    """What the owners asked their phones."""

    answered: Count
    """Recalls that a phone answered."""
    useful: Count
    """…of these, the ones that held a memory which answers the question."""
    by_layer: dict[str, Count]
    """Recalls by the layer of their best hit, or none."""
    decided_by: dict[str, Count]
    """Recalls by who chose the layers: a rule, the model, the fallback."""


class TaskRounds(_Part):
    """How the rounds of one task ended."""

    closed: Count
    """Rounds that were summed."""
    reports: Count
    """Reports in those sums."""
    expired: Count
    """Rounds that too few phones joined."""
    refused: Count
    """Rounds whose sum was refused."""
    open: Count
    """Rounds still open when the world ended."""


class VersionTold(_Part):
    """One published version of a model."""

    version: Annotated[int, Field(ge=1)]
    """Its number."""
    accuracy: Share | None
    """On the cloud's held-out examples; null where it was not scored."""
    phones: Count
    """Phones that ever adopted exactly this version."""
    published_day: Number
    """Days into the world at which it was published; below 0 for one that was there before."""
    days_to_half: Amount | None
    """Days from its publication until half of all phones held it or a newer one; null: never."""
    days_to_95: Amount | None
    """…until 95 % of all phones did; null: never within this world."""


class ModelTold(_Part):
    """The releases of one model."""

    published: Count
    """Versions published."""
    adopted: Count
    """Adoptions, over all phones and versions."""
    kept_older: Count
    """Times that a phone tried a version and kept the one it had."""
    accuracy: list[Share]
    """Accuracy by version, of those that were scored."""
    versions: list[VersionTold]
    """Every published version, ascending."""


class Bytes(_Part):
    """Bytes on the wire, with the overhead of WebSocket, TLS, TCP and IP."""

    up: Amount
    """Bytes per phone and day from phones."""
    down: Amount
    """Bytes per phone and day to phones."""


class NetworkTold(_Part):
    """The phones' connections."""

    sessions: Count
    """Connections that came about."""
    cuts: Count
    """…and broke."""
    unreachable: Count
    """Connections that did not come about."""


class Epsilon(_Part):
    """Privacy spent, by the phones' own ledgers."""

    max: Amount
    """ε of the phone that spent most, at `delta`."""
    median: Amount
    """ε of the median phone."""
    delta: Share
    """δ of both."""


class BudgetTold(_Part):
    """Whose floors and caps applied."""

    name: str
    """The budget's name: demo or production."""
    private: bool
    """Whether it protects anybody."""
    says: str
    """What the production budget would allow a fleet of this size, in one sentence."""


class LawTold(_Part):
    """One law of the house."""

    checked: Count
    """Times it was checked."""
    violated: Count
    """Times it did not hold."""


class Invariants(_Part):
    """The laws, checked while the world ran."""

    checked: Count
    """Checks over all laws."""
    violated: Count
    """Violations over all laws."""
    by_law: dict[str, LawTold]
    """The same by law."""
    violations: list[str]
    """The first violations, a line each."""


class FaultTold(_Part):
    """One fault that was asked for or happened."""

    rate: Amount
    """How often it was asked for; the scenario says per what."""
    fired: Count
    """How often it happened."""


class Group(_Part):
    """The phones whose owners share a habit."""

    phones: Annotated[int, Field(ge=1)]
    """How many they are."""
    window_hours: Amount
    """Hours in which their window was open, over all of them."""
    uploads_acked: Count
    """Their reports that the cloud acknowledged."""
    answered: Count
    """Recalls they answered."""
    useful: Count
    """…of these, the ones that held a memory which answers the question."""
    on_newest: dict[str, Share]
    """Model → share of them on its newest release when the world ended."""


class BinError(_Part):
    """One bin of one histogram of one round: what the cloud published, and what is true."""

    bin: str
    """The bin's name."""
    truth: Share
    """Share of the summed reports whose phone really was in this bin."""
    estimate: Number
    """The published share; it may lie outside 0 … 1."""
    low: Share
    """Lower end of the published 95 % interval."""
    high: Share
    """Upper end of the published 95 % interval."""
    covered: bool
    """Whether the interval holds the truth."""
    error: Number
    """Estimate minus truth."""
    sigmas: Number | None
    """The error in standard errors of the estimate; null where the interval says nothing."""


class RoundErrors(_Part):
    """One published round of usage counts, held against the truth."""

    task: str
    """usage (all histograms at once) or local_usage (one)."""
    round: Annotated[int, Field(ge=1)]
    """The round's number."""
    reports: Count
    """Reports the cloud summed."""
    known: Count
    """…of these, the ones whose truth the simulator knows; the others are forged."""
    histograms: dict[str, list[BinError]]
    """Histogram → its bins in order."""


class Estimates(_Part):
    """How far published counts are from the truth, over all rounds."""

    bins: Count
    """Bins published."""
    covered: Count
    """…of these, the ones whose 95 % interval holds the truth."""
    rms_sigmas: Amount | None
    """Root of the mean square error in standard errors: 1 where the intervals are honest."""
    worst: Amount | None
    """Largest absolute error of a share."""
    rounds: list[RoundErrors]
    """Every published round of counts, in order."""


class Availability(_Part):
    """When the window was open: idle, charging and on unmetered Wi-Fi."""

    fitted: ByHour
    """By local hour, the share of time on the real phones the model was fitted to."""
    simulated: ByHour
    """By local hour, the share of time in this world."""
    by_weekday: Annotated[list[WeekHour], Field(min_length=7, max_length=7)]
    """Monday first, then by local hour; null where the world holds no such hour."""


class AdoptionPoint(_Part):
    """The share of phones on the newest release at one moment."""

    day: Amount
    """Days into the world."""
    share: Share
    """Share of all phones that hold the newest release."""


class Staleness(_Part):
    """How far behind the phones are at one moment: days since the first release came out that is
    newer than what a phone holds; 0 on the newest."""

    day: Amount
    """Days into the world."""
    fresh: Share
    """Share of phones on the newest release."""
    median: Amount
    """Days behind, of the median phone."""
    p90: Amount
    """Days behind, of the phone that nine in ten are not behind."""
    max: Amount
    """Days behind, of the last phone."""


class Timeline(_Part):
    """What the charts are drawn from."""

    availability: Availability
    """The window, by hour."""
    uploads_per_hour: list[Count]
    """Uploads acknowledged in each hour of the world."""
    adoption: dict[str, list[AdoptionPoint]]
    """Model → the curve, hour by hour since the first release."""
    staleness: dict[str, list[Staleness]]
    """Model → every six hours since the first release."""
    epsilon_by_phone: list[Amount]
    """ε spent, by phone."""
    bytes_by_phone: list[Amount]
    """Bytes a day, up and down, by phone."""


class WallClock(_Part):
    """The only part that differs between two runs of one world."""

    seconds: Amount
    """Real time the run took."""


class Report(_Part):
    """One world of virtual phones, played to its end."""

    schema_version: Literal[1]
    """The version of this schema."""
    phones: Annotated[int, Field(ge=1)]
    """Virtual phones."""
    virtual_days: Annotated[int, Field(ge=1)]
    """Virtual days played."""
    seed: Count
    """The world's seed."""
    data: str
    """Where the dialogues come from."""
    scenario: str | None = None
    """Name of the scenario that was played; absent or null where none was."""
    fidelity: str | None = None
    """What was played with less than the real work, in a sentence; absent or null: nothing was."""
    window_hours: Amount
    """Hours in which the window was open, over all phones."""
    records: Count
    """Turns kept."""
    items: Count
    """Items drawn from them."""
    recall: Recall
    """What was asked and answered."""
    uploads_acked: Count
    """Reports acknowledged by the cloud."""
    uploads_waiting: Count
    """Reports still in an outbox when the world ended."""
    rounds: Count
    """Rounds closed."""
    rounds_by_task: dict[str, TaskRounds]
    """The same by task."""
    releases: dict[str, ModelTold]
    """Model → its releases."""
    bytes_per_device_day: Bytes
    """Traffic."""
    network: NetworkTold
    """Connections."""
    epsilon: Epsilon
    """Privacy spent."""
    budget: BudgetTold
    """The privacy budget in force."""
    invariants: Invariants
    """The laws of the house."""
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    """SHA-256 over everything the phones sent: equal digests, equal worlds."""
    faults: dict[str, FaultTold] | None = None
    """Every fault that was asked for or happened; absent where none could."""
    groups: dict[str, Group]
    """Habit → the phones that live so; empty where they follow a trace of real phones."""
    estimates: Estimates
    """Published counts against the truth."""
    timeline: Timeline
    """How the world went, over time and by phone."""
    wall_clock: WallClock
    """Not decided by the seed."""


def json_schema() -> dict[str, Any]:
    """The JSON schema of report.json (draft 2020-12)."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | Report.model_json_schema()
