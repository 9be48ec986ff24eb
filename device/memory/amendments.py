"""Changes to what was said that need more than one sentence to be understood.

`language.extract` reads a sentence by itself. Here stand the turns that only make sense beside an
event already known: "push it back a week", "make it Friday", "no, it was in Boston", “往后推一天”,
“不是周三，是周四”. They are looked for only where `extract` found no change, and they count only when
an event they may be about is on the desk.
"""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo

from device.language import Draft, DraftKind, extract, find_times
from device.language.entities import find_people, find_place
from device.memory.records import Turn

__all__ = ["CHANGES", "Amendment", "amend"]

CHANGES = frozenset({DraftKind.CANCEL, DraftKind.MOVE, DraftKind.CORRECT, DraftKind.DONE})
MAX_CHARACTERS = 90
"""An amendment is short; a longer turn that happens to hold such words tells something else."""
DAY_SECONDS = 86_400.0
VAGUE_GRAINS = frozenset({"second", "days", "after"})
_ASKED_EN = re.compile(
    r"^\s*(?:(?:hey|hi|ok(?:ay)?|oh|so|and|also)[,\s]+)*(?:can|could|would|will|shall) (?:you|we|i) (?:please |maybe |just )?", re.IGNORECASE
)
_ASKED_ZH = re.compile(r"^(?:请|麻烦|能不能|可不可以|可以|能)?(?:你|您)?(?:帮我|替我|给我)?(?:能不能|可不可以|可以|能)?(?=把|将|取消|改|推|挪|延|提前)")
_ASKS = re.compile(r"(?:[?？]+|(?:可以|行|好)?(?:吗|么|呢|不)[?？。]*)\s*$")
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "half": 0.5, "another": 1,
    "一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "半": 0.5,
}  # fmt: skip
_UNITS = {
    "minute": 60.0, "min": 60.0, "hour": 3600.0, "day": DAY_SECONDS, "week": 7 * DAY_SECONDS,
    "分钟": 60.0, "小时": 3600.0, "钟头": 3600.0, "天": DAY_SECONDS, "日": DAY_SECONDS, "周": 7 * DAY_SECONDS,
    "星期": 7 * DAY_SECONDS, "礼拜": 7 * DAY_SECONDS,
}  # fmt: skip
_N_EN = r"(?P<n>\d+|a|an|one|two|three|four|five|six|half an?|another)\s+(?P<unit>minute|min|hour|day|week)s?"
_SHIFT_EN = re.compile(
    rf"\b(?P<verb>postpone|push|delay|move|put|shift|bring|slide|pull)(?:ed|d)?\b(?P<what>[^.;?]*?)\s*\b(?:(?P<way>back|off|out|forward|up|ahead)\s+)?(?:by\s+)?{_N_EN}\s*(?P<way2>later|earlier|back|forward|sooner)?",
    re.IGNORECASE,
)
_LATER_EN = re.compile(rf"^(?:make|let'?s (?:make|do)) (?P<what>it|that)\s+{_N_EN}\s+(?P<way2>later|earlier|sooner)", re.IGNORECASE)
_N_ZH = r"(?P<n>\d+|[一两二三四五六七半])(?:个)?(?P<unit>分钟|小时|钟头|天|日|周|星期|礼拜)"
_SHIFT_ZH = re.compile(rf"(?P<what>^.*?)(?P<way>往后[推延挪]|推迟|延后|延期|顺延|延迟|往前[提挪]|提前|提早|晚|早|推|延)(?:了)?{_N_ZH}(?!前|后|内)")
_EARLIER = re.compile(r"forward|up|ahead|earlier|sooner|前|早", re.IGNORECASE)
_INSTEAD = re.compile(
    r"^\s*(?:ok(?:ay)?,?\s+|actually,?\s+|hmm,?\s+|right,?\s+)?(?:let'?s (?:do|make it|go with|say|move (?:it|that) to)|make (?:it|that)|(?:it|that)'?s (?:now|been moved to)|how about|better)\b|\binstead\W*$"
    r"|^(?:那就|那|就|还是|要不)?(?:定在|定到|约在|放在|换成|改)(?!变|进|善)|^(?:还是|那就|就)[^，。]{1,12}吧?$",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(
    r"^(?:啊|哦|嗯)?[，,]?(?:不对[，,。!！]?)?不是(?P<a>[^，,。]{1,15})[，,]\s*(?:而)?是(?P<b>[^，,。]{1,20})"
    r"|^(?:no[,.]?\s+|wait[,.]?\s+|sorry[,.]?\s+)?not\s+(?:on |at |in )?(?P<c>[^,.;]{1,25})[,;]\s*(?:but\s+|it'?s\s+)?(?:on |at |in )?(?P<d>[^,.;]{1,30})",
    re.IGNORECASE,
)
_WRONG = re.compile(
    r"^(?:啊|哦|嗯|等等|呃)?[，,]?(?:不对|不是|更正|纠正|(?:我)?(?:说|搞|记|弄)错了?|口误)[，,。!！：:\s]*(?:应该)?(?:是|在|去)?(?P<zh>[^，,。；!！]{1,24})"
    r"|^(?:no|oops|wait|sorry|correction|actually|i mean(?:t)?|my mistake|i was wrong)\b[,:.!\s—-]*(?:no[,\s]+)?(?:sorry[,\s]+)?(?:i mean(?:t)?\s+)?(?:it(?:'s| is| was| should be| will be)?|that(?:'s| is| was)?|the [a-z ]{2,20} (?:is|was))?\s*(?:actually\s+)?(?P<en>[^,.;!]{2,50})",
    re.IGNORECASE,
)
_CANCEL = re.compile(
    r"\b(?:never ?mind|forget(?: about)?|skip|drop)\b(?! (?:to|what|how|when|that i))|\b(?:i|we)(?:'m| am|'re| are)? (?:won't|will not|not) (?:be )?(?:going|making it|coming|attending|able to make)\b|\b(?:i|we) (?:won't|can't|cannot) make (?:it|that)\b"
    r"|\b(?:isn't|not) happening(?: any ?more)?\b|\bfell through\b"
    r"|(?:^|[，,])(?:算了|就)?[^，。不]{0,10}不(?:看|做|弄|去|来|办|学|练|吃|聚|打|跑|交|投|飞|旅游|出差|参加|体检|面试)(?:成|了)(?:吧)?[。!！]?$|去不(?:了|成)了?|来不了了?",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:i've|i have|we've|we have) (?:already |just )?(?:been to|seen|done|sorted|taken care of|handed in|submitted|paid|picked up|finished)\b|\b(?:took care of|all (?:done|sorted|set) with|checked off)\b|\bthat'?s (?:done|sorted|taken care of)\b"
    r"|(?:看|办|做|弄|交|考|开|搬|修|取|买|写|吃|谈|面|体检|复查)完[^，。了]{0,8}了|已经[^，。]{0,6}(?:过|完|好)[^，。]{0,8}了|(?:^|[，,])[^，。]{0,10}(?:已经|都)(?:办|做|弄|交|搞|处理)(?:好|完|定)",
    re.IGNORECASE,
)
_FRAMES = re.compile(r"^(?:上海|.)$")


@dataclass(frozen=True, slots=True)
class Amendment:
    """A change found beside what is known: the draft, and by how many seconds it shifts an event
    when it names no new time."""

    draft: Draft
    shift: float = 0.0


def amend(turn: Turn, drafts: Sequence[Draft], tz: tzinfo) -> Amendment | None:
    """The change a short turn makes to something said before; None when it makes none, or when
    one of `drafts` already is one."""
    text = turn.text.strip()
    if not text or len(text) > MAX_CHARACTERS or any(draft.kind in CHANGES for draft in drafts):
        return None
    reference = datetime.fromtimestamp(turn.at, tz)
    subject = drafts[0].subject if drafts else _subject(turn)
    base = Draft(DraftKind.MOVE, text, subject, place=find_place(text), people=find_people(text))
    return (
        _shifted(base, text)
        or _asked(turn, text, tz)
        or _rescheduled(base, text, reference)
        or _corrected(base, text, reference)
        or _ended(base, text)
    )
