"""The gate: model and exact evidence must agree before two memories become one."""

from __future__ import annotations

import pytest

from device.memory.judgement import Judgement, Verdict
from device.memory.wording import letters_of, wording_of
from tests.device.memory.dedup_models import KEEPS_BOTH, NO_MODEL, SURE

SAME = [
    ("请问怎么关闭闹钟", "如何关闭闹钟？"),
    ("我妈妈喜欢花", "我母亲喜欢花吧"),
    ("礼拜三下午三点开会", "周三下午3点开会"),
    ("我的护照在抽屉", "我护照在抽屉"),
    ("A92S 手机", "a92s手机"),
    ("The dentist is on Tuesday", "dentist is on tues"),
    ("I'm allergic to nuts", "I am allergic to nuts."),
    ("Please call mum", "call Mom"),
]
NOT_THE_SAME = [
    ("周三三点开会", "周三四点开会"),
    ("室温 6 度", "室温 -6 度"),
    ("票价 3.5 元", "票价 35 元"),
    ("我吃香菜", "我不吃香菜"),
    ("I eat fish", "I don't eat fish"),
    ("李雷把书给了韩梅", "韩梅把书给了李雷"),
    ("Tom beat Ann", "Ann beat Tom"),
    ("姐姐喜欢茶", "妹妹喜欢茶"),
    ("奶奶住院了", "外婆住院了"),
    ("明天开会", "后天开会"),
    ("我买票", "我买了票"),
    ("I liked tea", "I like tea"),
    ("周五开会", "周五开会？"),
    ("周五开会", "周五开会吗"),
    ("你家在哪里", "我家在哪里"),
    ("从成都到上海", "从上海到成都"),
    ("lunch at 12:30", "lunch at 12.30"),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_equal_wordings_may_merge_when_the_model_agrees(a: str, b: str) -> None:
    assert SURE.may_merge(a, b)
    assert SURE.may_merge(b, a)
    assert KEEPS_BOTH.may_merge(a, b) == (letters_of(a) == letters_of(b))


@pytest.mark.parametrize(("a", "b"), NOT_THE_SAME)
def test_the_surest_model_merges_nothing_that_differs(a: str, b: str) -> None:
    """Numbers, names, denials, order, tense, who asks: evidence outweighs the model."""
    assert not SURE.may_merge(a, b)


def test_dedup_without_a_model_removes_exact_duplicates_only() -> None:
    assert NO_MODEL.may_merge("我喜欢茶。", "我喜欢茶")
    assert not NO_MODEL.may_merge("请问怎么关闭闹钟", "如何关闭闹钟")
    assert NO_MODEL.verdict("I like tea", "i like TEA!") is Verdict.DUPLICATE
    assert NO_MODEL.verdict("I like tea", "I like green tea") is Verdict.INDEPENDENT


def test_the_verdict_is_the_models() -> None:
    assert SURE.verdict("a cat", "a dog") is Verdict.DUPLICATE
    assert KEEPS_BOTH.verdict("a cat", "a dog") is Verdict.MERGE
    chances = Judgement(KEEPS_BOTH.weights).chances("a cat", "a dog")
    assert sum(chances.values()) == pytest.approx(1.0)


def test_particles_alone_leave_something() -> None:
    assert wording_of("谢谢") == ("谢", "谢")
    assert wording_of("请问") == ("请", "问")
    assert wording_of("") == ()
