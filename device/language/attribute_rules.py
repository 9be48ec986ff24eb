"""The tables of `attributes`: how each attribute is stated, and how it is asked for.

One row a wording; the value is the first group that matched.
"""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re

from device.language.words import HAN, RELATIONS_EN, RELATIONS_ZH, listed

__all__ = [
    "LABELS_ZH",
    "NOT_A_NAME",
    "PETS_ZH",
    "QUESTIONS",
    "RELATION_ASKED",
    "RELATION_STATED",
    "RELATION_VALUES",
    "STATEMENTS",
    "TRIGGERS",
]

_END = r"(?=$|[，。！？；,.!?;\n]|\s+(?:and|but|so|because|now|these days|again|anymore)\b|\s*(?:和|但是|不过|所以|因为|，))"
_STOP_ZH = r"(?=$|[，。！？；,!?;\n])"
_NAME_EN = r"([A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+){0,2})"
_PROPER = r"([A-Z][\w&'’-]*(?:\s(?:[A-Z][\w&'’-]*|of|de|the(?=\s[A-Z])))*)"
_NAME_ZH = rf"([{HAN}·]{{2,6}}?|[A-Za-z][\w'-]+)"
_TAIL_ZH = r"(?=$|[，。！？；,.!?;\s、]|很高兴|今年|是|来自|住|就行|就好|吧|啦|哦|在|做|已经|刚)"
_DAY_ZH = r"((?:\d{2,4}年)?\d{1,2}月\d{1,2}[日号]?|[〇零一二三四五六七八九十]{1,3}月(?:初)?[一二三四五六七八九十]{1,3}[日号]?)"
_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_DAY_EN = rf"((?:\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?)?(?:{_MONTHS})(?:\s\d{{1,2}}(?:st|nd|rd|th)?)?(?:,?\s\d{{4}})?)"
_PHONE = r"(\+?[\d][\d\- ()]{5,18}\d)"
_SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯于董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶阎余潘杜戴夏钟汪田任姜"
    "范方石姚谭廖邹熊金陆郝孔白崔康毛邱秦江史顾侯邵孟龙万段雷钱汤尹黎易常武乔贺赖龚文梅"
)
_JOB_ZH = r"(?:[师员手家长工生士官人]|护士|会计|律师|司机|教授|程序员|老板|编辑|记者|警察|厨师|客服|经理|主管|助理|顾问|主播|博主|作家|画家|演员|导演|医生|老师|保安|农民|学生|研究生|博士|策划|总监|设计|开发)"
_NO_JOB_EN = r"(?!bit|little|lot|fan|huge|big|real|such|person|member|morning|night|dog|cat|tea|coffee|people|vegan|vegetarian|mess|total|complete|idiot|native|only|early|very|really|good|bad|great|terrible|dad|mum|mom|mother|father|parent|girl|boy|man|woman|scorpio|leo|aries|virgo)"
_JOB_EN = r"(?:teacher|nurse|doctor|engineer|accountant|lawyer|designer|developer|manager|student|chef|cook|driver|writer|editor|journalist|artist|musician|painter|plumber|electrician|carpenter|farmer|architect|scientist|researcher|professor|lecturer|consultant|analyst|programmer|baker|barista|waiter|waitress|cashier|pharmacist|dentist|vet|therapist|psychologist|librarian|photographer|translator|secretary|director|producer|actor|actress|singer|pilot|mechanic|officer|salesman|broker|tutor|coach|trainer|hairdresser|social worker|freelancer|entrepreneur|midwife|surgeon|paramedic|firefighter)"

