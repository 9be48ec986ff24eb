"""Words of two languages that say the same thing: a pair may share a meaning and no word.

A small hand-made lexicon: one line a concept, Chinese words before the slash, English stems after
it. It is no translation dictionary; it covers what people tell an assistant about their days.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from protocol.models.lexicon import FUNCTION_CHARACTERS, STOP_WORDS
from protocol.models.tokens import Tokens

__all__ = ["OPPOSITES", "concepts", "weight_of"]

_TABLE = """
t1: 周一 星期一 礼拜一 / monday mon
t2: 周二 星期二 礼拜二 / tuesday tue
t3: 周三 星期三 礼拜三 / wednesday wed
t4: 周四 星期四 礼拜四 / thursday thu
t5: 周五 星期五 礼拜五 / friday fri
t6: 周六 星期六 礼拜六 / saturday sat
t7: 周日 周天 星期日 星期天 礼拜天 / sunday sun
tweekend: 周末 / weekend
tweek: 每周 每个礼拜 每星期 / weekly
tday: 每天 每日 天天 / daily everyday
ttoday: 今天 今日 / today
ttonight: 今晚 / tonight
ttomorrow: 明天 明日 / tomorrow
tyesterday: 昨天 昨日 昨晚 / yesterday
tafter: 后天
tbefore: 前天
tmorning: 早上 早晨 上午 清晨 一早 / morning am
tnoon: 中午 / noon midday
tafternoon: 下午 / afternoon pm
tevening: 晚上 傍晚 夜里 每晚 / evening night
tnextweek: 下周 下礼拜 下星期
tlastweek: 上周 上礼拜 上星期
tnextmonth: 下个月 下月
tlastmonth: 上个月 上月
tthisyear: 今年
tnextyear: 明年
tlastyear: 去年
tmonthend: 月底 月末
pmother: 我妈 妈妈 母亲 老妈 / mum mom mother
pfather: 我爸 爸爸 父亲 老爸 / dad father
pwife: 老婆 妻子 媳妇 爱人 / wife
phusband: 老公 丈夫 / husband
pson: 儿子 / son
pdaughter: 女儿 闺女 / daughter
pgrandma: 奶奶 外婆 姥姥 / grandma gran grandmother granny
pgrandpa: 爷爷 外公 姥爷 / grandpa grandfather grandad
psister: 姐姐 妹妹 / sister
pbrother: 哥哥 弟弟 / brother
pboss: 老板 领导 上司 主管 / boss manager supervisor
pcolleague: 同事 / colleague coworker
pfriend: 朋友 闺蜜 / friend
pteacher: 老师 导师 / teacher tutor
pdoctor: 医生 大夫 / doctor dr
plandlord: 房东 / landlord
pneighbour: 邻居 / neighbour neighbor
pchild: 孩子 小孩 / kid child children
pclient: 客户 / client customer
like: 喜欢 喜爱 最爱 爱吃 爱喝 偏爱 钟爱 / like love enjoy favourite favorite adore prefer fond
dislike: 讨厌 不喜欢 不爱 受不了 嫌弃 / hate dislike loathe
want: 想要 想买 打算 准备 计划 / want plan intend hope
go: 前往 要去 得去 会去 出发去 去 / go going goes went travel head visit trip fly drive
come: 过来 来访 / come arrive
return: 回来 返回 / return
buy: 买 购买 入手 / buy bought purchase
sell: 卖 出售 / sell sold
give: 送给 送了 给了 / give gave gift
receive: 收到 拿到 领到 / receive got get
lend: 借给 / lend lent
borrow: 借了 / borrow
pay: 付 支付 垫 掏钱 / pay paid cover covered
cost: 价格 费用 花了 / cost price fee rent
cheap: 便宜 / cheap
dear: 贵 / expensive dear pricey
eat: 吃 / eat ate eaten
drink: 喝 / drink drank
cook: 做饭 做菜 烧菜 / cook bake
sleep: 睡觉 睡 入睡 / sleep slept bed
wake: 起床 醒 / wake woke
run: 跑步 跑 / run ran jog
walk: 散步 走路 步行 / walk stroll
swim: 游泳 / swim swam
read: 看书 读书 阅读 / read book
watch: 看电影 看剧 观看 / watch film movie
learn: 学习 学会 在学 / learn study lesson class course
teach: 教 / teach taught
work: 工作 上班 任职 就职 / work job employ employer employed
rest: 休息 放假 / rest holiday vacation
quit: 戒 辞 不干 / quit resign stop stopped gave
start: 开始 开工 启动 / start begin began
finish: 完成 做完 结束 搞定 弄完 / finish complete done end ended
meet: 见面 碰面 约好 约了 碰头 / meet met see
meeting: 开会 会议 / meeting
call: 打电话 来电 / call phone rang ring
message: 短信 消息 发信息 / message text email
live: 住在 住 家在 定居 租房 / live lived home flat apartment house reside
near: 附近 旁边 挨着 很近 不远 隔壁 / near close beside nearby round
far: 很远 / far
move: 搬家 搬到 搬走 搬 / move moved
keep: 放在 存放 收在 搁 留在 落在 / keep kept store leave left put
lose: 丢了 弄丢 丢失 / lose lost
find: 找到 / find found
break: 坏了 坏掉 出故障 / break broke broken
repair: 修 修理 维修 / repair fix fixed
wash: 洗 清洗 / wash clean cleaned
open: 开门 营业 打开 / open opened
close: 关门 停业 封闭 关闭 / closed shut
marry: 结婚 婚礼 成家 / marry married wedding
divorce: 离婚 分手 / divorce divorced
birthday: 生日 过生日 / birthday born
ill: 生病 不舒服 感冒 发烧 / ill sick cold fever flu
pain: 疼 痛 / pain hurt ache sore
medicine: 药 吃药 / medicine pill tablet medication
hospital: 医院 住院 / hospital clinic
allergy: 过敏 / allergy allergic
afraid: 害怕 怕 恐惧 / afraid scared fear
happy: 高兴 开心 / happy glad
sad: 难过 伤心 / sad upset
tired: 累 疲惫 / tired exhausted
big: 大 / big large
small: 小 / small little tiny
hot: 热 / hot
cold: 冷 / chilly
left: 左边 左侧 左手 / lefthand
right: 右边 右侧 右手 / righthand
up: 楼上 上面 / upstairs above
down: 楼下 下面 / downstairs below
first: 第一 头一 / first
last: 最后 / final
early: 早到 提早 / early
late: 晚到 迟到 / late
new: 新的 新 / new
old: 旧的 旧 / old used
cat: 猫 / cat kitten
dog: 狗 / dog puppy
car: 车 汽车 / car vehicle
train: 火车 高铁 动车 / train railway
plane: 飞机 航班 / plane flight
bike: 自行车 单车 / bike bicycle
school: 学校 / school
exam: 考试 测验 / exam test
dentist: 看牙 牙医 牙科 / dentist tooth teeth
haircut: 理发 剪头发 / haircut hair
gym: 健身 锻炼 / gym workout exercise
trip: 旅行 旅游 出差 / travelling journey
money: 钱 / money cash
number: 号码 电话 手机号 / number
password: 密码 / password
address: 地址 住址 / address
company: 公司 单位 / company firm office
insurance: 保险 / insurance
expire: 到期 过期 / expire expires
need: 需要 得 必须 / need must
remember: 记住 记得 记一下 别忘 提醒 / remember remind note forget
weekday: 工作日 / weekday workday
dinner: 晚饭 晚餐 / dinner supper
breakfast: 早饭 早餐 / breakfast
lunch: 午饭 午餐 / lunch
coffee: 咖啡 / coffee
tea: 茶 / tea
milk: 牛奶 / milk
meat: 肉 / meat
fish: 鱼 / fish
vegetarian: 吃素 素食 / vegetarian vegan
smoke: 抽烟 吸烟 烟 / smoke smoking cigarette
alcohol: 喝酒 酒 / alcohol wine beer
together: 一起 一块 / together
alone: 一个人 独自 / alone
cancel: 取消 不去了 / cancel cancelled canceled
postpone: 推迟 改到 改期 延期 挪到 / postpone moved pushed delayed reschedule
"""

_COUNTED = "zero one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: str(value) for value, word in enumerate(_COUNTED.split())} | {
    "once": "1",
    "twice": "2",
    "half": "30",
    "twenty": "20",
    "thirty": "30",
    "forty": "40",
    "fifty": "50",
    "hundred": "100",
}
_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2}
_UNITS = {"十": 10, "百": 100, "千": 1_000, "万": 10_000}
_NUMERAL = re.compile("[零一二两三四五六七八九十百千万]+")

_OPPOSED = """
like dislike, buy sell, lend borrow, start finish, start quit, open close, cheap dear, big small,
hot cold, left right, up down, first last, early late, new old, come go, lose find, happy sad,
marry divorce, near far, give receive, break repair, sleep wake, work rest, together alone,
pmother pfather, pson pdaughter, pwife phusband, pgrandma pgrandpa, psister pbrother, cat dog,
tea coffee, learn teach, tmorning tevening, breakfast lunch
"""
OPPOSITES: Final = frozenset(frozenset(pair.split()) for pair in _OPPOSED.split(","))
"""Concepts that exclude each other where one text has the one and its twin the other."""


def _read(table: str) -> tuple[dict[str, str], dict[str, str]]:
    chinese: dict[str, str] = {}
    english: dict[str, str] = {}
    for line in table.strip().splitlines():
        name, _, words = line.partition(":")
        zh, _, en = words.partition("/")
        chinese |= dict.fromkeys(zh.split(), "@" + name)
        english |= dict.fromkeys(en.split(), "@" + name)
    return chinese, english


_CHINESE, _ENGLISH = _read(_TABLE)
_SPOTTED = re.compile("|".join(sorted(map(re.escape, _CHINESE), key=lambda w: (-len(w), w))))
_ENDINGS = ("ing", "ies", "ed", "es", "s", "'s")
_SHORTEST_STEM = 3
_LONG_WORD = 5
_CACHED_WORDS = 8_192


def concepts(cut: Tokens) -> tuple[str, ...]:
    """The text as concepts ("@like", times "@t…", people "@p…"), numbers ("#3"), other words.

    Function words are left out; Chinese outside the lexicon stays single characters.
    """
    found: list[str] = []
    for piece, chinese in cut.pieces:
        if chinese:
            _cut_run(piece, found)
        else:
            concept = _of_word(piece)
            if concept:
                found.append(concept)
    return tuple(found)


def weight_of(concept: str) -> int:
    """How much a shared or a left-over concept says: a word is worth two or three characters."""
    if concept[0] in "@#":
        return 3
    return 2 if len(concept) == 1 else 3 if len(concept) <= _LONG_WORD else 4


def _cut_run(run: str, found: list[str]) -> None:
    start = 0
    for match in _SPOTTED.finditer(run):
        _plain(run[start : match.start()], found)
        found.append(_CHINESE[match[0]])
        start = match.end()
    _plain(run[start:], found)


def _plain(run: str, found: list[str]) -> None:
    start = 0
    for match in _NUMERAL.finditer(run):
        found.extend(c for c in run[start : match.start()] if c not in FUNCTION_CHARACTERS)
        found.append(f"#{_value(match[0])}")
        start = match.end()
    found.extend(c for c in run[start:] if c not in FUNCTION_CHARACTERS)


def _value(numeral: str) -> int:
    """The number a Chinese numeral says (digits in a row are read as digits)."""
    if not any(character in _UNITS for character in numeral):
        return int("".join(str(_DIGITS[character]) for character in numeral))
    total = section = digit = 0
    place = 1
    for character in numeral:
        if character in _DIGITS:
            digit = _DIGITS[character]
            place = 1 if character == "零" else place // 10 or 1
        elif (unit := _UNITS[character]) == _UNITS["万"]:
            total, section, digit, place = (total + section + digit) * unit, 0, 0, unit
        else:
            section, digit, place = section + (digit or 1) * unit, 0, unit
    # 四千三 is 4,300: a digit that ends the numeral counts the next lower unit.
    return total + section + digit * place


@lru_cache(maxsize=_CACHED_WORDS)
def _of_word(word: str) -> str:
    """The word's concept, its number, its stem, or "" for a function word."""
    if word in _ENGLISH:
        return _ENGLISH[word]
    if word in _NUMBERS:
        return "#" + _NUMBERS[word]
    if word[0].isdigit():
        digits = "".join(character for character in word if character.isdecimal())
        return "#" + (digits.lstrip("0") or "0")
    if word in STOP_WORDS:
        return ""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            stem = word.removesuffix(ending)
            for form in (stem, stem + "e", stem + "y", stem[:-1]):
                if form in _ENGLISH:
                    return _ENGLISH[form]
            return stem
    return word
