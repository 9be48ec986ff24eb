"""What the user says about themself: name, address, phone, birthday, job, city, relations.

One table serves both directions: statements ("我叫林晓") give values, questions ("我叫什么") give the
key that is asked for. 我 / 我的 / 本人 / I / my / me all mean the one user.
"""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from dataclasses import dataclass

from device.language.tokens import language_of
from device.language.words import HAN, RELATIONS_EN, RELATIONS_ZH

__all__ = [
    "Attribute",
    "attribute_asked",
    "attribute_label",
    "find_attributes",
    "is_user",
]

USER_SPEAKERS = frozenset({"user", "me", "我", "本人", "用户", "human"})


@dataclass(frozen=True, slots=True)
class Attribute:
    """One stated attribute of the user, e.g. key `name`, value `林晓`."""

    key: str
    value: str
    text: str
    """The words that state it."""


def is_user(speaker: str) -> bool:
    """Whether this speaker is the phone's user."""
    return speaker.strip().lower() in USER_SPEAKERS


_END = r"(?=$|[，。！？；,.!?;\n]|\s+(?:and|but|so|because)\b|\s*(?:和|但是|不过|所以|因为|，))"
_NAME_EN = r"([A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+){0,2})"
_NAME_ZH = rf"([{HAN}·]{{2,6}}?|[A-Za-z][\w'-]+)"
_TAIL_ZH = r"(?=$|[，。！？；,.!?;\s]|很高兴|今年|是|来自|住)"
_DAY_ZH = r"((?:\d{2,4}年)?\d{1,2}月\d{1,2}[日号]|[〇零一二三四五六七八九十]{1,3}月[一二三四五六七八九十]{1,3}[日号]?)"
_DAY_EN = (
    r"((?:\d{1,2}(?:st|nd|rd|th)?\s(?:of\s)?)?(?:january|february|march|april|may|june|july|august|"
    r"september|october|november|december)(?:\s\d{1,2}(?:st|nd|rd|th)?)?(?:,?\s\d{4})?)"
)
_SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜"
    "范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文梅"
)
_NOT_A_NAME = frozenset(
    [
        "什么",
        "啥",
        "他",
        "她",
        "你",
        "我",
        "它",
        "醒",
        "车",
        "外卖",
        "一声",
        "人",
        "上",
        "做",
        "不",
        "你们",
        "我们",
        "大家",
        "起来",
        "名字",
    ]
)

_STATEMENTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("name", re.compile(rf"(?:我叫|我的名字(?:叫|是)|本人叫|我名叫|叫我){_NAME_ZH}{_TAIL_ZH}")),
    ("name", re.compile(rf"我姓[{HAN}]，([{HAN}]{{2,3}})(?=[，。,.]|$)")),
    ("name", re.compile(rf"(?:^|[，。])我是([{_SURNAMES}][{HAN}]{{1,2}})(?=[，。,.]|$)")),
    ("name", re.compile(r"(?:^|[.!]\s)(?:Hi,?\s|Hey,?\s|Hello,?\s)?I(?:'m| am) ([A-Z][\w'’-]+ [A-Z][\w'’-]+)(?=[,.]|$)")),
    ("name", re.compile(rf"(?i:\bmy name is|\bmy name's|\bcall me|\bI am called)\s+{_NAME_EN}")),
    ("address", re.compile(r"我(?:的)?(?:家|家庭)?(?:的)?(?:地址|住址)(?:是|在|：|:)\s*([^，。！？；,!?;\n]{3,40})")),
    ("address", re.compile(r"我(?:现在)?(?:家)?住在?([^，。！？；,!?;\n]{2,30}?)(?:里|附近)?(?=$|[，。！？；,!?;\n])")),
    ("address", re.compile(r"(?:^|[，。,])家(?:就)?住在?([^，。！？；,!?;\n]{2,30}?)(?=$|[，。！？；,!?;\n])")),
    ("address", re.compile(r"我[^，。]{0,8}搬到了?([^，。！？；\n]{2,24}?(?:\d+号?|[幢栋室楼座]))(?=$|[，。！？；\n])")),
    ("address", re.compile(r"(?i)(?:^|[.!]\s)home is\s+(.{3,80}?)(?=,\s*(?:if|when|so|in case)|$|[.!?;\n])")),
    ("address", re.compile(rf"(?i)\bmy (?:home )?address is\s+(.{{3,80}}?){_END}")),
    ("address", re.compile(r"(?i)\bI live (?:at|on)\s+(.{3,80}?)(?=$|[.!?;\n])")),
    ("city", re.compile(rf"我(?:现在)?(?:在|住在|搬到了?|搬来了?)([{HAN}]{{2,5}}?)(?:市)?(?:生活|工作|上班|定居|上学)")),
    ("city", re.compile(r"(?i:\bI (?:now |currently )?live in|\bI(?:'ve| have)? moved to)\s+([A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+){0,2})")),
    ("hometown", re.compile(rf"(?:我来自|我老家(?:在|是)|我的?家乡(?:在|是)|我出生在)([{HAN}]{{2,8}}?)(?=$|[，。！？；,!?;\n的])")),
    ("hometown", re.compile(r"(?i:\bI(?:'m| am| come) from|\bmy hometown is|\bI was born in)\s+([A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+){0,2})")),
    ("phone", re.compile(r"我的?(?:手机|电话|手机号|电话号码|手机号码|号码)(?:号码?)?(?:是|：|:)?\s*(\+?[\d\- ]{6,18}\d)")),
    ("phone", re.compile(r"(?i)\bmy (?:phone|cell|mobile)?\s?(?:number)?\s?(?:is|:)\s*(\+?[\d\- ()]{6,18}\d)")),
    ("email", re.compile(r"(?i)(?:my e-?mail(?: address)? is|我的?(?:邮箱|电子邮件)(?:地址)?(?:是|：|:)?)\s*([\w.+-]+@[\w-]+\.[\w.-]*\w)")),
    ("birthday", re.compile(rf"我的?生日(?:是|在|：|:)?\s*(?:农历)?{_DAY_ZH}")),
    ("birthday", re.compile(rf"(?i)\bmy birthday(?: is|'s)(?: on)?(?: the)?\s+{_DAY_EN}")),
    ("job", re.compile(rf"(?:我的?(?:工作|职业)是|我是一?(?:名|个|位))([{HAN}A-Za-z]{{2,12}}?)(?=$|[，。！？；,!?;\n])")),
    ("job", re.compile(r"(?i)\bI(?:'m| am) an? ((?!bit|little|lot|fan|huge|big)[a-z]+(?: [a-z]+){0,2})(?= (?:at|for) )")),
    ("job", re.compile(rf"(?i)\b(?:I work as an?|my job is(?: an?)?|I'm working as an?)\s+([a-z][a-z -]{{2,40}}?){_END}")),
    ("company", re.compile(rf"我在([{HAN}A-Za-z0-9]{{2,12}}?)(?:公司|集团)?(?:上班|工作|任职)")),
    ("company", re.compile(r"(?i:\bI work (?:at|for))\s+([A-Z][\w&'’-]*(?:\s[A-Z][\w&'’-]*){0,3})")),
    ("age", re.compile(r"我(?:今年|现在)?(\d{1,3})岁")),
    ("age", re.compile(r"(?i)\bI(?:'m| am)\s+(\d{1,3})\s+years? old")),
    ("allergy", re.compile(rf"我对([{HAN}A-Za-z、和]{{1,16}}?)(?:严重|有点|会)?过敏")),
    ("allergy", re.compile(rf"(?:^我?|我[^。]{{0,12}}[，,、])([{HAN}]{{1,6}}?)过敏")),
    ("allergy", re.compile(rf"(?i)\bI(?:'m| am)\s+(?:severely |very )?allergic to\s+([a-z ,]{{3,40}}?){_END}")),
)  # fmt: skip

