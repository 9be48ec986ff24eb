"""The nouns of a phone's memory, shared by every room that reads or writes it.

A *turn* is what was said, never edited (raw layer). An *item* is what it meant: an event, a
preference, an entity, or a change of state (structured layer). A *hit* is one memory found for a
query and an *answer* is the hits of one recall with their provenance. Times are unix seconds, UTC.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

__all__ = [
    "AGENT_KINDS",
    "PUBLIC",
    "Answer",
    "EventState",
    "Hit",
    "Item",
    "ItemKind",
    "Layer",
    "PublicOrigin",
    "Published",
    "Turn",
    "TurnDraft",
]


class Layer(StrEnum):
    """The three layers a query can be routed to (002, section on the router)."""

    WORKING = "working"
    STRUCTURED = "structured"
    RAW = "raw"


class PublicOrigin(StrEnum):
    """Where a hit comes from that is nobody's memory: a document the cloud publishes to everyone.

    Apart from `Layer`, so that no route, no learning example and no count can name it.
    """

    PUBLIC = "public"


PUBLIC = PublicOrigin.PUBLIC


class ItemKind(StrEnum):
    """What a structured item is."""

    EVENT = "event"
    PREFERENCE = "preference"
    ENTITY = "entity"
    CHANGE = "change"
    FACT = "fact"
    SKILL = "skill"
    PATTERN = "pattern"
    RUN = "run"


AGENT_KINDS = frozenset({ItemKind.FACT, ItemKind.SKILL, ItemKind.PATTERN, ItemKind.RUN})
"""What an agent learns of apps and tasks: given by app, never ranked for a question, and governed
by `device.agent` instead of fading."""


class EventState(StrEnum):
    """The event state machine of 002: only ACTIVE events are recalled by default."""

    ACTIVE = "active"
    CANCELLED = "cancelled"
    COMPLETED = "completed"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class TurnDraft:
    """A turn before the raw log has given it an id."""

    at: float
    speaker: str
    text: str
    session: str = ""
    source: str = ""
    """Where it came from: an export's file name and line, or the agent's name."""
    kind: str = "dialogue"
    """dialogue | operation | system"""


@dataclass(frozen=True, slots=True)
class Turn:
    """One immutable entry of the raw layer; `id` is ``raw:<sequence>``."""

    id: str
    at: float
    speaker: str
    text: str
    session: str = ""
    source: str = ""
    kind: str = "dialogue"

    @property
    def sequence(self) -> int:
        """The turn's sequence number in the raw log."""
        return int(self.id.removeprefix("raw:"))


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of the structured layer; `id` is ``mem:<n>``.

    ``starts``/``ends`` bound the absolute time an expression named (``time_text`` keeps the
    original words); both are None when no time was said. ``turns`` is the provenance: ids of the
    raw turns it was drawn from, oldest first. ``replaced_by`` keeps an older preference or a moved
    event as history.
    """

    id: str
    kind: ItemKind
    text: str
    created: float
    updated: float
    turns: tuple[str, ...]
    subject: str = ""
    action: str = ""
    object: str = ""
    place: str = ""
    people: tuple[str, ...] = ()
    starts: float | None = None
    ends: float | None = None
    time_text: str = ""
    sentiment: float = 0.0
    """−1 … 1"""
    confidence: float = 1.0
    """0 … 1"""
    state: EventState = EventState.ACTIVE
    replaced_by: str = ""
    accesses: int = 0
    last_access: float = 0.0
    detail: bytes = b""
    """What a kind of its own keeps besides (`device.agent.keeping`)."""


@dataclass(frozen=True, slots=True)
class Published:
    """Which record of which version of which public document a hit is."""

    document: str
    version: int
    record: str


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory found for a query, with what is needed to say where it comes from."""

    id: str
    layer: Layer | PublicOrigin
    text: str
    at: float
    score: float
    turns: tuple[str, ...] = ()
    """Ids of the raw turns behind it."""
    source: str = ""
    speaker: str = ""
    """Who said its newest turn; empty when no turn stands behind it."""
    tells: tuple[str, ...] = ()
    """What it tells of what the query asks for: time, place, person, number, reason, name."""
    public: Published | None = None
    """Of a public record, which one; None for what the phone was told."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one recall returned. ``weights`` is the router's weight per layer, ``rounds`` counts
    retrieval rounds (1, more after clarifying ones), ``missing`` names what stayed unanswered."""

    id: str
    query: str
    at: float
    hits: tuple[Hit, ...]
    weights: dict[str, float] = field(default_factory=dict)
    decided_by: str = "fallback"
    """rule | model | fallback"""
    rounds: int = 1
    missing: tuple[str, ...] = ()
    conflicts: tuple[tuple[str, str], ...] = ()
    """Pairs of memory ids that contradict each other, the newer first."""
    changes: tuple[Hit, ...] = ()
    """Change records of what the hits tell of (moved, cancelled, corrected …), newest first:
    context beside the answer, never part of it."""
