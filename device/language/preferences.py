"""Likes and dislikes a speaker states about themself, or about a child, partner or pet.

Covered: like / love / hate / prefer / want / enjoy / avoid / only / never, favourites, choices
("比起咖啡我更喜欢茶", "宁愿…也不…"), habits of choosing ("always book aisle seats", "一般坐靠窗"),
things one cannot have ("吃不了辣", "don't eat pork", 忌口).
"""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from dataclasses import dataclass

from device.language.kept import kept
from device.language.patterns import Bilingual
from device.language.words import RELATIONS_EN, RELATIONS_ZH, listed

__all__ = ["Preference", "find_preference"]


@dataclass(frozen=True, slots=True)
class Preference:
    """One stated preference: what about, which way, how strongly (0 … 1)."""

    object: str
    liked: bool
    strength: float
    exclusive: bool
    """It rules others of its kind out ("only", "prefer", "favourite", "from now on")."""
    holder: str = "user"
    """Whose it is: the speaker's (`user`), or a relation of theirs, such as `son`."""


MILD, STRONG = 0.5, 0.9

_RELATION_ZH = "|".join(sorted(RELATIONS_ZH, key=lambda word: (-len(word), word)))
_RELATION_EN = "|".join(sorted(RELATIONS_EN, key=lambda word: (-len(word), word)))
_OBJECT_ZH = r"(?P<what>[^，。！？；,!?;\n]{1,24})"
_OBJECT_EN = r"(?P<what>[^.,!?;\n—]{2,60})"
_ADVERB_ZH = (
    r"(?:最近|一直|还是|真的|真|最|很|特别|非常|比较|更|超级?|从小|平时|一般|通常|向来|总是?|现在|以后|这辈子|就|也|都|只(?:肯|想|能)?|可|其实|不太|不怎么|不大|"
    r"从来不|从不|再也不|坚决不|不能|不再|不|挺|蛮|好|都是)*"
)
_HOLDER_ZH = rf"(?P<holder>我(?:家|们家?|的)?(?P<relation>{_RELATION_ZH})?|本人|咱们?家?(?P<relation2>{_RELATION_ZH})?)"

_ZH = re.compile(
    rf"(?:{_HOLDER_ZH}|(?P<head>^|[，,。；;：:\s]|我们?家?|本人|可|就|但|其实))(?:这人|个人|自己)?(?P<adverb>{_ADVERB_ZH})"
    r"(?P<verb>喜欢|热爱|偏爱|喜爱|钟爱|讨厌|反感|厌恶|受不了|忍不了|痛恨|恨|享受|迷上了?|爱(?=[吃喝看看听玩去打跳唱穿用买逛钓跑])|吃不[了惯]|喝不[了惯]|坐不[了惯]|忌口?(?!惮)|"
    r"习惯(?!了)|想要|宁愿|宁可|[喝吃认买坐用穿听看住抽碰]|[订选]|信(?=基督|佛|道))"
    rf"(?:了|着)?{_OBJECT_ZH}"
)  # fmt: skip
_BARE_ZH = frozenset("喝吃认买坐用穿听看住抽碰")
"""Verbs that state a preference only with 只 / 不 / 从不 before them."""
_CHOICE_ZH = frozenset("订选")
_CHOOSING_ZH = re.compile(r"一般|通常|都|总|平时|以后|只|向来")
_LIMITING_ZH = re.compile(r"只|不能|从来不|从不|再也不|坚决不|不再|一般|平时(?=只|都)")
_PLAIN_NOT_ZH = re.compile(
    r"^[^，,。]{0,4}(?:我(?:们?家?\S{0,3})?|^)(?:也|都|从小|一直|真的|其实|现在|平时)*不(?:怎么|太|大)?$"
)
_NOT_NOW_ZH = re.compile(
    r"今天|明天|今晚|昨天|这次|下周|周[一二三四五六日末]|一会|等会|早上|中午|下午|晚上|的时候|到|进去|完|了$|起来|下去"
)
_OBJECT_FIRST_ZH = re.compile(
    r"(?:^|[，,。])(?P<what>[^，。,我]{1,10}?)(?:的)?我(?:真的|就|也|都|实在|一直)*(?P<verb>吃不了|吃不惯|喝不了|喝不惯|受不了|不[吃喝碰用]|只[喝吃用买](?P<only>[^，。]{1,10})|最?喜欢|最?爱[吃喝看]|最?讨厌)(?=$|[，。,！])"
)
_ABOUT_ZH = re.compile(
    r"我?对(?P<what>[^，。,]{1,14}?)(?P<adverb>很|特别|非常|超|最|一直|真的|都|完全|一点都?|没什么|没啥|不太|不)*(?P<verb>没(?:有)?(?:什么)?兴趣|不?感兴趣|无感|情有独钟|上瘾|着迷)"
)
_FAN_ZH = re.compile(
    r"我(?:是|绝对是)(?:个|一个|资深|超级)*(?P<what>[^，。,的]{1,10}?)(?:控|迷|粉(?:丝)?|爱好者|党)(?=$|[，。,！])"
)
_RATHER_ZH = re.compile(
    r"(?:宁愿|宁可)(?P<what>[^，。]{1,14}?)(?:，)?也?(?:不(?:想|要|愿意?)?|绝不)"
)
_OVER_ZH = re.compile(
    r"(?:比起|相比|跟|和)[^，。]{1,10}?(?:相比|比)?，?我?(?:还是)?(?:更|比较)(?:喜欢|爱|偏爱)(?P<what>[^，。！]{1,14})|我?(?:喜欢|爱)(?P<more>[^，。]{1,12}?)(?:多过|胜过|超过)"
)

