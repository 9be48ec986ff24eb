# ruff: noqa: E501 - a case reads best on one line

from __future__ import annotations

import pytest

from device.language import worth_remembering
from device.language.modality import is_denied, is_ironic, is_reported, is_supposed
from tests.device.language.scoring import accuracy, cases, drafts, worth


@pytest.mark.parametrize(("half", "floor"), [("open", 0.98), ("blind", 0.96)])
def test_what_is_worth_remembering_is_told_from_what_is_not(half: str, floor: float) -> None:
    rows = cases(f"worth_{half}")
    assert len(rows) >= 200
    assert accuracy(rows, worth) >= floor


@pytest.mark.parametrize(
    "kind",
    ["irony", "hypo", "quote", "negation", "question", "smalltalk", "system", "request", "opinion"],
)
def test_nothing_is_kept_of_kinds_that_state_nothing(kind: str) -> None:
    rows = [row for half in ("open", "blind") for row in cases(f"worth_{half}") if row[1] == kind]
    assert len(rows) >= 15
    assert accuracy(rows, worth) >= 0.95


@pytest.mark.parametrize("kind", ["plan", "pref", "attr", "change", "past", "mixed"])
def test_what_002_says_to_store_is_kept(kind: str) -> None:
    rows = [row for half in ("open", "blind") for row in cases(f"worth_{half}") if row[1] == kind]
    assert len(rows) >= 15
    assert accuracy(rows, worth) >= 0.9


@pytest.mark.parametrize(
    "text",
    [
        "正在加载…", "[图片]", "验证码：482913，5分钟内有效", "文件上传成功", "Loading...", "Voice call 03:25",
        "Your verification code is 482913", "This message was deleted", "report.pdf saved successfully",
        "嗯嗯", "好的，谢谢啦", "确认", "哈哈哈哈", "在吗", "ok ok ok", "Yes, that's right", "good night",
    ],
)  # fmt: skip
def test_system_text_small_talk_and_confirmations_are_not_worth_it(text: str) -> None:
    assert not worth_remembering(text)


def test_nods_are_cut_from_what_is_said_beside_them() -> None:
    assert [d.text for d in drafts("好的，谢谢提醒，我周四去拿护照")] == ["我周四去拿护照"]
    assert [d.text for d in drafts("OK, thanks, I'll pick up my passport on Thursday")] == [
        "I'll pick up my passport on Thursday"
    ]


def test_an_anyway_ends_a_supposition() -> None:
    assert drafts("如果下雨我就不去，反正周六我要去接我姐") != []
    assert drafts("如果下雨，周六我就不去接我姐") == []
    assert drafts("If it rains I'll stay in, either way I'm meeting Jo on Saturday") != []
    assert drafts("If it rains I'm meeting Jo on Saturday") == []


@pytest.mark.parametrize(
    ("text", "ironic"),
    [
        ("太好了，地铁又停运，我真是太幸运了", True),
        ("Oh great, my flight got delayed again", True),
        ("太好了，我们周六去迪士尼", False),
        ("Great, my flight leaves at six", False),
        ("I just love rainy mornings", False),
    ],
)
def test_irony_is_praise_of_a_nuisance(text: str, ironic: bool) -> None:
    assert is_ironic(text) is ironic


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("新闻里说下周要降温", True),
        ("她说她最爱吃榴莲", True),
        ("He says he hates coffee", True),
        ("According to the paper the bridge closes on Monday", True),
        ("医生说我下周要复查", False),
        ("老板说我下周去出差", False),
        ("Tom said he will pick me up on Friday", False),
        ("My doctor told me to walk every day", False),
    ],
)
def test_reported_speech_counts_only_about_the_user(text: str, reported: bool) -> None:
    assert is_reported(text) is reported


@pytest.mark.parametrize(
    ("text", "supposed"),
    [
        ("要是涨工资我就换车", True),
        ("I would have gone", True),
        ("早知道就不买了", True),
        ("If you don't mind, I'd rather sit by the window", True),
        ("I'd rather sit by the window", False),
        ("我可能过敏了", True),
        ("我明天去", False),
    ],
)
def test_suppositions(text: str, supposed: bool) -> None:
    assert is_supposed(text) is supposed


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("我没报名", True), ("我还没想好", True), ("I haven't booked it", True), ("I never went", True),
        ("没问题", False), ("别忘了交房租", False), ("I booked it", False), ("特别好", False),
    ],
)  # fmt: skip
def test_negation(text: str, denied: bool) -> None:
    assert is_denied(text) is denied


@pytest.mark.parametrize(
    "text", ["x" * 100_000, "，" * 50_000, "no " * 30_000, "我说" * 30_000, "ha" * 20 + "x"]
)
def test_hostile_text_takes_no_time_and_raises_nothing(text: str) -> None:
    drafts(text)
