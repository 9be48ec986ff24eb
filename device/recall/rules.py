"""The router's coarse stage: rules that are sure of themselves (002, section on the router).

Read in order; the first that fits decides. What none fits goes to the fine stage.

    an attribute of the user            → working        my address, 我叫什么
    the talk in progress                → working        where were we, 刚才说到哪儿了
    what was said, and how              → raw            what did I tell you about, 原话
    long, or several names              → raw
    why                                 → raw
    a time, a plan, a preference        → structured     next week, 什么时候, do I like
      … of someone else                 → structured and raw
    someone else                        → raw
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from device.language import attribute_asked, find_times
from device.language.entities import find_people, find_place
from device.language.kept import kept
from device.language.words import RELATIONS_ZH
from device.memory.records import Layer
from protocol.models import lexicon
from protocol.models.tokens import tokens

__all__ = ["VAGUE_GRAINS", "coarse"]

LONG_UNITS = 18
"""Words (and half of the Chinese characters) from which a query is long."""
CJK_CHARACTERS_A_WORD = 2
SEVERAL_NAMES = 2
LOOSE_GRAINS = frozenset({"year"})
"""Times beside which an attribute is still asked for: how old am I this year."""
VAGUE_GRAINS = frozenset({"second"})
"""Times that name no day: "where do I live now" asks for no time index."""

_PROPER = re.compile(
    r"(?<=[\w,] )(?!I\b)[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*|[《“「『][^》”」』]+[》”」』]"
)
_CALENDAR = re.compile(
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|January|February|March|April|May|June|July"
    r"|August|September|October|November|December|Christmas|Easter"
)
_SELF = re.compile(r"[我咱]|\b(?:i|i'm|i've|my|mine|me|myself|we|our|us)\b", re.IGNORECASE)
_IN_PROGRESS = lexicon.Words(
    "说到哪 聊到哪 刚才我 刚刚我 刚才的 接着 继续 上一句 手头 正在办 前面那一步",
    r"where (?:were|did) we|carry on|continue|a (?:moment|second) ago|just now|resume"
    r"|last (?:sentence|message|question)|are we (?:doing|working)|current task",
)
_SAID = lexicon.Words(
    "原话 原文 原样 逐字 措辞 怎么说 怎么讲 怎么评价 怎么形容 说了什么 讲了什么 聊了 聊过 聊的 "
    "谈过 谈了 说过 讲过 提过 提到 讨论 抱怨 吐槽 推荐 分享 细节 经过 情节 "
    "来龙去脉 前因后果 那句 那段 复述 告诉过 跟你说 对你说 和你说 上次说 写的",
    r"exact(?:ly)?|words?|wording|phras(?:e[ds]?|ing)|quote[ds]?|verbatim|sentences?|paragraphs?"
    r"|did (?:i|you|we) (?:say|tell|talk|chat|discuss|mention|write|describe|complain)"
    r"|(?:i|you|we) (?:said|told|talked|chatted|discussed|mentioned|wrote|described|complained)"
    r"|recommend(?:ed)?|suggest(?:ed)?|conversation|chats|ranting|shared|stor(?:y|ies)|jokes?|details?"
    r"|talk(?:ed)? (?:about|through)|say about|opinions?",
)
_OWN_LIFE = (
    lexicon.WHEN_ASKED,
    lexicon.PREFERENCE,
    lexicon.HABIT,
    lexicon.CHANGE,
    lexicon.PLAN,
)


@dataclass(frozen=True, slots=True)
class _Read:
    """A query with what the rules look at."""

    query: str
    folded: str
    grains: frozenset[str]
    own: bool
    names: frozenset[str]


def coarse(query: str, at: datetime) -> tuple[Layer, ...]:
    """The layers of `query`, asked at `at` (aware); empty when no rule is sure."""
    return _decided(query, _grains(query, at))


@kept
def _decided(query: str, grains: frozenset[str]) -> tuple[Layer, ...]:
    read = _Read(query, query.casefold(), grains, bool(_SELF.search(query)), _names(query))
    if read.grains <= LOOSE_GRAINS and attribute_asked(query) is not None:
        return (Layer.WORKING,)
    if _SAID.search(read.folded):
        return (Layer.RAW,)
    if _IN_PROGRESS.search(read.folded):
        return (Layer.WORKING,)
    if _is_long(query) or len(read.names) >= SEVERAL_NAMES or lexicon.REASON.search(read.folded):
        return (Layer.RAW,)
    of_others = bool(read.names) and not read.own
    if read.grains or any(words.search(read.folded) for words in _OWN_LIFE):
        return (Layer.STRUCTURED, Layer.RAW) if of_others else (Layer.STRUCTURED,)
    return (Layer.RAW,) if of_others else ()


def _grains(query: str, at: datetime) -> frozenset[str]:
    """How finely the times that the query names are said."""
    return frozenset(time.grain for time in find_times(query, at)) - VAGUE_GRAINS


def _is_long(query: str) -> bool:
    cut = tokens(query)
    return len(cut.words) + cut.cjk / CJK_CHARACTERS_A_WORD >= LONG_UNITS


def _names(query: str) -> frozenset[str]:
    """Names, titles and a place that the query names; 我妈 and "my boss" are the user's own."""
    named = {name for name in _PROPER.findall(query) if not _CALENDAR.match(name)}
    people = (name for name in find_people(query) if name not in RELATIONS_ZH)
    named.update(name for name in people if name.istitle() or not name.isascii())
    place = find_place(query)
    return frozenset(named | {place} if place else named)