_EN = re.compile(
    rf"\b(?:I|we|my (?:\w+ )?(?P<relation>{_RELATION_EN}))(?P<adverb>(?:\s(?:really|always|absolutely|usually|normally|generally|only|just|also|still|do|does|so|much|actually|never|truly|especially|will|definitely|honestly|simply|rarely|hardly|both|all|personally)|'d|\swould|"
    r"\s(?:don't|do not|doesn't|does not|can't|cannot|couldn't|didn't|won't|no longer))*)\s"
    r"(?P<verb>likes?|loves?|enjoys?|prefers?|hates?|dislikes?|detests?|adores?|loathes?|stand|bear|rather(?:\shave)?|eats?|drinks?|smokes?|buys?|wears?|wants?|takes?|books?|chooses?|pick|fly|order|avoids?|touch|use|listen to|watch)\s"
    rf"{_OBJECT_EN}",
    re.IGNORECASE,
)
_FAVOURITE = re.compile(
    rf"\bmy (?:all-time |absolute )?favou?rite (?P<kind>[\w ]{{2,30}}?) (?:is|are|has to be|would be) {_OBJECT_EN}|我(?:的)?最(?:喜欢|爱|爱[吃喝看听])的(?P<kind2>[^，。是]{{1,10}})(?:就)?是(?P<what2>[^，。！？；]{{1,24}})"
    rf"|(?P<what3>[A-Z\w][\w' ]{{2,40}}?) (?:is|are) my (?:all-time |absolute )?favou?rite(?: (?P<kind3>\w+))?",
    re.IGNORECASE,
)
_FAN_EN = Bilingual(
    en=r"\b(?:I'm|I am|we're)(?P<adverb>(?:\s(?:not|really|such|definitely|also|so|totally|never been|still))*)\s(?:(?:(?:a|the)\s)?(?:(?:huge|big|massive|great|biggest|real)\s)*fan of|(?P<into>(?:really |totally |so )?into|keen on|crazy about|fond of|obsessed with|addicted to|used to(?= \w+ing)|partial to|not big on))\s(?P<what>[^.,!?;\n—]{2,60})",
    hints="addicted to|crazy about|fan of|fond of|into|keen on|not big on|obsessed with|partial to|used to",
)
_PERSON_EN = Bilingual(
    en=r"\bI'm (?:more of |very much )?an? (?P<what>(?:[a-z]+ )?(?:dog|cat|morning|night|tea|coffee|people|beach|city|summer|winter|book|outdoors|meat|wine|beer))[ -](?:person|lover|guy|girl)\b",
    hints="i'm ",
)
_GONE_EN = Bilingual(
    en=r"\bI(?:'ve| have)?(?: completely| totally)? (?:gone off|given up|gave up|stopped (?:eating|drinking|liking)|cut out)\s(?P<what>[^.,!?;\n]{2,40}?)(?= completely| entirely|$|[.,!?;])|(?P<what2>[A-Z][\w' -]{2,30}?) (?:doesn't|don't|never) agrees? with me|\bI find (?P<what3>[^.,!?;]{2,40}?) (?:unbearable|annoying|boring|disgusting|awful|gross|too \w+)|\bI (?:really )?can't (?:eat|drink|have|do) (?P<what4>[^.,!?;]{2,40}?)(?= anymore|$|[.,!?;])",
    hints=" agree|can't |cut out|gave up|given up|gone off|i find |stopped ",
)
_WANT_EN = Bilingual(
    en=r"\bI(?:'d| would)? (?:really )?(?:want|love|like) (?P<what>(?:an?|some|new|all (?:my )?)\s?[^.,!?;\n]{2,50})",
    hints="like|love|want",
)

