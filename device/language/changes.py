"""Words that change what was said before: cancelled, moved, corrected, done."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from enum import StrEnum

from device.language.kept import kept
from device.language.patterns import Bilingual

__all__ = ["ChangeKind", "cancels", "change_of", "corrects", "ends_of_move", "finishes", "shift_of"]


class ChangeKind(StrEnum):
    """What a change does to what it changes."""

    CANCEL = "cancel"
    MOVE = "move"
    CORRECT = "correct"
    DONE = "done"


DAY = 86_400.0

_MOVE_ZH = re.compile(
    r"(?:改|挪|推|延|调|移|换|提前|推迟|延期|延后|顺延|延误|往[前后](?:推|调|挪|移)?)(?:期|时间|天)?(?:了)?(?:，)?(?:改|挪|推|调|变|往后|往前)?(?:到|至|成|为|在)"
    r"|(?:时间|日期|日子|地点)(?:改|变|换)(?:了|成|到)(?:，)?(?:变成|改成|改到)?|变成(?=.{0,4}[\d一二三四五六七八九十])|(?<=[^，。]{2})(?:推迟|延后|延期|提前)(?=[一两二三四五六七八九十半几\d]+个?(?:天|周|星期|礼拜|月|小时|分钟|钟头))"
    r"|往[前后](?:推|调|挪|移|延)(?=[一两二三四五六七八九十半几\d])|先放一放，?等"
)
_MOVE_EN = Bilingual(
    en=r"\b(?:mov(?:e|ed|es|ing)|push(?:ed|ing)?|shift(?:ed)?|re-?schedul(?:e|ed)|postpon(?:e|ed)|delay(?:ed)?|slid|swap(?:ped)?|switch(?:ed)?|put off)\b[^.;]*?\b(?:to|until|till|for|by)\b|\bchanged? (?:\S+ ){0,4}?to\b|\b(?:bring|brought|put|pulled) (?:\S+ ){0,4}?(?:forward|back|up|off) (?:to|until|till|by)\b|\bnow (?:land|arrive|leave|start|begin|happen|take)s?\b|\b(?:is|are|it's) (?:now )?(?:on|at) (?=.{2,20}\bnow\b)|\bmake it(?= .{1,20}(?:instead|[ap]m\b))|\bput .{2,40} on hold until\b|\blet's (?:do|make it|move it|say|have)(?= .{2,30}instead)|\b(?:date|time|day) (?:has )?(?:changed|moved)(?: to|, (?:it's|now))?(?: now)?|\bmoves to\b",
    hints="bring|brought|change|delay|let's |make it|mov|now|postpone|pulled|push|put|schedule|shift|slid|swap|switch",
)
_MOVED = Bilingual(
    en=r"\b(?:got|was|is|were|been|has been|are) (?:\w+ )?(?:moved|pushed|shifted|rescheduled|postponed|delayed|brought forward|bumped|put back)\b|^(?:move|push|shift|reschedule|postpone|delay|bring|swap)\b|\blet's (?:move|push|shift|reschedule|postpone|delay)\b|\bnow (?:land|arrive|leave|start|begin)s?\b|\bmake it .{1,20}(?:instead|[ap]m\b)|\blet's do .{2,30}instead\b|\bmov(?:es|ed) to (?:the )?(?:\w+day|\d|next|tomorrow|the)|\b(?:date|time|day) (?:has )?(?:changed|moved)\b|\b(?:flight|meeting|call|appointment|interview|dinner|lunch|class|party|trip|check-up|session|surgery|visit)s? (?:has |was |is |got )?(?:moved|pushed|shifted|delayed|postponed|rescheduled)\b|\bon hold until\b",
    hints="bring|brought forward|bumped|changed|delay|let's |make it |move|now |on hold until|postpone|push|put back|reschedule|shift|swap",
)
_CANCEL = Bilingual(
    zh=r"(?<![不没别])(?<!不要)(?<!不用)(?<!没有)取消(?!不|政策|费|按)|(?<!要)不(?:去|来|买|办|参加|见|约|订|开|考|报|搬|看|搞|做|需要|想去|打算)(?:那[台个家])?(?:了|\S{1,4}了)|(?:算了|还是)，?不[去来买办见约搞]|泡汤|黄了|退掉|退[订票课款]|退了(?!休)|(?:去|来|参加)不了|别(?:订|去|约|买|来|报)了|放弃了?|不搞了|说好的.{1,10}不",
    en=r"(?<!don't )(?<!not )(?<!can't )(?<!noise-)(?<!noise )\bcancel(?:l?ed|l?ing|s)?\b(?! (?:culture|policy))|\bcall(?:ed|ing|s)? off\b|\bcall (?:it|that|the \w+) off\b|\b(?:is|are|was) off\b(?! (?:to|the|work|limits))|\bgot called off\b|\bpull(?:ing|ed)? out of\b|\bdropp?(?:ed|ing)? (?:out of|the|my)\b|(?<!i'm )\bnot (?:going|buying|doing|happening|coming|attending)\b(?! to (?:be|lie)| (?:any|much|well|great|so|too|bad|home))|\bi'm not (?:going|buying|doing|coming|attending)\b(?! to (?:be|lie|say|pretend)| (?:any|much|well|great|so|too|bad|home))|\b(?:won't|will not) (?:be )?(?:going|go|coming|attend|make it)\b|\bscrap(?:ped|ping)?\b|\bno longer (?:going|need|want|buying|moving)\b|\bcan(?:'t|not) (?:make (?:it|the)|come to|go to|see \w+ after all|visit|attend)\b|(?<!never )(?<!not )(?<!n't )(?<!to )\bforget (?:it|about)\b|\bnever mind\b|\bskipp?(?:ing|ed)?\b(?= (?:the|it|dinner|lunch|class|this))|\b(?:we|i) don't need it\b|\bback(?:ed|ing) out of\b|\bpull the plug\b|\bfell through\b",
    hints=" off|attend|back|call|cancel|come to|drop|fell through|forget |go to|ill not|make |never mind|no longer |not |on't|pull|scrap|see |skip|visit",
)
_ONLY = Bilingual(
    zh=r"只",
    en=r"\bonly\b",
    hints="only",
)
_HISTORY = Bilingual(
    zh=r"原来(?!如此)|后来|本来",
    en=r"\boriginally\b",
    hints="originally",
)
_CORRECT = Bilingual(
    zh=r"^(?:啊|哦|哎呀)?(?:不对|不是的|更正|纠正|说错|我?(?:刚才|刚刚)?(?:说|搞|记|写|弄)错|错了|刚才说的)|不对[，,]|应该是.*(?:不是|而不是)|是.{1,20}[，,]?而?不是(?!吗)|^不是.{1,12}[，,]?是|我?(?:说|搞|记)错了",
    en=r"^(?:no|actually|wait|sorry|correction|oops|scratch that|and a correction|let me correct)\b[,:\s—-].*\b(?:it'?s|it is|it was|should be|meant|it starts)\b(?! (?:all|so|really|just|been|good|great|nice|fine|ok|okay|hard|tough|my|like|about|important|amazing|a )\b)|^correction\b|^scratch that\b|\b(?:i meant|correction)\b|\bis (?:on|at) .{1,30}, not\b|\bgot (?:that|it) wrong\b|\bi (?:misspoke|mixed (?:it|that|them) up)\b|^(?:not [A-Z]\w+,? (?:it (?:was|is)|but))|\b(?:is|was|it's) .{1,30}, not (?!sure|bad|yet|only|just)\w+",
    hints=", not|correction|got |i mi|it|meant|not |scratch that|should be",
)
_NO_CORRECTION = Bilingual(
    en=r"\b(?:not sure|actually (?:free|really|quite|pretty|going))\b|^actually i(?:'m| am)\b",
    hints="actually |not sure",
)
_DONE = Bilingual(
    zh=r"(?:去|办|做|看|打|考|面|搬|查|交|开|买|弄|吃|投|写|跑|聚|玩|补|修|付|签|寄|取|拿|收|还|洗|剪|领|缴|填|发|送|接|弄|处理|检查)(?:完|好|过|出去|回来|下来|上)了|看过(?=了|$)|回来了|结束了|搞定了?|完成了|已经(?:去|办|做|取|买|交|付|拿|寄|还|签|订|改|换|退|收|发|写|打|补|修|洗|看)\S{0,2}了(?!解)|办下来|下来了|完了$|(?:取|交|付|寄|还|发)了$|考?过了$",
    en=r"\b(?:done|finished|completed|over with|is over|back from|got back|wrapped up|all sorted|sorted(?: now| out)?|came through|picked up|handed in|paid (?:the|my|off (?:the|my))|turned in|taken care of|(?:is|are|got|been) (?:fixed|signed|repaired|done|sorted|paid|picked up|delivered)|already (?:went|did|paid|picked|sent|got|been|changed|bought|collected)|checked off|passed the)\b",
    hints="already |back from|came through|checked off|completed|delivered|done|finished|fixed|got back|handed in|is over|over with|paid|passed the|picked up|repaired|signed|sorted|taken care of|turned in|wrapped up",
)
_NOT_DONE = Bilingual(
    zh=r"没|还(?:没|未)|不|吃好玩好|玩好了|^(?:[^，。]{0,4}，)?(?:那|就|可以|我就)[^。]*好了|休息好了|聊天|对话",
    en=r"\bfor you\b|\bever done\b|\b(?:stuff|things?|work|it) (?:get(?:ting)? )?done\b|\b(?:chat|conversation)\b|\bthings?\b.*\bdone\b|\bget(?:ting)? \w+ done\b|\b(?:not|n't|never|well done|until|before|when|once|to get|to have)\b|\b(?:will|gets?|going to) be\b",
    hints="for you| be|before|done|hat|n't|never|not|once|onversation|thing|to get|to have|until|when",
)

_UNITS_ZH = {
    "分钟": 60.0,
    "小时": 3600.0,
    "钟头": 3600.0,
    "天": DAY,
    "周": 7 * DAY,
    "星期": 7 * DAY,
    "礼拜": 7 * DAY,
    "个月": 30 * DAY,
}
_UNITS_EN = {
    "minute": 60.0,
    "hour": 3600.0,
    "day": DAY,
    "week": 7 * DAY,
    "fortnight": 14 * DAY,
    "month": 30 * DAY,
}
_DIGITS = {"一": 1.0, "两": 2.0, "二": 2.0, "三": 3.0, "四": 4.0, "五": 5.0, "六": 6.0, "七": 7.0, "八": 8.0, "九": 9.0, "十": 10.0, "半": 0.5, "几": 3.0,
           "a": 1.0, "an": 1.0, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "six": 6.0, "half an": 0.5, "a couple of": 2.0, "a few": 3.0}  # fmt: skip
_SHIFT_ZH = re.compile(
    r"(?P<way>推迟|延后|延期|提前|往[前后](?:推|调|挪|移|延)|晚|早)(?P<n>[一两二三四五六七八九十半几]|\d+(?:\.\d+)?)个?(?P<half>半)?(?P<unit>分钟|小时|钟头|天|周|星期|礼拜|个月|月)"
)
_SHIFT_EN = re.compile(
    r"\b(?P<way>postpon\w*|delay\w*|push\w*|move\w*|brought|bring|put|pulled|shift\w*)\b[^.;]*?\b(?:(?:by|back|forward|out|off)\s)+(?P<n>a couple of|a few|half an|an?|one|two|three|four|five|six|\d+)\s(?P<unit>minute|hour|day|week|fortnight|month)s?\b(?P<tail>[^.;]*)",
    re.IGNORECASE,
)
_SOONER = re.compile(r"提前|往前|早|\b(?:brought|bring|forward|earlier)\b", re.IGNORECASE)


@kept
def ends_of_move(sentence: str) -> tuple[int, ...]:
    """Where moving words end: the new time stands right after them."""
    if _HISTORY.search(sentence):
        return ()
    return tuple(m.end() for p in (_MOVE_ZH, _MOVE_EN) for m in p.finditer(sentence))


@kept
def shift_of(sentence: str) -> float:
    """Seconds an event moves by ("推迟一周", "pushed back two days"); sooner is negative, 0 none."""
    match = _SHIFT_ZH.search(sentence)
    units = _UNITS_ZH
    if match is None:
        match, units = _SHIFT_EN.search(sentence), _UNITS_EN
    if match is None:
        return 0.0
    number, unit = match["n"].lower(), match["unit"].lower()
    amount = _DIGITS[number] if number in _DIGITS else float(number)
    seconds = amount * units.get(unit, units.get(f"个{unit}", 0.0))
    return -seconds if _SOONER.search(match.group()) else seconds


@kept
def corrects(sentence: str) -> bool:
    """Whether a sentence takes back what was said before it."""
    return bool(_CORRECT.search(sentence)) and not _NO_CORRECTION.search(sentence)


@kept
def cancels(sentence: str) -> Bilingual | None:
    """The rule by which a sentence calls something off, or None."""
    return _CANCEL if _CANCEL.search(sentence) and not _ONLY.search(sentence) else None


@kept
def finishes(sentence: str) -> Bilingual | None:
    """The rule by which a sentence reports something done, or None."""
    if _DONE.search(sentence) and not _NOT_DONE.search(sentence):
        return _DONE
    return None


def change_of(sentence: str) -> ChangeKind | None:
    """What a sentence changes, judged by its words alone."""
    if corrects(sentence):
        return ChangeKind.CORRECT
    if (
        shift_of(sentence)
        or _MOVED.search(sentence)
        or (_MOVE_ZH.search(sentence) and not _HISTORY.search(sentence))
    ):
        return ChangeKind.MOVE
    if cancels(sentence) is not None:
        return ChangeKind.CANCEL
    return ChangeKind.DONE if finishes(sentence) is not None else None
