# ruff: noqa: E501 - a case reads best on one line

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta, timezone

import pytest

from device.language import (
    DraftKind,
    attribute_asked,
    extract,
    find_attributes,
    language_of,
    sentiment,
    tokens,
    worth_remembering,
)
from device.readings import forget_readings
from tests.device.language.scoring import cases, extraction_fields

SHANGHAI = timezone(timedelta(hours=8))
FIELD_FLOORS = {"kind": 0.94, "place": 0.9, "people": 0.88, "action": 0.88, "object": 0.88}
AT = datetime(2026, 5, 13, 12, 0, tzinfo=SHANGHAI).timestamp()


def kinds(text: str, speaker: str = "user") -> list[DraftKind]:
    return [draft.kind for draft in extract(text, speaker, AT, SHANGHAI)]


@pytest.mark.parametrize(
    "text",
    [
        "嗯嗯", "好的，谢谢", "哈哈哈", "晚安", "正在加载…", "今天太阳真好啊",
        "ok thanks", "lol", "Loading...", "sure, great!", "yes yes yes",
        "明天天气怎么样？", "Can you book a table for Friday?", "你喜欢什么？",
        "如果明天下雨我就不去了", "If I win I'll buy a car on Friday", "我可能下周去北京",
        "我没去杭州", "I didn't go to Paris", "I might move to Berlin next year",
    ],
)  # fmt: skip
def test_nothing_is_kept_of_small_talk_questions_suppositions_and_denials(text: str) -> None:
    assert kinds(text) == []


@pytest.mark.parametrize("speaker", ["agent", "assistant", "system"])
def test_what_a_machine_says_is_no_memory(speaker: str) -> None:
    assert kinds("我叫小爱，下周三去杭州出差", speaker) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("下周三要去杭州出差", DraftKind.EVENT),
        ("I'm flying to Lisbon next Friday with Priya", DraftKind.EVENT),
        ("我喜欢吃辣", DraftKind.PREFERENCE),
        ("I hate window seats", DraftKind.PREFERENCE),
        ("取消那个会议", DraftKind.CANCEL),
        ("I'm pulling out of the half marathon", DraftKind.CANCEL),
        ("把那个出差改到下周四", DraftKind.MOVE),
        ("Move that trip to next Thursday", DraftKind.MOVE),
        ("不对，应该是周五", DraftKind.CORRECT),
        ("No, it was on Thursday", DraftKind.CORRECT),
        ("疫苗打完了", DraftKind.DONE),
        ("我叫林晓", DraftKind.ATTRIBUTE),
        ("My name is Emily", DraftKind.ATTRIBUTE),
    ],
)
def test_each_kind_of_statement(text: str, kind: DraftKind) -> None:
    assert kind in kinds(text)


@pytest.mark.parametrize("half", ["open", "blind"])
def test_extraction_output_fits_the_schema_field_by_field(half: str) -> None:
    checked: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for row in cases(f"extraction_{half}"):
        for field, good in extraction_fields(row).items():
            checked[field] += 1
            right[field] += good
    for field, floor in FIELD_FLOORS.items():
        assert checked[field] >= 35
        assert right[field] / checked[field] >= floor, field


@pytest.mark.parametrize(
    ("text", "action", "thing", "exclusive"),
    [
        ("我不吃香菜", "dislike", "香菜", False), ("比起咖啡我更喜欢喝茶", "like", "喝茶", True),
        ("我宁愿坐火车也不坐飞机", "like", "坐火车", True), ("坐飞机我一般都选靠窗的位子", "like", "靠窗的位子", True),
        ("我对爬山没兴趣", "dislike", "爬山", False), ("I prefer tea over coffee", "like", "tea", True),
        ("I'm not a fan of jazz", "dislike", "jazz", False), ("I've gone off coffee", "dislike", "coffee", False),
        ("I always book aisle seats", "like", "aisle seats", True),
        ("My favourite band is Radiohead", "like", "Radiohead band", True),
    ],
)  # fmt: skip
def test_preferences_choices_and_aversions(
    text: str, action: str, thing: str, exclusive: bool
) -> None:
    (draft,) = extract(text, "user", AT, SHANGHAI)
    assert (draft.kind, draft.action, draft.object) == (DraftKind.PREFERENCE, action, thing)
    assert draft.exclusive is exclusive


@pytest.mark.parametrize(
    "text",
    [
        "我今天不吃饭",
        "I don't eat lunch today",
        "他喜欢吃辣",
        "I love it",
        "我很喜欢这个",
        "I want to know",
    ],
)
def test_what_is_no_preference(text: str) -> None:
    assert DraftKind.PREFERENCE not in kinds(text)


