"""How a sentence is meant: supposed, ironic, reported of others, denied.

None of these is a fact about the user. Irony and suppositions are where the article's own
classifier errs (002: 92 %); here irony is praise that meets a nuisance under a mocking marker.
"""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re

from device.language.patterns import Bilingual

__all__ = ["is_denied", "is_ironic", "is_reported", "is_supposed", "recovered", "without_manners"]

_CONDITION = Bilingual(
    zh=r"如果|要是|假如|假设|假使|万一|倘若|的话(?!题|剧|音)|除非|要不是|换作|换成(?:是)?[我你]|若[是不]|早知道|本来可以|就好了|真想(?!要)|恨不得|巴不得|幸亏没",
    en=r"\bif\b|\bunless\b|\bin case\b|\bsuppos(?:e|ing)\b|\bassuming\b|\bimagine\b|\bi(?: only| do|'d)? wish\b|\bif only\b|\bwhat if\b|\blet's say\b|\bin another life\b|\b(?:would|should|could|might)(?:n't| not)?(?: have|'ve) \w|\bit(?:'d| would) be (?:nice|great|lovely|cool|fun|good|better|amazing|wonderful)\b|\bhypothetically\b",
    hints=" be | wish|assuming|could|hypothetically|if|imagine|in case|let's say|might|should|suppos|unless|would",
)
_WOULD = Bilingual(
    en=r"^(?!.*\b(?:promised|agreed|told|said)\b).*\b(?:i|we)(?:'d| would) (?!rather|like|love|prefer|hate|better|been|had|just|say|recommend|suggest|never (?:eat|drink|fly)|appreciate)\w+|\bi could \w.*\bnot sure\b",
    hints=" would|'d|i could ",
)
_MAYBE = Bilingual(
    zh=r"可能(?!是因为)|也许|或许|大概会|说不定|没准|不一定|还没定|未必|再说吧|有空再|开玩笑|闹着玩",
    en=r"\b(?:might|maybe|perhaps|possibly|just kidding|just joking|not sure (?:yet|if|whether)|some ?day|one of these days)\b",
    hints="just joking|just kidding|maybe|might|not sure |one of these days|perhaps|possibly|some",
)
_ANYWAY = Bilingual(
    zh=r"(?:反正|不管怎样|不管怎么样|总之|无论如何|其实|说真的|说正经的)",
    en=r"\b(?:either way|anyway|in any case|regardless|actually|seriously though|no joke)\b",
    hints="actually|anyway|either way|in any case|no joke|regardless|seriously though",
)
"""Words after which a supposition or a joke is over."""
_MANNERS = re.compile(
    r",?\s*\bif (?:you (?:ever |don't )?(?:need|mind|want|like|remember|ask me)|needed|possible|that's ok(?:ay)?|i (?:remember|recall) (?:correctly|right))[^,.!?]*"
    r"|如果(?:方便|可以|需要)的话，?|没记错的话，?|可以的话，?|方便的话，?|说实话，?",
    re.IGNORECASE,
)
"""Conditions that are only manners."""