TRIGGERS: dict[str, tuple[str, ...]] = {
    "name": (
        "我叫",
        "叫我",
        "名",
        "姓",
        "我是",
        "这里是",
        "本人叫",
        "name",
        "call",
        "i'm ",
        "i am ",
        "this is",
        "go by",
    ),
    "address": ("住", "家", "搬", "home is", "address", "i live", "moved"),
    "city": ("生活", "定居", "上学", "打拼", "居住", "live in", "living", "based", "moved to"),
    "hometown": (
        "来自",
        "老家",
        "家乡",
        "出生",
        "我是",
        "长大",
        " from",
        "hometown",
        "born",
        "grew up",
    ),
    "phone": ("手机", "电话", "号", "number", "phone", " me at", " me on", "cell", "mobile"),
    "email": ("@",),
    "birthday": ("生日", "出生", "生人", "生的", "birthday", "born"),
    "job": (
        "工作",
        "职业",
        "我是",
        "做",
        "搞",
        "干",
        "从事",
        "当",
        "i'm a",
        "i am a",
        "work as",
        "working as",
        "job",
        "profession",
        "i teach",
    ),
    "company": (
        "上班",
        "工作",
        "任职",
        "入职",
        "跳槽",
        "加入",
        "work",
        "joined",
        "jobs",
        "started at",
        "switched",
    ),
    "age": ("岁", "i'm ", "i am ", "turned"),
    "allergy": ("过敏", "不耐受", "allerg", "intolerant"),
    "car": ("车", "我开", "我买", "我换", "drive", " car", "own a"),
    "plate": ("车牌", "plate", "registration"),
    "blood_type": ("血", "型", "blood", "type"),
    "height": ("身高", "i'm ", "i am "),
    "weight": ("体重", "weigh"),
    "diet": ("素", "斋", "i'm ", "i am ", "halal", "kosher"),
    "condition": ("有", "得了", "have", "suffer", "diagnosed", "live with"),
    "school": (
        "毕业",
        "读",
        "念",
        "上",
        "考上",
        "stud",
        "graduated",
        "school",
        "college",
        "university",
    ),
    "language": ("会", "能", "speak"),
    "zodiac": ("属",),
    "star_sign": ("座", "我是", "i'm ", "i am "),
    "marital_status": ("婚", "单身", "离异", "married", "single", "divorced", "engaged", "widowed"),
    "handedness": ("左撇子", "handed", "ambidextrous"),
}
"""Words of which one must stand in a sentence (lower case) for a key to be stated: cheap to look for."""

NOT_A_NAME = frozenset(
    listed(
        """
    了外卖 什么 啥 他 她 你 我 它 醒 车 外卖 一声 人 上 做 不 你们 我们 大家 起来 名字 别来了
    来着 过来 回来 出租车 救护车 滴滴 代驾 服务员 停 一下 后 哥 姐 爸 妈 你好 not tomorrow later
    back when if today tonight asap now on sometime stable over what a an the
    """
    )
)
"""Words a name pattern may catch that are none."""

