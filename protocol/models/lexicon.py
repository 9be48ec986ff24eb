"""Small word lists behind the hand-made features, in Chinese and English.

They only mark that a kind of word is there; the model learns what that means.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = [
    "ANAPHORA",
    "ATTRIBUTE",
    "CHANGE",
    "FUNCTION_CHARACTERS",
    "FUTURE",
    "LAST_TIME",
    "NEGATION",
    "NUMBER",
    "PAST",
    "PERSON_ASKED",
    "PREFERENCE",
    "QUESTION",
    "SELF",
    "SENTIMENT",
    "STOP_WORDS",
    "TIME",
    "WHEN_ASKED",
    "WHERE_ASKED",
]

FUNCTION_CHARACTERS: Final = frozenset(
    "的了吗呢啊吧呀是在有和也就都着过么嘛把被给与及之其啦哦哈我你"
    "什怎样如何哪个不可以能会要想请问多少这那一上下里中到得地对去来做很"
)
"""Characters that mostly build grammar and questions. Weighting them down moves the embedding's AUC
on LCQMC from .69 to .75."""

_STOP_WORDS = """
a an the and or but if of to in on at for with from by as is are was were be been being am
do does did have has had will would can could shall should may might i you he she it we they
me my your his her its our their this that these those there here so very just not no yes
what which who whom how when where why about into than then too also up out some any all
i'm i've i'll it's that's don't didn't
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())


def _any(chinese: str, english: str) -> re.Pattern[str]:
    """Chinese words match anywhere, English ones only as whole words."""
    words = "|".join(map(re.escape, chinese.split()))
    return re.compile(rf"{words}|\b(?:{english})\b")


NUMBER: Final = re.compile(r"\d+(?:[.:]\d+)*|[零一二两三四五六七八九十百千万亿]+")

TIME: Final = _any(
    "今天 明天 昨天 前天 后天 今晚 昨晚 早上 上午 中午 下午 晚上 凌晨 周一 周二 周三 周四 周五 "
    "周六 周日 "
    "周末 星期 礼拜 下周 上周 这周 本周 月底 上个月 下个月 今年 明年 去年 几点 点半 小时 分钟 "
    "号 月份 节日",
    r"today|tonight|tomorrow|yesterday|morning|noon|afternoon|evening|night|midnight|weekend"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|june|july|august"
    r"|september|october|november|december|weeks?|months?|years?|hours?|minutes?|o'clock|[ap]m"
    r"|birthday|date|\d{1,2}:\d{2}|(?:19|20)\d{2}",
)
PAST: Final = _any(
    "昨天 昨晚 前天 上周 上个月 去年 之前 以前 刚才 刚刚 曾经 过去 过了 做过 去过 说过 提过 "
    "那天 当时",
    r"yesterday|ago|last|previous(?:ly)?|before|earlier|was|were|did|had|went|said|told|used to"
    r"|mentioned|recently",
)
FUTURE: Final = _any(
    "明天 后天 下周 下个月 明年 将来 以后 打算 计划 准备 要去 会去 待会 马上 接下来 即将 预定 安排",
    r"tomorrow|next|will|going to|plan(?:s|ned|ning)?|upcoming|later|soon|schedule[ds]?"
    r"|appointment|booked|gonna|shall",
)
LAST_TIME: Final = _any(
    "上次 上回 上一次 之前说 以前说 提到过 提到的 说过的 刚才说 那次 记得我 还记得",
    r"last time|the other day|mentioned|i (?:said|told)|we (?:discussed|talked)|remember when"
    r"|previous(?:ly)?|as before|do you remember",
)
ANAPHORA: Final = _any(
    "它 他 她 那个 这个 那家 这家 那里 那儿 这里 那件 这件 那次 那些 这些 其 刚才的",
    r"it|that|this|those|these|there|he|she|they|him|her|them|the one|same",
)
PREFERENCE: Final = _any(
    "喜欢 喜爱 最爱 爱吃 爱喝 偏好 讨厌 不喜欢 更喜欢 习惯 常去 过敏 忌口 想要 不吃 爱好 兴趣 口味",
    r"like[sd]?|love[sd]?|prefer(?:s|red|ence|ences)?|favou?rite|hate[sd]?|dislike[sd]?|enjoy(?:s|ed)?"
    r"|allerg(?:y|ic|ies)|usual(?:ly)?|hobby|hobbies|interests?|taste|can't stand|rather",
)
SENTIMENT: Final = _any(
    "高兴 开心 快乐 难过 伤心 生气 烦 焦虑 担心 害怕 累 压力 感动 失望 兴奋 满意 后悔 孤独 幸福 "
    "心情 郁闷 紧张 糟",
    r"happy|glad|sad|angry|upset|anxious|worried|afraid|scared|tired|stress(?:ed)?|excited"
    r"|disappointed|lonely|proud|sorry|feel(?:s|ing|ings)?|felt|mood|nervous|great|terrible|awful",
)
ATTRIBUTE: Final = _any(
    "名字 姓名 叫什么 地址 住在 住哪 家在 电话 号码 手机号 邮箱 生日 年龄 多大 几岁 职业 工作是 "
    "公司 学校 "
    "专业 密码 车牌 身高 体重 血型 学号 老家 籍贯 宠物 星座",
    r"name|address|live|phone|number|e-?mail|birthday|age|old|job|occupation|work|company|school"
    r"|major|height|weight|hometown|nickname|passport|zodiac|password|pet",
)
CHANGE: Final = _any(
    "取消 改到 改成 推迟 提前 换成 不去了 改期 更正 其实 不再 变成 调整",
    r"cancel(?:s|l?ed)?|resched(?:ule|uled)|postpone[d]?|move[d]? to|chang(?:e|ed|ing)|instead"
    r"|actually|no longer|correct(?:ion|ed)?|anymore",
)
NEGATION: Final = _any(
    "不 没 别 无 未 非 勿 莫",
    r"no|not|never|none|nothing|without|neither|nor|cannot|\w+n't",
)
QUESTION: Final = _any(
    "吗 呢 什么 怎么 谁 哪 几 多少 为什么 为何 如何 是否 能否 何时 啥 咋 么",
    r"what|which|who|whom|whose|how|when|where|why|do|does|did|is|are|was|were|can|could|will|would",
)
WHEN_ASKED: Final = _any(
    "什么时候 何时 几点 哪天 几号 多久 哪一年 哪年 星期几 周几 几月",
    r"when|what time|what date|how long|which (?:day|month|year|week)|what day|how many days",
)
WHERE_ASKED: Final = _any(
    "哪里 哪儿 在哪 去哪 什么地方 哪家 何处", r"where|which (?:place|city|restaurant)"
)
PERSON_ASKED: Final = _any("谁 哪位 什么人 跟谁 和谁", r"who|whom|whose|with whom")
SELF: Final = _any("我 本人 自己 咱", r"i|me|my|mine|myself|i'm|i've|i'll|we|our|us")
