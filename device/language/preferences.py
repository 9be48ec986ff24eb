"""Likes and dislikes a speaker states about themself."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Preference", "find_preference"]


@dataclass(frozen=True, slots=True)
class Preference:
    """One stated preference: what about, which way, how strongly (0 … 1)."""

    object: str
    liked: bool
    strength: float
    exclusive: bool
    """It rules others of its kind out ("only", "prefer", "favourite", "from now on")."""


_OBJECT_ZH = r"([^，。！？；,!?;\n]{1,24})"
_OBJECT_EN = r"([^.,!?;\n]{2,60})"
_ZH = re.compile(
    r"(?P<head>^|[，,。；;：:\s]|我们?家?|本人|可|就|但|其实)(?P<adverb>(?:我|最近|一直|还是|真的|真|最|很|特别|非常|比较|更|超级?|超|从小|平时|一般|"
    r"现在|以后|就|也|都|只|向来|不太|不怎么|不大|不|不能|从来不|从不|再也不)*)"
    rf"(?P<verb>喜欢|热爱|偏爱|讨厌|反感|受不了|痛恨|恨|享受|爱(?=吃|喝|看|听|玩|去|打|跳|唱|穿|用)|(?:喝|吃|认|买|坐|用|穿|听)(?=\S))"
    rf"{_OBJECT_ZH}"
)  # fmt: skip
_BARE_ZH = frozenset("喝吃认买坐用穿听")
"""Verbs that state a preference only with 只 / 不 / 不能 before them."""
_EN = re.compile(
    r"\bI(?P<adverb>(?:\s(?:really|always|absolutely|usually|only|just|also|still|do|so|much|actually|never|truly|especially)|'d|\swould|"
    r"\s(?:don't|do not|can't|cannot|couldn't|didn't|won't))*)\s"
    r"(?P<verb>likes?|love|enjoy|prefer|hate|dislike|detest|adore|stand|bear|rather(?:\shave)?|eat|drink|buy|wear|want|take)\s"
    rf"{_OBJECT_EN}",
    re.IGNORECASE,
)
_FAVOURITE = re.compile(
    rf"\bmy (?:all-time )?favou?rite (?P<what>[\w ]{{2,30}}?) (?:is|are) {_OBJECT_EN}|我最(?:喜欢|爱)的(?P<zh>[^，。是]{{1,10}})是([^，。！？；]{{1,24}})",
    re.IGNORECASE,
)
_NEGATIVE_VERBS = frozenset(
    ["讨厌", "反感", "受不了", "痛恨", "恨", "hate", "dislike", "detest", "stand", "bear"]
)
_BARE_EN = frozenset(["eat", "drink", "buy", "wear", "want", "take"])
"""Verbs that state a preference only with only / always / never / don't before them."""
_NOT = re.compile(r"不|n't|not\b|never|cannot", re.IGNORECASE)
_STRONG = re.compile(
    r"最|非常|特别|超|真|热爱|痛恨|受不了|really|absolutely|love|hate|adore|detest|stand|truly",
    re.IGNORECASE,
)
_ONLY = re.compile(
    r"只|更|偏爱|还是|以后|现在|一直|从不|only|always|prefer|rather|never|favou?rite", re.IGNORECASE
)
_REQUEST_EN = re.compile(r"^(?:to (?:know|ask|see if|hear)|you to|it if)\b", re.IGNORECASE)
_OTHER_SUBJECT = re.compile(
    r"(?:他|她|它|他们|她们|你|您|大家|别人|人家)(?:也|都|很|最|特别|就|只|不)*$"
)
MILD, STRONG = 0.5, 0.9


def find_preference(sentence: str) -> Preference | None:
    """The first preference a sentence states about its speaker, or None."""
    favourite = _FAVOURITE.search(sentence)
    if favourite is not None:
        thing = favourite[2] or favourite[4]
        kind = favourite["what"] or favourite["zh"]
        return Preference(f"{thing.strip()} {kind.strip()}".strip(), True, STRONG, True)
    return _english(sentence) or _chinese(sentence)


def _english(sentence: str) -> Preference | None:
    for match in _EN.finditer(sentence):
        verb, adverb, thing = match["verb"].lower(), match["adverb"].lower(), match[3].strip()
        wish = re.search(r"'d|would", adverb) and not verb.startswith("rather")
        if (
            wish
            or _REQUEST_EN.match(thing)
            or (verb in ("stand", "bear") and not _NOT.search(adverb))
        ):
            continue
        if verb.split()[0] in _BARE_EN and not re.search(
            r"only|always|never|don't|can't|cannot", adverb
        ):
            continue
        if verb == "want" and not re.search(r"only|always|never", adverb):
            continue
        return _preference(verb, adverb, thing, match.group())
    return None


def _chinese(sentence: str) -> Preference | None:
    for match in _ZH.finditer(sentence):
        verb, adverb, thing = match["verb"], match["adverb"], match[4].strip("的了 啊呢嘛吧")
        if _OTHER_SUBJECT.search(sentence[: match.start("verb")]) or not thing:
            continue
        if verb in _BARE_ZH and not re.search(r"只|不能|从来不|从不|再也不", adverb):
            continue
        if verb not in _BARE_ZH and "我" not in sentence and match.start() > 0:
            continue
        return _preference(verb, adverb, thing, match.group())
    return None


def _preference(verb: str, adverb: str, thing: str, words: str) -> Preference:
    negative = verb in _NEGATIVE_VERBS
    denied = bool(_NOT.search(adverb)) and verb not in ("stand", "bear")
    strength = STRONG if _STRONG.search(words) else MILD
    return Preference(thing, negative == denied, strength, bool(_ONLY.search(adverb + verb)))