_MOCKING_ZH = re.compile(
    r"呵呵|是是是|可真[是行会]?|可太|真是(?:太|好|会|够)|真行|好极了|太棒了|太好了|简直太|感动死|开心死|我就(?:爱|喜欢|稀罕)|最[爱喜]|可不是嘛|真谢谢|谢谢(?:他|她|它|啊)|多亏(?:他|她)|才怪|做梦都笑|又双叒|可喜可贺|厉害了|美好的一天|真(?:好用|贴心|棒|会|有你的)|求之不得"
)
_NUISANCE_ZH = re.compile(
    r"加班|堵(?:车|了|在)|排(?:了|一整天|长)?队|死机|闪退|卡[死住]|放鸽子|坏[掉了]|漏水|停[电水]|罚款|迟到|才来|占了|周一|又(?:要|是|被|死|坏|卡|断|停|晚|下)|被(?:骂|坑|催|放|偷|扣|裁)|等了|凌晨|半夜|半天|一袋|涨价|扣(?:钱|工资)|没(?:人|信号|电|网)|空调坏|开会到|说是他"
)
_MOCKING_EN = Bilingual(
    en=r"^\W*(?:oh|wow|well|ah)?,?\s*(?:how )?(?:great|lovely|fantastic|wonderful|brilliant|perfect|awesome|marvellous|delightful|nice one|super|sure|right)\b\s*[,.!—-]|\bi (?:just|absolutely|simply|really|so) (?:love|adore|enjoy)\b|\bwhat a (?:wonderful|lovely|great|fantastic|brilliant|perfect|beautiful)\b|\byeah,? right\b|\blike i'd\b|\bas if\b|\bthanks a (?:lot|bunch),|\bnothing i (?:enjoy|love|like) more\b|\bwhat i (?:love|like|enjoy|needed|wanted)(?: the)? most\b|\bsaid no(?: ?one|body)\b|\bmusic to my ears\b|\bjust what i (?:needed|wanted)\b|\bmy (?:absolute )?favou?rite thing\b|\bjust my luck\b|\bhow (?:lovely|wonderful|nice|thoughtful|generous|kind)\b|\bi'm (?:so )?thrilled\b|\blucky me\b|\bslow clap\b",
    hints="adore|as if|awesome|brilliant|delightful|enjoy|fantastic|favo|great|how |i'm |just my luck|like i'd|love|lucky me|marvellous|music to my ears|nice one|nothing i |perfect|right|said no|slow clap|super|sure|thanks a |what a |what i |wonderful|yeah",
)
_NUISANCE_EN = Bilingual(
    en=r"\b(?:traffic|queu\w*|lines?\b(?= for)|wait(?:ing|ed)?|on hold|crash\w*|broke(?:n)?|again|tax(?:es)?|midnight|[4-7] ?am|all-hands|stood up|drill\w*|delay\w*|spam|late|lost|puncture|leak\w*|overtime|bills?|bugs?|noise|ads|ate my|stuck|rain(?:ed|ing)? on|no one|fine|ticket|parking|flat tyre|paperwork|forms?|stand(?:ing)? in|burnt|cancell?ed|hangover|ruined|spilled|scratched|stole|forgot|ghosted|hours)\b",
    hints="ads|again|all-hands|am|ate my|bill|broke|bug|burnt|cancel|crash|delay|drill|fine|flat tyre|forgot|form|ghosted|hangover|hours|late|leak|line|lost|midnight|no one|noise|on hold|overtime|paperwork|parking|puncture|queu|rain|ruined|scratched|spilled|stand|stole|stood up|stuck|tax|ticket|traffic|wait",
)
_SARCASTIC = Bilingual(
    zh=r"才怪",
    en=r"\bsaid no(?: ?one|body)\b|\byeah,? right\b|\blike i'd (?:love|want|enjoy)|\bnothing i (?:enjoy|love|like) more than\b.*(?:tax|form|queue|wait|midnight|dishes|traffic|ironing|clean)",
    hints="like i'd |nothing i |said no|yeah",
)

_MEDIA = Bilingual(
    zh=r"(?:歌(?!手|星)|电影(?!院)|影片|男主|女主|主角|广告|新闻|书|网上|网友|剧|小说|文章|报道|报纸|台词|微博|视频|播客|电视|课文|诗|词|海报|标语|俗话|老话|古话|古人|有人|路人\S?|专家|星座|有句\S{0,2}话)(?:里|上|中|里面)?[^，。]{0,10}?(?:唱|说|写着?|讲(?!话)|问|叫|称|云|道)|新闻说|据说|听说|据报道|传言",
    en=r"\b(?:songs?|lyrics?|films?|movies?|ads?|advert\w*|commercial|news|books?|saying|podcast\w*|horoscope|articles?|headlines?|poem|poster|quote|novel|show|character|papers?|internet|reddit|someone online|tweet|blog)\b[^.?!]{0,30}?\b(?:goes|says?|said|claims?|claimed|reads?|sings?|quotes?|that i will)\b|\baccording to\b|\bas the saying goes\b|\bthey say\b|\brumou?r has it\b|\bapparently\b|\bi(?:'ve)? (?:heard|read) (?:that|about)\b|\bin the (?:film|movie|book|song|show)\b",
    hints="according to|apparently|claim|goes|heard|in the |quote|read|rumo|said|say|sing|that i will",
)
"""Words of songs, films, news: never about the user."""
_OTHERS = Bilingual(
    zh=r"(?:^|[，。；])(?:\S{0,3})?(?:他|她|他们|她们|老板|领导|经理|校长|人家|别人|大家|某人|陌生人|同事|邻居|客服|老师|群里)[^，。我]{0,6}?(?:说|问|讲(?!话)|称|宣布|表示|告诉(?!我)|嚷|喊|吹)(?!服|话|明|好了|到做到)(?<!讲话)",
    en=r"\b(?:he|she|they|everyone|everybody|somebody|someone|people|the (?:ceo|boss|teacher|host|guy|woman|man|president)|(?!i\b|we\b|my\b)[a-z]+)\s(?:(?:always|often|just|once|also|keeps?|kept)\s)?(?:says?|said|saying|claims?|claimed|insists?|insisted|announced|mentioned|told (?!me|us)\w+|swears)\b",
    hints="announced|claim|insist|mentioned|said|say|swears|told ",
)
"""Others speak; about the user only where "I" or "me" is said outside the quotation."""
_ASKED_ME = Bilingual(
    zh=r"(?:问我|问起|问了)",
    en=r"\basked (?:me|us|if|whether)\b",
    hints="asked ",
)
_CLOSE = Bilingual(
    zh=r"医生|大夫|面试官|我(?:妈|爸|妹|姐|哥|弟|老婆|老公|儿子|女儿|奶奶|爷爷)",
    en=r"\b(?:doctor|dentist|nurse|vet|my (?:mum|mom|dad|wife|husband|son|daughter|sister|brother|boss|manager))\b",
    hints="dentist|doctor|my |nurse|vet",
)
"""People whose word on the user's own matters counts."""
_QUOTED = re.compile(r"[“\"「『][^”\"」』]*[”\"」』]|(?<=说[：:]).*$|(?<=says: ).*$")
_ME = Bilingual(
    zh=r"我|咱",
    en=r"\b(?:me|i|my|us|we|our)\b",
    hints="i|me|my|our|us|we",
)

