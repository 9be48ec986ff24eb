# ruff: noqa: E501 - a case reads best on one line

from __future__ import annotations

import pytest

from device.language import attribute_asked, attribute_label, find_attributes, is_user
from device.language.entities import find_people, find_place
from tests.device.language.scoring import accuracy, cases, states


@pytest.mark.parametrize(("half", "floor"), [("open", 0.98), ("blind", 0.94)])
def test_attributes_people_state_of_themselves_and_theirs(half: str, floor: float) -> None:
    rows = cases(f"attributes_{half}")
    assert len(rows) >= 75
    assert accuracy(rows, states) >= floor


@pytest.mark.parametrize("speaker", ["me", "my self", "我", "本人", "自己", "用户", "I", "myself"])
def test_every_word_for_the_user_is_one_user(speaker: str) -> None:
    assert is_user(speaker.replace(" ", ""))


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("我现在住哪儿", "address"), ("where do I live these days", "address"), ("我家狗叫啥", "dog.name"),
        ("what's my dog called", "dog.name"), ("我老婆叫什么", "wife.name"), ("我儿子几岁了", "son.age"),
        ("how old is my son", "son.age"), ("我的车牌号是多少", "plate"), ("what car do I drive?", "car"),
        ("我对什么过敏", "allergy"), ("what am I allergic to", "allergy"), ("我妈生日是哪天", "mother.birthday"),
        ("我什么时候去杭州", None), ("what did I do last week", None), ("what time is the call", None),
    ],
)  # fmt: skip
def test_what_a_question_about_the_user_asks_for(query: str, key: str | None) -> None:
    assert attribute_asked(query) == key


def test_a_stated_value_is_found_by_the_question_for_it() -> None:
    pairs = [
        ("我老婆叫小芸", "我老婆叫什么"), ("my wife's name is Ann", "what is my wife's name"),
        ("我家猫叫年糕", "我家猫叫啥"), ("I live in Dublin", "which city do I live in"),
        ("我的车牌是京N88Q21", "我车牌号多少"), ("My blood type is O", "what's my blood type"),
    ]  # fmt: skip
    for statement, question in pairs:
        assert [a.key for a in find_attributes(statement)] == [attribute_asked(question)]


@pytest.mark.parametrize(
    "text",
    ["我叫了外卖", "我叫他别来了", "call me tomorrow", "My name is not important", "I'm from the support team",
     "如果我叫小明呢", "If my name was Bob", "我叫什么来着", "Is my name Bob?", "I live for the weekend"],
)  # fmt: skip
def test_what_only_looks_like_an_attribute(text: str) -> None:
    assert find_attributes(text) == []


def test_nobody_else_states_the_users_attributes() -> None:
    assert find_attributes("My name is Bob", "Melanie") == []
    assert find_attributes("我叫小爱", "agent") == []


@pytest.mark.parametrize(
    ("key", "query", "label"),
    [("wife.name", "我老婆叫什么", "老婆的名字"), ("blood_type", "my blood type?", "blood type"),
     ("mother.phone", "我妈的电话", "妈的电话"), ("car", "我开什么车", "车")],
)  # fmt: skip
def test_labels_are_in_the_querys_language(key: str, query: str, label: str) -> None:
    assert attribute_label(key, query) == label


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("下周去杭州出差", "杭州"), ("昨天在宜家买了书柜", "宜家"), ("明天要去首都机场接人", "首都机场"),
        ("今晚在家写论文", "家"), ("听起来确实不错", ""), ("我在考虑换工作", ""), ("我感受到了快乐", ""),
        ("I flew to Lisbon", "Lisbon"), ("we met at the airport", "airport"), ("see you in May", ""),
        ("give it to Tom", ""), ("walking along the Thames", "Thames"),
    ],
)  # fmt: skip
def test_places(text: str, place: str) -> None:
    assert find_place(text) == place


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("和老周去钓鱼", ("老周",)), ("约了王医生和我妈", ("王医生", "妈")), ("跟同事吃饭", ("同事",)),
        ("我在大学学数学", ()), ("lunch with Karen and my boss", ("Karen", "boss")),
        ("Dr. Patel called", ("Dr. Patel",)), ("Sam and I went hiking", ("Sam",)), ("I'm in Paris", ()),
    ],
)  # fmt: skip
def test_people(text: str, people: tuple[str, ...]) -> None:
    assert find_people(text) == people
