"""Which event a change is about: by its words, its kind, the time it names, and what was just said.

"Cancel the dentist" names it, "move that trip" says its kind, “周五的会不开了” its day, "cancel it"
points back. Where several fit, the one last spoken of is meant; where a change names something
that is not known, it is about nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from device.language import Draft, DraftKind, content_tokens, find_times, language_of
from device.language.anaphora import pointer_of, resolve
from device.memory.coding import item_number
from device.memory.desk import Desk
from device.memory.lifecycle import is_plan
from device.memory.records import Item

__all__ = ["EventChange", "event_meant"]

DAY_SECONDS = 86_400.0
REPORT_SECONDS = 14 * DAY_SECONDS
"""How long after an event its end may still be reported."""
ANAPHOR_SECONDS = 3600.0
"""How long ago "it" may have been said."""
ALONE_SECONDS = 2 * DAY_SECONDS
"""…and how long when nothing else may be meant."""
BESIDE_IT = 2
"""Telling words a change may hold beside "it" and still point back: more tell of something else."""
MOST_WORDS = 3
"""Telling words a change may hold and still say no more than the kind of event."""
SURE_SHARE, SURE_SHARE_ZH = 0.5, 0.06
"""Share of its telling words that the event must hold, for a sentence that may as well tell of
something else that happened. Chinese pairs cross word borders, so few of them are words."""
SURE_WORDS, SOME_SHARE = 2, 0.3
"""…or so many words that are still so large a share."""
AS_GOOD = 0.7
"""Share of the best match's weight from which another event is named as well."""
VAGUE_GRAINS = frozenset({"second", "days", "after"})
_POINTS_BACK = re.compile(
    r"那个|这个|那[趟次场顿件]|它|这事|那事|\b(?:it|that|this|that one|the event|the plan)\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"(?:往[前后])?[推延挪晚早提]?(?:迟|后|期|前)?[一两二三四五六七八九十半几\d]+个?半?"
    r"(?:分钟|小时|钟头|天|周|星期|礼拜|月)"
    r"|\b(?:by )?(?:\d+|an?|one|two|three|four|five|six|half an?|a (?:few|couple of)) "
    r"(?:minute|hour|day|week|fortnight|month)s?\b",
    re.IGNORECASE,
)
"""By how much an event is put off: no word of what it is."""
_KINDS = tuple(
    (re.compile(word, re.IGNORECASE), re.compile(event, re.IGNORECASE))
    for word, event in (
        (
            r"\b(?:trip|travel|journey|flight|holiday|vacation)\b|出差|旅[行游]|行程|那趟",
            r"\b(?:going to|go to|fly(?:ing)?|flight|travel|trip|visit(?:ing)?)\b"
            r"|出差|旅[行游]|飞|去[^了]",
        ),
        (
            r"\bmeeting\b|会议|那个会|开会|的会|^会",
            r"\b(?:meet|meeting|call)\b|会议|开会|[的个]会|例会|碰头",
        ),
        (
            r"\bappointment\b|预约|那个号|挂号",
            r"\b(?:appointment|dentist|doctor|dr|clinic|check-?up)\b|医院|医生|复查|看病|牙|体检",
        ),
        (
            r"\b(?:dinner|lunch|meal|brunch)\b|饭局|聚餐|那顿|吃饭",
            r"\b(?:dinner|lunch|eat|brunch)\b|吃饭|聚餐|晚饭|午饭|火锅",
        ),
        (
            r"\b(?:class|lesson)\b|那节课|课程|上课",
            r"\b(?:class|lesson|course)\b|课",
        ),
    )
)
"""A kind of event as a change names it, and as the event itself may be worded."""


@dataclass(frozen=True, slots=True)
class EventChange:
    """A draft that changes an event, said at unix time `at`."""

    draft: Draft
    at: float
    zone: tzinfo

    @property
    def reports(self) -> bool:
        """It reports an end rather than changing a plan."""
        return self.draft.kind is DraftKind.DONE

    @property
    def past(self) -> bool:
        """It speaks of what happened, as many sentences do that change nothing."""
        return self.reports or self.corrects

    @property
    def corrects(self) -> bool:
        """It corrects what was said, which may lie in the past."""
        return self.draft.kind is DraftKind.CORRECT


def event_meant(desk: Desk, change: EventChange) -> Item | None:
    """The event `change` is about, or None."""
    open_events = [event for event in desk.active_events() if _may_change(event, change)]
    if not open_events:
        return None
    days, words = _days_named(change)
    able = open_events
    if change.past:
        # Whoever names the day as well as a word of an event speaks of it.
        dated = [event for event in open_events if _starts_on(event, days, change.zone)]
        able = dated or [event for event in open_events if _surely(desk, words, event)]
    pool = _named(desk, words, able)
    if not pool and change.corrects and change.draft.place and content_tokens(words):
        return None
    if len(desk.telling(words)) <= MOST_WORDS:
        pool = pool or _of_kind(words, open_events, change)
    if pool:
        return _best(_on_days(pool, days, change), change)
    if (pointed := _pointed_at(words, open_events, change)) is not None:
        return pointed
    if len(desk.telling(words)) > (BESIDE_IT if _POINTS_BACK.search(words) else 0):
        return None
    if days and not change.reports:
        pool = _on_days([e for e in open_events if e.starts is not None], days, change)
        if pool:
            return _best(pool, change)
    return _best(_spoken_of(open_events, change), change)


