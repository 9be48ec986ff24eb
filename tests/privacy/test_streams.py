"""Usage vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacy.mechanisms import clip_to_lattice
from privacy.streams import (
    USAGE_CLIP,
    USAGE_DIMENSION,
    USAGE_HISTOGRAMS,
    split_usage,
    usage_histogram,
    usage_vector,
)

answers = st.fixed_dictionaries({h.name: st.sampled_from(h.bins) for h in USAGE_HISTOGRAMS})


@given(answers)
def test_every_report_has_one_answer_per_histogram(chosen: dict[str, str]) -> None:
    vector = usage_vector(chosen)
    assert vector.shape == (USAGE_DIMENSION,) == (32,)
    back = split_usage(vector)
    assert {name: max(bins, key=bins.__getitem__) for name, bins in back.items()} == chosen
    assert all(sum(bins.values()) == 1.0 for bins in back.values())
    # the clip does not cost a single lattice unit
    assert np.array_equal(clip_to_lattice(vector, USAGE_CLIP, 256, bytes), vector * 256)


def test_answers_outside_the_closed_lists_are_refused_without_being_repeated() -> None:
    good = {h.name: h.bins[0] for h in USAGE_HISTOGRAMS}
    for bad in (
        good | {"language": "my secret diary"},
        good | {"my secret diary": "x"},
        {k: v for k, v in good.items() if k != "queries"},
    ):
        with pytest.raises(ValueError) as caught:
            usage_vector(bad)
        assert "diary" not in str(caught.value)
    with pytest.raises(ValueError):
        split_usage(np.zeros(31))


def test_a_histogram_is_found_by_its_name() -> None:
    assert usage_histogram("language").bins == ("zh", "en", "mixed", "none")
    with pytest.raises(ValueError) as caught:
        usage_histogram("my secret diary")
    assert "diary" not in str(caught.value)
