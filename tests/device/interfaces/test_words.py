"""The commands speak the language of the locale."""

from __future__ import annotations

from string import Formatter

import pytest

from device.interfaces import words
from device.interfaces.views import ago
from device.interfaces.words import language, say


def fields(form: str) -> set[str]:
    return {field for _, field, _, _ in Formatter().parse(form) if field}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "en_GB.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "C", "LC_MESSAGES": "zh_TW.UTF-8"}, "zh"),
        ({"LC_ALL": "", "LANG": "zh_CN"}, "zh"),
    ],
)
def test_the_locale_decides_as_in_posix(environment: dict[str, str], expected: str) -> None:
    assert language(environment) == expected


def test_both_languages_take_the_same_values() -> None:
    for name, forms in words._WORDS.items():
        english, chinese = map(fields, forms)
        assert english == chinese, name


@pytest.mark.parametrize(
    ("locale", "said"),
    [("en_US.UTF-8", "3 days ago"), ("zh_CN.UTF-8", "3 天前")],
)
def test_ages_are_told_as_people_say_them(
    monkeypatch: pytest.MonkeyPatch, locale: str, said: str
) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    day = 86_400.0
    assert ago(0.0, 3.5 * day) == said
    assert ago(0.0, 1.5 * day) == say("one day")
    assert ago(5.0, 0.0) == say("ahead")
    assert ago(0.0, 1.0) == say("just now")
