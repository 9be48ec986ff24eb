"""Places and people named in a sentence, by the words around them."""

from __future__ import annotations

import re

from device.language.words import HAN, RELATIONS_EN, RELATIONS_ZH

__all__ = ["find_people", "find_place"]

_PLACE_ZH = re.compile(rf"(?:去|到|在|回|来|飞|前往|抵达|搬到|住)了?([{HAN}A-Za-z0-9]{{2,14}})")
_PLACE_STOP = re.compile(
    r"出差|旅[游行]|开会|参加|吃|玩|看|见|办|上班|工作|上学|读|学|打|买|找|拿|取|接|复查|检查|散步|逛|过|住|生活|定居|聚|约|"
    r"面试|考试|唱|跑|下棋|休息|度假|体检|钓|爬|的时候|的|了|和|跟|把|给|做|当|等|一[趟起下个]|附近|那边|这边|里|，"
)  # fmt: skip
_NOT_A_PLACE = re.compile(
    r"^(?:时候|一起|家里?|那里|这里|哪里?|这|那|我|你|他|她|前|后|底|现在|今天|明天|昨天|时|了|过|想|说|提醒|做|努力|考虑|学习|准备|"
    r"最|不|没|很|说|帮|第|下周|上周|周|月|年|\d)"
)  # fmt: skip
_PLACE_EN = re.compile(
    r"\b(?:in|at|to|from|near|visit(?:ing|ed)?|on)\s+(?:the\s)?"
    r"((?:[A-Z][\w'’.-]+|St)(?:\s(?:[A-Z][\w'’-]+|of|de|and(?=\s[A-Z])))*)"
)
_NOT_PLACES_EN = frozenset(
    [
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
        "Mondays",
        "Tuesdays",
        "Wednesdays",
        "Thursdays",
        "Fridays",
        "Saturdays",
        "Sundays",
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
        "Christmas",
        "I",
        "Dr",
        "Mr",
        "Mrs",
        "Ms",
        "Thanksgiving",
        "Easter",
        "Halloween",
    ]
)
_SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜"
    "范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文梅"
)
_WITH_ZH = r"(?:和|跟|与|同|陪|见到?|约了?|请|找|叫上|带着?|看望?)"
_PERSON_ZH = re.compile(
    rf"{_WITH_ZH}((?:老|小|阿)[{HAN}]|[{_SURNAMES}][{HAN}]{{1,2}}(?=$|[，。！？、\s]|一起|去|吃|见|看|聊|在|打|说|的|喝|玩|开|下)"
    rf"|[{_SURNAMES}](?:先生|女士|小姐|老师|医生|总|经理|教授|阿姨|叔叔|哥|姐))"
)
_RELATION_ZH = re.compile("|".join(sorted(RELATIONS_ZH, key=lambda w: (-len(w), w))))
_PERSON_EN = re.compile(
    r"\b(?:with|meet(?:ing)?|met|see(?:ing)?|saw|visit(?:ing|ed)?|call(?:ed|ing)?|and|ask(?:ed|ing)?|to)\s+"
    r"((?:Dr|Mr|Mrs|Ms|Prof)\.?\s[A-Z][\w'’-]+|[A-Z][a-z'’-]+(?:\s[A-Z][a-z'’-]+)?)"
)
_RELATION_EN = re.compile(
    rf"(?i)\b(?:my|our)\s+({'|'.join(sorted(RELATIONS_EN, key=lambda w: (-len(w), w)))})s?\b"
)
MAX_PLACE_CHARACTERS = 12


def find_place(text: str) -> str:
    """The first place a sentence names, or an empty string."""
    for match in _PLACE_ZH.finditer(text):
        name = _PLACE_STOP.split(match.group(1), maxsplit=1)[0]
        if 2 <= len(name) <= MAX_PLACE_CHARACTERS and not _NOT_A_PLACE.match(name):
            return name
    for match in _PLACE_EN.finditer(text):
        name = match.group(1).rstrip(".,")
        if name.split()[0].rstrip(".") not in _NOT_PLACES_EN:
            return name
    return ""


def find_people(text: str) -> tuple[str, ...]:
    """People a sentence names: by name, or by what they are to the user; in reading order."""
    found: list[tuple[int, str]] = []
    found += [(m.start(1), m.group(1)) for m in _PERSON_ZH.finditer(text)]
    found += [(m.start(), m.group()) for m in _RELATION_ZH.finditer(text)]
    place = find_place(text)
    for match in _PERSON_EN.finditer(text):
        name = match.group(1)
        if name.split()[0].rstrip(".") in ("Dr", "Mr", "Mrs", "Ms", "Prof") or (
            name.split()[0] not in _NOT_PLACES_EN and name not in place
        ):
            found.append((match.start(1), name))
    found += [(m.start(1), m.group(1).lower()) for m in _RELATION_EN.finditer(text)]
    return tuple(dict.fromkeys(name for _, name in sorted(found)))