_DENIED = Bilingual(
    zh=r"没(?:有)?(?!错|事|问题|关系|意思|用|想到|劲|准|几|电|多[久远少]|空|时间|精神|了$|了[，。]|法|完|说的)|[走吃做看听写动]不[动到完下]|还没|尚未|从未|未(?!来|婚)|不(?:想|会|打算|准备|用|再|是来|考虑|记得|可能|敢|肯|必|舍得)|没(?:有)?(?:打算|安排|计划|决定)|(?<!特)别(?!的|人|忘|墅|致|处|说)|谁说",
    en=r"\b(?:did|do|does|have|has|had|is|are|was|were|wo|ca|could|would|should|need|am)n't\b|\b(?:did|do|does|have|has|had|is|are|was|were|will|can|am|'m|'re|'s) not\b|\bnever\b|\bcannot\b|\bno (?:plans?|time|idea|intention)\b|\bi'm not\b|\bhaven't\b|\bhave(?: got)? nothing\b|^not (?:going|planning|here)|^haven't\b|\bwho said\b|\bnot true\b",
    hints=" not|cannot|have|idea|intention|n't|never|not |plan|time|who said",
)


def without_manners(text: str) -> str:
    """The text without conditions that are only manners ("if you don't mind")."""
    return _MANNERS.sub("", text)


def is_supposed(sentence: str) -> bool:
    """Whether a sentence only supposes: a condition, a wish, a maybe, a joke."""
    return bool(_CONDITION.search(sentence) or _MAYBE.search(sentence) or _WOULD.search(sentence))


def recovered(sentence: str) -> str:
    """What a supposing sentence still states ("either way I'm at the airport at six"), or nothing."""
    for match in _ANYWAY.finditer(sentence):
        rest = sentence[match.end() :].strip(" ，,")
        if match.start() > 0 and rest and not is_supposed(rest):
            return rest
    return ""


def is_ironic(sentence: str) -> bool:
    """Whether a sentence praises a nuisance."""
    if _SARCASTIC.search(sentence):
        return True
    chinese = _MOCKING_ZH.search(sentence) and _NUISANCE_ZH.search(sentence)
    return bool(chinese or (_MOCKING_EN.search(sentence) and _NUISANCE_EN.search(sentence)))


def is_reported(sentence: str) -> bool:
    """Whether a sentence tells what somebody else says about something else than the user."""
    if _MEDIA.search(sentence) or _ASKED_ME.search(sentence):
        return not _CLOSE.search(sentence)
    reported = _OTHERS.search(sentence)
    if reported is None or _CLOSE.search(sentence):
        return False
    return not _ME.search(_QUOTED.sub("", sentence[reported.end() :]))


def is_denied(clause: str) -> bool:
    """Whether a clause says that something is not so, was not done, will not be."""
    return bool(_DENIED.search(clause))
