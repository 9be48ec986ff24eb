"""Both languages say everything, and charts say nothing that is not escaped."""

from __future__ import annotations

import re
from importlib import resources

import pytest

from cloud.admin.acts import ACTS
from cloud.admin.charts import Bar, Line, Mark, Point, fill, over_time, over_versions, whiskers
from cloud.admin.visits import SECTIONS
from cloud.admin.words import LANGUAGES, Words, preferred, table
from privacy.streams import USAGE_HISTOGRAMS

BLANK = re.compile(r"\{(\w+)\}")
HOSTILE = "<b onclick='x'>&\""


def test_both_languages_have_the_same_sentences_with_the_same_blanks() -> None:
    english, chinese = (table()[language] for language in LANGUAGES)
    assert set(english) == set(chinese)
    for key, said in english.items():
        assert said, key
        assert chinese[key], key
        assert set(BLANK.findall(said)) == set(BLANK.findall(chinese[key])), key


def test_every_name_the_pages_make_up_has_a_word() -> None:
    known = set(table()["en"])
    assert {f"nav.{section}" for section in SECTIONS} <= known
    assert {f"{part}.{act}" for act in ACTS for part in ("act", "confirm")} <= known
    assert {f"histogram.{one.name}" for one in USAGE_HISTOGRAMS} <= known
    for kind in ("drift", "refusals", "rounds_failing", "rejected"):
        assert f"alarm.{kind}" in known


def test_every_sentence_a_template_asks_for_exists() -> None:
    folder = resources.files("cloud.admin").joinpath("pages")
    asked = set()
    for file in folder.iterdir():
        if file.name.endswith(".j2"):
            asked |= set(re.findall(r"w\('([a-z_.0-9]+)'[,)]", file.read_text("utf-8")))
    assert len(asked) > 80
    assert asked <= set(table()["en"])


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-GB,en;q=0.9,zh;q=0.1", "en"),
        ("de,zh-TW;q=0.5", "zh"),
        ("", "en"),
        ("de" + ",x" * 10_000, "en"),
    ],
)
def test_the_browsers_language(accepted: str, language: str) -> None:
    assert preferred(accepted) == language


def test_unknown_names_stand_for_themselves() -> None:
    assert Words("zh").name("event", "something_new") == "something_new"


def test_charts_escape_and_stay_inside() -> None:
    drawn = [
        whiskers(HOSTILE, [Bar(HOSTILE, 1.7, -0.4, 2.0)]),
        over_time(HOSTILE, [Line(HOSTILE, [Point(0.0, 0.5, 0.4, 0.6)])], [Mark(0.0, HOSTILE)]),
        over_versions(HOSTILE, Line(HOSTILE, [Point(1, 0.5)]), lambda _: HOSTILE),
        fill(HOSTILE, 7.0),
    ]
    for svg in drawn:
        assert "<b" not in svg
        assert "style=" not in svg
        for value in re.findall(r'(?:x|cx|x1|x2|width)="(-?[\d.]+)"', svg):
            assert 0.0 <= float(value) <= 480.0


def test_a_whisker_spans_its_interval() -> None:
    svg = whiskers("", [Bar("a", 0.5, 0.25, 0.75)])
    low, high = (float(x) for x in re.findall(r"M([\d.]+) [\d.]+v8", svg))
    (bar,) = re.findall(r'class="bar" x="112" y="[\d.]+" width="([\d.]+)"', svg)
    assert low < 112 + float(bar) < high
    assert high - low == pytest.approx(0.5 * (480 - 112 - 62))


def test_charts_of_nothing_are_empty() -> None:
    assert over_time("", [Line("a", [])]) == ""
    assert over_versions("", Line("a", []), str) == ""
