"""What is done in a sentence and to what: the first verb that tells, and its object."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re

from device.language.kept import kept

__all__ = ["find_action", "lemma"]

MAX_OBJECT_CHARACTERS = 40

_VERBS_ZH = re.compile(
    r"出差|旅[游行]|开会|参加|面试|复查|检查(?!结果)|看病|手术|体检|搬家|搬到|搬(?!起)|结婚|领证|聚[餐会]|吃饭|见面|约会|报名|预约|领养|收养|健身|度假|毕业|入学|入职|离职|辞职|升职|转正|跳槽|退休|生病|住院|出院|"
    r"打电话|打疫苗|跑步|晨跑|夜跑|游泳|爬山|露营|滑雪|散步|下棋|唱歌|值班|上班|加班|出发|回(?!答|复|忆|来|应|想|头|事|去|家|国)|回家|回国|出国|相亲|截稿|保养|扫墓|野餐|钓鱼|骑车|"
    r"(?<![过出下进])去(?!年|世|掉|了解)|(?<![感受看学听得找收会遇想达碰谈说])到(?!底|处|期|时候)|(?<![起下出过上本原后未将从说看听向])来(?!说|着|不及|得|自)|(?<![再意看听会罕])见(?!识|解|面礼|谅|得)|看(?!来|起来|法|上去|重|待|护|不)|买|(?<!买)卖(?!家)|走(?!廊|丢|吧|运)|吃(?!惊|力|亏)|喝|"
    r"玩(?!具|笑)|(?<![同大小中科文数医留上开放哲自])学(?!校|生|院|期|位|费|历|者)|(?<![参思])考(?!虑|古|察)|订|(?<![预大])约(?!等|定俗)|(?<![鞭敲])打(?!算|扰|的|折|电话|开|心|包票)|做(?!为)|写|读(?!者)|(?<![居坚])住(?!处|址|房)|飞(?!快)|(?<![直间])接(?!受|着|近|触)|送|拿(?!手)|(?<![争录采听])取(?!消|得|决|代)|陪|(?<![宽地皮领磁海一])带(?!来|着问)|"
    r"请(?!问|你|您|给|帮|教|假|求)|请假|找(?!到自己)|办(?!法|公)|练|养(?!成|生)|租(?!金|房合)|还(?=款|钱|书|贷)|领(?!导|域|悟)|报(?!告|道|纸|酬)|开(?=了|车|药|店|张|公司)|投(?!入)|借(?!口)|签(?!证|名)|寄(?!存)|(?<![社])交(?!流|往|通|谈|友)|逛|拍(?!照片)|包(?=了?[饺粽包])|修(?!养|改)|洗|换(?!句)|收(?!入|获|到)|付|吵|摔|丢|落(?=在)|戒|搬|买|拔|补(?=牙|了|课)|上(?=.{0,6}课)|过(?=.{0,4}(?:生日|年|节|纪念日))|聚|装(?!修|备)|装修|量(?!子|力)|参观|游览|拜访|看望|学会|赢|输|破|捡|种|画|织|唱"
)
_MODAL_ZH = re.compile(r"^(?:[了过着完好]|[到上下起出掉](?=了))+(?!\s*$)")
_MEASURE_ZH = re.compile(
    r"^(?:一|两|几|三)?(?:个|本|台|辆|张|只|条|件|趟|场|顿|次|下|部|双|套|家|份|杯)?(?=\S{2})"
)
_NOT_VERB = r"(?!(?:a|an|the|my|our|your|his|her|their|some|any|to|not|no|so|in|at|on|it|that|this|these|those|very|really|been|being|also|just|too|all|both|more|much|many|me|you|him|them|us|of|for|with|from|as|than|then|there|here|i|we|he|she|they|and|but|or|if|when|where|what|who|how|why|because|about|up|out|off|over|back|still|always|never|ever|already|finally|only|even|such|like|well|good|great|super|pretty|quite|now|today|tomorrow|yesterday)\b)"
_AUX = r"(?:'ve|'m|'re|'ll|'d|'s| am| are| is| was| were| have| has| had| will| would| going to| gonna| gotta| need to| needs to| have to| has to| had to| got to| want to| wants to| wanted to| plan to| plans to| planning to| planned to| decided to| agreed to| hope to| hoping to| try to| about to| supposed to| must| should| just| also| finally| already| recently| usually| always| then| both| actually| really| been| being| definitely| accidentally| first| even| can| started to| get to| got to)"
_SUBJECT_EN = r"(?:\b(?:i|we|they|he|she)\b|\b(?:my|our) [\w-]+(?: and i)?|\b(?:dad|mum|mom|grandma|grandpa)\b|\b[A-Z][a-z]+ and i\b|\b(?:Dr|Mr|Mrs|Ms|Prof)\.? [A-Z][a-z]+|^[A-Z][a-z]+(?= (?:is|was|has|will|just)))"
_VERB_EN = re.compile(
    rf"(?i:{_SUBJECT_EN})(?i:{_AUX})*\s(?i:{_NOT_VERB})(?P<a>[a-z]+)\b|^(?i:{_NOT_VERB})(?P<b>(?:[A-Z][a-z]+(?:ed|ing))|Had|Got|Went|Met|Saw|Bought|Found|Ran|Took|Made|Left|Flew|Ate|Booked|Signed|Picked|Visit|Meet|Call|Pick|Buy)\b|\b(?i:remind me|don't forget|need|have|remember) to (?P<c>[a-z]+)"
)
_IRREGULAR = {
    "doing": "do",
    "being": "be",
    "went": "go", "gone": "go", "bought": "buy", "had": "have", "has": "have", "ran": "run", "saw": "see", "seen": "see", "got": "get", "took": "take", "taken": "take",
    "made": "make", "met": "meet", "sold": "sell", "ate": "eat", "eaten": "eat", "flew": "fly", "flown": "fly", "left": "leave", "wrote": "write", "written": "write",
    "broke": "break", "broken": "break", "came": "come", "did": "do", "done": "do", "drove": "drive", "driven": "drive", "found": "find", "gave": "give", "given": "give",
    "heard": "hear", "held": "hold", "kept": "keep", "knew": "know", "lost": "lose", "paid": "pay", "read": "read", "rode": "ride", "said": "say", "sent": "send",
    "slept": "sleep", "spent": "spend", "spoke": "speak", "swam": "swim", "taught": "teach", "told": "tell", "thought": "think", "threw": "throw", "won": "win", "wore": "wear",
    "began": "begin", "brought": "bring", "built": "build", "caught": "catch", "chose": "choose", "drank": "drink", "drew": "draw", "fell": "fall", "felt": "feel",
    "forgot": "forget", "grew": "grow", "led": "lead", "lent": "lend", "sang": "sing", "sat": "sit", "shot": "shoot", "stole": "steal", "stood": "stand", "woke": "wake",
    "picked": "pick", "dropped": "drop", "stopped": "stop", "planned": "plan", "going": "go", "having": "have", "taking": "take", "moving": "move", "making": "make",
    "writing": "write", "driving": "drive", "leaving": "leave", "coming": "come", "giving": "give", "riding": "ride", "getting": "get", "running": "run", "swimming": "swim",
    "flying": "fly", "seeing": "see", "meeting": "meet", "visiting": "visit", "moved": "move", "graduated": "graduate", "prescribed": "prescribe", "celebrating": "celebrate",
    "celebrated": "celebrate", "borrowed": "borrow", "hiked": "hike", "biked": "bike", "arrived": "arrive", "hired": "hire", "quit": "quit", "retired": "retire", "cancelled": "cancel",
}  # fmt: skip
_DOUBLED = re.compile(r"([bdgklmnprt])\1$")
_WEAK_EN = frozenset(
    {"be", "do", "feel", "think", "know", "guess", "hope", "say", "mean", "speak", "can", "promise"}
)
"""Verbs that tell less than any other of the sentence."""
_SILENT_E = re.compile(
    r"(?:[iy]z|(?<!e)at|v|[^i]c|[nr]c|rs|ns|[aiou]s|[iu]r|par|plor|stor|[bdgptfk]l|dg|rg|ang|u|uid|writ|mak|tak|hik|bik|smok|bak|invit|decid|promis|measur|nic)$"
)
_PRELUDE_ZH = re.compile(
    r"(?:吃[完过好]饭?|休息好|游玩结束|玩[完好]|找到酒店|下班)(?:了|以后|之后|后)*，?(?=.{2})"
)
"""What merely comes before: "after dinner I want to …"."""
_HAN = re.compile(r"[\u4e00-\u9fff]")
_BROUGHT = re.compile(r"把([^，。]{1,12}?)$")
_LOOSE_EN = re.compile(r"(?i)\s+(?:on|at|in|by|for|until|from)$")
_BREAK = re.compile(r"[，。！？；,.!?;\n—]")


def lemma(verb: str) -> str:
    """The plain form of an English verb: irregular ones by table, the rest by their endings."""
    word = verb.lower()
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-2] if word.endswith(("shes", "ches", "sses", "oes")) else word[:-1]
    for suffix in ("ing", "ed"):
        kept = word.removesuffix(suffix)
        if kept != word and len(kept) > 2:
            kept = kept if kept.endswith(("ll", "ss")) else _DOUBLED.sub(r"\1", kept)
            return f"{kept}e" if _SILENT_E.search(kept) else kept
    return word


@kept
def find_action(
    sentence: str, times: tuple[str, ...] = (), names: tuple[str, ...] = ()
) -> tuple[str, str]:
    """(action, object); both empty when no verb tells.

    `times` and `names` (the place, people) are words already known for something else: no verb is
    looked for inside them, and times are cut from the object.
    """
    prelude = tuple(_PRELUDE_ZH.findall(sentence))
    match = (
        _VERBS_ZH.search(_masked(sentence, (*times, *names, *prelude)))
        if _HAN.search(sentence)
        else None
    )
    brought = _BROUGHT.search(sentence[: match.start()]) if match is not None else None
    if match is not None and brought is not None:
        return match.group(), brought[1]
    if match is not None:
        rest = sentence[match.end() :]
        thing = _object(_MODAL_ZH.sub("", rest), times)
        return match.group(), _MEASURE_ZH.sub("", thing)
    told = [
        (lemma(next(group for group in match.groups() if group)), match.end())
        for match in _VERB_EN.finditer(_masked(sentence, times))
    ]
    if not told:
        return "", ""
    verb, end = next((pair for pair in told if pair[0] not in _WEAK_EN), told[0])
    return verb, _object(sentence[end:], times)


def _masked(sentence: str, hidden: tuple[str, ...]) -> str:
    for words in hidden:
        if words:
            sentence = sentence.replace(words, "\x00" * len(words))
    return sentence


def _object(rest: str, times: tuple[str, ...]) -> str:
    for words in times:
        rest = rest.replace(words, " ")
    thing = _BREAK.split(rest.strip(), maxsplit=1)[0]
    return _LOOSE_EN.sub("", thing[:MAX_OBJECT_CHARACTERS].strip(" 的了"))
