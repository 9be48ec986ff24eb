"""What a file of probes may say; everything else in it is refused with its place.

A file holds dialogues of one path through the memory. Its steps are played in order, a probe asks
at its own time: what the dialogue says later has not happened yet. Turns are numbered from 1.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from device.actors import DomainError
from device.memory.records import EventState, ItemKind, Layer

__all__ = [
    "Chatter",
    "Dialogue",
    "Dream",
    "Forget",
    "ForgetWords",
    "ItemCheck",
    "Language",
    "MemoryKind",
    "Probe",
    "Restart",
    "RouterKind",
    "Say",
    "Step",
    "Suite",
    "SuiteInvalid",
    "Task",
    "TaskEnded",
    "Use",
    "load_suite",
]

FOLDER = "suite"
STEP_SECONDS = 30.0
"""From one step to the next where no time is given, and from the last step to the question."""
WITHIN = 3
"""Rank down to which what a probe expects must stand."""
HITS = 5
"""Memories asked for."""
ZONES = {"zh": "Asia/Shanghai", "en": "America/New_York"}
"""Where a dialogue plays unless it says so."""


class SuiteInvalid(DomainError):
    """A file of probes does not fit the schema; the message says which and where."""


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


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Timed(_Part):
    at: datetime | None = None
    """Local time; none: `STEP_SECONDS` after the step before."""


class Say(_Timed):
    """A turn is recorded."""

    say: str
    by: str = "user"
    session: str = ""
    source: str = ""
    kind: Literal["dialogue", "operation", "system"] = "dialogue"


class Chatter(_Timed):
    """So many turns of talk about nothing; they have no number."""

    chatter: int = Field(ge=1)


class Dream(_Timed):
    """The phone dreams: consolidates, expires, forgets."""

    dream: Literal[True]


class Forget(_Timed):
    """The user erases these turns and all that was drawn from them."""

    forget: tuple[int, ...]


class ForgetWords(_Timed):
    """The user erases everything that holds these words."""

    forget_words: str


class Use(_Timed):
    """The user asks `use`, and what came of turn `helped` helped."""

    use: str
    helped: int


class Task(_Timed):
    """The agent notes the state of a task in the working layer."""

    task: str
    state: str


class TaskEnded(_Timed):
    """The task is over."""

    ended: str


class Restart(_Timed):
    """The phone is closed and opened again."""

    restart: Literal[True]


def _as_say(step: object) -> object:
    """A bare string is a turn of the user."""
    return {"say": step} if isinstance(step, str) else step


Step = Annotated[
    Say | Chatter | Dream | Forget | ForgetWords | Use | Task | TaskEnded | Restart,
    BeforeValidator(_as_say),
]


class ItemCheck(_Part):
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


class Probe(_Part):
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
    values: dict[str, str] = {}
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
        return {turn for turns in (*named, self.ring, self.not_ring, *items) for turn in turns}


class Dialogue(_Part):
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


class _File(_Part):
    path: str = Field(pattern=r"^[a-z-]+$")
    dialogue: tuple[Dialogue, ...] = Field(min_length=1)


class Suite(_Part):
    """Every dialogue with its probes."""

    dialogues: tuple[Dialogue, ...]

    def __len__(self) -> int:
        return sum(len(dialogue.probes) for dialogue in self.dialogues)

    def __iter__(self) -> Iterator[tuple[Dialogue, Probe]]:  # type: ignore[override]
        """Each probe with its dialogue."""
        return ((d, p) for d in self.dialogues for p in d.probes)

    @property
    def paths(self) -> list[str]:
        """The paths it walks, sorted."""
        return sorted({probe.path for _, probe in self})

    def only(self, *, language: str | None = None, path: str | None = None) -> Suite:
        """The part in one language, or along one path."""
        kept = []
        for dialogue in self.dialogues:
            if language and dialogue.language != language:
                continue
            probes = tuple(p for p in dialogue.probes if not path or p.path == path)
            if probes:
                kept.append(dialogue.model_copy(update={"probes": probes}))
        return Suite(dialogues=tuple(kept))


def load_suite(folder: Traversable | None = None) -> Suite:
    """The probes that ship with the phone, or those of a folder.

    Raises:
        SuiteInvalid: a file is no TOML, does not fit, or repeats an id.
    """
    place = folder or resources.files(__package__).joinpath(FOLDER)
    files = sorted((f for f in place.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    dialogues = [dialogue for file in files for dialogue in _read(file)]
    _check_unique(dialogues)
    return Suite(dialogues=tuple(dialogues))


def _read(file: Traversable) -> list[Dialogue]:
    try:
        fields = tomllib.loads(file.read_text(encoding="utf-8"))
        read = _File.model_validate(_with_path(fields))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SuiteInvalid(f"{file.name}: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SuiteInvalid(f"{file.name}: {where}: {first['msg']}") from None
    return list(read.dialogue)


def _with_path(fields: dict[str, Any]) -> dict[str, Any]:
    """Write the file's path into the probes that name none."""
    for dialogue in fields.get("dialogue", ()):
        for probe in dialogue.get("probes", ()):
            probe.setdefault("path", fields.get("path", ""))
    return fields


def _check_unique(dialogues: Iterable[Dialogue]) -> None:
    seen: set[str] = set()
    for dialogue in dialogues:
        for name in (dialogue.id, *(f"{dialogue.id}/{probe.id}" for probe in dialogue.probes)):
            if name in seen:
                raise SuiteInvalid(f"{name} is there twice")
            seen.add(name)