STATEMENTS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("name", re.compile(rf"(?:我叫|我的名字(?:叫|是)|本人叫|我名叫|叫我|我的全名是|我本名叫?){_NAME_ZH}{_TAIL_ZH}")),
    ("name", re.compile(rf"(?:我|本人)姓[{HAN}]，名?(?:叫)?([{HAN}]{{1,3}})(?=[，。,.]|$)")),
    ("name", re.compile(rf"(?:^|[，。])(?:我是|这里是)([{_SURNAMES}][{HAN}]{{1,2}})(?=[，。,.]|$)")),
    ("name", re.compile(r"(?:^|[.!]\s)(?:Hi|Hey|Hello)[,!]?\s(?:there[,!]?\s)?I(?:'m| am) ([A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?)(?=[,.!]|$| and )")),
    ("name", re.compile(r"(?:^|[.!]\s)I(?:'m| am) ([A-Z][\w'’-]+ [A-Z][\w'’-]+|[A-Z][a-z'’-]+(?=, (?:by the way|nice|pleased|your|the|I)))(?=[,.]|$)")),
    ("name", re.compile(r"^[Tt]his is ([A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?) (?:speaking|here|calling)")),
    ("name", re.compile(rf"(?i:\bmy (?:full )?name is|\bmy name's|\bcall me|\bI(?: am|'m) called|\bI go by|\b(?:people|everyone|everybody|friends|they all) calls? me)\s+{_NAME_EN}")),
    ("address", re.compile(r"(?:我|本人)?(?:的)?(?:家|家庭)?(?:的)?(?:地址|住址)(?:是|在|：|:)\s*([^，。！？；,!?;\n]{3,40})")),
    ("address", re.compile(r"(?:^|[，。,])我(?:们)?(?:现在|目前)?(?:家)?(?:搬到了?|搬去|搬来|在)((?!酒店|宾馆|民宿|医院|这|那)[^，。！？；,!?;\n的我店馆院]{2,24}?)(?:那边|附近)?(?<!入)住(?:了|着)?" + _STOP_ZH)),
    ("address", re.compile(r"(?:^|[，。,])我(?:们)?(?:现在|目前)?(?:家)?住在?(?!酒店|宾馆|医院|民宿|院)([^，。！？；,!?;\n]{2,30}?)(?:里|附近)?" + _STOP_ZH)),
    ("address", re.compile(r"(?:^|[，。,])我?家(?:就)?(?:住在?|在|搬到了?)([^，。！？；,!?;\n]{2,30}?)" + _STOP_ZH)),
    ("address", re.compile(r"我[^，。]{0,8}搬到了?([^，。！？；\n]{2,24}?(?:\d+号?|[幢栋室楼座区县镇街路]|小区|花园|公寓))了?" + _STOP_ZH)),
    ("address", re.compile(r"(?i)(?:^|[.!]\s)home is\s+(.{3,80}?)(?=,\s*(?:if|when|so|in case)|$|[.!?;\n])")),
    ("address", re.compile(r"(?i)\bmy (?:home |new )?address is\s+(.{3,80}?)(?=$|[!?;\n]|\.(?:\s|$)|,? (?:and|but|so) )")),
    ("address", re.compile(r"(?i)\bI live (?:at|on)\s+(.{3,80}?)(?=$|[.!?;\n])")),
    ("address", re.compile(r"(?i:\b(?:I|we)(?:'ve| have)?(?: just)? moved (?:in)?to (?:an?|our|my) (?:[a-z]+ )?(?:flat|apartment|house|place|studio|condo|room) (?:on|at|in))\s+([\w' ]{3,50}?)(?=$|[.!?;,\n])")),
    ("address", re.compile(r"(?i:\b(?:I|we)(?:'ve| have)?(?: just)? moved (?:in)?to)\s+(\d+[\w' ]{3,50}?)(?=$|[.!?;,\n]| (?:and|last|this|on|in|yesterday|today)\b)")),
    ("city", re.compile(rf"我(?:现在|目前|一直)?(?:在|住在|搬到了?|搬来了?)((?!家|思|考|努|准|学|找|公司|医院|学校|外面|这|那|银行)[{HAN}]{{2,5}}?)(?:市)?(?:生活|定居|上学|打拼|居住)")),
    ("city", re.compile(rf"我(?:现在|已经)?定居(?:在|到)?([{HAN}]{{2,6}}?)(?:了)?{_STOP_ZH}")),
    ("city", re.compile(r"(?i:\bI (?:now |currently |still )?live in|\bI(?:'m| am) (?:currently |now )?(?:based|living) in|\b(?:I|we)(?:'ve| have)?(?: just| recently)? moved to)\s+([A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+){0,2})")),
    ("hometown", re.compile(rf"(?:我来自|我(?:的)?老家(?:就)?(?:在|是)|我的?家乡(?:在|是)|我出生在|我是在)([{HAN}]{{2,8}}?)(?:的|人|长大|出生)?{_STOP_ZH}")),
    ("hometown", re.compile(rf"(?:^|[，。])我(?:是|就是)(?:土生土长的?)?([{HAN}]{{2,6}}?)人(?=$|[，。！,])")),
    ("hometown", re.compile(r"(?i:\bI(?:'m| am| come) (?:originally )?from|\bmy hometown is|\bI was born (?:and raised )?in|\bI grew up in(?: a \w+ (?:near|outside|in))?)\s+(?!I\b)([A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+){0,2})")),
    ("phone", re.compile(rf"(?:^|[，。,；]|我的?)(?:新)?(?:手机|电话|手机号|电话号码|手机号码|号码)(?:号码?)?(?:是|换成了?|改成了?|：|:)?\s*{_PHONE}")),
    ("phone", re.compile(r"换(?:了)?(?:新)?(?:手机)?号(?:码)?(?:了)?，(?:新(?:的|号码?)?(?:是)?)?\s*(\+?\d[\d\- ]{6,18}\d)")),
    ("phone", re.compile(rf"(?i)\bmy (?:new |phone |cell |mobile |work )*(?:number|phone|cell|mobile) (?:is|has changed to)(?: now)?:?\s*{_PHONE}")),
    ("phone", re.compile(rf"(?i)\b(?:reach|call|text|phone|ring) me (?:at|on)\s*{_PHONE}")),
    ("email", re.compile(r"(?i)(?:my (?:new )?e-?mail(?: address)?(?: has changed to| is(?: now)?)|(?:^|[，。,；]|我的?)(?:新)?(?:邮箱|电子邮件)(?:地址)?(?:是|换成|改成|：|:)?了?)\s*([\w.+-]+@[\w-]+\.[\w.-]*\w)")),
    ("birthday", re.compile(rf"我的?生日(?:是|在|：|:)?\s*(?:农历|阴历|阳历)?{_DAY_ZH}")),
    ("birthday", re.compile(rf"我(?:是)?(?:在)?{_DAY_ZH}(?:出生|生(?:人)?的?)")),
    ("birthday", re.compile(rf"我(?:每年|都是)?{_DAY_ZH}过生日")),
    ("birthday", re.compile(rf"(?i)\bmy birthday(?: is|'s)(?: on)?(?: the)?\s+{_DAY_EN}")),
    ("birthday", re.compile(rf"(?i)\bI was born on(?: the)?\s+{_DAY_EN}")),
    ("job", re.compile(rf"(?:我的?(?:工作|职业)是|我是一?(?:名|个|位))([{HAN}A-Za-z]{{1,12}}?){_STOP_ZH}")),
    ("job", re.compile(rf"(?:^|[，。,])(?:我)?(?:是)?(?:做|搞|从事|干)([{HAN}A-Za-z]{{2,8}}?)(?:工作|这?一?行)?的{_STOP_ZH}")),
    ("job", re.compile(rf"(?:我|本人)从事([{HAN}A-Za-z]{{2,8}}?)(?:工作)?{_STOP_ZH}")),
    ("job", re.compile(rf"我(?:在[{HAN}A-Za-z]{{1,12}}?)?(?:当|做)([{HAN}]{{0,6}}?{_JOB_ZH}){_STOP_ZH}")),
    ("job", re.compile(rf"(?i)\bI(?:'m| am) an? {_NO_JOB_EN}((?:[a-z]+ ){{0,2}}{_JOB_EN}|[a-z]+(?: [a-z]+){{0,2}}(?= (?:at|for) ))(?:\b)")),
    ("job", re.compile(rf"(?i)\b(?:I work as an?|my (?:job|profession) is(?: an?)?|I'm working as an?)\s+(?!not\b|stable|hard|fine|great|boring|stress|tiring|good)([a-z][a-z -]{{2,40}}?)(?: at .*)?{_END}")),
    ("job", re.compile(r"(?i)\bI teach ([a-z]{4,20})(?= at| in|$|[,.!])")),
    ("company", re.compile(rf"我(?:现在)?在((?!家|思|考|努|准|学|找|换|外面|这|那|医院|学校|一家|一个|哪)[{HAN}A-Za-z0-9]{{2,12}}?)(?:公司|集团)?(?:上班|工作|任职)")),
    ("company", re.compile(rf"我?(?:跳槽|换工作|入职|加入|去)(?:去|到|了，?现在在|了)+(?!家|一家)([{HAN}A-Za-z0-9]{{2,8}}?)(?:公司|集团)?(?:了|上班)?{_STOP_ZH}")),
    ("company", re.compile(rf"我(?:刚|已经)?入职(?:了)?([{HAN}A-Za-z0-9]{{2,8}}?)(?:公司|集团)?(?:了)?{_STOP_ZH}")),
    ("company", re.compile(rf"(?i:\bI(?:'ve| have)?(?: just| now| recently)? (?:work(?:ing)? (?:at|for)|joined|started at|switched to)(?: an? [a-z]+ (?:called|named))?)\s+{_PROPER}")),
    ("company", re.compile(r"(?:switched|changed) jobs, (?:and )?(?:now )?I'm at ([A-Z][\w&'’-]*)")),
    ("age", re.compile(r"我(?:今年|现在|已经|马上|都)*(\d{1,3}|[一二三四五六七八九十]{2,3})岁")),
    ("age", re.compile(r"(?i)\bI(?:'m| am)\s+(\d{1,3})(?:\s+years? old|(?=\s*$|[,.!]))")),
    ("age", re.compile(r"(?i)\bI(?: just| recently)? turned (\d{1,3})\b")),
    ("allergy", re.compile(rf"我(?:从小)?对([{HAN}A-Za-z、和]{{1,16}}?)(?:严重|有点|会|都)?过敏(?!吗|来着)")),
    ("allergy", re.compile(rf"我(?:一)?(?:吃|喝|闻)(?:了|到)?([{HAN}、和]{{1,8}}?)(?:就|会|都)+过敏")),
    ("allergy", re.compile(rf"(?:^我?|我[^。]{{0,12}}[，,、])(?!对)([{HAN}]{{1,6}}?)(?:严重)?过敏(?!吗|来着|科|原)")),
    ("allergy", re.compile(rf"我有([{HAN}]{{1,6}}?)(?:不耐受|过敏症)")),
    ("allergy", re.compile(rf"(?i)\bI(?:'m| am)\s+(?:severely |very |also |really )?allergic to\s+([a-z ,]{{3,40}}?){_END}")),
    ("allergy", re.compile(r"(?i)\bI have an? (?:severe |bad |mild )?([a-z]{3,20}) allergy\b")),
    ("allergy", re.compile(r"(?i)\bI(?:'m| am) ([a-z]{3,12}) intolerant\b")),
    ("car", re.compile(rf"我(?:开|买|换|的车是)(?:的是)?(?:了)?(?:一?[辆台部])?([{HAN}A-Za-z0-9]{{0,6}}的?(?:特斯拉|比亚迪|宝马|奔驰|奥迪|大众|丰田|本田|日产|别克|福特|蔚来|理想|小鹏|问界|小米|五菱|吉利|长安|沃尔沃|保时捷|雷克萨斯|马自达|现代|起亚|电动车|SUV|轿车)[{HAN}A-Za-z0-9]{{0,5}}?){_STOP_ZH}")),
    ("car", re.compile(rf"我(?:的车是|开的是)(?:一?[辆台部])?([{HAN}A-Za-z0-9 ]{{2,14}}?){_STOP_ZH}")),
    ("car", re.compile(r"\b(?i:I drive an?|my car is an?|I own an?)\s+((?:[a-z]+ ){0,2}(?!I\b)[A-Z][\w-]+(?: [A-Z0-9][\w-]*)?)(?=$|[,.!?;]| (?:and|which|from|now))")),
    ("plate", re.compile(r"车牌号?(?:码)?(?:是|：|:)?\s*([\u4e00-\u9fff][A-Z][A-Z0-9·]{4,7})")),
    ("plate", re.compile(r"(?i:\bmy (?:licen[sc]e|number|registration|car) plate(?: number)? is|\bmy registration is)\s+([A-Z0-9]{2,4}[ -]?[A-Z0-9]{2,5})")),
    ("blood_type", re.compile(r"(?:我)?(?:的)?血型是?\s*((?:AB|A|B|O)型?(?:阴性|阳性)?)")),
    ("blood_type", re.compile(r"(?:^|[，。])我是((?:AB|A|B|O)型血?)")),
    ("blood_type", re.compile(r"(?i:\bmy blood (?:type|group) is|\bI(?:'m| am) (?:blood )?type)\s+((?:AB|A|B|O)(?:\s?(?:positive|negative|\+|-))?)")),
    ("height", re.compile(r"(?:我)?(?:的)?身高(?:是|有|：)?\s*(\d{3}(?:cm|厘米|公分)?|一米[一二三四五六七八九十\d]{1,3}|\d\.\d{1,2}米)")),
    ("height", re.compile(r"(?i)\bI(?:'m| am)\s+(\d{3}\s?cm|\d'\d{1,2}\"?|\d (?:foot|feet|ft) \d{1,2})(?:\s+tall)?")),
    ("weight", re.compile(r"(?:我)?(?:的)?体重(?:是|有|：)?\s*(\d{2,3}(?:\.\d)?\s?(?:公斤|斤|kg|千克)?)")),
    ("weight", re.compile(r"(?i)\bI weigh\s+(\d{2,3}(?:\.\d)?\s?(?:kg|kilos?|pounds|lbs?|stone))")),
    ("diet", re.compile(r"(?:^|[，。,])我?(?:是|一直|现在)*(?:个)?(素食(?:主义)?者?|吃素|纯素|吃斋)")),
    ("diet", re.compile(r"(?i)\bI(?:'m| am)(?: a| an)?(?: strict| lifelong)? (vegan|vegetarian|pescatarian|coeliac|celiac|teetotal)\b")),
    ("diet", re.compile(r"(?i)\bI (?:only )?eat (halal|kosher)\b")),
    ("condition", re.compile(rf"(?:^|[，。,])我(?:一直|从小)?(?:有|患有|得了)(?:轻微的?|严重的?|一点)?([{HAN}0-9]{{0,6}}?(?:病|炎|症|癌|高血压|糖尿病|低血糖|痛风|失眠|哮喘|贫血|近视|脂肪肝|鼻炎|结石))")),
    ("condition", re.compile(rf"(?i)\bI (?:have|suffer from|was diagnosed with|live with)\s+((?:chronic |severe |mild |type [12] )?(?:diabetes|asthma|migraines?|hypertension|high blood pressure|arthritis|epilepsy|anxiety|depression|adhd|insomnia|anemia|anaemia|eczema|ibs|celiac disease|coeliac disease|gout|tinnitus)){_END}")),
    ("school", re.compile(rf"我(?:现在|目前)?在([{HAN}]{{2,10}}?)(?:读|念|上)(?:书|大学|本科|研究生|研|博士?|高中|初中|大[一二三四])")),
    ("school", re.compile(rf"我(?:\d{{4}}年)?(?:毕业于|考上了?|是从)([{HAN}]{{2,10}}?)(?:毕业的?)?{_STOP_ZH}")),
    ("school", re.compile(rf"我(?:\d{{4}}年)?从([{HAN}]{{2,10}}?)毕业")),
    ("school", re.compile(r"(?i:\bI (?:studied|study|went|go|graduated|am studying)(?: [a-z]+)? (?:at|to|from))\s+((?:the )?(?:[A-Z][\w'’-]*\s)*(?:University|College|School|Academy|Institute)(?: of [A-Z]\w+)?)")),
    ("school", re.compile(r"\bI graduated from ([A-Z][\w'’-]+(?:\s[A-Z][\w'’-]+){0,2})")),
    ("language", re.compile(r"我(?:会|能)说?(?:一点|流利的)?([\u4e00-\u9fff]{1,3}[语文]|粤语|普通话|闽南话)(?=$|[，。！,])")),
    ("language", re.compile(r"(?i:\bI speak)(?: fluent| some| a (?:bit of|little))?\s+([A-Z][a-z]+(?:(?:,| and) [A-Z][a-z]+)*)")),
    ("zodiac", re.compile(r"我(?:是)?属([鼠牛虎兔龙蛇马羊猴鸡狗猪])")),
    ("star_sign", re.compile(r"我是(?:个)?((?:白羊|金牛|双子|巨蟹|狮子|处女|天秤|天蝎|射手|摩羯|水瓶|双鱼)座?)")),
    ("star_sign", re.compile(r"(?i)\bI(?:'m| am) an? (aries|taurus|gemini|cancer|leo|virgo|libra|scorpio|sagittarius|capricorn|aquarius|pisces)\b")),
    ("marital_status", re.compile(r"(?:^|[，。,])我(?:是|已经|现在|还是|目前)*(单身|已婚|未婚|离异|离婚|结婚)(?:了)?" + _STOP_ZH)),
    ("marital_status", re.compile(r"(?i)\bI(?:'m| am)(?: (?:still|now|newly|happily))? (married|single|divorced|engaged|widowed)(?=$|[,.!]| (?:to|with|and))")),
    ("handedness", re.compile(r"(?i)\bI(?:'m| am) (left-handed|right-handed|ambidextrous)\b|我是(左撇子)")),
)  # fmt: skip

