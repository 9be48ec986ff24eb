from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import device.language
from device.language.patterns import Bilingual
from tests.device.language.scoring import SETS, cases

MODULES = ("changes", "eventhood", "intents", "modality", "preferences", "smalltalk")
RULES = {
    f"{module}.{name}": rule
    for module in MODULES
    for name, rule in vars(importlib.import_module(f"device.language.{module}")).items()
    if isinstance(rule, Bilingual)
}


def english() -> list[str]:
    names = {path.stem for path in Path(SETS).glob("*_*.tsv")}
    return [cell for name in sorted(names) for row in cases(name) for cell in row if cell.isascii()]


@pytest.mark.parametrize("name", sorted(RULES))
def test_hints_hide_no_match(name: str) -> None:
    rule = RULES[name]
    unhinted = rule.without_hints()
    for text in english():
        assert bool(rule.search(text)) == bool(unhinted.search(text)), text


def test_each_side_reads_its_own_script() -> None:
    rule = Bilingual(zh="取消", en=r"\bcancel\b", hints="cancel")
    assert rule.search("取消会议")
    assert rule.search("please Cancel it")
    assert rule.search("把 cancel 了")
    assert rule.search("nothing") is None
    assert [m.group() for m in rule.finditer("取消 and cancel")] == ["取消", "cancel"]
    assert Bilingual(en="x").search("中") is None
    assert Bilingual(zh="中").search("x") is None


def test_the_public_surface_is_whole() -> None:
    for name in device.language.__all__:
        assert hasattr(device.language, name)
