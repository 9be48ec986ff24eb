"""Places and people named in a sentence, by the words around them."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re

from device.language.kept import kept
from device.language.places import CITIES_ZH, NOT_PLACES_EN, PLACE_NOUNS_EN
from device.language.words import HAN, RELATIONS_EN, RELATIONS_ZH

__all__ = ["find_people", "find_place"]

MAX_PLACE_CHARACTERS = 12
_HAN_RUN = re.compile(f"[{HAN}]")
_LATIN_RUN = re.compile("[a-z]")

_CITY_ZH = re.compile("|".join(CITIES_ZH))
_PLACE_ZH = re.compile(
    rf"(?P<by>去(?![年世掉])|(?<![感受看学听得找收会遇想达拿碰感觉提说谈])到|(?<![正实存现])在|(?<![起下出过上说看听本原后未将从])回|(?<![起下出过上说看听本原后未将从向])来|飞|前往|抵达|搬到|住|从|逛|抵|入职|参观|游览)了?(?P<name>[{HAN}A-Za-z0-9·]{{2,14}})"
)
_HOME_ZH = re.compile(
    r"(?:在|回|到)(家)(?=里|写|做|看|吃|睡|休|办|陪|带|待|学|练|和|跟|过|$|[，。])"
)
_PLACE_STOP = re.compile(
    r"出差|旅[游行]|开[会了车始]|参加|吃|玩|看|见|办|上[班课学]|工作|[读写]|(?<![大小中同])学(?![校院])|打|买|找|拿|取|接|复查|检查|散步|逛|过|住|生活|定居|聚|约|[借寄包拍签修洗换租摔丢落]|入[职学]|毕业|保养|度假|攀登|"
    r"面试|考试|唱|[跑](?!马场)|下棋|休息|体检|钓|爬|游玩|游(?!泳[馆池])|的时候|的|了|(?<!协)和(?!平|谐)|跟|把|给|[做当等喝]|一[趟起下个条家场次]|附近|那边|这边|里(?!约|士|斯)|，|手术|值班|坐|待|来|拜访|看望|陪|带|送|(?<=.{2})到|(?<=.{2})去|(?<=.{2})飞|(?<=.{2})回|(?<=.{2})从|[搬转]|玩儿|听|运动|健身(?!房)|滑雪(?!场)|露营(?!地)|举[办行]|过[年节]|好[了]|就|别|[这那][趟个次家边种件]|这家|那家|酒店住|住宿"
)  # fmt: skip
_NOT_A_PLACE = re.compile(
    r"^(?:时候|一起|家里?$|家$|那里|这里|哪里?|这|那|我|你|他|她|它|前|后|底|现在|今天|明天|昨天|时|了|过|想|说|提醒|做|努力|规律|考虑|学习|准备|思考|计划|打算|忙|用|等|听|聊|写|讨论|攀登|尝试|体验|了解|抓住|试|线|网上|手机|"
    r"最|不|没|很|帮|第|下周|上周|周|月|年|\d+[年月日号点]|早|晚|中午|上午|下午|国庆|春节|过年|确实|真|挺|一|几|两|自己|大家|所有|什么|怎么|玩|吃|看|此|家人|朋友|未来|期间|班|路上|床上|外面|意|线上|乎|于|电影里|书里|电话里|内心|心里|心底|工作|生活|各|每|其|更|能|可以|应该|需要|面对|这些|重要|以|为|之)"
)
_WEAK_ZH = frozenset("来到从回逛抵")
"""Verbs that stand before much else than places."""
_SUFFIX_ZH = re.compile(
    r"(?:[市省县区镇村街路店馆院场园站楼厅校局所港湾岛山河湖海江城寺桥厦吧学社司会行家号室]|[武北清复交浙南中]大|中心|公寓|机场|银行)\d*$"
)

_NOUN_EN = "|".join(PLACE_NOUNS_EN)
_PROPER_EN = r"(?:the\s)?((?:[A-Z][\w'’.-]+|St\.?)(?:\s(?:[A-Z][\w'’-]+|of|de|and(?=\s[A-Z])))*)"
_PLACE_EN = re.compile(
    rf"\b(?:in|at|from|near|along|around|through|across|outside|inside|over)\s+{_PROPER_EN}"
)
_TOWARDS_EN = re.compile(
    rf"\b(?:to|into|for|visit(?:ing|ed)?|toward|towards|on|through|via)\s+{_PROPER_EN}"
)
_MOTION_EN = re.compile(
    r"\b(?:go(?:ing|es)?|went|gone|fl(?:y|ying|ies|ew|ight)|mov(?:e|ed|ing)|driv\w*|drove|travel\w*|trip|head(?:ed|ing)?|com(?:e|ing)|came|back|return\w*|walk\w*|rid(?:e|ing)|train|bus|tickets?|ferry|cruise|visit\w*|relocat\w*|took|take|taking|been|leav\w*|welcome|ran|bik\w*|cycl\w*|sail\w*|transfer\w*|tour|landed|holiday|vacation|send|sent)\b",
    re.IGNORECASE,
)
_COMMON_EN = re.compile(
    rf"\b(?:in|at|to|from|near|into|around|outside|inside|visit(?:ing|ed)?|by)\s+(?:the|a|an|my|our|this|that)?\s?((?:[a-z-]+\s){{0,2}}?(?:{_NOUN_EN}))\b(?!\s(?:class|course|trip|job|bag|work|card|account))"
)
_AT_HOME_EN = re.compile(r"\bat (home)\b")

_SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜"
    "范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文梅"
)
_WITH_ZH = r"(?:和|跟|与|同(?!事|学|时|样|意)|陪|见到?|约了?|请|找|叫上|带着?|看望?|接|送|帮|借给|卖给|给|被)"
_TITLED_ZH = re.compile(
    rf"([{_SURNAMES}](?:先生|女士|小姐|老师|医生|大夫|总(?!共|是|算|之)|经理|教授|阿姨|叔叔|师傅|主任|律师|教练|护士|哥(?!哥)|姐(?!姐)|工(?!作|资|程|厂|人)))"
)
_PERSON_ZH = re.compile(
    rf"{_WITH_ZH}((?:老|小|阿)(?!家|师|板|公|婆|妈|爸|伴|时|区|事|说|店|吃|狗|猫|孩|朋|外|人|年|是|心|学|组)[{HAN}]|[{_SURNAMES}][{HAN}]{{1,2}}(?=$|[，。！？、\s]|一起|去|吃|见|看|聊|在|打|说|的|喝|玩|开|下))"
    rf"|(?:^|[，。和跟、])((?:老|小|阿)[{_SURNAMES}])(?=说|要|去|来|的|下|明|后|周|昨|今|借|帮|请|约|在|刚|已|给|[，。]|$)"
    r"|(?:[和跟与约见找陪]|请|联系)\s?([A-Z][a-z]+(?:\s[A-Z][a-z]+)?)(?![a-z])"
)
_SINGLE_ZH = (
    r"(?<=我)(?:哥|姐|弟|妹)(?!们)|(?<![伯老阿干他])爸(?!爸)|(?<![他大舅姑阿老干姨])妈(?!妈|的)"
)
_RELATION_ZH = re.compile(
    "|".join(
        [
            *sorted(
                (w for w in RELATIONS_ZH if w not in ("爸", "妈", "猫", "狗")),
                key=lambda w: (-len(w), w),
            ),
            r"(?<![熊大])猫(?!眼|途|头)",
            r"(?<![热])狗(?!血|腿)",
            _SINGLE_ZH,
        ]
    )
)
_TITLE_EN = r"(?:Dr|Mr|Mrs|Ms|Prof|Aunt|Uncle|Auntie|Grandma|Grandpa)\.?\s[A-Z][\w'’-]+"
_TITLED_EN = re.compile(rf"\b({_TITLE_EN})")
_PERSON_EN = re.compile(
    r"\b(?:with|meet(?:ing)?|met|see(?:ing)?|saw|visit(?:ing|ed)?|call(?:ed|ing)?|ask(?:ed|ing)?|to|told|from|for|join(?:ed|ing)?|(?:pick|picked|picking) up|helped|invited?|hosting|and)\s+"
    r"([A-Z][a-z'’-]+(?:\s(?!I['’])[A-Z][a-z'’-]+)?)"
)
_AND_I_EN = re.compile(
    r"\b([A-Z][a-z'’-]+)(?:,? and (?:I|me)\b)|\b(?:I|me) and ([A-Z][a-z'’-]+)|\b(?:with|having|meeting|seeing) [A-Z][a-z]+ and ([A-Z][a-z]+)"
)
_PLURAL_EN = "|".join(sorted(RELATIONS_EN, key=lambda w: (-len(w), w)))
_RELATION_EN = re.compile(
    rf"\b(?i:my|our|the|a|an|his|her)\s+(?i:little |older |younger |big |best |two |three |late |own )?((?i:{_PLURAL_EN}))s?\b|\b(Dad|Mum|Mom|Grandma|Grandpa|Gran|Nan|grandma|grandpa|dad|mum|mom)\b"
)
_OWN_EN = re.compile(
    r"\b(?:my|our|My|Our|With|with|to|from|the|a|an)\b|\b(?:[Dd]ad|[Mm][ou]m|[Gg]ran\w*|Nan)\b"
)
_THE_RELATIONS = frozenset(
    {
        "kids",
        "wife",
        "husband",
        "children",
        "baby",
        "dog",
        "cat",
        "puppy",
        "pup",
        "kitten",
        "landlord",
        "landlady",
        "in-laws",
        "client",
        "colleague",
        "friend",
        "neighbour",
        "neighbor",
        "coworker",
        "nanny",
    }
)
"""Relations of the user's even without "my" before them."""
_TITLES = ("Dr", "Mr", "Mrs", "Ms", "Prof", "Aunt", "Uncle", "Auntie", "Grandma", "Grandpa")