QUESTIONS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("name", re.compile(r"我(?:的名字)?(?:是)?叫(?:什么|啥)(?!时候)|我的?(?:名字|姓名)(?:是|叫)?(?:什么|啥)?|我是谁|(?i:\b(?:what|who)(?:'s| is| was)? my (?:full |first |last )?name\b|who am i\b|(?:know|remember|recall) my name)")),
    ("phone", re.compile(r"我的?(?:手机|电话)(?:号码?)?(?:是)?(?:多少|什么|几|号)?|(?i:\bmy (?:phone|cell|mobile)(?: number)?\b|\bwhat(?:'s| is) my number\b)")),
    ("email", re.compile(r"我的?(?:邮箱|电子邮件)|(?i:\bmy e-?mail\b)")),
    ("birthday", re.compile(r"我的?生日|我(?:是)?(?:哪天|什么时候|几月几[号日]|哪年)(?:出生|生的|生日|过生日)|(?i:\bmy birthday\b|when was i born)")),
    ("city", re.compile(r"我(?:现在)?(?:住|在|生活)(?:在)?(?:哪个|什么)城市|(?i:\b(?:what|which) (?:city|town) (?:do i live|am i|am i based)|\bmy city\b)")),
    ("address", re.compile(r"我(?:的)?(?:家|家庭)?(?:的)?(?:地址|住址)|我(?:现在|目前|如今)?(?:家)?(?:住|搬到)(?:在|到)?(?:哪|什么地方|几)|我家(?:现在)?在哪|我(?:现在)?搬(?:到|去)哪|(?i:\bmy (?:home |current )?address\b|where do i (?:currently |now )?(?:live|stay)\b|where(?:'s| is) my home\b)")),
    ("hometown", re.compile(r"我(?:的)?(?:老家|家乡)|我(?:是)?(?:来自)?哪里?人|我是哪儿的人|(?i:\bmy hometown\b|where (?:am|do) i (?:originally )?(?:come )?from|where (?:did i grow up|was i born))")),
    ("company", re.compile(r"我(?:现在)?在(?:哪|什么)(?:里|儿|家|个)?(?:公司|单位)?(?:上班|工作|任职)|我的公司|(?i:\bwhere do i (?:currently )?work\b|\bwho do i work for\b|\bmy (?:company|employer)\b|\bwhich company do i work)")),
    ("job", re.compile(r"我的?(?:工作|职业)是(?:什么|啥)|我是(?:做|干|搞)(?:什么|啥)|我(?:做|干)什么工作|(?i:\bmy (?:job|occupation|profession)\b|what(?: kind of work)? do i do(?: for (?:a living|work))?\b(?!.*\b(?:on|next|tomorrow|today|yesterday|last)\b))")),
    ("age", re.compile(r"我(?:今年|现在)?(?:多大|几岁|多少岁)|(?i:\bhow old am i\b|\bmy age\b)")),
    ("allergy", re.compile(r"我(?:是不是)?对(?:什么|啥|哪些|哪种).*过敏|我(?:有什么)?过敏(?:源|的东西)|(?i:\bwhat am i allergic to\b|\bmy allerg(?:y|ies)\b|\bam i allergic\b|\ballergies do i have\b)")),
    ("car", re.compile(r"我(?:开|的车是)(?:的)?(?:是)?什么(?:车)?|我的车是(?:什么|哪)|(?i:\bwhat (?:kind of )?car do i (?:drive|have|own)\b|\bmy car\b(?=.*\?)|\bwhat do i drive\b)")),
    ("plate", re.compile(r"车牌|(?i:\b(?:licen[sc]e|number|registration) plate\b)")),
    ("blood_type", re.compile(r"我(?:的|是)?(?:什么)?血型|(?i:\bmy blood (?:type|group)\b)")),
    ("height", re.compile(r"我(?:的)?身高|我(?:有)?多高|(?i:\bmy height\b|\bhow tall am i\b)")),
    ("weight", re.compile(r"我(?:的)?体重|我(?:有)?多重|(?i:\bmy weight\b|\bhow much do i weigh\b)")),
    ("school", re.compile(r"我(?:在|是)?哪(?:个|所)(?:学校|大学)|我(?:是)?(?:从)?哪里?毕业|(?i:\bwhere did i (?:study|graduate|go to (?:school|college|university))\b|\bmy (?:school|university|college)\b)")),
    ("star_sign", re.compile(r"我是?(?:什么|哪个)星座|我的星座|(?i:\bmy (?:star|zodiac) sign\b)")),
    ("zodiac", re.compile(r"我属(?:什么|啥)|我的生肖")),
)  # fmt: skip

