from __future__ import annotations

import numpy as np

from device.memory.records import Hit, Layer
from device.recall.candidates import Candidate
from device.recall.folding import fold, judge_with
from protocol.models import DEDUP, Weights, initial_weights


def candidate(number: int, text: str) -> Candidate:
    hit = Hit(f"raw:{number}", Layer.RAW, text, 0.0, 1.0 - number / 10, (f"raw:{number}",))
    return Candidate(hit, 1.0)


def texts(candidates: list[Candidate]) -> list[str]:
    return [found.hit.text for found in candidates]


def always(output: str) -> Weights:
    """Weights of a dedup model that is sure of one class whatever it is shown."""
    weights = initial_weights(DEDUP, np.random.Generator(np.random.Philox(key=1)))
    for array in weights.values():
        array[:] = 0.0
    weights["b3"][DEDUP.outputs.index(output)] = 20.0
    return weights


def test_equal_words_fold_and_keep_both_turns() -> None:
    found = [candidate(0, "I like tea."), candidate(1, "A dog barks"), candidate(2, "i like TEA")]
    folded = fold(found, judge_with(None), k=10)
    assert texts(folded) == ["I like tea.", "A dog barks"]
    assert folded[0].hit.turns == ("raw:0", "raw:2")


def test_a_fold_makes_room_for_the_next_memory() -> None:
    found = [candidate(0, "tea"), candidate(1, "Tea!"), candidate(2, "coffee")]
    assert texts(fold(found, judge_with(None), k=2)) == ["tea", "coffee"]


def test_the_model_folds_only_what_shares_words_and_what_it_is_sure_of() -> None:
    alike = [candidate(0, "I like green tea"), candidate(1, "I like green tea a lot")]
    apart = [candidate(0, "I like green tea"), candidate(1, "The train leaves at nine")]
    assert len(fold(alike, judge_with(always("duplicate")), k=10)) == 1
    assert len(fold(alike, judge_with(always("merge")), k=10)) == 2
    assert len(fold(apart, judge_with(always("duplicate")), k=10)) == 2
