"""Parameters on the grid, their differences, and blobs that mean harm."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.errors import DifferenceInvalid, WeightsInvalid
from protocol.models import DEDUP, ROUTER, SPECS, ModelSpec
from protocol.params import (
    Parameters,
    apply_difference,
    decode_full,
    dequantise,
    encode_difference,
    encode_full,
    quantise,
    sha256_of,
)
from tests.protocol.samples import nudged, random_parameters, random_weights

_seeds = st.integers(0, 2**32)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(SPECS)), _seeds, _seeds)
def test_any_difference_is_exact(model: str, old: int, new: int) -> None:
    spec = SPECS[model]
    base, target = random_parameters(old, 1, spec), random_parameters(new, 2, spec)
    blob = encode_difference(base, target)
    assert len(blob) <= spec.max_blob
    applied = apply_difference(base, blob, spec, 2)
    assert applied.version == 2
    for name in spec.shapes:
        assert np.array_equal(applied.arrays[name], target.arrays[name])
    assert sha256_of(applied) == sha256_of(target)


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(sorted(SPECS)), _seeds)
def test_a_full_blob_is_exact(model: str, seed: int) -> None:
    spec = SPECS[model]
    parameters = random_parameters(seed, 3, spec)
    blob = encode_full(parameters)
    assert len(blob) <= spec.max_blob
    assert sha256_of(decode_full(blob, spec, 3)) == sha256_of(parameters)


def test_a_small_retrain_is_a_small_difference() -> None:
    base = random_parameters(1, 1)
    assert len(encode_difference(base, nudged(base, 2, 2))) < len(encode_full(base)) / 3
    assert len(encode_difference(base, base)) < 64
    arrays_ = {name: array.copy() for name, array in base.arrays.items()}
    arrays_["w3"] = arrays_["w3"] + np.int8(1)
    head = Parameters(base.model, 2, arrays_, base.scales)
    assert len(encode_difference(base, head)) < 64


def test_quantising_rounds_to_the_grid_and_clips() -> None:
    weights = random_weights(DEDUP, 1)
    weights["w1"][0, 0] = 100.0
    parameters = Parameters.of(weights, DEDUP, 1)
    back = parameters.weights()
    assert back["w1"].dtype == np.float32
    assert parameters.arrays["w1"][0, 0] == 127
    weights["w1"][0, 0] = back["w1"][0, 0]
    for name, scale in DEDUP.scales.items():
        inside = np.abs(weights[name]) < 127 * scale
        assert np.abs(back[name] - weights[name])[inside].max() <= scale / 2
    again = quantise(back, DEDUP)
    assert all(np.array_equal(again[name], parameters.arrays[name]) for name in again)
    assert np.array_equal(dequantise(again, DEDUP)["w2"], back["w2"])


def test_wrong_weights_are_refused() -> None:
    weights = random_weights(DEDUP, 1)
    for change in (
        {"w1": weights["w1"].T},
        {"w9": weights["w1"]},
        {"b1": np.full(32, np.nan, dtype=np.float32)},
        {"b1": np.full(32, np.inf, dtype=np.float32)},
    ):
        with pytest.raises(WeightsInvalid):
            quantise(weights | change, DEDUP)
    with pytest.raises(WeightsInvalid):
        Parameters("dedup", 1, {"w1": np.zeros(3, np.int8)}, {})
    with pytest.raises(WeightsInvalid):
        dequantise({"w1": np.zeros(3, np.int8)})


def test_parameters_cannot_be_changed_and_hash_without_version() -> None:
    parameters = random_parameters(1, 1)
    with pytest.raises(ValueError, match="read-only"):
        parameters.arrays["w1"][0, 0] = 1
    assert sha256_of(parameters) == sha256_of(random_parameters(1, 9))
    assert sha256_of(parameters) != sha256_of(random_parameters(2, 1))
    shuffled = dict(reversed(parameters.arrays.items()))
    other = Parameters(parameters.model, 1, shuffled, parameters.scales)
    assert sha256_of(other) == sha256_of(parameters)


def test_a_difference_serves_only_its_base_and_model() -> None:
    base, target = random_parameters(1, 1), random_parameters(2, 2)
    blob = encode_difference(base, target)
    with pytest.raises(DifferenceInvalid, match="another base"):
        apply_difference(random_parameters(3, 1), blob, ROUTER, 2)
    with pytest.raises(DifferenceInvalid):
        apply_difference(base, blob, DEDUP, 2)
    with pytest.raises(DifferenceInvalid):
        encode_difference(base, random_parameters(1, 1, DEDUP))


_BASE = random_parameters(1, 1, DEDUP)
_GOOD = encode_difference(_BASE, nudged(_BASE, 2, 2, DEDUP))
_FULL = encode_full(_BASE)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 255), st.integers(-3, 3), st.booleans())
def test_a_mutated_blob_decodes_to_the_same_size_or_is_refused(
    place: int, change: int, cut: int, full: bool
) -> None:
    blob = bytearray(_FULL if full else _GOOD)
    blob[place % len(blob)] ^= change
    blob = blob[:cut] if cut < 0 else blob + bytes(cut)
    try:
        if full:
            decoded = decode_full(bytes(blob), DEDUP, 2)
        else:
            decoded = apply_difference(_BASE, bytes(blob), DEDUP, 2)
    except DifferenceInvalid:
        return
    assert {name: array.shape for name, array in decoded.arrays.items()} == DEDUP.shapes


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_garbage_is_no_blob(data: bytes) -> None:
    mark = _GOOD[4:8]
    magics = (b"RVD2", b"RVS2")
    for blob in (data, b"RVF1" + data):
        with pytest.raises(DifferenceInvalid):
            decode_full(blob, DEDUP, 1)
    for blob in (data, *(magic + start + data for magic in magics for start in (b"", mark))):
        with pytest.raises(DifferenceInvalid):
            apply_difference(_BASE, blob, DEDUP, 1)


def _deflated(data: bytes) -> bytes:
    coder = zlib.compressobj(9, zlib.DEFLATED, -15)
    return coder.compress(data) + coder.flush()


def test_bombs_are_refused_at_the_models_size() -> None:
    bomb = _deflated(bytes(1_000_000))
    assert len(bomb) < DEDUP.max_blob
    for blob in (b"RVF1" + bomb, b"RVF1" + _deflated(bytes(DEDUP.parameter_count + 1))):
        with pytest.raises(DifferenceInvalid):
            decode_full(blob, DEDUP, 1)
    for width in (2, 4, 8):
        with pytest.raises(DifferenceInvalid):
            apply_difference(_BASE, b"RVD2" + _GOOD[4:8] + bytes([width]) + bomb, DEDUP, 1)
    with pytest.raises(DifferenceInvalid, match="at most"):
        decode_full(b"RVF1" + bytes(DEDUP.max_blob), DEDUP, 1)


def test_a_wide_model_is_within_two_percent_of_the_shannon_bound() -> None:
    layers = (128, 64, 24, 3)
    names = [f"{kind}{index}" for index in (1, 2, 3) for kind in "wb"]
    spec = ModelSpec("wide", layers, dict.fromkeys(names, 1 / 32), (), "sigmoid", ("a", "b", "c"))
    base = random_parameters(1, 1, spec)
    target = nudged(base, 2, 2, spec)
    values = np.concatenate(
        [(target.arrays[n].astype(int) - base.arrays[n]).ravel() for n in spec.shapes]
    )
    share = np.unique(values, return_counts=True)[1] / values.size
    bound = -(share * np.log2(share)).sum() * values.size / 8
    assert len(encode_difference(base, target)) <= 1.06 * bound  # 10k weights: tables weigh more


def test_a_bitmap_of_rows_is_whole_and_padded_with_zeros() -> None:
    arrays_ = {name: array.copy() for name, array in _BASE.arrays.items()}
    arrays_["w1"][:, 3] ^= 1
    target = Parameters(_BASE.model, 2, arrays_, _BASE.scales)
    blob = encode_difference(_BASE, target)
    assert blob[:4] == b"RVS2"
    assert sha256_of(apply_difference(_BASE, blob, DEDUP, 2)) == sha256_of(target)
    rows = sum(array.shape[1] if array.ndim > 1 else 1 for array in arrays_.values())
    last = 8 + (rows - 1) // 8
    assert rows % 8, "the last byte of the bitmap has room for padding"
    padded = blob[:last] + bytes([blob[last] | 1]) + blob[last + 1 :]
    with pytest.raises(DifferenceInvalid, match="padding"):
        apply_difference(_BASE, padded, DEDUP, 2)
    with pytest.raises(DifferenceInvalid, match="cut short"):
        apply_difference(_BASE, blob[:last], DEDUP, 2)
