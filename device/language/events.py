"""From a turn to drafts of memories: events, preferences, attributes, and changes to events.

Drafts say what was meant in a schema (002: type, time, place, people, action, object, sentiment);
which stored memory a change concerns is decided by consolidation.
"""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from enum import StrEnum

from device.language.attributes import find_attributes, is_user
from device.language.entities import find_people, find_place
from device.language.intents import statements, worth_remembering
from device.language.preferences import find_preference
from device.language.sentiment import sentiment
from device.language.times import TimeExpression, find_times

__all__ = ["Draft", "DraftKind", "extract"]

MAX_DRAFTS = 8
"""Drafts one turn gives at most."""
MAX_OBJECT_CHARACTERS = 40
MIN_EVENT_CHARACTERS = 4
MOVE_GAP = 6
"""Characters between the moving words and the new time at most."""
DAY_SECONDS = 86_400.0
VAGUE_GRAINS = frozenset({"second", "days", "after"})
"""Times too loose to make an event of a sentence by themselves: now, lately, from then on."""


class DraftKind(StrEnum):
    """What a draft is, before consolidation."""

    EVENT = "event"
    PREFERENCE = "preference"
    ATTRIBUTE = "attribute"
    CANCEL = "cancel"
    MOVE = "move"
    CORRECT = "correct"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Draft:
    """One thing a turn says. Times are unix seconds UTC; `text` is the sentence itself."""

    kind: DraftKind
    text: str
    subject: str = "user"
    action: str = ""
    object: str = ""
    place: str = ""
    people: tuple[str, ...] = ()
    starts: float | None = None
    ends: float | None = None
    time_text: str = ""
    sentiment: float = 0.0
    planned: bool = False
    """Stated as something to come."""
    exclusive: bool = False
    """A preference that excludes others of its kind ("only", "prefer")."""
    eventful: bool = False
    """A change whose sentence would be an event by itself."""
    target: str = ""
    """The words that say which event a change is about."""


