"""What a turn is for, and which of its sentences state something worth keeping.

002: stored are preferences, commitments, corrections and named entities; never system text, small
talk, repeated confirmations, and nothing that was only asked, ordered, supposed, mocked or quoted.
"""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from enum import StrEnum

from device.language.attributes import attribute_asked
from device.language.changes import ChangeKind, change_of
from device.language.kept import kept
from device.language.modality import (
    is_ironic,
    is_reported,
    is_supposed,
    recovered,
    without_manners,
)
from device.language.patterns import Bilingual
from device.language.smalltalk import is_nod, is_small_talk, is_system_text
from device.language.tokens import split_sentences

__all__ = [
    "Intent",
    "intent_of",
    "is_person",
    "is_question",
    "is_request",
    "statements",
    "worth_remembering",
]


class Intent(StrEnum):
    """What one turn wants."""

    ATTRIBUTE_QUESTION = "attribute_question"
    TIME_QUESTION = "time_question"
    PREFERENCE_QUESTION = "preference_question"
    QUESTION = "question"
    CANCEL = "cancel"
    MOVE = "move"
    CORRECT = "correct"
    DONE = "done"
    REQUEST = "request"
    STATEMENT = "statement"
    SMALL_TALK = "small_talk"
    SYSTEM = "system"


