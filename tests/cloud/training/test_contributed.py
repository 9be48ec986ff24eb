"""An operator's own corpus: what is refused and where, and how it joins the built-in one."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cloud.composition import spawn_learning
from cloud.config import CloudConfig
from cloud.training.config import TRAINING, UNIT, UNITS
from cloud.training.corpora import contributed
from cloud.training.corpora.contributed import (
    MAX_LINE,
    MAX_TEXT,
    CorpusRefused,
    contributed_examples,
    read_contributed,
    with_contributed,
)
from cloud.training.corpora.corpus import Examples
from protocol.models.features import router_features
from protocol.models.spec import DEDUP, ROUTER
from tests.cloud.training.conftest import House

QUESTION = {
    "contributor": "ana",
    "texts": ["when is my dentist?"],
    "labels": ["structured"],
    "language": "en",
}
PAIR = {
    "contributor": "bo",
    "texts": ["我喜欢茶", "我爱喝茶"],
    "labels": ["duplicate"],
    "language": "zh",
}
SECRET = "my-secret-diary-line"


def corpus(tmp_path: Path, *lines: Any) -> Path:
    file = tmp_path / "own.jsonl"
    file.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines),
        encoding="utf-8",
    )
    return file


def public(rows: int = 4) -> Examples:
    return Examples(
        np.zeros((rows, ROUTER.layers[0]), np.float32),
        np.zeros((rows, 3), np.float32),
        ("en",) * rows,
    )


def test_lines_go_to_their_model_and_belong_to_their_contributor(tmp_path: Path) -> None:
    more = QUESTION | {"texts": ["what did she say?"], "labels": ["raw", "structured"]}
    file = corpus(tmp_path, QUESTION, "", PAIR, more, QUESTION | {"contributor": "cy"})
    questions = contributed_examples(file, "router")
    pairs = contributed_examples(file, "dedup")
    assert questions is not None
    assert pairs is not None
    assert np.bincount(questions.units).tolist() == [2, 1]
    assert len(pairs) == 1
    assert (questions.x[1] == router_features("when is my dentist?")).all()
    both = [float(name in ("raw", "structured")) for name in ROUTER.outputs]
    assert questions.y[0].tolist() == both
    assert pairs.y[0].tolist() == [float(n == "duplicate") for n in DEDUP.outputs]
    assert pairs.languages == ("zh",)


def test_its_units_come_after_the_public_ones(tmp_path: Path) -> None:
    more = QUESTION | {"texts": ["and tomorrow?"]}
    both = with_contributed(public(), corpus(tmp_path, QUESTION, more), "router")
    assert both.units.tolist() == [0, 1, 2, 3, 4, 4]
    assert len(both.x) == len(both.y) == len(both.languages) == 6
    untouched = public()
    assert with_contributed(untouched, corpus(tmp_path, PAIR), "router") is untouched


def test_the_order_of_lines_in_the_file_does_not_matter(tmp_path: Path) -> None:
    other = QUESTION | {"contributor": "aa", "texts": ["who?"]}
    one = read_contributed(corpus(tmp_path, QUESTION, PAIR, other))
    (tmp_path / "b").mkdir()
    assert read_contributed(corpus(tmp_path / "b", other, QUESTION, PAIR)) == one


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    assert len(read_contributed(corpus(tmp_path, QUESTION))) == 1
    assert len(read_contributed(corpus(tmp_path, QUESTION, PAIR))) == 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not a JSON object"),
        ("[1]", "the object: model_type"),
        ("9" * 5_000, "not a JSON object"),
        ("[" * 9_000, "nested too deeply"),
        (QUESTION | {"texts": []}, "texts: too_short"),
        (QUESTION | {"texts": ["a", "b", "c"]}, "texts: too_long"),
        (QUESTION | {"texts": ["  "]}, "texts: string_pattern_mismatch"),
        (QUESTION | {"texts": [SECRET * 200]}, "texts: string_too_long"),
        (QUESTION | {"texts": [7]}, "texts: string_type"),
        (QUESTION | {"texts": ["\ud800"]}, "texts: string_unicode"),
        (QUESTION | {"labels": ["elsewhere"]}, "labels of a router line are working"),
        (QUESTION | {"labels": ["raw", "raw"]}, "each once"),
        (QUESTION | {"labels": []}, "labels: too_short"),
        (PAIR | {"labels": ["raw"]}, "labels of a dedup line are duplicate"),
        (PAIR | {"labels": ["merge", "duplicate"]}, "a pair has one label"),
        (QUESTION | {"language": "fr"}, "language: literal_error"),
        (QUESTION | {"contributor": ""}, "contributor: string_too_short"),
        (QUESTION | {"contributor": "a" * 200}, "contributor: string_too_long"),
        (QUESTION | {SECRET: 1}, "the object: extra_forbidden"),
        ({"texts": [SECRET]}, "contributor: missing"),
    ],
)
def test_what_is_wrong_is_one_line_with_its_number(tmp_path: Path, line: Any, said: str) -> None:
    with pytest.raises(CorpusRefused) as refused:
        read_contributed(corpus(tmp_path, QUESTION, line))
    message = str(refused.value)
    assert "own.jsonl, line 2: " in message
    assert said in message
    assert "\n" not in message
    assert SECRET not in message
    assert len(message) < 300


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    file.write_bytes(b'{"contributor": "\xff"}\n')
    with pytest.raises(CorpusRefused, match="line 1: not UTF-8"):
        read_contributed(file)


def test_limits_hold_before_anything_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = QUESTION | {"texts": ["x" * MAX_LINE]}
    with pytest.raises(CorpusRefused, match=f"line 1: longer than {MAX_LINE} bytes"):
        read_contributed(corpus(tmp_path, long))
    assert read_contributed(corpus(tmp_path, QUESTION | {"texts": ["文" * MAX_TEXT]}))
    others = [QUESTION | {"contributor": str(number)} for number in range(4)]
    for name, limit, said in (
        ("MAX_LINES", 3, "more than 3 lines"),
        ("MAX_CONTRIBUTORS", 3, "more than 3 contributors"),
        ("MAX_FILE", 10, "more than 10 bytes"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(contributed, name, limit)
            folder = tmp_path / name
            folder.mkdir()
            with pytest.raises(CorpusRefused, match=said):
                read_contributed(corpus(folder, *others))


def test_a_file_that_is_not_there_or_no_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CorpusRefused, match="cannot be read"):
        read_contributed(tmp_path / "absent.jsonl")
    with pytest.raises(CorpusRefused, match="is not a file"):
        read_contributed(tmp_path)


def test_the_trainer_learns_from_it(house: House, tmp_path: Path) -> None:
    file = corpus(tmp_path, *[PAIR | {"contributor": f"p{number}"} for number in range(400)])
    shelf = house.shelf()
    own = shelf.get(house.trainer(corpus=str(file)).bootstrap(0.0))
    other = House(f"sqlite:///{tmp_path / 'other.db'}", tmp_path / "other", house.key_path)
    without = other.shelf().get(other.trainer().bootstrap(0.0))
    assert own.sha256 != without.sha256
    assert own.epsilon == without.epsilon, "what a line costs, a contributor costs"


def test_an_operator_gives_it_by_the_configuration(tmp_path: Path) -> None:
    spawned: dict[str, tuple[Any, ...]] = {}

    class Listing:
        def spawn(self, name: str, _cls: Any, *args: Any, **_: Any) -> None:
            spawned[name] = args

        async def stop(self) -> None:
            """Nothing runs."""

    config = CloudConfig(state=tmp_path, corpus=Path("own.jsonl"))
    spawn_learning(Listing(), config, object)  # type: ignore[arg-type]
    expected = replace(TRAINING["router"], corpus=str(Path("own.jsonl").absolute()))
    assert spawned["trainer-router"][-1] == expected
    spawn_learning(Listing(), CloudConfig(state=tmp_path), object)  # type: ignore[arg-type]
    assert spawned["trainer-dedup"][-1] == TRAINING["dedup"]


def test_the_unit_is_said_in_words() -> None:
    assert UNITS[TRAINING["router"].public_unit] == UNITS[TRAINING["dedup"].public_unit] == UNIT
    assert "contributor" in UNIT
