"""The cross-scorer and the focus of a query."""

from __future__ import annotations

import pytest

from device.recall.focus import focus
from device.recall.relevance import (
    CARRIERS,
    LEAST,
    WEIGHTS,
    Question,
    cross_features,
    cross_score,
    only_asks,
)


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("when did I see the dentist", "I saw the dentist last Friday", "I saw the dentist again"),
        ("我什么时候看的牙", "我上周五看的牙", "我看的牙不错的"),
        ("how many people came", "eight people came, I think", "people came, I think"),
        ("羽毛球小组有多少人", "我们组八个人左右", "我们组的人都不错"),
        ("why did I quit", "I quit because of my boss", "I quit without my boss"),
        ("what did I cook", "I cooked soup for lunch", "did you cook soup for lunch?"),
    ],
)
def test_cross_scorer_prefers_what_tells_what_is_asked(query: str, better: str, worse: str) -> None:
    question = Question.of(query)
    assert cross_score(question, better, "user") > cross_score(question, worse, "user")


@pytest.mark.parametrize(
    ("query", "asked", "not_asked"),
    [
        ("what did Melanie paint", "Melanie", "Caroline"),
        ("What is Melanie's plan", "Melanie", "Caroline"),
        ("which painters did you recommend to me", "assistant", "user"),
        ("你给我推荐过哪些画家", "assistant", "user"),
        ("which film did I recommend to you", "user", "assistant"),
        ("我喜欢哪些菜系", "user", "assistant"),
    ],
)
def test_cross_scorer_knows_whose_words_are_asked_for(
    query: str, asked: str, not_asked: str
) -> None:
    question = Question.of(query)
    assert question.asks_about(asked)
    assert not question.asks_about(not_asked)


def test_an_event_that_has_a_time_tells_it_without_words() -> None:
    question = Question.of("when is the concert")
    assert "time" not in cross_features(question, "the concert")
    assert cross_features(question, "the concert", known={"time"})["time"] == 1.0


def test_every_feature_is_weighted_and_no_text_is_thrown_away() -> None:
    query = "when, where, how many and why: what did Melanie do"
    shown = cross_features(
        Question.of(query), "I left from Paris last week because of us two", "Melanie"
    )
    assert set(shown) | {"asks"} == set(WEIGHTS)
    assert cross_score(Question.of(query), "?" * 3) >= LEAST


@pytest.mark.parametrize(
    ("aspect", "told", "not_told"),
    [
        ("number", "两个人", "同事推荐了一个餐厅"),
        ("number", "a table for two", "a table"),
        ("name", "名字叫山葵", "一家日料店"),
        ("name", "It is called Wasabi", "a Japanese place"),
        ("time", "周五晚上", "很好吃"),
        ("person", "和小李一起去的", "挺开心的"),
    ],
)
def test_a_text_tells_an_aspect(aspect: str, told: str, not_told: str) -> None:
    assert CARRIERS[aspect](told)
    assert not CARRIERS[aspect](not_told)


def test_a_question_mark_at_the_end_only() -> None:
    assert only_asks("真的吗？ ")
    assert not only_asks("Really? I went too.")


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("上次说的那个餐厅，帮我订个位", "餐厅"),
        ("家长会是哪天？", "家长会"),
        ("你还记得我的猫叫什么吗", "我的猫"),
        ("the restaurant I mentioned last time, book it", "the restaurant"),
    ],
)
def test_focus_leaves_out_the_words_that_only_ask(query: str, left: str) -> None:
    assert " ".join(focus(query).replace("，", " ").replace(",", " ").split()).startswith(left)
    assert "订" not in focus(query)
    assert "last" not in focus(query)


def test_focus_of_a_query_that_only_asks_is_the_query() -> None:
    assert focus("什么时候？") == "什么时候？"
    assert focus("") == ""


@pytest.mark.parametrize(
    ("query", "times"),
    [
        ("what did I do yesterday?", ["yesterday"]),
        ("昨天我做了什么", ["昨天"]),
        ("在4月29日我们聊了哪些话题呢", ["4月29日"]),
        ("下周有什么安排", ["下周"]),
    ],
)
def test_focus_of_a_query_for_nothing_but_a_time_is_empty(query: str, times: list[str]) -> None:
    assert focus(query, times) == ""
    assert focus(query + " 生日 birthday", times) != ""
