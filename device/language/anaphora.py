"""What "that trip", "it", "她的", "第二个" point back to among what was said before.

`resolve` weighs each earlier statement by the words it shares with the pointing sentence, by the kind
of thing both speak of ("that meal" – "dinner with Priya"), by who is meant (she – my mum) and by order
("the second one", 最后一个); the one said last wins a tie. A sentence that names something nobody spoke
of points nowhere.
"""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from collections.abc import Sequence

from device.language.entities import find_people
from device.language.tokens import content_tokens
from device.language.words import listed

__all__ = ["kinds_of", "pointer_of", "resolve"]

_KINDS: tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...] = tuple(
    (name, re.compile(word, re.IGNORECASE), re.compile(thing, re.IGNORECASE))
    for name, word, thing in (
        ("trip", r"\b(?:trip|travel|journey|holiday|vacation|getaway)\b|出差|旅[行游]|行程|那趟|这趟", r"\b(?:going to|go to|fly(?:ing)?|flight|travel|trip|visit(?:ing)?|abroad)\b|出差|旅[行游]|飞|去[^了]{2,}"),
        ("flight", r"\bflights?\b|航班|飞机|那班|飞", r"\b(?:fly(?:ing)?|flight)\b|飞|航班|机票"),
        ("meeting", r"\b(?:meeting|call|review)\b|会议|那个会|开会|的会|^会|个会", r"\b(?:meet(?:ing)?|call|review|conference)\b|会议|开会|[的个审]会|例会|碰头|评审"),
        ("appointment", r"\b(?:appointment|doctor|dentist)\b|预约|那个号|挂号|复查|牙医", r"\b(?:appointment|dentist|doctor|dr|clinic|check-?up|follow-up)\b|医院|医生|复查|看病|牙|体检"),
        ("check-up", r"\bcheck-?up\b|体检", r"\bcheck-?up\b|体检"),
        ("meal", r"\b(?:dinner|lunch|meal|brunch|breakfast)\b|饭局|聚餐|那顿|吃饭|顿饭", r"\b(?:dinner|lunch|eat(?:ing)?|brunch)\b|吃饭|聚餐|晚饭|午饭|火锅|请.{1,6}吃"),
        ("restaurant", r"\b(?:restaurant|table|place|reservation)\b|那家店|餐厅|饭店|位子", r"\b(?:table|restaurant|reservation)\b|位子|餐厅|饭店|海底捞"),
        ("class", r"\b(?:class|lesson|course)\b|那节课|课程?", r"\b(?:class|lesson|course)\b|课"),
        ("film", r"\b(?:movie|film|cinema)\b|电影", r"\b(?:movie|film|cinema)\b|电影"),
        ("hike", r"\bhik(?:e|ing)\b|爬山|登山", r"\bhik(?:e|ing)\b|爬|登山|香山"),
        ("interview", r"\b(?:interview)\b|面试", r"\binterview\b|面试"),
        ("exam", r"\b(?:exam|test)\b|考[试级过]", r"\b(?:exam|test)\b|考[试级]"),
        ("vaccine", r"\b(?:shots?|vaccin\w+|jab)\b|疫苗|打[完针]", r"\b(?:shots?|vaccin\w+|jab)\b|疫苗"),
        ("parcel", r"\b(?:parcel|package|delivery)\b|快递|包裹", r"\b(?:parcel|package|delivery)\b|快递|包裹"),
        ("race", r"\b(?:race|marathon|run)\b|马拉松|比赛", r"\b(?:race|marathon|10k)\b|马拉松|比赛"),
        ("wedding", r"\bwedding\b|婚礼", r"\bwedding\b|婚礼"),
        ("party", r"\b(?:party|birthday|celebration)\b|生日|派对|聚会", r"\b(?:party|birthday)\b|生日|派对|聚会"),
        ("moving", r"\bthe move\b|\bmoving\b|搬家", r"\bmoving (?:house|home|in|out)\b|\bmove house\b|搬家"),
        ("viewing", r"\bviewing\b|看房", r"\bviewing\b|看房"),
        ("contract", r"\b(?:contract|lease)\b|合同", r"\b(?:contract|lease)\b|合同"),
        ("car", r"\bcar\b|车", r"\bcar\b|车"),
        ("school", r"\b(?:school|parents' evening)\b|家长会|学校", r"\b(?:parents' evening|school)\b|家长会"),
        ("outing", r"\bouting\b|团建", r"\bouting\b|团建"),
        ("surgery", r"\b(?:surgery|operation)\b|手术", r"\b(?:surgery|operation)\b|手术"),
        ("gym", r"\b(?:gym|workout)\b|健身", r"\b(?:gym|workout)\b|健身"),
    )
)  # fmt: skip
"""(kind, as a pointing sentence names it, as the thing itself may be worded)."""
_FEMALE = re.compile(
    r"(?:妈|母亲|姐|妹|奶奶|外婆|姥姥|女儿|闺女|老婆|妻子|媳妇|女朋友|阿姨|女士|小姐)|\b(?:mum|mom|mother|sister|wife|daughter|grandma|aunt|girlfriend|niece|she|mrs|ms)\b",
    re.IGNORECASE,
)
_MALE = re.compile(
    r"(?:爸|父亲|哥|弟|爷爷|外公|姥爷|儿子|老公|丈夫|男朋友|叔|舅|先生)|\b(?:dad|father|brother|husband|son|grandpa|uncle|boyfriend|nephew|he|mr)\b",
    re.IGNORECASE,
)
_SHE = re.compile(r"她|\b(?:she|hers?|herself)\b", re.IGNORECASE)
_HE = re.compile(r"他(?!们)|\b(?:he|his|him|himself)\b", re.IGNORECASE)
_IT = re.compile(
    r"那个|这个|那[趟次场顿件班节]|它|这事|那事|算了|不去了|\b(?:it|that|this|that one|the one|forget it|never mind)\b",
    re.IGNORECASE,
)
_ORDER: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(words, re.IGNORECASE), position)
    for words, position in (
        (r"最后(?:那?一?个|面那个)|\bthe last(?: one)?\b|\bthe latter\b|后者", -1),
        (r"第一个?|前者|前一个|前面那?个|\bthe (?:first|former)(?: one)?\b", 0),
        (r"第二个?|后一个|后面那?个|\bthe second(?: one)?\b", 1),
        (r"第三个?|\bthe third(?: one)?\b", 2),
    )
)
_CHANGING = frozenset(
    listed(
        """
    取消 改到 改成 推迟 提前 挪到 改天 下周 周一 周二 周三 周四 周五 周六 周日 完了 已经 不去
    去了 退掉 了吧 消吧 消了 天吧 前了 那边 边我 出了 过了 好了 到周 吧改 到下 到号 月底 年底
    下午 晚上 迟一 一周 改签 签了 了改 到十 能取 我退 不了 move moves mov cancel push postpon
    delay off done now anymore after instead next week monday tuesday wednesday thursday friday
    saturday sunday late earlier brought forward is are got get let's let do make can't couldn't
    not forget going go skip skipp drop pull pulled out december october evening afternoon one
    pass passed all
    """
    )
)
"""Tokens of changing and of time: they name nothing."""
KIND_WEIGHT, PERSON_WEIGHT, SHARED_WEIGHT = 2.0, 1.5, 1.0


