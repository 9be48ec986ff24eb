"""What a dialogue and its probes may say.

A dialogue's steps are played in order, a probe asks at its own time: what the dialogue says later
has not happened yet. Turns are numbered from 1.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import Field, model_validator

from device.memory.records import EventState, ItemKind, Layer
from device.probing.steps import Part, Say, Step

__all__ = ["Dialogue", "ItemCheck", "Language", "MemoryKind", "Probe", "RouterKind"]

STEP_SECONDS = 30.0
"""From one step to the next where no time is given, and from the last step to the question."""
WITHIN = 3
"""Rank down to which what a probe expects must stand."""
HITS = 5
"""Memories asked for."""
ZONES = {"zh": "Asia/Shanghai", "en": "America/New_York"}
"""Where a dialogue plays unless it says so."""


class Language(StrEnum):
    """What a dialogue is mostly said in."""

    ZH = "zh"
    EN = "en"


class MemoryKind(StrEnum):
    """The type of memory a probe is about (FEATURES A): raw, structured or working."""

    RAW = "raw"
    ENTITY = "entity"
    EVENT = "event"
    PREFERENCE = "preference"
    CHANGE = "change"
    VALUE = "value"
    RING = "ring"


class RouterKind(StrEnum):
    """Which router a dialogue's phone has."""

    GIVEN = "given"
    """The parameters under test."""
    NONE = "none"
    """No release yet."""
    BLIND = "blind"
    """One that gives every layer up."""
    WORKING = "working"
    """One that finds only this layer worth searching; and so on."""
    STRUCTURED = "structured"
    RAW = "raw"


class ItemCheck(Part):
    """One structured memory that must be there; only what is given is compared."""

    kind: ItemKind
    has: str
    """Words of its text."""
    state: EventState = EventState.ACTIVE
    subject: str | None = None
    action: str | None = None
    object: str | None = None
    """Words of its object."""
    place: str | None = None
    people: tuple[str, ...] | None = None
    starts: datetime | None = None
    """Local time."""
    ends: datetime | None = None
    day: datetime | None = None
    """The local day on which it starts, at whatever hour."""
    said: str | None = None
    """The words its time was said in."""
    mood: Literal["good", "bad", "none"] | None = None
    turns: tuple[int, ...] | None = None
    replaced: bool | None = None
    volunteered: bool | None = None
    """Sure enough to be brought up unasked (002, preferences)."""


class Probe(Part):
    """A question and what must, and must not, come of it."""

    id: str
    kind: MemoryKind
    path: str = ""
    """Path through the memory; the file's own where none is given."""
    ask: str
    at: datetime | None = None
    """Local time of the question; none: soon after the last step."""
    within: int = Field(default=WITHIN, ge=1)
    k: int = Field(default=HITS, ge=1)

    finds: tuple[int, ...] = ()
    """Turns that must be behind a hit at rank ≤ `within`."""
    says: tuple[str, ...] = ()
    """Words that must be in a hit at rank ≤ `within`."""
    layer: Layer | None = None
    """Where each hit found by `finds` and `says` must come from."""
    leaves: tuple[int, ...] = ()
    """Turns that must be behind no hit."""
    unsaid: tuple[str, ...] = ()
    """Words that must be in no hit."""
    retired: tuple[int, ...] = ()
    """Turns of which no cancelled, done, expired or replaced memory may be given as one that
    stands."""
    unvolunteered: tuple[int, ...] = ()
    """Turns of which no preference may be brought up."""
    folds: tuple[int, ...] = ()
    """Turns that one hit must carry together."""
    apart: tuple[int, ...] = ()
    """Turns that no hit may carry together."""
    empty: bool = False
    """Nothing may be found."""

    decided: Literal["rule", "model", "fallback"] | None = None
    """Who must have routed; `model` is met by the fallback where no router is given."""
    searched: tuple[Layer, ...] | None = None
    """Exactly the layers at or over the floor."""
    changes: tuple[str, ...] = ()
    """Words of change records that must come along with the answer."""
    rounds: int | None = None
    missing: tuple[str, ...] | None = None

    items: tuple[ItemCheck, ...] = ()
    no_items: tuple[str, ...] = ()
    """Words that no structured memory (change records apart) may hold."""
    archived: tuple[int, ...] = ()
    """Turns whose memories must be in the cold archive and in no hit."""
    values: dict[str, str] = Field(default_factory=dict)
    """Working values, by key."""
    no_values: tuple[str, ...] = ()
    ring: tuple[int, ...] = ()
    """Turns that the working layer by itself must answer with."""
    not_ring: tuple[int, ...] = ()
    """Turns that it must not."""

    known: str = ""
    """Why the phone fails it today. It still counts as failed."""

    @model_validator(mode="after")
    def _expects(self) -> Probe:
        plain = {"id", "kind", "path", "ask", "at", "within", "k", "known", "layer"}
        if not self.model_fields_set - plain:
            raise ValueError(f"{self.id}: expects nothing, so it could not fail")
        if self.layer and not (self.finds or self.says):
            raise ValueError(f"{self.id}: a layer of what? give finds or says")
        return self

    @property
    def turns_named(self) -> set[int]:
        """Every turn number it mentions."""
        named = (self.finds, self.leaves, self.retired, self.folds, self.apart, self.archived)
        items = (item.turns or () for item in self.items)
        more = (self.ring, self.not_ring, self.unvolunteered)
        return {turn for turns in (*named, *more, *items) for turn in turns}


class Dialogue(Part):
    """A script and the probes asked of the phone that heard it."""

    id: str = Field(pattern=r"^(zh|en)-[a-z0-9-]+$")
    zone: str = ""
    starts: datetime
    """Local time of the first step."""
    router: RouterKind = RouterKind.GIVEN
    steps: tuple[Step, ...] = Field(min_length=1)
    probes: tuple[Probe, ...] = Field(min_length=1)

    @property
    def language(self) -> Language:
        """Stands before its id."""
        return Language(self.id[:2])

    @property
    def tz(self) -> ZoneInfo:
        """The zone it plays in."""
        return ZoneInfo(self.zone or ZONES[self.language])

    @cached_property
    def timeline(self) -> tuple[tuple[float, Step], ...]:
        """(unix seconds, step) in order."""
        moment = self.starts.replace(tzinfo=self.tz) - timedelta(seconds=STEP_SECONDS)
        placed = []
        for step in self.steps:
            moment += timedelta(seconds=STEP_SECONDS)
            if step.at is not None:
                moment = step.at.replace(tzinfo=self.tz)
            placed.append((moment.timestamp(), step))
        return tuple(placed)

    def asked_at(self, probe: Probe) -> float:
        """Unix seconds at which `probe` asks."""
        if probe.at is not None:
            return probe.at.replace(tzinfo=self.tz).timestamp()
        return self.timeline[-1][0] + STEP_SECONDS

    @model_validator(mode="after")
    def _holds(self) -> Dialogue:
        times = [at for at, _ in self.timeline]
        if times != sorted(times):
            raise ValueError(f"{self.id}: its steps go back in time")
        turns = sum(isinstance(step, Say) for step in self.steps)
        for probe in self.probes:
            if not probe.turns_named <= set(range(1, turns + 1)):
                raise ValueError(f"{self.id}/{probe.id}: there are {turns} turns")
            if self.asked_at(probe) < times[0]:
                raise ValueError(f"{self.id}/{probe.id}: asks before the dialogue starts")
        return self
