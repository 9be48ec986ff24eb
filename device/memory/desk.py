"""The items consolidation has on its desk: found by what they are about, changed in one place."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable

from device.language import content_tokens
from device.memory.changes import Change, ChangeKind
from device.memory.records import EventState, Item, ItemKind

__all__ = ["Desk"]

DAY_SECONDS = 86_400.0
ANAPHOR_SECONDS = 3600.0
"""How long ago "it" may have been said."""
GENERIC = frozenset(
    [
        "那个",
        "这个",
        "计划",
        "时间",
        "今天",
        "明天",
        "昨天",
        "上午",
        "下午",
        "晚上",
        "早上",
        "一个",
        "一下",
        "我们",
        "你们",
        "事情",
        "那边",
        "取消",
        "改到",
        "推到",
        "电话",
        "打电",
        "医生",
        "the",
        "plan",
        "time",
        "day",
        "week",
        "today",
        "tomorrow",
        "morning",
        "afternoon",
        "evening",
        "night",
        "get",
        "go",
        "one",
        "new",
        "same",
        "still",
        "just",
    ]
)
"""Tokens that name no particular event."""
_ANAPHOR = re.compile(r"那个|这个|它|\b(?:it|that|this|that one)\b", re.IGNORECASE)
_KINDS = tuple(
    (re.compile(word, re.IGNORECASE), re.compile(event, re.IGNORECASE))
    for word, event in (
        (
            r"\b(?:trip|travel|journey|flight|holiday|vacation)\b|出差|旅[行游]|行程|那趟",
            r"\b(?:going to|go to|fly(?:ing)?|flight|travel|trip|visit(?:ing)?)\b"
            r"|出差|旅[行游]|飞|去[^了]",
        ),
        (r"\bmeeting\b|会议|那个会|开会", r"\b(?:meet|meeting|call)\b|会议|开会|的会"),
        (
            r"\bappointment\b|预约|那个号|挂号",
            r"\b(?:appointment|dentist|doctor|dr|clinic|check-?up)\b|医院|医生|复查|看病|牙",
        ),
        (
            r"\b(?:dinner|lunch|meal)\b|饭局|聚餐|那顿",
            r"\b(?:dinner|lunch|eat)\b|吃饭|聚餐|晚饭|午饭",
        ),
    )
)
"""A kind of event as a change names it, and as the event itself may be worded."""
COMMON_SHARE = 0.2
"""A token in more than this share of the active events tells none of them apart."""
COMMON_FLOOR, COMMON_CEILING = 3, 200


class Desk:
    """Items by id, active events by token; remembers every change made.

    Changes to one item within a batch collapse into one, in the order items were first touched.
    """

    def __init__(self, items: Iterable[Item]) -> None:
        self._items: dict[str, Item] = {}
        self._changes: dict[str, ChangeKind] = {}
        self._tokens: dict[str, set[str]] = defaultdict(set)
        self._facts: dict[tuple[ItemKind, str, str], list[str]] = defaultdict(list)
        for item in items:
            self._index(item)

    def get(self, identifier: str) -> Item | None:
        """The item as it stands now."""
        return self._items.get(identifier)

    def create(self, item: Item) -> None:
        """Put a new item on the desk; one with a known id is left as it is (a repeated batch)."""
        if item.id not in self._items:
            self._changes[item.id] = ChangeKind.CREATE
            self._index(item)

    def update(self, item: Item) -> None:
        """Replace an item by its new form."""
        self._changes.setdefault(item.id, ChangeKind.UPDATE)
        self._index(item)

    def take_changes(self) -> list[Change]:
        """The changes since the last call."""
        changes = [Change(kind, self._items[i]) for i, kind in self._changes.items()]
        self._changes = {}
        return changes

    def facts(self, kind: ItemKind, subject: str, key: str) -> list[Item]:
        """Current preferences or entities of one subject under one key, oldest first."""
        found = (self._items[i] for i in self._facts[kind, subject, key])
        return [item for item in found if not item.replaced_by]

    def events_like(self, text: str) -> list[tuple[float, Item]]:
        """Active events sharing telling tokens with `text`: (shared weight, event), best first."""
        wanted = set(content_tokens(text)) - GENERIC
        active = len(self._items)
        common = max(COMMON_FLOOR, min(COMMON_SHARE * active, COMMON_CEILING))
        scores: dict[str, float] = defaultdict(float)
        for token in sorted(wanted):
            holders = self._tokens.get(token, ())
            if not holders or len(holders) > common:
                continue
            weight = math.log1p(active / len(holders))
            for identifier in holders:
                scores[identifier] += weight
        found = [(score, self._items[identifier]) for identifier, score in scores.items()]
        return sorted(found, key=lambda pair: (-pair[0], -pair[1].updated, pair[1].id))

    def open_event(self, text: str, at: float, *, said_back: float = DAY_SECONDS) -> Item | None:
        """The event a change said at `at` is about: not over for more than `said_back` seconds.

        By what `text` names; else the newest plan of the kind it names ("that trip"); when it
        names nothing ("cancel it"), the event last spoken of within the hour.
        """
        for _, event in self.events_like(text):
            if _may_change(event, at, said_back):
                return event
        of_kind = self._plan_of_kind(text, at, said_back)
        if of_kind is not None:
            return of_kind
        if set(content_tokens(text)) - GENERIC and not _ANAPHOR.search(text):
            return None
        recent = [
            item
            for item in self._items.values()
            if item.kind is ItemKind.EVENT
            and item.state is EventState.ACTIVE
            and 0 <= at - item.updated <= ANAPHOR_SECONDS
            and _may_change(item, at, said_back)
        ]
        return max(recent, key=lambda item: (item.updated, item.id), default=None)

    def _plan_of_kind(self, text: str, at: float, said_back: float) -> Item | None:
        wanted = [pattern for word, pattern in _KINDS if word.search(text)]
        plans = [
            item
            for item in self._items.values()
            if item.kind is ItemKind.EVENT
            and item.state is EventState.ACTIVE
            and item.starts is not None
            and item.starts > at
            and _may_change(item, at, said_back)
            and any(pattern.search(item.text) for pattern in wanted)
        ]
        return max(plans, key=lambda item: (item.updated, item.id), default=None)

    def _index(self, item: Item) -> None:
        self._items.pop(item.id, None)
        self._items[item.id] = item
        if item.kind is ItemKind.EVENT:
            tokens = set(content_tokens(f"{item.text} {item.object} {item.place}"))
            for token in tokens:
                if item.state is EventState.ACTIVE:
                    self._tokens[token].add(item.id)
                else:
                    self._tokens[token].discard(item.id)
        elif item.kind in (ItemKind.PREFERENCE, ItemKind.ENTITY):
            ids = self._facts[item.kind, item.subject, fact_key(item)]
            if item.id not in ids:
                ids.append(item.id)


def fact_key(item: Item) -> str:
    """What a fact is filed under: an entity by its attribute, a preference all together."""
    return item.action if item.kind is ItemKind.ENTITY else ""


def _may_change(event: Item, at: float, said_back: float) -> bool:
    over = event.ends is not None and event.ends < at - said_back
    return event.created <= at and not over