def kinds_of(words: str) -> frozenset[str]:
    """The kinds of thing a pointing sentence names: "that meal" → `meal`."""
    return frozenset(name for name, word, _ in _KINDS if word.search(words))


def pointer_of(words: str) -> str:
    """How a sentence points back: `order`, `she`, `he`, `it`, or empty when it does not."""
    if any(pattern.search(words) for pattern, _ in _ORDER):
        return "order"
    if _SHE.search(words):
        return "she"
    if _HE.search(words):
        return "he"
    return "it" if _IT.search(words) else ""


def resolve(words: str, earlier: Sequence[str]) -> int | None:
    """The position in `earlier` (oldest first) of the statement `words` point back to, or None."""
    if not earlier:
        return None
    ordered = next((position for pattern, position in _ORDER if pattern.search(words)), None)
    if ordered is not None:
        return ordered % len(earlier) if -len(earlier) <= ordered < len(earlier) else None
    scores = [_score(words, statement) for statement in earlier]
    best = max(scores)
    if best > 0:
        return max(position for position, score in enumerate(scores) if score == best)
    points = pointer_of(words)
    named = kinds_of(words) or (_telling(words) and points != "it")
    return len(earlier) - 1 if points == "it" and not named else None


def _score(words: str, statement: str) -> float:
    shared = len(_telling(words) & _telling(statement))
    kinds = sum(1 for _, word, thing in _KINDS if word.search(words) and thing.search(statement))
    people = len(set(find_people(words)) & set(find_people(statement)))
    score = SHARED_WEIGHT * shared + KIND_WEIGHT * kinds + PERSON_WEIGHT * people
    if _SHE.search(words) and _FEMALE.search(statement):
        score += PERSON_WEIGHT
    if _HE.search(words) and _MALE.search(statement):
        score += PERSON_WEIGHT
    return score


def _telling(text: str) -> set[str]:
    return set(content_tokens(text)) - _CHANGING