PETS_ZH = {
    "猫": "cat",
    "狗": "dog",
    "鹦鹉": "parrot",
    "仓鼠": "hamster",
    "兔子": "rabbit",
    "兔": "rabbit",
}
_RELATION_ZH = "|".join(
    sorted([*RELATIONS_ZH, "哥", "姐", "弟", "妹"], key=lambda word: (-len(word), word))
)
_RELATION_EN = "|".join(sorted(RELATIONS_EN, key=lambda word: (-len(word), word)))

RELATION_STATED = (
    re.compile(
        rf"(?:我(?:的|家|们家|家的)?|(?:^|[，。])(?:家里的?)?)({_RELATION_ZH})(?:的)?(?:名字|大名|小名)?(?:叫做?|名叫|是叫|取名叫?){_NAME_ZH}{_TAIL_ZH}"
    ),
    re.compile(
        rf"(?:养|有|买|领养|收养)(?:了)?(?:一)?[只条个](?:小|橘|黑|白|老|大)?({'|'.join(PETS_ZH)})，?(?:名字)?叫(?:做)?{_NAME_ZH}{_TAIL_ZH}"
    ),
    re.compile(
        rf"(?i:\b(?:my|our) (?:own |little |older |younger |eldest |youngest |big |best )?({_RELATION_EN})(?:'s name is|’s name is|'s name's| is called| is named| goes by|, who is called| called| named))\s+{_NAME_EN}"
    ),
    re.compile(
        rf"(?i:\b(?:my|our) (?:own |little |older |younger |eldest |youngest |big |best )?({_RELATION_EN})(?: is|,)?)\s+([A-Z][a-z'’-]+(?:\s[A-Z][a-z'’-]+)?)(?=$|[,.!?;]|\s(?:is|was|and|works?|has|who|just|will|turned|goes|lives?|loves?|said|told|came|went|got|started))"
    ),
    re.compile(
        rf"(?i:\b(?:I|we) (?:have|own|got|adopted)(?: got)? an? (?:[a-z]+ )?({_RELATION_EN}) (?:called|named))\s+{_NAME_EN}"
    ),
)
"""(relation, name) of somebody of the user's."""