def test_a_childs_preference_is_the_childs() -> None:
    (draft,) = extract("My son will only eat plain pasta", "user", AT, SHANGHAI)
    assert (draft.subject, draft.object) == ("son", "plain pasta")


def test_a_move_by_an_amount_carries_the_amount_and_no_date() -> None:
    (draft,) = extract("体检推迟一周吧", "user", AT, SHANGHAI)
    assert (draft.kind, draft.shift, draft.starts) == (DraftKind.MOVE, 7 * 86_400.0, None)


def test_an_event_has_its_parts() -> None:
    (draft,) = extract("下周三我要和老周去杭州出差", "user", AT, SHANGHAI)
    assert (draft.action, draft.place, draft.people) == ("去", "杭州", ("老周",))
    assert draft.subject == "user"
    assert draft.time_text == "下周三"
    assert draft.planned


def test_what_is_over_the_same_day_is_no_plan_any_more() -> None:
    told = "There is a concert today at 3 pm"
    at = [datetime(2026, 5, 13, hour, tzinfo=SHANGHAI).timestamp() for hour in (9, 20, 10)]
    assert [len(extract(told, "user", when, SHANGHAI)) for when in at] == [1, 0, 1]


def test_the_clause_before_a_question_is_kept() -> None:
    (draft,) = extract("下周我会去北京旅游，可以给我一些建议吗？", "user", AT, SHANGHAI)
    assert (draft.kind, draft.text, draft.place) == (DraftKind.EVENT, "下周我会去北京旅游", "北京")


def test_another_persons_event_carries_their_name() -> None:
    (draft,) = extract("I went hiking yesterday", "Melanie", AT, SHANGHAI)
    assert draft.subject == "Melanie"


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("你好，我叫张曼婷，很高兴认识你。", "name", "张曼婷"),
        ("Hello, my name is Emily. Nice to meet you.", "name", "Emily"),
        ("我的手机号是138-0013-8000", "phone", "138-0013-8000"),
        ("My birthday is March 5th", "birthday", "March 5th"),
        ("我住在江晖路1702", "address", "江晖路1702"),
        ("I live in Dublin", "city", "Dublin"),
        ("我对芒果过敏", "allergy", "芒果"),
        ("我妹妹叫小雨", "sister.name", "小雨"),
        ("My sister is called Anna", "sister.name", "Anna"),
    ],
)
def test_attributes_are_stated(text: str, key: str, value: str) -> None:
    assert {a.key: a.value for a in find_attributes(text)}.get(key) == value


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("我叫什么名字？", "name"),
        ("What is my name?", "name"),
        ("我的地址是什么", "address"),
        ("where do I live?", "address"),
        ("我妹妹叫什么", "sister.name"),
        ("what's my sister's name", "sister.name"),
        ("What did I eat yesterday?", None),
        ("我昨天吃了什么", None),
    ],
)
def test_attributes_are_asked(query: str, key: str | None) -> None:
    assert attribute_asked(query) == key


def test_sentiment_has_a_sign_and_negation_turns_it() -> None:
    assert sentiment("I love this") > 0 > sentiment("I hate this")
    assert sentiment("我不喜欢下雨") < 0 < sentiment("我非常喜欢下雨")
    assert sentiment("the box is on the table") == 0


def test_tokens_are_pairs_and_stems() -> None:
    assert "杭州" in tokens("我去杭州出差")
    assert tokens("Running cats") == tokens("run cat")


def test_language_and_worth() -> None:
    assert [language_of(t) for t in ("你好", "hello", "我用 iPad 看书", "1 + 1")] == [
        "zh",
        "en",
        "zh",
        "none",
    ]
    assert worth_remembering("我明天去北京")
    assert not worth_remembering("ok", "user")
    assert not worth_remembering("我明天去北京", "user", "system")


@pytest.mark.parametrize(
    "text",
    [
        "Dinner with Ruth today at 8pm",
        "今晚八点和小王吃饭",
        "I'll call Ann in two hours",
        "I saw Ann at 3pm",
    ],
)
def test_a_turn_is_read_anew_when_the_hour_makes_a_difference(text: str) -> None:
    """What a turn says is kept by the day; what lies ahead, and amounts of time, go by the hour."""
    hours = [datetime(2026, 5, 13, hour, tzinfo=SHANGHAI).timestamp() for hour in (6, 14, 22, 6)]
    kept = [extract(text, "user", at, SHANGHAI) for at in hours]
    for at, drafts in zip(hours, kept, strict=True):
        forget_readings()
        assert extract(text, "user", at, SHANGHAI) == drafts