_NEGATIVE_VERBS = frozenset(listed(
    """
    讨厌 反感 厌恶 受不了 忍不了 痛恨 恨 忌 忌口 吃不了 吃不惯 喝不了 喝不惯 坐不了 坐不惯 hate
    hates dislike dislikes detest detests loathe loathes stand bear avoid avoids
    """
))  # fmt: skip
_BARE_EN = frozenset(listed(
    """
    eat eats drink drinks smoke smokes buy buys wear wears want wants take takes book books
    choose chooses pick fly order touch use listen watch
    """
))  # fmt: skip
"""Verbs that state a preference only with only / always / usually / never / don't before them."""
_LIMITING_EN = re.compile(
    r"only|always|usually|normally|generally|never|don't|do not|doesn't|can't|cannot|no longer|rarely|hardly",
    re.IGNORECASE,
)
_NOT = re.compile(r"不|n't|not\b|never|cannot|no longer|rarely|hardly", re.IGNORECASE)
_STRONG = re.compile(
    r"最|非常|特别|超|真|热爱|痛恨|受不了|忍不了|从来|从不|really|absolutely|love|hate|adore|detest|loathe|stand|truly|obsessed|crazy|never",
    re.IGNORECASE,
)
_ONLY = re.compile(
    r"只|更|偏爱|还是|以后|现在|一直|从不|宁|一般|only|always|prefer|rather|never|favou?rite|usually",
    re.IGNORECASE,
)
_NO_OBJECT_EN = re.compile(
    r"^(?:to$|so\b|was\b|is\b|were\b|it|this|that|them|these|those|you|how|when|what|where|why|him|her|us|me|everything|the way|the idea|your)\b(?! \w+ed\b)|^to (?:know|ask|see if|hear|tell|say|thank|share|chat|talk|help you|think|believe|add|point|be able)\b|^(?:you|it) (?:to|if)\b|^(?:to )?see(?:ing)? (?:you|it|that|your)\b",
    re.IGNORECASE,
)
_NO_OBJECT_ZH = re.compile(
    r"^(?:它|你|您|这(?:个|种|里|样|款|家|些|本|部|道)?(?!\S{3})|那种|那(?:个|里|样|些)?(?!\S{3})|(?:吃|喝|看|听|玩|的|了|上)$|(?:吃|看|听|喝|玩|做)的|里面|其中|就|什么|哪|谁|多少|怎么|不|得很|极了|听到|和你|跟你|这种\S{1,3}$|你\S*|他们?$|她$|的话)"
)
_MAIN_EN = re.compile(
    r"(?:^|[^\w\s'’]\s*|\b(?:and|but|so|because|cause|why|that|since|though|although|while|as|actually|yes|yeah|well|however|still|personally|honestly|lately|now|say|said|think|know|guess|time|general|or|then|too|always|days|recently|today)\s+)$",
    re.IGNORECASE,
)
"""What may stand before a main clause: "a job I enjoy" is none."""
_PLANNED = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|this (?:time|week\w*|morning|afternoon|evening)|last (?:night|week)|next (?:week|month|year)|on (?:mon|tues|wednes|thurs|fri|satur|sun)day|right now)\b",
    re.IGNORECASE,
)
_OTHER_SUBJECT = re.compile(
    r"(?:他|她|它|他们|她们|你|您|大家|别人|人家|谁|很多人|人们|年轻人|老板|老师|同事|朋友们?)(?:也|都|很|最|特别|就|只|不|一定|肯定|会|可能|应该)*$"
)
_TAIL_ZH = re.compile(r"(?:的|了|\s|啊|呢|嘛|吧|哦|哈|呀)+$")


