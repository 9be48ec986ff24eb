"""Edits leave the meaning; and what the shipped model learns from is the project's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cloud.training.corpora import dedup_lines
from cloud.training.corpora.edits import echo, in_context, other_words
from protocol.models.concepts import concepts
from protocol.models.tokens import tokens


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(key=seed))


@pytest.mark.parametrize(
    ("language", "said"), [("zh", "周五我们怎么去机场"), ("en", "I love my small house")]
)
def test_edits_change_the_words(language: str, said: str) -> None:
    edited = {echo(said, language, rng(seed)) for seed in range(30)}
    assert said not in edited
    assert len(edited) > 5
    others = {other_words(said, language, rng(seed)) for seed in range(30)}
    assert len(others) > 3


@pytest.mark.parametrize(
    ("language", "said"), [("zh", "礼拜五如何去看电影"), ("en", "monday i buy a car")]
)
def test_other_words_say_the_same(language: str, said: str) -> None:
    meant = concepts(tokens(said))
    changed = other_words(said, language, rng())
    assert changed != said
    assert concepts(tokens(changed)) == meant


def test_a_sentence_without_a_known_word_stays() -> None:
    assert other_words("娃娃鱼", "zh", rng()) == "娃娃鱼"
    assert other_words("xylophones", "en", rng()) == "xylophones"


def test_a_context_stands_around_both_and_moves_only_with_one_meaning() -> None:
    for seed in range(40):
        first, second = in_context(("甲甲", "乙乙"), "zh", rng(seed), same=False)
        assert first.replace("甲甲", "") == second.replace("乙乙", "")
        assert len(first) > 4
    moved = [in_context(("甲甲", "乙乙"), "zh", rng(seed), same=True) for seed in range(40)]
    assert any(a.replace("甲甲", "") != b.replace("乙乙", "") for a, b in moved)


def test_no_pair_of_the_public_sets_is_trained_on(shared_data: Path) -> None:
    ours = {line.texts for line in dedup_lines()}
    ours |= {texts[::-1] for texts in ours}
    for path in sorted((shared_data / "pairs").glob("*.tsv")):
        theirs = {tuple(r.split("\t")[-3:-1]) for r in path.read_text("utf-8").splitlines()}
        assert len(theirs) > 1000
        assert not ours & theirs