RELATION_VALUES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "age",
        re.compile(
            rf"我(?:的|家)?({_RELATION_ZH})(?:[\u4e00-\u9fff]{{2,3}}，)?(?:今年|已经|刚满|快)*(\d{{1,3}}|[一二三四五六七八九十]{{1,3}})岁"
        ),
    ),
    (
        "age",
        re.compile(
            rf"(?i)\bmy ({_RELATION_EN})(?: [A-Z][a-z]+)?(?: is| just turned| turned|'s)(?: now)? (\d{{1,3}}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?: years? old)?(?=$|[,.!]| and)"
        ),
    ),
    ("birthday", re.compile(rf"我(?:的|家)?({_RELATION_ZH})的?生日(?:是|在)?(?:农历)?{_DAY_ZH}")),
    (
        "birthday",
        re.compile(rf"(?i)\bmy ({_RELATION_EN})(?:'s|’s) birthday is(?: on)?(?: the)?\s+{_DAY_EN}"),
    ),
    (
        "phone",
        re.compile(rf"我(?:的|家)?({_RELATION_ZH})的?(?:手机|电话)(?:号码?)?(?:是|：)?\s*{_PHONE}"),
    ),
    (
        "phone",
        re.compile(
            rf"(?i)\bmy ({_RELATION_EN})(?:'s|’s) (?:phone |mobile |cell )?(?:number|phone) is\s*{_PHONE}"
        ),
    ),
)
"""Values of somebody of the user's: (what, pattern of (relation, value))."""

