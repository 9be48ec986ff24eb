"""Chinese parts of the day and clock times: 傍晚, 下午三点半, 差五分八点, 17点55分23秒."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re

from device.language.chinese_times.calendar import any_of
from device.language.chinese_times.numbers import COUNT, DIGITS, NUMBER, chinese_number
from device.language.chinese_times.rules import rule
from device.language.spans import Kind, Piece, Prefer, Reference

__all__ = ["HOUR", "RULES", "clock_piece"]

_PARTS = {
    "凌晨": (0, 6), "清晨": (5, 8), "清早": (5, 8), "拂晓": (4, 7), "黎明": (4, 7), "一大早": (5, 9), "大清早": (5, 8),
    "早上": (6, 12), "早晨": (6, 12), "早间": (8, 12), "朝早": (6, 12), "朝": (6, 12), "今朝": (6, 12), "晨间": (6, 9),
    "上午": (8, 12), "上昼": (8, 12), "午前": (8, 12), "中午": (11, 14), "正午": (12, 13), "晌午": (11, 14),
    "午间": (11, 14), "下午": (12, 18), "下昼": (12, 18), "晏昼": (12, 18), "午后": (12, 18), "傍晚": (16, 19),
    "黄昏": (17, 19), "晚上": (18, 24), "晚间": (18, 24), "夜晚": (18, 24), "夜间": (18, 24), "夜里": (20, 26),
    "深夜": (22, 26), "半夜": (23, 27), "大半夜": (23, 27), "午夜": (23, 25), "子夜": (23, 25), "前半夜": (20, 24),
    "上半夜": (20, 24), "后半夜": (24, 30), "下半夜": (24, 30), "白天": (8, 18), "早": (6, 12), "晨": (5, 9),
    "晚": (18, 24), "夜": (20, 26),
}  # fmt: skip
"""Hours of the parts of a day as people mean them; past 24 they run into the next day."""


def _part(match: re.Match[str], _now: Reference, _: Prefer) -> Piece | None:
    return Piece(0, 0, Kind.PART, hours=_PARTS[match[1]])


def clock_piece(hour: int, minute: int, second: int, *, open_hour: bool) -> Piece | None:
    """A time on the clock; `open_hour` may be before or after noon."""
    if not (0 <= hour <= 24 and 0 <= minute < 60 and 0 <= second < 60):
        return None
    return Piece(0, 0, Kind.CLOCK, clock=(hour, minute, second), open_meridiem=open_hour)


_MINUTES = {"半": 30, "一刻": 15, "1刻": 15, "三刻": 45, "3刻": 45, "整": 0, "正": 0}
_FIVE_MINUTES = 5


def _minutes(text: str | None, *, fives: bool) -> int:
    if not text:
        return 0
    if text in _MINUTES:
        return _MINUTES[text]
    if fives and len(text) == 1 and text in DIGITS:  # so does 晏昼三点三
        return _FIVE_MINUTES * DIGITS.index(text)
    if text.endswith("字"):  # Cantonese counts in fives: 三点三个字 is 3:15
        return _FIVE_MINUTES * int(chinese_number(re.sub("个?字", "", text)))
    if text[0] in "踏搭":
        return 30 if text[1:] == "半" else _FIVE_MINUTES * int(chinese_number(text[1:]))
    return int(chinese_number(text))


_STRONG_BEFORE = re.compile(
    r"(?:[上下中正]午|凌晨|清晨|晚上|半夜|午夜|早上|傍晚|[昨今明当]晚|[昨今明后前]天|[日号]|[周期拜][一二三四五六日天]|从|约|定在|[改推约]到)的?$"
)
_STRONG_AFTER = re.compile(
    r"左右|前后|之[前后]|以[前后]|[前后](?![面来])|[到至-]|开会|开始|出发|见面?|集合|起床|睡觉|吃饭|上课|下班|[，。！？；,.!?]?$"
)
_COUNTED_BEFORE = re.compile(r"(?:[这那第几有]|以下|如下|以上|[讲说提谈补]|另外)$")
_POINTS_BEFORE = re.compile(r"(?:[跌涨升降挫]|乘以?|除以?|等于)$")
"""A number of points, or a decimal: 涨11点, 三点一四."""
_DIGIT_CHARACTERS = frozenset(DIGITS + "0123456789")
_DAYS_BEFORE = re.compile(rf"{NUMBER}天[又零]?$")


def _is_clock(match: re.Match[str]) -> bool:
    """Whether 两点 is a time here, and not two points, or 一点 a little."""
    before, after = match.string[: match.start()], match.string[match.end() :]
    if _POINTS_BEFORE.search(before) or (
        after[:1] and after[0] in _DIGIT_CHARACTERS and not match["m"]
    ):
        return False
    if match["m"] or match["s"] or match["less"] or match["less2"] or match["past"]:
        return True
    if match["mark"] == "时":
        alone = len(match["h"]) == 1 and match["h"] in DIGITS[1:]
        return not _DAYS_BEFORE.search(before) and (
            not alone or bool(_STRONG_BEFORE.search(before))
        )
    if match["mark"] == "点钟" or match["h"].isascii():
        return True
    if match["h"] == "一":
        little = after[:1] in "点也都没儿不"
        after_is_strong = bool(_STRONG_AFTER.match(after)) and len(after) > 1 and not little
        return bool(_STRONG_BEFORE.search(before)) or after_is_strong
    counted = match["h"] == "两" and after[:1] and after[0] in "也都没不"
    return not counted and not _COUNTED_BEFORE.search(before)


def _clock(match: re.Match[str], _now: Reference, _: Prefer) -> Piece | None:
    """三点半, 两点三十, 17点55分23秒, 差五分八点, 八点差五分, 八点过十分."""
    if not _is_clock(match):
        return None
    said = match["m"]
    fives = bool(said) and match.string[match.end("m") :][:1] != "分"
    hour, minute = int(chinese_number(match["h"])), _minutes(said, fives=fives)
    if match["past"]:
        minute = int(chinese_number(match["past"]))
    second = int(chinese_number(match["s"])) if match["s"] else 0
    less = match["less"] or match["less2"]
    if less:
        amount = 15 if less.endswith("刻") else int(chinese_number(less.removesuffix("分")))
        hour, minute = divmod(hour * 60 - amount, 60)
    return clock_piece(hour, minute, second, open_hour=1 <= hour <= 12)


def _digital(match: re.Match[str], _now: Reference, _: Prefer) -> Piece | None:
    """9:30, 09:30:00."""
    hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
    open_hour = 1 <= hour <= 12 and not match[1].startswith("0")
    return clock_piece(hour, minute, second, open_hour=open_hour)


HOUR = rf"(?:2[0-4]|[01]?\d|二?十[{DIGITS[1:]}]?|廿[一二三四]?|[{DIGITS}两])"
_MINUTE = rf"(?:[0-5]\d|[零二三四五]?十{COUNT}?|零{COUNT}|[二三四五]{COUNT})"
_THINGS = (
    "意见|建议|要求|原因|理由|问题|好处|不足|经验|启示|体会|内容|希望|注意|区别|优势|劣势|原则|说明|想法|疑问|感受|收获|共识|教训|感悟|"
    "结论|提示|心得|补充|变化|期望|特点|优点|缺点|看法|事实|事项|需要|值得|东西|小事|钱|水|盐|糖|油|心意|进步|差距|办法|关系|印象|信心|常识|"
    "儿|点|燃|名|菜|餐|评|滴|赞|击|头|歌|外卖|单|一线|像|吃|喝|用|睡|休息|走|的[人事]"
)
RULES = (
    rule("晨早晚夜午昼昏明晓朝天", rf"((?<![^周期拜初十廿]一)(?<!^一)(?<!整)(?:{any_of(w for w in _PARTS if len(w) > 1)})|(?<=[昨今明当天日号旦节前后寻琴听次翌])[早晚夜晨朝]|(?<=[周期拜][一二三四五六日天末])[早晚夜晨]|[早晚夜](?=(?!一点|1点){HOUR}(?:点|时|:)))(?![饭餐安会班报点辈年期好茶])", _part),
    rule("点时", rf"(?<![\d.:第这那几百千万])(?:差(?P<less>{NUMBER}分|一刻)(?:钟)?(?:到|就)?)?(?<![{DIGITS[1:]}十百千万廿])(?:[一二两三四五六七八](?=[二三四五六七八九]点))?(?P<h>{HOUR})(?P<mark>点钟|点|时(?![候间刻代装期常尚差速段效光机辰空]))(?!{_THINGS})(?:(?P<m>半(?![天个年])|[一三13]刻|整|正(?![在好常])|[踏搭](?:{COUNT}|半)|{COUNT}个?字|(?<=[晏昼下]..点){COUNT}(?!分|[{DIGITS}十])|{NUMBER}(?=分(?!之))|{_MINUTE}(?![\d人个块元度天年月日号多小倍米公斤千万亿]))分?钟?(?:(?P<s>{NUMBER})秒)?)?(?:过(?P<past>{NUMBER})分)?(?:差(?P<less2>{NUMBER}分|一刻))?", _clock),
    rule(":", r"(?<![\d:.])(?<!比例)(?<!比分)([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d))?时?(?![\d:])(?!\s*[ap]\.?m)", _digital),
)  # fmt: skip