MACHINE_SPEAKERS = frozenset(
    ["agent", "assistant", "system", "bot", "ai", "robot", "tool", "function", "chatgpt", "助手", "系统", "机器人", "ai助手"]
)  # fmt: skip
_QUESTION_END = re.compile(
    r"[?？]\s*[\"'”’)）]*$|(?<![好是对])[吗呢么]\s*[。！!~～]*$|(?:是不是|对不对|好不好|行不行|可以吗|来着|没有)[。！!啊]*$(?<!没有[。！!])|\bagain\?$"
)
_QUESTION_WORD = Bilingual(
    zh=r"什么(?!都|也|的)|[啥]|哪[里儿个些家天年款种位]|怎么(?!都|也)|咋|为什么|谁(?!都|也|说)|多少|多[大久高重长远](?!了)|几[点个天号岁月]|如何|能不能|可不可以|有没有|要不要|是不是|该不该|会不会|好不好|不知道.{0,12}(?:有没有|是否|哪|什么|谁|有空)|是否",
    en=r"^\s*(?:(?:so|and|but|hey|hi|well|ok(?:ay)?|then|at|in|on|for)[,\s]+)*(?:what|when|where|who|whom|whose|which|why|how|can|could|would|will|shall|should|do|does|did|is|are|am|was|were|have|has|had|may|any|anyone|anybody)(?:'s|'re|'d)?\b(?! i said| a (?:day|relief|waste|mess|lovely|wonderful|great))|\b(?:i wonder|i'm wondering|do you know|any idea|not sure) (?:when|where|what|who|which|why|how|if|whether)\b|,\s*(?:what|when|where|who|which|why|how|can|could|would|should|do|does|did|is|are)\b.*\?",
    hints="am|any|are|can|could|did|do|had|has|have|how|i wonder|i'm wondering|is|may|not sure|shall|should|was|were|what|when|where|which|who|why|will|would",
)
_ASKED_TO_SELF = re.compile(
    r"^(?:我?(?:不知道|想知道|忘了|想问|不记得))|^\s*i (?:wonder|forget|forgot|don't (?:know|remember))\b",
    re.IGNORECASE,
)
_REMINDER = Bilingual(
    zh=r"提醒我|别(?:让我)?忘|记得(?!来着)",
    en=r"\bremind me\b|\bdon't (?:let me )?forget\b|\bremember to\b",
    hints="don't |remember to|remind me",
)
_REQUEST_ZH = re.compile(
    r"^(?:[嗯啊哦好那就]|那么|那就|你|您|麻烦|请|再|最后|顺便|顺带|能|可以|可不可以|现在|然后|先|另外|还有|快|帮忙|对了)*"
    r"(?:帮(?:我|忙|一下|查|找|我们)|给(?:我|咱|我们)?(?:推荐|讲|说|来|找|看|放|写|列|介绍|个|点|算|翻译)|告诉我|推荐|麻烦|请(?=[你您帮给问把告推介详稍再说列写用根将])|打开|关(?:上|掉|闭)|播放|放(?:一?首|点)|搜|查(?:一下|查|下|询)|翻译|写一?[首篇封段份]|讲个|讲一|继续|再(?:详细|说|讲|来|帮|给|推)|介绍|说说|聊聊|谈谈|算一?下|列(?:出|一)|总结|解释|订个闹钟|定个闹钟|把.{1,12}(?:调|翻译|打开|关|发给|读|念|告诉|给我)|调[大小高低]|换一?[个首]|停|暂停|下一首|导航|截图|拍照|扫)"
    r"|(?:告诉我|推荐(?:一|个|几|给|下|呗|吧)|帮(?:我|忙|我们)(?:找|查|看|推荐|订|叫|安排|介绍|搜|算|写|翻译|预[定订]|打听)|介绍一?下|说一?下|查一?下|给我?推荐|想(?:请教|问|咨询|了解|知道|找|听)(?!到)|我(?:想|要)?(?:再|还)?(?:想|要)?找(?:一?[个家间处]|那)|聊聊|聊一聊|问(?:你|您|下|个)|请教)",
)
_REQUEST_EN = Bilingual(
    en=r"^(?:(?:please|kindly|now|then|ok(?:ay)?|so|and|also|hey|just|first|next|can you|could you|would you|will you|i need you to|i(?:'d| would) like you to|i want you to)[,\s]+)*(?:translate|tell me|turn (?:it )?(?:up|down|on|off)|open|close|recommend|suggest|write (?:a|an|me|some|the)|go on|continue|explain|search|play|find|show|look up|give me|help me|list|summari[sz]e|set (?:an?|the|my)|call me (?:a|an|the)\b|book (?:a|an|me|it|the)|send (?:me|a|an|the|this|it)|read (?:me|it|this|the|out)|check (?:the|my|if|whether|for)|define|calculate|convert|describe|compare|create|draft|make (?:me|a list)|draw|generate|rewrite|repeat|stop|pause|skip|navigate|take a (?:photo|screenshot|picture)|scroll|volume|what about|let me (?:know|ask)|remember (?:this|that)|say\b)\b|\bi (?:want|would like|'d like|need|wanted) to (?:ask|chat|talk|tell|share|know|thank|hear|discuss)\b|\b(?:can|could|would|will) you (?:please |also |help )?[a-z]+\b.*\?|\b(?:any|some) (?:tips|advice|recommendations|suggestions|ideas)\b.*\?|\bthere's something i want to tell you\b",
    hints=" to | you |advice|book |calculate|call me |check |close|compare|continue|convert|create|define|describe|draft|draw|explain|find|generate|give me|go on|help me|ideas|let me |list|look up|make |navigate|open|pause|play|read |recommend|remember th|repeat|rewrite|say|scroll|search|send |set |show|skip|stop|suggest|summari|take a |tell me|tips|translate|turn |volume|what about|write ",
)
_CLAUSES = re.compile(
    r"(?<=[，,；;—])\s*|(?<=\w)\s+(?=(?:but|so|and|then) (?:i|i'm|i've|i'll|we|we're|we've|my|can|could|would|do|what|where|how|which)\b)",
    re.IGNORECASE,
)
_TIME_ASKED = Bilingual(
    zh=r"什么时候|何时|几点|几[月号日]|哪[天年月]|多久|是几号|星期几|周几",
    en=r"\bwhen\b|\bwhat (?:time|day|date|month|year)\b|\bwhich (?:day|date|month|year)\b|\bhow (?:long|soon|often)\b",
    hints="how |what |when|which ",
)
_PREFERENCE_ASKED = Bilingual(
    zh=r"我.{0,8}(?:喜欢|爱(?=[吃喝看听玩买用喝])|不爱|讨厌|忌口|偏[爱好]|习惯|口味|最爱|一般(?:[订选坐买吃喝住])|不吃|不喝|受不了|反感)|我的?(?:爱好|口味|忌口)",
    en=r"\b(?:do|did|does|would) i (?:\w+ )?(?:like|love|hate|prefer|enjoy|dislike)\b|\bi (?:\w+ )?(?:like|love|hate|prefer|enjoy|dislike|stand|usually (?:\w+))\b|\bmy favou?rite\b|\bcan't i stand\b|\bmy (?:tastes?|preferences?|hobb(?:y|ies))\b",
    hints="enjoy|hate|hobb|like|love|my favo|prefer|stand|taste|usually ",
)