@kept
def find_place(text: str) -> str:
    """The first place a sentence names, or an empty string."""
    return _place_zh(text) if _HAN_RUN.search(text) else _place_en(text)


def _place_zh(text: str) -> str:
    best = ""
    for match in _PLACE_ZH.finditer(text):
        name = _PLACE_STOP.split(match["name"], maxsplit=1)[0]
        city = _CITY_ZH.match(name)
        if city is not None and not _SUFFIX_ZH.search(name):
            name = city.group()
        sure = city is not None or match["by"] not in _WEAK_ZH or _SUFFIX_ZH.search(name)
        if (
            sure
            and 2 <= len(name) <= MAX_PLACE_CHARACTERS
            and not _NOT_A_PLACE.match(name)
            and not _RELATION_ZH.fullmatch(name)
        ):
            best = name
            break
    if best:
        return best
    home = _HOME_ZH.search(text)
    if home is not None:
        return home[1]
    city = _CITY_ZH.search(text)
    return city.group() if city is not None else _place_en(text)


def _place_en(text: str) -> str:
    found: list[tuple[int, str]] = []
    patterns = [_PLACE_EN, _TOWARDS_EN] if _MOTION_EN.search(text) else [_PLACE_EN]
    for pattern in patterns:
        for match in pattern.finditer(text):
            name = match.group(1).rstrip(".,").removesuffix("'s").removesuffix("’s")
            if name.split()[0].rstrip(".") not in NOT_PLACES_EN:
                found.append((match.start(1), name))
                break
    for pattern in (_COMMON_EN, _AT_HOME_EN):
        common = pattern.search(text)
        if common is not None:
            found.append((common.start(1), common.group(1)))
    return min(found)[1] if found else ""


