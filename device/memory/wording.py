"""The wording of a text with all that says nothing taken off: equal wordings say the same.

Conservative on purpose: order, numbers, names, denials, tense and whether it asks stay as they are.
Only particles go, and only words put for one another that no one would tell apart. A looser table
(`protocol.models.synonyms`) serves likeness, where grandmothers of both sides may be one.
"""

from __future__ import annotations

import re
from functools import lru_cache

from protocol.models import lexicon
from protocol.models.concepts import number_of, numeral_at
from protocol.models.tokens import tokens

__all__ = ["letters_of", "wording_of"]

_SAME = """
怎么 如何 怎样 咋 怎么才能 如何才能 怎样才能; 什么 啥; 为什么 为啥 为何; 哪里 哪儿 什么地方 啥地方;
什么时候 何时 啥时候 什么时间; 谁 哪位; 怎么办 咋办; 怎么样 咋样; 吗 么; 是否 是不是;
能不能 能否 可不可以 可否; 没有 没; 不要 别; 无法 没法; 今天 今日; 明天 明日; 昨天 昨日; 早上 早晨;
周一 星期一 礼拜一; 周二 星期二 礼拜二; 周三 星期三 礼拜三; 周四 星期四 礼拜四; 周五 星期五 礼拜五;
周六 星期六 礼拜六; 周日 周天 星期日 星期天 礼拜天 礼拜日; 每天 每日 天天; 每周 每星期 每个礼拜;
妈妈 母亲 老妈 妈; 爸爸 父亲 老爸 爸; 老婆 妻子 媳妇; 老公 丈夫; 医生 大夫; 我们 咱们 咱; 电影 影片;
喜欢 喜爱; 打开 开启; 关闭 关掉; 和 跟 与; 告诉 告知; 讨厌 厌恶; 高兴 开心; 漂亮 好看 美丽; 购买 买;
找到 找着; 地址 住址; 手机 移动电话; 电脑 计算机; 现在 目前; 以前 从前; 马上 立刻 立即;
非常 十分 特别 很 挺; 一个 个; 讲个 讲一个 说个 说一个; 唱首 唱一首 唱个; 放首 放一首;
mum mom mother mummy; dad father daddy; monday mon; tuesday tue tues; wednesday wed;
thursday thu thurs; friday fri; saturday sat; sunday sun; cannot can't cant; ok okay; tv television;
film movie; begin start; buy purchase; till until; also too; really very
"""
_SHORT = {
    "i'm": "i am", "i've": "i have", "i'll": "i will", "i'd": "i would", "it's": "it is",
    "we're": "we are", "they're": "they are", "you're": "you are", "he's": "he is",
    "she's": "she is", "that's": "that is", "there's": "there is", "don't": "do not",
    "doesn't": "does not", "didn't": "did not", "isn't": "is not", "aren't": "are not",
    "wasn't": "was not", "won't": "will not",
}  # fmt: skip
_OPENERS = ("请问一下", "请问", "麻烦你", "麻烦", "你好", "您好", "请")
_CLOSERS = ("谢谢", "啊", "呀", "吧", "呢", "嘛", "哦", "哈", "啦", "呗", "哟", "噢", "喔")
_DROPPED = "的"
_DROPPED_WORDS = frozenset(["a", "an", "the", "please", "oh", "well"])
_LEAST_LEFT = 2
"""Characters that stay when an opener or a closer goes: "谢谢" alone is no closer."""
_FIGURE = re.compile(r"[-−+]?\d+(?:[.:：/,\-]\d+)+|(?<!\w)[-−+]\d+")
"""A number in which a sign counts: 3.5, 12:30, −6."""
_CACHED_TEXTS = 4_096


def _groups() -> dict[str, str]:
    groups = [group.split() for group in _SAME.replace("\n", " ").split(";")]
    return {word: group[0] for group in groups for word in group}


_ALIKE = _groups()
_LONGEST = max(map(len, _ALIKE))


def letters_of(text: str) -> str:
    """Its letters and digits alone, case folded: equal ones differ in nothing said."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


@lru_cache(maxsize=_CACHED_TEXTS)
def wording_of(text: str) -> tuple[str, ...]:
    """The words of `text` that say something, in order; numbers as "#3"."""
    words: list[str] = []
    cut = tokens(text)
    for piece, chinese in cut.pieces:
        if chinese:
            _of_run(_bare(piece), words)
        else:
            plain = _SHORT.get(piece, piece).split(" ")
            words += [_of_word(word) for word in plain if word not in _DROPPED_WORDS]
    words += _FIGURE.findall(cut.text)
    if cut.text.rstrip().endswith("?") and not lexicon.QUESTION.search(cut.text):
        # Nothing but the mark tells it from a statement. NFKC has made "？" a "?".
        words.append("?")
    return tuple(words)


def _of_word(word: str) -> str:
    return number_of(word) or _ALIKE.get(word, word)


def _bare(run: str) -> str:
    for opener in _OPENERS:
        if run.startswith(opener) and len(run) >= len(opener) + _LEAST_LEFT:
            run = run.removeprefix(opener)
            break
    for closer in _CLOSERS:
        if run.endswith(closer) and len(run) >= len(closer) + _LEAST_LEFT:
            return run.removesuffix(closer)
    return run


def _of_run(run: str, words: list[str]) -> None:
    start = 0
    while start < len(run):
        for end in range(min(start + _LONGEST, len(run)), start, -1):
            if run[start:end] in _ALIKE:
                words.append(_ALIKE[run[start:end]])
                start = end
                break
        else:
            said, end = numeral_at(run, start) or (run[start], start + 1)
            if said != _DROPPED:
                words.append(said)
            start = end