def is_person(speaker: str) -> bool:
    """Whether a speaker is a human: what a machine says is never a fact about the user."""
    return speaker.strip().lower() not in MACHINE_SPEAKERS


def is_question(sentence: str) -> bool:
    """Whether a sentence, or its last clause, asks."""
    stripped = sentence.strip()
    return bool(_QUESTION_END.search(stripped) or _ASKED_TO_SELF.search(stripped))


def is_request(clause: str) -> bool:
    """Whether a clause orders the assistant about; reminders are the user's own plans."""
    if _REMINDER.search(clause):
        return False
    stripped = clause.strip()
    return bool(_REQUEST_ZH.search(stripped) or _REQUEST_EN.search(stripped))


def worth_remembering(text: str, speaker: str = "user", kind: str = "dialogue") -> bool:
    """Whether a turn may hold something to keep. Cheap: it runs on every turn."""
    if kind == "system" or not is_person(speaker):
        return False
    return _says_something(text)


@kept
def _says_something(text: str) -> bool:
    stripped = text.strip()
    return bool(stripped) and not (is_system_text(stripped) or is_small_talk(stripped))


def statements(text: str) -> list[str]:
    """The sentences of a turn that state something of the speaker's own.

    Questions, requests, suppositions, irony, quotations and small talk are cut away; "I fly on
    Friday, can you book a taxi?" keeps its first clause. A supposition spoils its whole sentence up
    to an "anyway": what follows an "if" is no fact either.
    """
    return list(_statements(text))


@kept
def _statements(text: str) -> tuple[str, ...]:
    stating = []
    for sentence in split_sentences(without_manners(text)):
        stated = _stated(sentence)
        if stated:
            stating.append(stated)
    return tuple(stating)


def _stated(sentence: str) -> str:
    if is_small_talk(sentence) or is_system_text(sentence):
        return ""
    if is_supposed(sentence):
        sentence = recovered(sentence)
    if not sentence or is_ironic(sentence) or is_reported(sentence):
        return ""
    clauses = [c for c in _CLAUSES.split(sentence) if c and c.strip()]
    if is_question(sentence):
        clauses = _before_question(clauses)
    kept = [c for c in clauses if not is_request(c)]
    while kept and is_nod(kept[0].strip(" ，,")):
        kept.pop(0)
    if len(kept) < len(clauses) and change_of(sentence) is not None:
        kept = clauses
    return "".join(_spaced(kept)).strip(" ，,；;—")


def _spaced(clauses: list[str]) -> list[str]:
    return [c if c[-1:] in "，；" else f"{c} " for c in clauses]


def _before_question(clauses: list[str]) -> list[str]:
    asking = next((i for i, c in enumerate(clauses) if _QUESTION_WORD.search(c)), len(clauses) - 1)
    return clauses[:asking]


def intent_of(text: str) -> Intent:
    """What one turn, taken as a whole, wants."""
    stripped = text.strip()
    if is_system_text(stripped):
        return Intent.SYSTEM
    if not stripped or is_small_talk(stripped):
        return Intent.SMALL_TALK
    asks = is_question(stripped) or bool(_QUESTION_WORD.search(stripped))
    change = change_of(stripped)
    if change is not None and not (asks and is_question(stripped)):
        return _OF_CHANGE[change]
    if asks:
        return _asked(stripped)
    return Intent.REQUEST if is_request(stripped) else Intent.STATEMENT


_OF_CHANGE = {
    ChangeKind.CANCEL: Intent.CANCEL,
    ChangeKind.MOVE: Intent.MOVE,
    ChangeKind.CORRECT: Intent.CORRECT,
    ChangeKind.DONE: Intent.DONE,
}


def _asked(question: str) -> Intent:
    if attribute_asked(question) is not None:
        return Intent.ATTRIBUTE_QUESTION
    if _PREFERENCE_ASKED.search(question):
        return Intent.PREFERENCE_QUESTION
    if _TIME_ASKED.search(question):
        return Intent.TIME_QUESTION
    return Intent.QUESTION