_MOVE_ZH = re.compile(
    r"(?:改|挪|推|延|调|移|换|提前|推迟|延期|顺延)(?:期|时间)?(?:了)?(?:，)?(?:改|挪|推|往后|往前)?(?:到|至|成|为)"
)
_MOVE_EN = re.compile(
    r"\b(?:mov(?:e|ed)|push(?:ed)?|shift(?:ed)?|re-?schedul(?:e|ed)|postpon(?:e|ed)|delay(?:ed)?|slid|chang(?:e|ed)|"
    r"bring|brought|put off|swap(?:ped)?|switch(?:ed)?)\b[^.;]*?\b(?:to|until|till|for)\b|\bnow (?:land|arrive|leave|start)s?\b",
    re.IGNORECASE,
)
_CANCEL_ZH = re.compile(
    r"(?<![不没别])取消(?!不)|(?<!要)不(?:去|来|买|办|参加|见|约|订|开|考|报|搬)(?:那[台个家])?了|泡汤了|黄了|退掉"
)
_CANCEL_EN = re.compile(
    r"(?<!don't )(?<!not )(?<!can't )\bcancel(?:l?ed|l?ing)?\b|\bcall(?:ed|ing)? off\b|\bis off\b|\bgot called off\b"
    r"|\bpull(?:ing|ed)? out of\b|\bnot (?:going|buying|doing|happening|coming|attending)\b(?! to (?:be|lie))|\bscrap(?:ped)?\b"
    r"|\bno longer (?:going|need|want)\b",
    re.IGNORECASE,
)
_ONLY = re.compile(r"只|\bonly\b", re.IGNORECASE)
_HISTORY = re.compile(r"原来|后来|本来|\boriginally\b", re.IGNORECASE)
_CORRECT = re.compile(
    r"^(?:啊|哦)?(?:不对|更正|纠正|说错|我说错|搞错|我搞错|记错|我记错|错了)|不对[，,]|应该是.*(?:不是|而不是)|是.{1,20}[，,]?(?:而)?不是"
    r"|^(?:no|actually|wait|sorry|correction|oops|and a correction)\b[,:\s—-].*\b(?:it'?s|it is|it was|is|was|should be|meant|not)\b"
    r"|\b(?:i meant|correction)\b|\bis (?:on|at) .{1,30}, not\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"(?:去|办|做|看|打|考|面|搬|查|交|开|买|弄|吃|投|写|跑|聚|玩)(?:完|好|过|出去)了|看过|回来了|结束了|搞定了?|完成了"
    r"|\b(?:done|finished|completed|over with|is over|back from|got back|wrapped up)\b",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"(?<!不)(?:我|我们|咱们?|还|就|，|^)(?:\S{0,4})(?:要(?!是|么|求)|会(?!儿|议)|打算|准备|计划|决定|报了|约了|订了|预[定订约]了?)|打算|计划|约了|提醒我|别忘"
    r"|\b(?:i|we)(?:'ll| will|'m going to| am going to|'re going to| are going to| plan to|'m planning| have to|"
    r" need to| must|'ve booked|'ve got| want to|'d like to| booked| decided)\b|\bi'm (?:going|taking|flying|moving|starting|meeting)\b"
    r"|^(?:booked|signed up|remind me|don't forget)\b|\bremind me\b",
    re.IGNORECASE,
)
_DID = re.compile(
    r"(?:我|我们|咱们?|今天|昨天|刚|，|^).{0,12}?(?:了(?!解)|过(?!敏|多|期|于))|\b(?:i|we)(?:'ve| have| just| also| finally)?\s(?:went|saw|met|bought|had|got|ate|"
    r"visited|moved|started|finished|left|made|took|found|hired|signed|learned|learnt|tried|attended|joined|"
    r"adopted|won|lost|quit|passed|failed|watched|read|ran|hiked|painted|[a-z]{3,}ed)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"(?:没有?|不(?:想|会|打算|准备|要|用|再)|未|别)(?:再)?(?:去|来|买|参加|见|约|订|做|看|吃|打算|计划)|没去|没买|没见"
    r"|\b(?:didn't|did not|don't|do not|won't|will not|never|haven't|hasn't|not going to|can't|cannot|couldn't)\b",
    re.IGNORECASE,
)
_EACH = re.compile(
    r"每(?:天|日|周|個?个?(?:星期|礼拜|月)|月|年|晚|早|逢|隔)|天天|隔周|\b(?:every|each|weekly|daily|monthly)\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days\b",
    re.IGNORECASE,
)
_VERBS_ZH = re.compile(
    "出差|旅[游行]|开会|参加|面试|考试|复查|检查|看病|手术|体检|搬家|搬到?|结婚|聚[餐会]|吃饭|见面|约会|报名|预约|领养|健身|"
    "住院|打电话|跑步|晨跑|游泳|下棋|唱歌|值班|上班|出发|回家|入职|毕业|相亲|打疫苗|截稿|交房租|装|去|到|来|见|看|买|卖|吃|喝|玩|学|"
    "考|订|约|搬|打(?!电话)|做|写|读|住|飞|接|送|拿|取|陪|请|找|办|练|养|租(?!金)|还(?!是|剩|有|没|行)|领|报|开(?!始)|投|过(?!敏|多|于|期)"
)
_VERB_EN = re.compile(
    r"\b(?:will|'ll|going to|plan to|planning to|have to|need to|must|want to|'d like to|to)\s+(?P<a>[a-z]+)"
    r"|\b(?:i|we)(?:'ve|'m| am| have| just| also| finally)*\s+(?P<b>[a-z]+)|^(?P<c>[A-Z][a-z]+ed|Signed up|Found)\b",
    re.IGNORECASE,
)
_CLAUSES = re.compile(r"[，,]")
_BREAK = re.compile(r"[，。！？；,.!?;\n]")


def extract(text: str, speaker: str, at: float, tz: tzinfo, kind: str = "dialogue") -> list[Draft]:
    """Drafts of one turn said by `speaker` at unix time `at` in the zone `tz`.

    Empty for small talk, system text and what a machine said. Speakers other than the user are
    people too: their events carry their own name as subject.
    """
    if not worth_remembering(text, speaker, kind):
        return []
    subject = "user" if is_user(speaker) else speaker
    reference = datetime.fromtimestamp(at, tz)
    drafts = [
        Draft(DraftKind.ATTRIBUTE, a.text, subject, action=a.key, object=a.value)
        for a in find_attributes(text, speaker)
    ]
    for sentence in statements(text):
        draft = _draft(sentence, subject, reference)
        if draft is not None:
            drafts.append(draft)
    return drafts[:MAX_DRAFTS]