@kept
def find_preference(sentence: str) -> Preference | None:
    """The first preference a sentence states about its speaker or a relation of theirs, or None."""
    favourite = _FAVOURITE.search(sentence)
    if favourite is not None:
        return _favourite(favourite)
    return (
        _english(sentence)
        or _english_phrases(sentence)
        or _chinese_phrases(sentence)
        or _chinese(sentence)
    )


def _favourite(found: re.Match[str]) -> Preference | None:
    thing = found["what"] or found["what2"] or found["what3"]
    kind = found["kind"] or found["kind2"] or found["kind3"] or ""
    if _NO_OBJECT_EN.match(thing):
        return None
    return Preference(f"{thing.strip()} {kind.strip()}".strip(), True, STRONG, True)


def _english(sentence: str) -> Preference | None:
    for match in _EN.finditer(sentence):
        verb, adverb, thing = match["verb"].lower(), match["adverb"].lower(), match["what"].strip()
        if not _MAIN_EN.search(sentence[: match.start()]):
            continue
        wish = re.search(r"'d|would", adverb) and not verb.startswith("rather")
        if (
            wish
            or _NO_OBJECT_EN.match(thing)
            or (verb in ("stand", "bear") and not _NOT.search(adverb))
        ):
            continue
        if verb.split()[0] in _BARE_EN and (
            not _LIMITING_EN.search(adverb) or _PLANNED.search(thing)
        ):
            continue
        if verb.startswith("want") and not re.search(r"only|always|never", adverb):
            continue
        if (
            verb.startswith("take")
            and "don't" in adverb
            and re.match(r"(?:it|long|time|care)\b", thing)
        ):
            continue
        holder = match["relation"]
        return _preference(
            verb,
            adverb,
            _cut_en(thing, verb),
            match.group(),
            RELATIONS_EN[holder.lower()] if holder else "user",
        )
    return None


def _cut_en(thing: str, verb: str) -> str:
    """The chosen one of two: "tea to coffee", "take the train than fly"."""
    if verb.startswith(("prefer", "rather")):
        thing = re.split(r"\s(?:to|over|than|rather than|instead of)\s", thing, maxsplit=1)[0]
    return re.split(
        r"\s(?:because|so|but|since|when|anymore|any more|these days|after all)\b",
        thing,
        maxsplit=1,
    )[0].strip()


def _english_phrases(sentence: str) -> Preference | None:
    fan = _FAN_EN.search(sentence)
    if fan is not None and not _NO_OBJECT_EN.match(fan["what"]):
        liked = not re.search(r"\bnot\b|never", fan.group()[: fan.start("what") - fan.start()])
        return Preference(
            fan["what"].strip(), liked, STRONG if _STRONG.search(fan.group()) else MILD, False
        )
    person = _PERSON_EN.search(sentence)
    if person is not None:
        return Preference(person["what"], True, MILD, True)
    gone = _GONE_EN.search(sentence)
    if gone is not None:
        thing = next(part for part in gone.groups() if part)
        if not _NO_OBJECT_EN.match(thing):
            return Preference(thing.strip(), False, MILD, False)
    want = _WANT_EN.search(sentence)
    if want is not None and not _PLANNED.search(sentence):
        return Preference(want["what"].strip(), True, MILD, bool(_ONLY.search(sentence)))
    return None


