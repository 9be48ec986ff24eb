"""The fleet's usage mix: averaged over rounds, shrunk by its noise, turned into weights."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud.training.corpora import Examples, Line, dedup_lines, router_lines
from cloud.training.usage import (
    COMPOSITION,
    LEAST,
    MOST,
    PHONES,
    RECENT_ROUNDS,
    FleetMix,
    UsageMix,
    carried_forward,
    example_weights,
    known_shares,
    noise_of,
    usage_mix,
)
from privacy import BUDGETS
from privacy.estimation import estimate_histograms, total_noise
from privacy.streams import USAGE_DIMENSION, USAGE_HISTOGRAMS
from protocol.models import DEDUP, ROUTER
from tests.cloud.training.conftest import House

Z = 1.959963984540054


def share(histogram: str, name: str, value: float, noise: float | None = None) -> dict[str, Any]:
    """One bin; `noise` is its standard error, None for one without an interval."""
    entry: dict[str, Any] = {"histogram": histogram, "bin": name, "estimate": value}
    if noise is not None:
        entry |= {"low": max(value - Z * noise, 0.0), "high": min(value + Z * noise, 1.0)}
    return entry


def languages(zh: float, en: float, noise: float | None = None, **more: Any) -> dict[str, Any]:
    told = [share("language", "zh", zh, noise), share("language", "en", en, noise)]
    return {"histograms": told} | more


def layers(values: tuple[float, float, float], noise: float | None = None) -> list[dict[str, Any]]:
    return [
        share("top_layer", name, value, noise)
        for name, value in zip(ROUTER.outputs, values, strict=True)
    ]


def four() -> Examples:
    """zh working, zh structured, en structured + raw, en working."""
    y = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0]], dtype=np.float32)
    return Examples(np.zeros((4, 2), dtype=np.float32), y, ("zh", "zh", "en", "en"))


# --- what rounds tell ---


def test_the_trainer_reads_every_round_before_its_aggregate(house: House) -> None:
    zeros = np.zeros(1)
    house.aggregate(
        zeros,
        task="usage",
        estimates={"histograms": [share("language", "zh", 0.2)]},
    )
    house.aggregate(zeros, task="local_usage", estimates=languages(0.4, 0.0))
    model = house.aggregate(zeros, task="dedup")
    house.aggregate(zeros, task="local_usage", number=2, estimates=languages(1.0, 0.0))
    trainer = house.trainer()
    found = trainer._buffer.usage_before(model)
    trainer.close()
    assert found["language"]["zh"] == pytest.approx(0.3), "the mean of two exact rounds, not three"
    phones = 1000
    expected = math.sqrt(0.5e-12 + 0.3 * 0.7 / phones)
    assert found.errors["language"]["zh"] == pytest.approx(expected), "of that many phones"


def test_rounds_are_averaged_by_inverse_variance() -> None:
    found = carried_forward([languages(0.6, 0.4, 0.01), languages(0.3, 0.4, 0.02)])
    assert found["language"]["zh"] == pytest.approx((4 * 0.6 + 0.3) / 5)
    assert found.errors["language"]["zh"] == pytest.approx(0.02 / math.sqrt(5))


def test_only_recent_rounds_count() -> None:
    rounds = [languages(0.6, 0.4, 0.01)] * RECENT_ROUNDS
    assert carried_forward(rounds) == carried_forward([*rounds, languages(0.0, 1.0, 0.01)])
    once, often = carried_forward(rounds[:1]), carried_forward(rounds)
    assert often.errors["language"]["zh"] == pytest.approx(
        once.errors["language"]["zh"] / math.sqrt(RECENT_ROUNDS)
    )


def test_the_same_phones_every_week_do_not_become_more() -> None:
    rounds = [languages(0.5, 0.5, 1e-9) | {PHONES: 100}] * RECENT_ROUNDS
    assert carried_forward(rounds).errors["language"]["zh"] == pytest.approx(0.05)


def test_a_histogram_that_a_round_leaves_out_stands() -> None:
    newest = {"histograms": layers((0.2, 0.3, 0.5))}
    found = carried_forward([newest, languages(0.6, 0.4)])
    assert found == {
        "top_layer": {"working": 0.2, "structured": 0.3, "raw": 0.5},
        "language": {"zh": 0.6, "en": 0.4},
    }
    assert carried_forward([]) == {}


@pytest.mark.parametrize(
    ("estimate", "low", "high", "noise"),
    [
        (0.5, 0.5 - Z * 0.1, 0.5 + Z * 0.1, 0.1),
        (0.05, 0.0, 0.05 + Z * 0.1, 0.1),
        (0.95, 0.95 - Z * 0.1, 1.0, 0.1),
        (-0.02, 0.0, -0.02 + Z * 0.1, 0.1),
        (0.4, 0.0, 1.0, math.inf),
        (0.5, 0.4, 0.7, 0.15 / Z),
    ],
)
def test_noise_is_read_off_the_side_that_is_not_cut(
    estimate: float, low: float, high: float, noise: float
) -> None:
    entry = {"estimate": estimate, "low": low, "high": high}
    assert noise_of(entry) == pytest.approx(noise)
    assert noise_of({"estimate": estimate}) == 0.0


def test_noise_is_what_privacy_drew() -> None:
    """A real estimate's intervals give back the noise they were made from."""
    n, terms = 5_000, BUDGETS["production"].terms("usage")
    sigma = total_noise(terms.sigma, n, terms.n_min)
    total = np.full(USAGE_DIMENSION, n * terms.scale // 4, dtype=np.int64)
    found = usage_mix(
        {"histograms": [one._asdict() for one in estimate_histograms(total, n, terms.scale, sigma)]}
    )
    assert set(found) == {one.name for one in USAGE_HISTOGRAMS}
    for errors in found.errors.values():
        assert list(errors.values()) == pytest.approx([sigma / n] * len(errors))


# --- what is known ---


def test_the_error_of_a_part_follows_from_those_of_the_bins() -> None:
    mix = carried_forward([languages(0.3, 0.1, 0.01)])
    known = known_shares(mix, "language", ("zh", "en"))
    assert known is not None
    assert known.parts == pytest.approx({"zh": 0.75, "en": 0.25})
    expected = math.sqrt(0.25**2 + 0.75**2) * 0.01 / 0.4
    assert known.errors == pytest.approx({"zh": expected, "en": expected})
    draws = np.random.default_rng(1).normal((0.3, 0.1), 0.01, (200_000, 2))
    assert float((draws[:, 0] / draws.sum(axis=1)).std()) == pytest.approx(expected, rel=0.02)


def test_phones_of_both_languages_count_half_for_each() -> None:
    mix = {"language": {"zh": 0.2, "en": 0.0, "mixed": 0.6, "none": 0.2}}
    known = known_shares(mix, "language", ("zh", "en"))
    assert known is not None
    assert known.parts == pytest.approx({"zh": 0.5 / 0.8, "en": 0.3 / 0.8})


def test_bins_that_drown_in_noise_tell_nothing() -> None:
    drowned = carried_forward([languages(0.03, 0.02, 0.05)])
    assert known_shares(drowned, "language", ("zh", "en")) is None
    assert known_shares({}, "language", ("zh", "en")) is None
    assert known_shares({"language": {"zh": -0.2, "en": -0.1}}, "language", ("zh", "en")) is None


def test_noise_shrinks_a_histogram_by_the_share_it_explains() -> None:
    mix = carried_forward([languages(0.7, 0.3, 0.1)])
    known = known_shares(mix, "language", ("zh", "en"))
    assert known is not None
    error = math.sqrt(0.3**2 + 0.7**2) * 0.1
    kept = 1.0 - 2 * error**2 / (2 * 0.2**2)
    assert kept == pytest.approx(0.855)
    shrunk = known.shrunk({"zh": 0.5, "en": 0.5})
    assert shrunk == pytest.approx({"zh": 0.5 + kept * 0.2, "en": 0.5 - kept * 0.2})
    noisier = known_shares(carried_forward([languages(0.7, 0.3, 0.3)]), "language", ("zh", "en"))
    assert noisier is not None
    assert noisier.shrunk({"zh": 0.5, "en": 0.5}) == {"zh": 0.5, "en": 0.5}


# --- weights ---


def test_weights_are_the_fleets_parts_over_the_corpus_own() -> None:
    mix = {
        "language": {"zh": 0.6, "en": 0.2},
        "top_layer": {"working": 0.14, "structured": 0.4, "raw": 0.16},
    }
    own = COMPOSITION["router"]
    working, structured, raw = (
        part / 0.7 / own["top_layer"][name]
        for name, part in {"working": 0.14, "structured": 0.4, "raw": 0.16}.items()
    )
    expected = [
        1.5 * working,
        1.5 * structured,
        0.5 * (structured + raw) / 2.0,
        0.5 * working,
    ]
    assert example_weights(four(), ROUTER, mix) == pytest.approx(expected, rel=1e-6)
    dedup = example_weights(four(), DEDUP, mix)
    assert dedup == pytest.approx([0.75 / 0.56] * 2 + [0.25 / 0.44] * 2, rel=1e-6)


def test_nothing_known_or_nothing_but_noise_means_even_weights() -> None:
    noise = languages(0.62, 0.38, 0.2)
    noise["histograms"] += layers((0.5, 0.3, 0.2), 0.3)
    mixes: tuple[UsageMix, ...] = ({}, carried_forward([noise]), FleetMix({}))
    for mix in mixes:
        assert (example_weights(four(), ROUTER, mix) == 1.0).all()


def test_the_mean_weight_is_one_over_a_corpus_of_that_composition() -> None:
    """Whatever the bounds cut off: a re-weighting must change no learning rate."""
    for zh, values in ((0.98, (0.9, 0.05, 0.05)), (0.1, (0.0, 0.1, 0.9))):
        mix = {"language": {"zh": zh, "en": 1 - zh}} | {
            "top_layer": dict(zip(ROUTER.outputs, values, strict=True))
        }
        cells = [
            (language, layer, part * share)
            for language, part in COMPOSITION["router"]["language"].items()
            for layer, share in COMPOSITION["router"]["top_layer"].items()
        ]
        y = np.array(
            [[float(layer == name) for name in ROUTER.outputs] for _, layer, _ in cells],
            dtype=np.float32,
        )
        examples = Examples(np.zeros((6, 2), np.float32), y, tuple(cell[0] for cell in cells))
        weights = example_weights(examples, ROUTER, mix)
        assert sum(w * cell[2] for w, cell in zip(weights, cells, strict=True)) == pytest.approx(1)


def test_a_weight_does_not_depend_on_other_examples() -> None:
    """DP-SGD's sensitivity: what one example does may not change with who else is there."""
    mix = carried_forward([languages(0.8, 0.2, 0.01) | {PHONES: 5_000}])
    whole = example_weights(four(), ROUTER, mix)
    for row in range(4):
        one = four()
        alone = Examples(one.x[row : row + 1], one.y[row : row + 1], (one.languages[row],))
        assert example_weights(alone, ROUTER, mix)[0] == whole[row]


@pytest.mark.parametrize(("model", "source"), [("router", router_lines), ("dedup", dedup_lines)])
def test_the_stated_composition_is_that_of_the_corpus(
    model: str, source: Callable[[], Iterable[Line]]
) -> None:
    lines = [line for line in source() if line.origin == "template"]
    languages = Counter(line.language for line in lines)
    labels = Counter(label for line in lines for label in line.labels)
    for language, part in COMPOSITION[model]["language"].items():
        assert languages[language] / languages.total() == pytest.approx(part, abs=0.02)
    for layer, part in COMPOSITION[model].get("top_layer", {}).items():
        assert labels[layer] / labels.total() == pytest.approx(part, abs=0.02)


@given(st.lists(st.floats(-2.0, 2.0), min_size=5, max_size=5), st.floats(0.0, 1.0))
def test_noisy_estimates_keep_weights_bounded(values: list[float], noise: float) -> None:
    bins = ("zh", "en", "working", "structured", "raw")
    entries = [
        share("language" if i < 2 else "top_layer", name, value, noise)
        for i, (name, value) in enumerate(zip(bins, values, strict=True))
    ]
    weights = example_weights(four(), ROUTER, usage_mix({"histograms": entries}))
    assert np.isfinite(weights).all()
    assert ((weights >= LEAST / MOST) & (weights <= MOST / LEAST)).all()
