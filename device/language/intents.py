"""What a sentence is for: a statement worth keeping, a question, a supposition, small talk.

002: stored are preferences, commitments, corrections and named entities; never system text, small
talk, repeated confirmations, and nothing that was only asked, supposed or denied.
"""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re

from device.language.tokens import split_sentences

__all__ = ["is_person", "is_question", "is_supposed", "statements", "worth_remembering"]

MACHINE_SPEAKERS = frozenset(
    [
        "agent",
        "assistant",
        "system",
        "bot",
        "ai",
        "robot",
        "tool",
        "function",
        "chatgpt",
        "助手",
        "系统",
        "机器人",
        "ai助手",
    ]
)
_SYSTEM_TEXT = re.compile(
    r"^\s*(?:正在?(?:加载|连接|更新|下载|搜索)|加载中|连接中|请稍[候等]|网络(?:异常|错误)|操作(?:成功|失败)"
    r"|loading|please wait|connecting|updating|downloading|searching|error\b|\[[^\]]*\]\s*$|<[^>]*>\s*$)",
    re.IGNORECASE,
)
_SMALL_TALK = re.compile(
    r"""^(?:[\W_]|嗯+|哦+|噢|好+的?|好吧|行吧?|可以|对的?|是的?|没错|晓得了?|知道了?|收到|明白了?|谢谢(?:你|您)?|多谢|不客气
    |哈+|呵+|嘿+|早(?:上好|安)?|晚安|晚上好|你好啊?|您好|再见|拜拜|在吗|没事|没关系|不用了?|算了吧?|冲|困死|加油|辛苦了?
    |[啊呀哇吧呢嘛哎唉咯了]+
    |\b(?:ok(?:ay)?|yes|yeah|yep|no|nope|sure|right|great|grand|fine|nice|cool|thanks?(?:\syou)?|thx|lol|haha+
    |hi|hello|hey|bye|good\s(?:morning|night|evening|afternoon)|morning|mm+|hm+|uh+|ah|oh|wow|please|got\sit
    |no\sproblem|you're\swelcome|deep\sbreath|see\syou|there|so\smuch|indeed|exactly|maybe|perhaps|man|my|feet)\b)+$""",
    re.IGNORECASE | re.VERBOSE,
)  # fmt: skip
_WEATHER = re.compile(
    r"天气|太阳(?:真|好)|风有?点?[大小]|又?下雨|下雪|回南天|天(?:亮|黑)得|\bweather\b|\braining\b|\brain again\b"
    r"|\bsunny\b|chucking it down|\bsnowing\b",
    re.IGNORECASE,
)  # fmt: skip
WEATHER_CHARACTERS = 40
"""A longer sentence that mentions the weather is about something else too."""
_QUESTION_END = re.compile(
    r"[?？]\s*[\"'”’)）]*$|[吗呢么]\s*[。！!~～]*$|(?:是不是|对不对|好不好|行不行|可以吗)[。！!]*$"
)
_QUESTION_WORD = re.compile(
    r"什么|哪[里儿个些家天]|怎么|为什么|谁(?!都|也)|多少|几[点个天号]|如何|能不能|可不可以|有没有|要不要|是不是"
    r"|^\s*(?:(?:so|and|but|hey|hi|well|ok(?:ay)?)[,\s]+)*(?:what|when|where|who|whom|whose|which|why|how|can|could|"
    r"would|will|shall|should|do|does|did|is|are|am|was|were|have|has|may)\b",
    re.IGNORECASE,
)  # fmt: skip
_CONDITION = re.compile(
    r"如果|要是|假如|假设|万一|倘若|的话|除非|要不是|\bif\b|\bunless\b|\bin case\b|\bsuppose\b|\bimagine\b|\bwish\b",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r",?\s*\bif (?:you (?:ever |don't )?(?:need|mind|want|like)|needed|possible|that's ok)[^,.!?]*|如果(?:方便|可以|需要)的话，?",
    re.IGNORECASE,
)
"""Conditions that are only manners."""
_MAYBE = re.compile(
    r"可能|也许|或许|大概会|说不定|没准|不一定|开玩笑|\b(?:might|maybe|perhaps|possibly|would have|just kidding)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?<=[，,])\s*")


def is_person(speaker: str) -> bool:
    """Whether a speaker is a human: what a machine says is never a fact about the user."""
    return speaker.strip().lower() not in MACHINE_SPEAKERS


def is_question(sentence: str) -> bool:
    """Whether a sentence, or its last clause, asks."""
    return bool(_QUESTION_END.search(sentence.strip()))


def is_supposed(sentence: str) -> bool:
    """Whether a sentence only supposes: a condition, a wish, a maybe."""
    return bool(_CONDITION.search(sentence) or _MAYBE.search(sentence))


def worth_remembering(text: str, speaker: str = "user", kind: str = "dialogue") -> bool:
    """Whether a turn may hold something to keep. Cheap: it runs on every turn."""
    if kind == "system" or not is_person(speaker):
        return False
    stripped = text.strip()
    if not stripped or _SYSTEM_TEXT.match(stripped):
        return False
    short_weather = len(stripped) <= WEATHER_CHARACTERS and _WEATHER.search(stripped)
    return not (_SMALL_TALK.match(stripped) or short_weather)


def statements(text: str) -> list[str]:
    """The sentences of a turn that state something: questions, conditions and maybes cut away.

    "I fly on Friday, can you book a taxi?" keeps its first clause. A supposition spoils its whole
    sentence: what follows an "if" is no fact either.
    """
    kept = []
    for sentence in split_sentences(_POLITE.sub("", text)):
        if is_supposed(sentence) or _SMALL_TALK.match(sentence) or _SYSTEM_TEXT.match(sentence):
            continue
        stated = _stated(sentence) if is_question(sentence) else sentence
        if stated.strip(" ，,"):
            kept.append(stated.strip(" ，,"))
    return kept


def _stated(question: str) -> str:
    clauses = _CLAUSE.split(question)
    asking = next((i for i, c in enumerate(clauses) if _QUESTION_WORD.search(c)), len(clauses) - 1)
    return "".join(clauses[:asking])
