"""The public Chinese corpora: how much is resolved exactly. Floors lie just under that."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import pytest

from device.language import find_times
from tests.benchmarks.datetime_cases import load_cases, score, texts

RESOLVED_FLOOR = 0.94
"""Of the single-value cases; the rest are readings in which the corpus and plain meaning differ."""
LITERAL_FLOOR = 0.64
"""The same with every bound as the corpus writes it."""
MOST_FALSE = 2
DUCKLING_FLOOR = 0.92
POINT = re.compile(r"\(datetime \((\d+), (\d+), (\d+), (\d+), (\d+), (\d+)\) \w+\)")


@pytest.mark.parametrize(("literal", "floor"), [(False, RESOLVED_FLOOR), (True, LITERAL_FLOOR)])
def test_single_value_cases_of_the_public_recogniser(
    shared_data: Path, literal: bool, floor: float
) -> None:
    path = shared_data / "datetime" / "zh.json"
    result = score(find_times, load_cases(path, literal=literal), texts(path))
    assert result.total.total() > 100
    assert result.share() >= floor, [case.words for case, _ in result.wrong]
    assert not result.missed
    assert len(result.false) <= MOST_FALSE


def test_points_of_the_duckling_corpus(shared_data: Path) -> None:
    path = shared_data / "datetime" / "duckling_zh_corpus.json"
    corpus = json.loads(path.read_text(encoding="utf-8"))
    reference = datetime.fromisoformat(corpus["reference_time"])
    right = total = 0
    for case in (case for cases in corpus["corpora"].values() for case in cases):
        match = POINT.fullmatch(case["expected"].strip())
        if match is None:
            continue
        year, month, day, hour, minute, second = map(int, match.groups())
        moment = datetime(year, month, day, hour, minute, second, tzinfo=reference.tzinfo)
        expected = moment.timestamp()
        found = [[e.start for e in find_times(text, reference)] for text in case["examples"]]
        right += sum(expected in starts for starts in found)
        total += len(found)
    assert total > 200
    assert right / total >= DUCKLING_FLOOR
