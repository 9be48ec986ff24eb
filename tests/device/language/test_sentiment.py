# ruff: noqa: E501 - a case reads best on one line

from __future__ import annotations

import pytest

from device.language import sentiment
from tests.device.language.scoring import accuracy, cases, feels


@pytest.mark.parametrize(("half", "floor"), [("open", 0.95), ("blind", 0.95)])
def test_sentiment_has_the_sign_a_reader_gives_it(half: str, floor: float) -> None:
    rows = cases(f"sentiment_{half}")
    assert len(rows) >= 75
    assert accuracy(rows, feels) >= floor


@pytest.mark.parametrize(
    "text", ["我不喜欢下雨", "一点都不开心", "I don't like it", "not great, not good"]
)
def test_negation_turns_a_good_word(text: str) -> None:
    assert sentiment(text) < 0


@pytest.mark.parametrize("text", ["一点都不累", "not bad at all", "I can't complain"])
def test_negation_turns_a_bad_word(text: str) -> None:
    assert sentiment(text) > 0


@pytest.mark.parametrize("text", ["特别开心", "特别满意"])
def test_an_intensifier_is_no_negation(text: str) -> None:
    assert sentiment(text) > 0.5


@pytest.mark.parametrize(
    "text",
    ["爱丁堡在苏格兰", "烦请转告王老师", "累计三千公里", "高兴路12号", "it looks like rain", "sit down please", "a kind of cheese"],
)  # fmt: skip
def test_words_that_only_look_like_feeling(text: str) -> None:
    assert sentiment(text) == 0


def test_what_follows_a_but_weighs_more() -> None:
    assert sentiment("菜很好吃，但是服务太差") < 0 < sentiment("服务太差，但是菜很好吃")
    assert sentiment("great food but awful service") < 0 < sentiment("awful service but great food")


def test_emphasis_makes_it_stronger() -> None:
    assert sentiment("我非常开心") > sentiment("我开心") > 0
    assert sentiment("I'm really sad") < sentiment("I'm sad") < 0
    assert -1 <= sentiment("烦死了！！！") <= sentiment("太棒了！！！") <= 1