def _draft(sentence: str, subject: str, reference: datetime) -> Draft | None:
    times = find_times(sentence, reference)
    base = _base(sentence, subject, times)
    eventful = _is_event(sentence, times)
    changed = _change(sentence, base, times)
    if changed is not None:
        return replace(changed, eventful=eventful)
    preference = find_preference(sentence)
    if preference is not None:
        return Draft(
            DraftKind.PREFERENCE, sentence, subject,
            action="like" if preference.liked else "dislike", object=preference.object,
            sentiment=preference.strength if preference.liked else -preference.strength,
            exclusive=preference.exclusive,
        )  # fmt: skip
    if _DONE.search(sentence):
        done = _clause(sentence, _DONE)
        return replace(base, kind=DraftKind.DONE, target=done, eventful=eventful)
    return base if eventful else None


def _change(sentence: str, base: Draft, times: list[TimeExpression]) -> Draft | None:
    """The sentence as a correction, a move or a cancellation, if it is one."""
    usable = [t for t in times if t.grain not in VAGUE_GRAINS and not _refused(sentence, t)]
    if usable and _CORRECT.search(sentence):
        corrected = replace(base, kind=DraftKind.CORRECT, target=_without(sentence, times))
        return _at(corrected, usable[0])
    move = _move(sentence, usable)
    if move is not None:
        moved = replace(base, kind=DraftKind.MOVE, planned=True, target=_without(sentence, times))
        return _at(moved, move)
    for pattern in (_CANCEL_ZH, _CANCEL_EN):
        if pattern.search(sentence) and not _ONLY.search(sentence):
            return replace(base, kind=DraftKind.CANCEL, target=_clause(sentence, pattern))
    return None


def _clause(sentence: str, pattern: re.Pattern[str]) -> str:
    """The clause a pattern is found in: what else a sentence says is about something else."""
    return next((c for c in _CLAUSES.split(sentence) if pattern.search(c)), sentence)


def _move(sentence: str, times: list[TimeExpression]) -> TimeExpression | None:
    """The time an event is moved to: it stands right after the moving words."""
    if _HISTORY.search(sentence):
        return None
    ends = [m.end() for p in (_MOVE_ZH, _MOVE_EN) for m in p.finditer(sentence)]
    near = (t for t in times for end in ends if 0 <= t.position - end <= MOVE_GAP)
    return next(near, None)


def _without(sentence: str, times: list[TimeExpression]) -> str:
    for time in times:
        sentence = sentence.replace(time.text, " ")
    return sentence


def _refused(sentence: str, time: TimeExpression) -> bool:
    before = sentence[: time.position].rstrip().lower()
    return before.endswith(
        ("不是", "而不是", "not", "not on", "instead of", "not the", "原来说", "本来是")
    )


def _base(sentence: str, subject: str, times: list[TimeExpression]) -> Draft:
    draft = Draft(
        DraftKind.EVENT, sentence, subject, place=find_place(sentence),
        people=find_people(sentence), sentiment=sentiment(sentence),
        planned=bool(_PLAN.search(sentence)),
    )  # fmt: skip
    action, thing = _action(sentence)
    draft = replace(draft, action=action, object=thing)
    fixed = [t for t in times if t.grain not in VAGUE_GRAINS and not _refused(sentence, t)]
    if not fixed:
        return draft
    if _EACH.search(sentence):
        return replace(draft, time_text=fixed[0].text)
    # The finest time is the event's own: "spring concert on May 9" is on May 9.
    return _at(draft, min(fixed, key=lambda t: (min(t.end - t.start, DAY_SECONDS), t.position)))


def _at(draft: Draft, time: TimeExpression) -> Draft:
    return replace(draft, starts=time.start, ends=time.end, time_text=time.text)


def _is_event(sentence: str, times: list[TimeExpression]) -> bool:
    if len(sentence) < MIN_EVENT_CHARACTERS or _DENIED.search(sentence):
        return False
    dated = any(time.grain not in VAGUE_GRAINS for time in times)
    return dated or bool(_PLAN.search(sentence) or _DID.search(sentence) or _EACH.search(sentence))


def _action(sentence: str) -> tuple[str, str]:
    match = _VERBS_ZH.search(sentence)
    if match is not None:
        action, rest = match.group(), sentence[match.end() :]
    else:
        english = _VERB_EN.search(sentence)
        if english is None:
            return "", ""
        action = next(group for group in english.groups() if group).lower()
        rest = sentence[english.end() :]
    return action, _BREAK.split(rest.strip(), maxsplit=1)[0][:MAX_OBJECT_CHARACTERS].strip()
