"""The items consolidation has on its desk: found by what they are about, changed in one place."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable

from device.language.kept import kept
from device.language.tokens import content_of
from device.memory.changes import Change, ChangeKind
from device.memory.records import EventState, Item, ItemKind

__all__ = ["Desk"]

_VAGUE = (
    "那个 这个 计划 时间 今天 明天 昨天 上午 下午 晚上 早上 一个 一下 我们 你们 事情 那边 已经 "
    "经办 帮我 我把 把那 电话 打电 医生 the plan time day week today tomorrow morning afternoon "
    "evening night get go one new same still just it that this you now no not all please can could "
    "i've been already something"
)
_CHANGING = (
    "取消 改到 推到 推迟 提前 延后 延期 改成 换到 换成 挪到 不去 去了 不看 看了 不做 做了 不来 "
    "来了 完了 好了 办完 做完 搞定 算了 不开 开了 成了 应该 该是 不对 不是 记错 说错 搞错 错了 "
    "cancel move push reschedule postpone delay change shift bring forward back off call scrap "
    "drop skip forget mind never make let instead do done finish complete over again after "
    "actually sorry wait mean meant correction want need won't going"
)
GENERIC = frozenset([*_VAGUE.split(), *_CHANGING.split()])
"""Tokens that name no particular event."""
COMMON_SHARE = 0.2
"""A token in more than this share of the active events tells none of them apart."""
COMMON_FLOOR, COMMON_CEILING = 3, 200
FEW_EVENTS = 64
"""Active events that are sooner looked through than indexed by their tokens."""


class Desk:
    """Items by id, active events by what they say; remembers every change made.

    Changes to one item within a batch collapse into one, in the order items were first touched.
    """

    def __init__(self, items: Iterable[Item]) -> None:
        self._items: dict[str, Item] = {}
        self._changes: dict[str, ChangeKind] = {}
        self._active: dict[str, frozenset[str]] = {}
        """Active events, each with its tokens."""
        self._holders: dict[str, dict[str, None]] = {}
        """Active events by token, once there are more than a few."""
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

    def entities(self, subject: str) -> list[Item]:
        """Current entities of one subject, in the order they came to the desk."""
        keys = [key for key in self._facts if key[0] is ItemKind.ENTITY and key[1] == subject]
        return [item for kind, who, key in keys for item in self.facts(kind, who, key)]

    def events_like(self, text: str) -> list[tuple[float, Item]]:
        """Active events sharing telling tokens with `text`: (shared weight, event), best first."""
        active = len(self._active)
        common = max(COMMON_FLOOR, min(COMMON_SHARE * active, COMMON_CEILING))
        scores: dict[str, float] = defaultdict(float)
        for token in sorted(self.telling(text)):
            holders = self._holding(token)
            if not holders or len(holders) > common:
                continue
            weight = math.log1p(active / len(holders))
            for identifier in holders:
                scores[identifier] += weight
        found = [(score, self._items[identifier]) for identifier, score in scores.items()]
        return sorted(found, key=lambda pair: (-pair[0], -pair[1].updated, pair[1].id))

    def active_events(self) -> list[Item]:
        """Events neither over nor called off, in the order they came to the desk."""
        return [self._items[identifier] for identifier in self._active]

    def telling(self, text: str) -> frozenset[str]:
        """The words of `text` that may name one event rather than another."""
        return _telling(text)

    def _holding(self, token: str) -> Collection[str]:
        """The active events whose tokens have this one."""
        if self._holders:
            return self._holders.get(token, ())
        return [identifier for identifier, tokens in self._active.items() if token in tokens]

    def _index(self, item: Item) -> None:
        self._items.pop(item.id, None)
        self._items[item.id] = item
        if item.kind is ItemKind.EVENT:
            self._put_away(item.id)
            if item.state is EventState.ACTIVE:
                self._put_out(item)
        elif item.kind in (ItemKind.PREFERENCE, ItemKind.ENTITY):
            ids = self._facts[item.kind, item.subject, fact_key(item)]
            if item.id not in ids:
                ids.append(item.id)

    def _put_out(self, event: Item) -> None:
        tokens = _tokens(event.text, event.object, event.place)
        self._active[event.id] = tokens
        if self._holders:
            self._hold(event.id, tokens)
        elif len(self._active) > FEW_EVENTS:
            for identifier, held in self._active.items():
                self._hold(identifier, held)

    def _put_away(self, identifier: str) -> None:
        tokens = self._active.pop(identifier, frozenset())
        if self._holders:
            for token in tokens:
                self._holders[token].pop(identifier, None)

    def _hold(self, identifier: str, tokens: Iterable[str]) -> None:
        for token in tokens:
            self._holders.setdefault(token, {})[identifier] = None


@kept
def _telling(text: str) -> frozenset[str]:
    return frozenset(content_of(text)) - GENERIC


@kept
def _tokens(text: str, thing: str, place: str) -> frozenset[str]:
    return frozenset(content_of(f"{text} {thing} {place}"))


def fact_key(item: Item) -> str:
    """What a fact is filed under: an entity by its attribute, a preference all together."""
    return item.action if item.kind is ItemKind.ENTITY else ""