RELATION_ASKED: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("name", re.compile(rf"我(?:的|家|家的)?({_RELATION_ZH})(?:的)?(?:名字(?:是|叫)?|(?:是)?叫)(?:什么|啥)(?!时候)")),
    ("name", re.compile(rf"(?i)\b(?:my|our) ({_RELATION_EN})(?:(?:'s|’s) name\b| (?:is )?(?:called|named)\b)|\bwhat(?:'s| is) (?:my|our) ({_RELATION_EN}) called\b|\bwho(?:'s| is) (?:my|our) ({_RELATION_EN})\b")),
    ("age", re.compile(rf"我(?:的|家)?({_RELATION_ZH})(?:今年|现在)?(?:多大|几岁|多少岁)")),
    ("age", re.compile(rf"(?i)\bhow old is (?:my|our) ({_RELATION_EN})\b")),
    ("birthday", re.compile(rf"我(?:的|家)?({_RELATION_ZH})的?(?:生日|什么时候过生日|哪天生日)")),
    ("birthday", re.compile(rf"(?i)\b(?:my|our) ({_RELATION_EN})(?:'s|’s) birthday\b")),
    ("phone", re.compile(rf"我(?:的|家)?({_RELATION_ZH})的?(?:手机|电话)")),
    ("phone", re.compile(rf"(?i)\b(?:my|our) ({_RELATION_EN})(?:'s|’s) (?:phone|number|mobile)\b")),
)  # fmt: skip

LABELS_ZH = {
    "name": "名字", "address": "地址", "phone": "电话", "email": "邮箱", "birthday": "生日", "job": "职业", "city": "城市", "hometown": "老家",
    "company": "公司", "age": "年龄", "allergy": "过敏", "car": "车", "plate": "车牌", "blood_type": "血型", "height": "身高", "weight": "体重",
    "diet": "饮食", "condition": "病史", "school": "学校", "language": "语言", "zodiac": "属相", "star_sign": "星座", "marital_status": "婚姻", "handedness": "惯用手",
}  # fmt: skip