def _named(desk: Desk, words: str, events: Sequence[Item]) -> list[Item]:
    """The events whose telling words the change uses; several when it names them about as well."""
    able = {event.id for event in events}
    scored = [(score, event) for score, event in desk.events_like(words) if event.id in able]
    if not scored:
        return []
    best = max(score for score, _ in scored)
    return [event for score, event in scored if score >= AS_GOOD * best]


def _surely(desk: Desk, words: str, event: Item) -> bool:
    said = desk.telling(words)
    shared = len(said & desk.telling(event.text))
    if language_of(words) == "zh":
        return shared >= SURE_SHARE_ZH * len(said)
    several = shared >= SURE_WORDS and shared >= SOME_SHARE * len(said)
    return several or shared >= SURE_SHARE * len(said)


def _of_kind(words: str, events: Sequence[Item], change: EventChange) -> list[Item]:
    wanted = [pattern for word, pattern in _KINDS if word.search(words)]
    plans = [e for e in events if is_plan(e) and (change.reports or _ahead(e, change))]
    return [event for event in plans if any(pattern.search(event.text) for pattern in wanted)]


def _pointed_at(words: str, events: Sequence[Item], change: EventChange) -> Item | None:
    """What "the second one" or "hers" points to, among what was spoken of within the hour."""
    if pointer_of(words) not in ("order", "she", "he"):
        return None
    recent = [event for event in events if change.at - event.updated <= ANAPHOR_SECONDS]
    recent.sort(key=lambda event: (event.created, item_number(event.id) or 0))
    place = resolve(words, [event.text for event in recent])
    return None if place is None else recent[place]


def _spoken_of(events: Sequence[Item], change: EventChange) -> list[Item]:
    """What "it" may be: what was spoken of within the hour, or the only plan there is; done can
    only be what was due."""
    if change.reports:
        return [e for e in events if e.ends is not None and change.at - e.ends <= DAY_SECONDS]
    recent = [event for event in events if change.at - event.updated <= ANAPHOR_SECONDS]
    if recent:
        return recent
    alone = [e for e in events if is_plan(e) and change.at - e.updated <= ALONE_SECONDS]
    return alone if len(alone) == 1 else []


def _on_days(events: Sequence[Item], days: Sequence[float], change: EventChange) -> list[Item]:
    """Of `events` those on a day that the change names; on its weekday when none is on the day.

    Today says when a thing is called off as often as which thing, so it never rules one out.
    """
    if not days:
        return list(events)
    dated = [event for event in events if event.starts is not None]
    wanted = {_date(day, change.zone) for day in days}
    same = [event for event in dated if _starts_on(event, days, change.zone)]
    if same:
        return same
    if change.reports or change.corrects or wanted == {_date(change.at, change.zone)}:
        return list(events)
    weekdays = {datetime.fromtimestamp(day, change.zone).weekday() for day in days}
    near = [
        e for e in dated
        if datetime.fromtimestamp(e.starts or 0.0, change.zone).weekday() in weekdays
    ]  # fmt: skip
    return near or [event for event in events if event.starts is None]


def _best(events: Iterable[Item], change: EventChange) -> Item | None:
    """The event last spoken of; the speaker's own before another's."""
    mine = change.draft.subject
    return max(
        events, key=lambda event: (event.subject == mine, event.updated, event.id), default=None
    )


def _days_named(change: EventChange) -> tuple[list[float], str]:
    """(starts of the times that say which event is meant, the words that name it).

    The new time of a move or a correction is not among them.
    """
    draft = change.draft
    reference = datetime.fromtimestamp(change.at, change.zone)
    times = [t for t in find_times(draft.text, reference) if t.grain not in VAGUE_GRAINS]
    words = draft.target
    if draft.kind is DraftKind.CORRECT and draft.place and draft.place != draft.target:
        words = words.replace(draft.place, " ")
    if draft.shift:
        words = _AMOUNT.sub(" ", words)
    for time in times:
        words = words.replace(time.text, " ")
    moved = draft.kind in (DraftKind.MOVE, DraftKind.CORRECT)
    old = [t.start for t in times if not (moved and t.text == draft.time_text)]
    return [start for start in old if not (moved and start == draft.starts)], words


def _may_change(event: Item, change: EventChange) -> bool:
    if event.created > change.at:
        return False
    if change.reports:
        timely = event.ends is None or event.ends >= change.at - REPORT_SECONDS
        return is_plan(event) and timely and (event.starts or 0.0) <= change.at
    just_said = change.corrects and change.at - event.updated <= ANAPHOR_SECONDS
    return just_said or event.ends is None or event.ends >= change.at - DAY_SECONDS


def _ahead(event: Item, change: EventChange) -> bool:
    return event.starts is None or event.starts > change.at - DAY_SECONDS


def _starts_on(event: Item, days: Sequence[float], zone: tzinfo) -> bool:
    if event.starts is None:
        return False
    return _date(event.starts, zone) in {_date(day, zone) for day in days}


def _date(at: float, zone: tzinfo) -> str:
    return datetime.fromtimestamp(at, zone).date().isoformat()
