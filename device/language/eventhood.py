"""Whether a sentence tells an event of the speaker's life: a plan, something done, a habit.

Evidence is added up by rule. A date alone is not enough ("today I want to chat"), and neither is an
"I will" ("I'll keep that in mind"): most junk in memories is such chatter.
"""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from dataclasses import dataclass

from device.language.kept import kept
from device.language.modality import is_denied
from device.language.patterns import Bilingual
from device.language.smalltalk import is_nod

__all__ = ["Evidence", "is_event", "is_habit", "is_planned", "may_tell"]

MIN_CHARACTERS = 4

_PLAN_ZH = re.compile(
    r"(?<![不重主需只])要(?!是|么|求|不|好|紧|命|点|素|闻)|(?<![不机社约聚开商])会(?!儿|议|员|计|所|议|场|说|发现|觉得|让|有|更|很|越|变|感)|打算|准备(?!工作|好了)|计划|决定|报了|约[了好]|订[了好]|预[定订约]|说好|答应|提醒我|别忘|记得|得(?=[去把交做写买给还在])|必须|想(?=去|买|学|搬|换|报|养|考|申请|辞)"
)
_PLAN_EN = Bilingual(
    en=r"\b(?:i|we)(?:'ll| will|'m going to| am going to|'re going to| are going to| plan to|'m planning|'re planning| have to|'ve got to| gotta| need to| must|'ve booked|'ve got an? (?:\w+ )?(?:appointment|meeting|interview|call|class|exam|test|flight|date|party|wedding|trip|game|match|concert|show|deadline)| want to|'d like to|'re having|'m having| booked| decided| agreed| promised| signed up|'m about to|'m due)\b|\b(?:i'm|we're|i am|we are) (?:going|taking|flying|moving|starting|meeting|visiting|leaving|picking|seeing|hosting|getting|throwing|attending|heading|driving|staying|working|running|celebrating|writing|having|coming|hiring|building|buying|selling|renting|adopting|learning|training|travel+ing|expecting|launching|opening|organi[sz]ing|planning|preparing|renovating|thinking of|considering)\b|^(?:booked|signed up|remind me|don't forget|remember to|picking up|going to|meeting|starting|flying|moving|dinner|lunch|appointment|call with|interview|got to|gotta|need to|have to|off to)\b|(?:^|[,.]\s*)(?:please |can you |could you )?remind me\b|\b(?:is|are) (?:coming|visiting|arriving|due|having|getting|starting|moving|turning|retiring|graduating)\b|\bis on (?:the )?(?=\w+day|\d)",
    hints=" agreed| decided| must| plan to| promised| want to| will|'d like to|'ll|'m about to|'ve got a|adopting|appointment|arriving|attending|booked|building|buying|call with|celebrating|coming|considering|dinner|don't forget|driving|due|expecting|flying|getting|going|got to|gotta|graduating|have to|having|heading|hiring|hosting|interview|is on |launching|learning|leaving|lunch|meeting|moving|need to|off to|opening|organi|picking|planning|preparing|remember to|remind me|renovating|renting|retiring|running|seeing|selling|signed up|starting|staying|taking|thinking of|throwing|training|trave|turning|visiting|working|writing",
)
_DID_ZH = re.compile(
    r"[\u4e00-\u9fff]了(?!解|不|得)|(?<=[去来看吃做学见玩到读写用试参买])过(?!敏|程|多|期|于|分|去)|刚(?=[才刚从在买去到收办拿和跟])|终于|已经"
)
_DID_EN = Bilingual(
    en=r"(?:^|[,;—.]\s*|\b(?:and|but|so|then|when|because|since|yesterday|today|also|where|recently|finally|ago|week|weekend|month|year|night|morning|well|anyway) )(?:then |also |just |so |finally |recently )?(?:i|we|my [\w-]+|our [\w-]+|dad|mum|mom|[a-z]+ and i|(?:dr|mr|mrs|ms)\.? \w+)(?:'ve| have|'d| had)?(?: also| just| finally| recently| actually| already| even| accidentally)*\s(?:went|saw|met|bought|had (?!to\b|that\b|it\b|no\b|for\b)|got (?!to\b|it\b|you\b|this\b|that\b|some (?:tips|advice|ideas)\b|off\b|a lot\b)|ate|visited|moved|started|finished|left|made|took|found|hired|signed|learned|learnt|tried|attended|joined|broke|sold|flew|gave|ran|rode|wrote|sent|spent|paid|built|drove|caught|came|began|chose|did|swam|threw|taught|adopted|won|lost|quit|passed|failed|watched|read (?!that)|hiked|painted|(?!(?:need|want|like|love|hop|realiz|realis|belong|enjoy|notic|seem|look|appreciat|believ|car|mention|ask|agre|wonder|decid|us|follow|turn|end|happen|miss|rememb|learn(?= that))e?r?ed\b)[a-z]{2,}ed)\b",
    hints="ate|began|bought|broke|built|came|caught|chose|did|drove|ed|flew|found|gave|got |had |learnt|left|lost|made|met|paid|quit|ran|read |rode|saw|sent|sold|spent|swam|taught|threw|took|went|won|wrote",
)
_DID_BARE_EN = Bilingual(
    en=r"^(?:just |finally |recently |been |already )?(?:bought|went|met|got (?:my|a|the|back|married|engaged|promoted)|moved|started|finished|adopted|booked|signed|passed|saw|visited|found|lost|broke|sold|ran|had (?:a|my|dinner|lunch|coffee))\b",
    hints="adopted|booked|bought|broke|finished|found|got |had |lost|met|moved|passed|ran|saw|signed|sold|started|visited|went",
)
_DECIDED_EN = re.compile(r"\bi (?:have )?decided to\b", re.IGNORECASE)
_EACH = Bilingual(
    zh=r"每(?:天|日|周|個?个?(?:星期|礼拜|月)|月|年|晚|早|逢|隔)|天天|隔周",
    en=r"\b(?:every (?:day|week|month|year|morning|evening|night|weekend|other|\w+day)|each (?:day|week|month|year|morning|\w+day)|weekly|daily(?! (?:life|grind|routine|basis))|monthly|twice a|once a)\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days\b",
    hints="daily|days|each |every |monthly|once a|twice a|weekly",
)
_VAGUE_ZH = re.compile(
    r"尝试|查找|多参加|实践|遇到|认为|首先要|(?<=去)看(?:看|一看|一下)|会去看|试试|试着|试一试|注意|努力|继续|坚持(?!了)|考虑|记住|记下|记得你|分享(?=一下|给)|[和跟]你分享|聊|请教|问(?:你|您|一下|完)|告诉你|了解|知道|加油|保持|调整|改进|改善|多[读看听写吃喝练做陪]|好好|尽量|尽力|克服|珍惜|感受到|体会|相信|希望|祝|感谢|谢谢|按照?你|听你|(?<!去)看看|想想|学习(?!班)|学到|寻求|找到自己|变得|放松|提高|享受|受益|面对|感到|觉得|感觉|意识到|明白"
)
_CHAT_ZH = re.compile(
    r"(?:和|跟|与|向|找)(?:你|您)|想(?:请教|问|咨询|了解|知道|听听|聊|找)|问(?:你|您|题)|告诉(?:你|您)|(?:给|帮)(?:我|我们|咱)(?!妈|爸|姐|哥|弟|妹|老|儿|女|孩|家|打了|开了|寄|买|送|做)|推荐|评分|人均|有什么|有没有|的餐馆|发我|谢谢。?$|(?:需要|打算.{0,10}|要|想|再)(?:找|选|订|预[定订])?一?[个家间].{0,16}(?:酒店|餐馆|景点)|消费是|票价|价格[是在]|最低价|元以上|\d+-\d+元|游玩时[长间]|游玩\d|^(?:还)?(?:要有|要能|需要有|最好)|的就(?:行|好|可以)"
)
_SELF_ZH = re.compile(r"我|咱|本人|家里|自己")
_OTHERS_ZH = re.compile(
    r"^(?:那|其实|所以|但是|不过|而且|因为)?，?(?:你|您|他|她|它|他们|她们|它们|大家|人们|别人|有人|这(?!周|个?月|次我|天|几天我|两天我)|那(?!天|晚|次我|年|我)|现在的|谁|真|太|好(?!不容易)|原来|如何|怎|非常|很|最好)"
)
_PEOPLE_NOUN_ZH = re.compile(
    r"(?:医生|老师|水管工|师傅|快递|房东|物业|客户|同事|朋友|飞机|航班|高铁|火车|会议?|课|考试|手术|生日|婚礼|聚会|体检|面试|年会|发布会|家长会|比赛|演唱会|房租|签证|护照|保险|合同|物业费|水电费|截止|到期|纪念日|疫苗|复查|门票|展览|开学|放假|值班|轮到|演出|讲座|分享|典礼|婚宴|酒席|培训|答辩|路演|活动|meeting|deadline|call|review|demo|workshop|presentation|party|interview|[定安排放]+在)"
)
_STATE_ZH = re.compile(
    r"^(?:感觉|觉得|好像|看起来|听起来|应该|可以|需要|不错|挺|很|非常|真|太|是|有|没|最近(?:很|好|有点|压力))"
)

