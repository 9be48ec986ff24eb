"""The suite: how much it covers, what its files may say, and where they lie."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import device.probing
from device.memory.records import Layer
from device.probing import Language, MemoryKind, Suite, SuiteInvalid, load_suite
from tests.probes.conftest import TINY, WriteSuite

HERE = Path(__file__).parent
SHIPPED = Path(device.probing.__file__).parent / "suite"


def test_200_standard_questions_over_every_memory_type_and_path() -> None:
    suite = load_suite()
    languages = Counter(dialogue.language for dialogue, _ in suite)
    assert len(suite) >= 240
    assert min(languages[language] for language in Language) >= 110
    for language in Language:
        part = suite.only(language=language)
        assert {probe.kind for _, probe in part} == set(MemoryKind)
        assert part.paths == suite.paths
    assert len(suite.paths) >= 15


def test_every_layer_and_every_decider_is_asked_for() -> None:
    probes = [probe for _, probe in load_suite()]
    assert {probe.layer for probe in probes} >= set(Layer)
    assert {probe.decided for probe in probes} >= {"rule", "model", "fallback"}


def test_tests_and_phone_share_one_file() -> None:
    assert {f.name for f in SHIPPED.glob("*.toml")} == {f.name for f in HERE.glob("*.toml")}
    for link in HERE.glob("*.toml"):
        assert link.is_symlink()
        assert not link.readlink().is_absolute()
        assert link.resolve() == (SHIPPED / link.name).resolve()


def test_filters_keep_whole_dialogues_in_one_language_or_path() -> None:
    suite = load_suite()
    times = suite.only(language="zh", path="times")
    assert {probe.path for _, probe in times} == {"times"}
    assert {dialogue.language for dialogue, _ in times} == {Language.ZH}
    assert 0 < len(times) < len(suite)
    assert len(suite.only(path="nowhere")) == 0


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("finds = [1], within = 1 },\n  {", "fnids = [1] },\n  {", "fnids"),
        ("finds = [1], within = 1 },\n  {", "finds = [7] },\n  {", "there are 1 turns"),
        ("finds = [1], within = 1 },\n  {", "within = 1 },\n  {", "could not fail"),
        ("finds = [1], within = 1 },\n  {", 'layer = "raw", empty = true },\n  {', "layer of what"),
        ('kind = "raw", ask = "where', 'kind = "smell", ask = "where', "kind"),
        ('id = "wrong"', 'id = "ladder"', "en-shed/ladder is there twice"),
        ('id = "zh-shed"', 'id = "shed"', "pattern"),
        ("dream = true", "at = 2026-03-01 19:00:00, dream = true", "back in time"),
        ("dream = true", "sleep = true", "steps"),
        ('ask = "梯子在哪"', 'at = 2026-03-01 19:00:00, ask = "梯子在哪"', "before the dialogue"),
        ("[[dialogue]]", "[[dialogue", "tiny.toml"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_its_place(
    write_suite: WriteSuite, old: str, new: str, says: str
) -> None:
    assert old in TINY
    with pytest.raises(SuiteInvalid, match=says) as refused:
        write_suite(TINY.replace(old, new, 1))
    assert str(refused.value).startswith(("tiny.toml", "en-shed"))
    assert "\n" not in str(refused.value)


def test_times_are_local_and_steps_follow_one_another(tiny: Suite) -> None:
    english, chinese = tiny.dialogues
    assert [at for at, _ in english.timeline] == [1_772_496_000.0, 1_772_496_030.0]
    assert english.timeline[0][0] - chinese.timeline[0][0] == 13 * 3600.0
    assert english.asked_at(english.probes[0]) == 1_772_496_060.0
