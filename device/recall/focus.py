"""What a query is about, without the words that only ask.

"上次说的那个餐厅，帮我订个位" is about 餐厅. With its asking words kept, hardly any memory would
hold a fair share of the query, and pairs of function characters would match everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from device.language.kept import kept
from device.recall.analysis import terms

__all__ = ["focus"]

_ASKING_ZH = re.compile(
    "你?还?(?:能)?记得|上一?[次回]|之前|以前|曾经?|刚[才刚]|(?:我|你|我们)?(?:说|提|聊|讲|谈)(?:过|到过?|了)?的"
    "|[那这](?:个|家|次|件|趟|位|些)|帮我|替我|请问|麻烦|告诉我|想知道|查一?[下查]|一下|来着"
    "|[订留占](?:个|一个)?[位座桌]|预[订定约](?:一?个)?(?:[位座桌])?"
    "|什么时候|什么时间|哪一?[天年次]|几[点号月]|多少|多久|多大|哪[里儿些个位]|什么地方|什么|啥|怎么样?|为[什何]么?"
    "|是谁|和谁|跟谁|谁|吗|呢|[？?]|[它他她](?:的名字)?是|名字是|叫什么|是不是|对吗|有没有|能不能|会不会"
)
_ASKING_EN = re.compile(
    r"\b(?:do you (?:still )?remember|(?:can|could|would) you|please|(?:tell|remind) me|i wonder"
    r"|(?:that |which )?(?:i|you|we) (?:have |had )?(?:once )?(?:mentioned|said|talked about"
    r"|told (?:you|me)(?: about)?)|last time|the other day|book (?:it|that|us|a table)(?: for me)?"
    r"|make a reservation|(?:what|which) (?:day|date|time)"
    r"|what (?:was|is) (?:it|its name|the name of it))\b",
    re.IGNORECASE,
)


_GENERIC = re.compile(
    "安排|计划|日程|行程|活动|打算|事情|事儿?|话题|聊天|聊|谈|说|讲|做|干|去|要|有|我|你|了|过|的|在|是"
    r"|\b(?:plans?|planned|schedule|calendar|agenda|appointments?|happen(?:s|ed|ing)?|going on"
    r"|topics?|we|talk(?:ed)?|discuss(?:ed)?|chat(?:ted)?|about|do|did|doing|done|go|went|have"
    r"|got|up to|anything|something|things?|events?|is|there)\b",
    re.IGNORECASE,
)
"""Words that fit every event."""


def focus(query: str, times: Sequence[str] = ()) -> str:
    """`query` without its asking words; empty when it asks for nothing but `times` it names.

    A query of asking words alone, without a time, is looked for as it is.
    """
    return _focused(query, tuple(times))


@kept
def _focused(query: str, times: tuple[str, ...]) -> str:
    left = _asked(query)
    if not terms(left):
        return "" if times else query
    rest = query
    for time in times:
        rest = rest.replace(time, " ")
    return "" if times and not terms(_GENERIC.sub(" ", _asked(rest))) else left


def _asked(query: str) -> str:
    left = _ASKING_EN.sub(" ", query)
    return left if left.isascii() else _ASKING_ZH.sub(" ", left)