_QUESTIONS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("name", re.compile(r"我(?:的名字)?(?:是)?叫(?:什么|啥)|我的?(?:名字|姓名)(?:是|叫)?(?:什么|啥)?|我是谁|(?i:\b(?:what|who)(?:'s| is| was)? my (?:full |first |last )?name\b|who am i\b|do you (?:know|remember) my name)")),
    ("phone", re.compile(r"我的?(?:手机|电话)(?:号码?)?(?:是)?(?:多少|什么|几|号)?|(?i:\bmy (?:phone|cell|mobile)(?: number)?\b)")),
    ("email", re.compile(r"我的?(?:邮箱|电子邮件)|(?i:\bmy e-?mail\b)")),
    ("birthday", re.compile(r"我的?生日|我(?:是)?(?:哪天|什么时候|几月几[号日])(?:出生|生日|过生日)|(?i:\bmy birthday\b|when was i born)")),
    ("address", re.compile(r"我(?:的)?(?:家|家庭)?(?:的)?(?:地址|住址)|我(?:家)?(?:住|在)(?:在)?(?:哪|什么地方)|我家在哪|(?i:\bmy (?:home )?address\b|where do i live\b)")),
    ("city", re.compile(r"我(?:现在)?(?:住|在|生活)(?:在)?(?:哪个|什么)城市|(?i:\b(?:what|which) city (?:do i live|am i)|\bmy city\b)")),
    ("hometown", re.compile(r"我(?:的)?(?:老家|家乡)|我(?:是)?(?:来自)?哪里人|(?i:\bmy hometown\b|where (?:am|do) i (?:come )?from)")),
    ("company", re.compile(r"我在(?:哪|什么)(?:里|家|个)?(?:公司)?(?:上班|工作)|我的公司|(?i:\bwhere do i work\b|\bmy (?:company|employer)\b)")),
    ("job", re.compile(r"我的?(?:工作|职业)是(?:什么|啥)|我是做什么|(?i:\bmy (?:job|occupation|profession)\b|what do i do for (?:a living|work))")),
    ("age", re.compile(r"我(?:今年)?(?:多大|几岁|多少岁)|(?i:\bhow old am i\b|\bmy age\b)")),
    ("allergy", re.compile(r"我对(?:什么|啥|哪些).*过敏|(?i:\bwhat am i allergic to\b|\bmy allerg(?:y|ies)\b)")),
)  # fmt: skip

_RELATION_ZH = "|".join(sorted(RELATIONS_ZH, key=lambda word: (-len(word), word)))
_RELATION_EN = "|".join(sorted(RELATIONS_EN, key=lambda word: (-len(word), word)))
_RELATION_STATED = re.compile(
    rf"(?:我(?:的|家)?的?|^|[，。])({_RELATION_ZH})(?:的名字)?(?:叫|名叫|是叫){_NAME_ZH}{_TAIL_ZH}"
    rf"|(?i:\bmy (?:own |little |older |younger )?({_RELATION_EN})(?:'s name is|’s name is| is called| is named| is|,)?)\s+{_NAME_EN}"
)
_RELATION_ASKED = re.compile(
    rf"我(?:的|家)?的?({_RELATION_ZH})(?:的名字)?(?:是)?叫(?:什么|啥)"
    rf"|(?i:\bmy ({_RELATION_EN})(?:'s|’s) name\b)"
)

_LABELS_ZH = {
    "name": "名字", "address": "地址", "phone": "电话", "email": "邮箱", "birthday": "生日",
    "job": "职业", "city": "城市", "hometown": "老家", "company": "公司", "age": "年龄",
    "allergy": "过敏",
}  # fmt: skip


def find_attributes(text: str, speaker: str = "user") -> list[Attribute]:
    """Attributes the user states in `text`; empty for any other speaker and for questions."""
    if not is_user(speaker):
        return []
    found: dict[str, Attribute] = {}
    for match in _RELATION_STATED.finditer(text):
        chinese, chinese_name, english, english_name = match.groups()
        relation = RELATIONS_ZH[chinese] if chinese else RELATIONS_EN[english.lower()]
        _keep(found, f"{relation}.name", chinese_name or english_name, match.group())
    for key, pattern in _STATEMENTS:
        stated = None if key in found else pattern.search(text)
        if stated is not None:
            _keep(found, key, stated.group(1), stated.group())
    return list(found.values())


def _keep(found: dict[str, Attribute], key: str, value: str, text: str) -> None:
    value = value.strip(" ,，:：").removesuffix("'s").removesuffix("’s")
    question = any(mark in value for mark in ("什么", "哪", "谁", "多少", "吗", "几"))
    if value and not question and value not in _NOT_A_NAME:
        found[key] = Attribute(key, value, text.strip(" .，。!"))


def attribute_asked(query: str) -> str | None:
    """The key a question about the user asks for (`name`, `sister.name` …), or None."""
    match = _RELATION_ASKED.search(query)
    if match is not None:
        chinese, english = match.groups()
        relation = RELATIONS_ZH[chinese] if chinese else RELATIONS_EN[english.lower()]
        return f"{relation}.name"
    if find_attributes(query):
        return None
    return next((key for key, pattern in _QUESTIONS if pattern.search(query)), None)


def attribute_label(key: str, query: str) -> str:
    """The key in the query's own language, to stand before a value."""
    if language_of(query) != "zh":
        return key.replace(".", "'s ")
    relation, dot, part = key.rpartition(".")
    label = _LABELS_ZH.get(part, part)
    asked = next(
        (w for w in sorted(RELATIONS_ZH) if w in query and RELATIONS_ZH[w] == relation), ""
    )
    return f"{asked or relation}的{label}" if dot else label
