"""Chinese script and numbers, as the Chinese time rules read them."""

from __future__ import annotations

import re

__all__ = ["COUNT", "DIGITS", "NUMBER", "chinese_number", "compact", "simplified"]

DIGITS = "零一二三四五六七八九"
COUNT = "[一二三四五六七八九]"
NUMBER = rf"(?:\d+(?:\.\d+)?|[{DIGITS}两十百千廿卅]+)"
"""A number of things."""

_VALUES = {character: value for value, character in enumerate(DIGITS)} | {"两": 2}
_POWERS = {"十": 10, "百": 100, "千": 1000}
_TRADITIONAL = (
    "鐘钟鍾钟點点後后個个兩两週周禮礼號号時时這这當当該该間间內内過过節节國国慶庆聖圣誕诞農农曆历歷历歲岁陽阳陰阴"
    "臘腊閏闰紀纪來来從从開开結结幾几聽听尋寻萬万晝昼婦妇勞劳動动兒儿軍军復复穌稣難难樹树齋斋懺忏靈灵門门歸归"
    "際际費费權权長长還还餘余遲迟於于現现〇零○零處处滿满種种驚惊蟄蛰穀谷師师親亲黃黄裡里淩凌貳二參三剛刚給给"
    "為为書书讓让約约歐欧節节據据壞坏辦办飯饭連连學学總总後后與与舊旧們们趕赶準准備备終终週周灑洒猶犹"
    "０0１1２2３3４4５5６6７7８8９9：:／/－-～~．.﹣-–-—-−-"
)  # fmt: skip
_SIMPLE = str.maketrans(dict(zip(_TRADITIONAL[::2], _TRADITIONAL[1::2], strict=True)))
_BLANK = re.compile(r"\s")
_ASCII_WORD = re.compile(r"[0-9A-Za-z.,:/~-]")


def simplified(text: str) -> str:
    """The text in simplified characters and ASCII digits, character for character."""
    return text.translate(_SIMPLE)


def compact(text: str) -> tuple[str, list[int] | None]:
    """The text without blanks beside a Chinese character ("2018 年"), and where each kept
    character stood; None when nothing was left out."""
    if not _BLANK.search(text):
        return text, None
    kept = [i for i, character in enumerate(text) if not character.isspace() or _divides(text, i)]
    return "".join(text[i] for i in kept), kept


def _divides(text: str, place: int) -> bool:
    """A blank between two ASCII characters keeps them apart."""
    around = text[max(place - 1, 0) : place] + text[place + 1 : place + 2]
    return all(_ASCII_WORD.match(c) or c.isspace() for c in around)


def chinese_number(text: str) -> float:
    """Value of a Chinese or arabic number: 二十三, 廿一, 一百零五, 两, 二零一九, 2.5."""
    if text[0].isascii():
        return float(text)
    text = text.replace("廿", "二十").replace("卅", "三十")
    if not any(c in _POWERS for c in text):
        return float("".join(str(_VALUES[c]) for c in text))
    total, digit = 0, 0
    for character in text:
        if character in _POWERS:
            total += (digit or 1) * _POWERS[character]
            digit = 0
        else:
            digit = _VALUES[character]
    return float(total + digit)