def _chinese_phrases(sentence: str) -> Preference | None:
    rather = _RATHER_ZH.search(sentence) or _OVER_ZH.search(sentence)
    if rather is not None:
        thing = next(part for part in rather.groups() if part)
        return Preference(_trim(thing), True, MILD, True)
    about = _ABOUT_ZH.search(sentence)
    if about is not None:
        denied = bool(re.search(r"没|不|无感", about.group()[about.end("what") - about.start() :]))
        return Preference(_trim(about["what"]), not denied, MILD, False)
    fan = _FAN_ZH.search(sentence)
    if fan is not None:
        return Preference(_trim(fan["what"]), True, STRONG, False)
    first = _OBJECT_FIRST_ZH.search(sentence)
    if first is not None and not _NO_OBJECT_ZH.match(first["what"]):
        liked = bool(first["only"]) or bool(re.search(r"喜欢|爱", first["verb"]))
        thing = (
            f"{first['only']}{first['what']}"
            if first["only"] and first["what"] not in first["only"]
            else first["what"]
        )
        return Preference(
            _trim(thing),
            liked,
            STRONG if _STRONG.search(first.group()) else MILD,
            bool(first["only"]),
        )
    return None


def _chinese(sentence: str) -> Preference | None:
    match = _ZH.search(sentence)
    while match is not None:
        found = _taste_zh(match, sentence)
        if found is not None:
            return found
        match = _ZH.search(sentence, match.start("verb") + 1)
    return None


def _taste_zh(match: re.Match[str], sentence: str) -> Preference | None:
    verb, adverb, thing = match["verb"], match["adverb"], _trim(match["what"])
    before = sentence[: match.start("verb")]
    if not thing or _NO_OBJECT_ZH.match(thing) or _OTHER_SUBJECT.search(before):
        return None
    if not _means_taste(verb, adverb, thing, before, sentence):
        return None
    relation = match["relation"] or match["relation2"]
    holder = RELATIONS_ZH[relation] if relation else "user"
    return _preference(verb, adverb, thing, match.group(), holder)


def _means_taste(verb: str, adverb: str, thing: str, before: str, sentence: str) -> bool:
    """Whether a verb with its adverbs tells a taste rather than one occasion."""
    if verb in _CHOICE_ZH:
        return bool(_CHOOSING_ZH.search(adverb)) and not re.search(r"不", adverb)
    if verb in _BARE_ZH:
        limited = _LIMITING_ZH.search(adverb) or (verb != "用" and _PLAIN_NOT_ZH.search(before))
        return bool(limited) and not _NOT_NOW_ZH.search(sentence)
    if verb == "想要":
        return bool(re.match(r"(?:一|个|两|新|部|台|条|双|件)", thing)) and "我" in before
    if verb == "习惯":
        return not thing.startswith(("了", "性"))
    return (
        "我" in sentence
        or not before.strip("，,。；;：: 最很特别非常也都就更超挺真")
        or bool(re.search(r"忌|受不了", verb))
    )


def _trim(thing: str) -> str:
    return _TAIL_ZH.sub("", thing.strip())


def _preference(verb: str, adverb: str, thing: str, words: str, holder: str) -> Preference:
    negative = verb in _NEGATIVE_VERBS
    denied = bool(_NOT.search(adverb)) and verb not in ("stand", "bear")
    strength = STRONG if _STRONG.search(words) else MILD
    thing = re.sub(r"^(?:吃|喝|看|听|坐)(?=\S{2,})", "", thing) if verb in ("忌口", "忌") else thing
    thing = re.sub(r"^(?:，?不[吃喝])", "", thing)
    return Preference(
        thing, negative == denied, strength, bool(_ONLY.search(adverb + verb)), holder
    )