_VAGUE_EN = Bilingual(
    en=r"\b(?:i|we)(?:'ll| will| would|'m going to| have to| need to| want to| must|'d like to|'ve got to| gotta)(?: definitely| also| surely| certainly| always| just| really| now| still| try to| make sure to| be sure to| continue to)*\s(?:try|keep|let|see (?!my|the (?:doctor|dentist|vet)|a |dr)|check(?! in)|look|think|consider|remember|be (?!in|at|on|home|late|back in|away|there by|\w+ing|a \w+|meeting)|do (?:my best|it|that|so|this|some research)|search|make (?:sure|it work|the most|a difference|some changes)|continue|work hard(?:er)?|give it|follow|pay attention|take (?:your|that|it|care|note|some time|things|a look)|say|tell|know|hear|thank|ask|chat|talk about|share|help (?:people|others|you|them)|focus|adjust|improve|find (?:out|some|a way)|use (?:your|that|it)|listen to (?:your|you)|believe|have (?:to say|faith|more)|get (?:through|back to (?:you|it)|there|it)|stay (?:positive|strong|focused|motivated|resilient)|practice more|read more|learn (?:more|from|how)|explore (?:more|new)|add|go for it|miss|never|support|put|show|hope|send you|push|give (?!a (?:talk|speech|presentation|lecture))|have (?:a (?:blast|great|good|nice)|fun)|make (?:a list|them|it|you|people|others)|rock|inspire|spread|raise|reach|shape|feel|understand|learn about)\b",
    hints=" gotta| have to| must| need to| want to| will| would|'d like to|'ll|'m going to|'ve got to",
)
_CHAT_EN = Bilingual(
    en=r"\b(?:sounds (?:great|good|fun|nice|like)|i hope|talking (?:to|with) you|lemme|^sometimes|for you(?!r)\b|with you|tell you|ask you|talk to you|your (?:advice|suggestion|recommendation|help|support|words|earlier)|you (?:said|mentioned|told|recommended|suggested)|since we (?:last )?(?:chatted|talked|spoke)|thank(?:s| you)|let you know)\b|^(?:good (?:morning|afternoon|evening)|hello|hey|hi)\b[^.!?]{0,20}$",
    hints="sounds |ask you|for you|good |hello|hey|hi|i hope|lemme|since we |sometimes|talk to you|talking |tell you|thank|with you|you |your ",
)
_SELF_EN = re.compile(
    r"\b(?:i|i'm|i've|i'll|i'd|we|we're|we've|we'll|my|our|us|me)\b", re.IGNORECASE
)
_OTHERS_EN = re.compile(
    r"^looks like\b|^(?:well,? |and |but |so |oh,? |wow,? |yeah,? |yes,? )*(?:you|your|he|she|they|it|it's|that(?! (?:day|night|evening|morning|week))|that's|this(?! (?:morning|afternoon|evening|week|weekend|month|year|spring|summer|autumn|fall|winter|\w+day))|these(?! days)|those|there's|there|here's|here|who|what|how|people|everyone|everybody|nothing|each|as|being|losing)\b",
    re.IGNORECASE,
)
_STATIVE_EN = Bilingual(
    en=r"\b(?:i|we)(?:'ve| have|'m| am|'d)?(?: also| just| really| always| never| still)*\s(?:felt|feel|realized?|realised?|belonged|needed|wanted|liked|loved|hoped|thought|believed|knew|noticed|understood|remembered|appreciate|appreciated|agree|agreed with|used to|seemed|guess|mean|think|know|bet|heard|faced|followed|turned|been (?:doing|feeling|thinking|so|really|there|having|great|good|through)|had (?:to|the (?:guts|chance|courage))|got (?:to|this|the (?:feeling|hang)|through|carried))\b",
    hints="agree|appreciate|been |believed|belonged|bet|faced|feel|felt|followed|got |guess|had t|heard|hoped|knew|know|liked|loved|mean|needed|noticed|realise|realize|remembered|seemed|think|thought|turned|understood|used to|wanted",
)
_CONCRETE_EN = re.compile(
    r"\b(?:a|an|the|my|our|some|two|three|four|five|\d+|his|her|new|with|to|in|at|from)\s\w",
    re.IGNORECASE,
)
_EVENT_NOUN_EN = Bilingual(
    en=r"\b(?:appointment|meeting|interview|flight|train|wedding|funeral|birthday|party|exam|test|surgery|dinner|lunch|brunch|concert|recital|concert|trip|check-?up|rent|deadline|class|course|lesson|game|match|race|marathon|visit|delivery|plumber|electrician|parents' evening|graduation|anniversary|vacation|holiday|due|conference|call|session|rehearsal|tournament|show|ceremony|move|vaccine|shot|contract|lease|visa|date|camp|hike|expires?|term|semester|boiler|party)\b",
    hints="anniversary|appointment|birthday|boiler|brunch|call|camp|ceremony|check|class|concert|conference|contract|course|date|deadline|delivery|dinner|due|electrician|exam|expire|flight|funeral|game|graduation|hike|holiday|interview|lease|lesson|lunch|marathon|match|meeting|move|party|plumber|race|recital|rehearsal|rent|semester|session|shot|show|surgery|term|test|tournament|train|trip|vacation|vaccine|visa|visit|wedding",
)
_RELATION_EN = re.compile(r"\b(?:dad|mum|mom|grandma|grandpa|my \w+|our \w+)\b", re.IGNORECASE)
_PRESENT_EN = re.compile(
    r"\b(?:that's|it's|this is|these are|those are|there's|here's|it was|that was)\b", re.IGNORECASE
)
_CLAUSES = re.compile(r"[，,；;—]|\bbut\b|\bso\b(?= (?:i|we))|\bthough\b", re.IGNORECASE)
_EMPTY_EN = re.compile(
    r"(?:it|them|that|this|you|so|all|everything|something|a lot|lots|somewhere|better|the time to|some (?:great|good|real|cool|new)? ?(?:progress|projects|offers|gains)|the (?:right|chance|opportunity|best|most)|some (?:tips|advice|time|fun)|an? (?:great|good|nice|lovely|wonderful|amazing|awesome|blast|fun|hard|tough|rough|long) ?(?:time|day|one|experience|feeling|journey|way)?)\b(?! \w+ing with)",
    re.IGNORECASE,
)
_GENERIC_ZH = re.compile(
    r"^(?:去)?[这那它他](?:个|家|里|边|儿|附近)|^(?:了|一下|个|地方|去|一?家)*(?:吃饭|休息|玩儿?|逛逛|看看|转转|走走|游玩|酒店住宿|餐馆吃饭|户外玩|这里|这儿|那里|它家|住宿|饭|好)*(?:吧|呀|下|了|好|一下)*$"
)
"""Objects that say nothing: "go out", "have a look"."""
_GENERIC_PLACE_ZH = frozenset(
    ["酒店", "餐馆", "景点", "户外", "郊外", "附近", "这家酒店", "餐厅", "饭店", "酒店对付"]
)
_SCHEDULED_EN = re.compile(
    r"\b(?:is|are|takes place|starts|begins|opens|closes|ends) (?:now )?(?:on|at|from|next|this|tomorrow|in)\b",
    re.IGNORECASE,
)
_ADVISED = Bilingual(
    zh=r"(?:医生|大夫|牙医|教练|老师)(?:说|让|叫|建议|嘱咐)我",
    en=r"\b(?:doctor|dr\.?(?: \w+)?|dentist|vet|nurse|physio|therapist|trainer)\b.{0,12}\b(?:told|said|advised|asked|wants|prescribed|recommended|put)\b.*\b(?:me|my|i)\b",
    hints="advised|asked|prescribed|put|recommended|said|told|wants",
)
"""What a doctor told the user to do."""
_HAN = re.compile(r"[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What else is known of a sentence."""

    dated: bool
    """It names a day or an hour."""
    ahead: bool
    """…that is still to come."""
    place: str
    people: tuple[str, ...]
    action: str
    object: str


@kept
def is_planned(sentence: str) -> bool:
    """Whether a sentence tells something to come."""
    return bool(_PLAN_ZH.search(sentence) or _PLAN_EN.search(sentence))


def is_habit(sentence: str) -> bool:
    """Whether a sentence tells something that recurs."""
    return bool(_EACH.search(sentence))


@kept
def may_tell(sentence: str, *, dated: bool) -> bool:
    """Whether a sentence may tell an event at all: a cheap look before its parts are read."""
    if dated or is_habit(sentence) or _ADVISED.search(sentence):
        return True
    if not sentence.isascii() and (_PLAN_ZH.search(sentence) or _DID_ZH.search(sentence)):
        return True
    return bool(
        _PLAN_EN.search(sentence) or _DID_EN.search(sentence) or _DID_BARE_EN.search(sentence)
    )


@kept
def is_event(sentence: str, found: Evidence) -> bool:
    """Whether a sentence tells an event worth keeping."""
    if len(sentence) < MIN_CHARACTERS:
        return False
    live = "，".join(
        c for c in _CLAUSES.split(sentence) if c and not is_denied(c) and not is_nod(c)
    )
    if not live.strip():
        return False
    if _ADVISED.search(live):
        return True
    return (
        _chinese(live, found)
        if _HAN.search(sentence)
        else _english(live.replace("，", ", ").strip(), found)
    )


def _chinese(live: str, found: Evidence) -> bool:
    mine = bool(_SELF_ZH.search(live)) or bool(found.people)
    if _CHAT_ZH.search(live) or (_OTHERS_ZH.search(live) and not mine):
        return False
    where = found.place not in _GENERIC_PLACE_ZH and found.place
    what = len(found.object) > 1 and not _GENERIC_ZH.match(found.object)
    substance = bool(where or found.people or what)
    if _VAGUE_ZH.search(live) and not (
        found.action and (found.place or found.people or found.dated)
    ):
        return False
    if found.dated or is_habit(live):
        return bool(
            found.action or found.people or found.place or _PEOPLE_NOUN_ZH.search(live)
        ) and (mine or not _STATE_ZH.search(live))
    if _PLAN_ZH.search(live):
        return bool(found.action) and substance
    return (
        bool(_DID_ZH.search(live))
        and bool(found.action)
        and substance
        and (mine or not _STATE_ZH.search(live))
    )


def _english(live: str, found: Evidence) -> bool:
    if _CHAT_EN.search(live):
        return False
    mine = bool(_SELF_EN.search(live)) or bool(_RELATION_EN.search(live))
    if _OTHERS_EN.search(live) and not (found.dated and (found.ahead or mine)):
        return False
    if _VAGUE_EN.search(live) and not (found.dated or found.place):
        return False
    if found.dated or is_habit(live):
        parts = found.action or found.place or found.people
        scheduled = found.ahead and _SCHEDULED_EN.search(live)
        tells = bool(parts or scheduled or _EVENT_NOUN_EN.search(live) or _PLAN_EN.search(live))
        stative = bool(_STATIVE_EN.search(live)) and not _DID_EN.search(live)
        return (
            tells
            and not stative
            and (
                mine
                or found.ahead
                or bool(_EVENT_NOUN_EN.search(live))
                or bool(_DID_BARE_EN.search(live))
                or bool(found.people)
            )
        )
    if _PLAN_EN.search(live):
        return bool(
            found.action or found.place or found.people or _EVENT_NOUN_EN.search(live)
        ) and _whole(found)
    did = _DID_EN.search(live) or _DID_BARE_EN.search(live)
    return bool(did) and _whole(found) and not _PRESENT_EN.match(live)


def _whole(found: Evidence) -> bool:
    """Something is done to something, with someone, or somewhere."""
    thing = found.object
    concrete = len(thing) > 2 and _CONCRETE_EN.search(f" {thing}") and not _EMPTY_EN.match(thing)
    return bool(found.place or found.people or concrete)