@kept
def find_people(text: str) -> tuple[str, ...]:
    """People a sentence names: by name, or by what they are to the user; in reading order."""
    spans: list[tuple[int, int, str]] = []
    if _HAN_RUN.search(text):
        spans += [(*m.span(1), m.group(1)) for m in _TITLED_ZH.finditer(text)]
        for match in _PERSON_ZH.finditer(text):
            group = match.lastindex or 1
            spans.append((*match.span(group), match[group]))
        spans += [(*m.span(), m.group()) for m in _RELATION_ZH.finditer(text)]
    if _LATIN_RUN.search(text):
        spans += _people_en(text)
    kept: list[tuple[int, int, str]] = []
    for start, end, name in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end, name))
    return tuple(dict.fromkeys(name for _, _, name in kept))


def _people_en(text: str) -> list[tuple[int, int, str]]:
    place = find_place(text)
    spans = [(*m.span(1), m.group(1)) for m in _TITLED_EN.finditer(text)]
    for pattern in (_PERSON_EN, _AND_I_EN):
        for match in pattern.finditer(text):
            group = next(i for i in range(1, len(match.groups()) + 1) if match[i])
            name = match[group].removesuffix("'s").removesuffix("’s")
            if name.split()[0] not in NOT_PLACES_EN and name not in place and name not in _TITLES:
                spans.append((match.start(group), match.start(group) + len(name), name))
    for match in _RELATION_EN.finditer(text):
        word = (match[1] or match[2]).lower()
        owned = match.group().split()[0].lower() in ("my", "our") or match[2]
        if owned or word in _THE_RELATIONS or word.rstrip("s") in _THE_RELATIONS:
            spans.append((match.start(1 if match[1] else 2), match.end(), word))
    return spans
