"""What the protocol costs, beside bounds and peers taken in the same run."""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterator

import msgpack
import numpy as np
from numpy.typing import NDArray

from protocol.messages import UploadAck
from protocol.models import ROUTER, ModelSpec, dedup_features, embed, forward, initial_weights
from protocol.params import Parameters, apply_difference, encode_difference, encode_full
from protocol.wire import decode, encode
from tests.benchmarks.row import Row, best_seconds

_LAYERS = (256, 160, 56, 3)
_WIDE = ModelSpec(
    name="wide",
    layers=_LAYERS,
    scales=dict.fromkeys([f"{kind}{i}" for i in (1, 2, 3) for kind in "wb"], 1 / 32),
    head=(),
    output="sigmoid",
    outputs=("a", "b", "c"),
)
"""50,307 weights: the size the design's figures were taken at."""
_STEPS, _BATCH, _RATE = 20, 32, 0.005
_CALLS = 500
_MILLISECONDS, _MICROSECONDS = 1e3, 1e6


def rows() -> Iterator[Row]:
    """Differences, wire and features."""
    yield from _difference_rows()
    yield from _wire_rows()
    yield from _feature_rows()


def _retrain() -> tuple[Parameters, Parameters]:
    """Two versions of the wide model, some gradient steps (sums of outer products) apart."""
    rng = np.random.Generator(np.random.Philox(key=1))
    old = initial_weights(_WIDE, rng)
    new = {name: array.copy() for name, array in old.items()}
    for name in ("w1", "w2", "w3"):
        inputs, outputs = new[name].shape
        for _ in range(_STEPS):
            x = np.maximum(rng.standard_normal((_BATCH, inputs)), 0)
            slope = x.T @ rng.standard_normal((_BATCH, outputs)) / np.sqrt(_BATCH)
            new[name] -= (_RATE * slope).astype(np.float32)
    return Parameters.of(old, _WIDE, 1), Parameters.of(new, _WIDE, 2)


def _steps(base: Parameters, target: Parameters) -> NDArray[np.int8]:
    return np.concatenate(
        [
            (target.arrays[name].view(np.uint8) - base.arrays[name].view(np.uint8)).ravel()
            for name in sorted(base.arrays)
        ]
    ).view(np.int8)


def _shannon_bytes(values: NDArray[np.int8]) -> float:
    share = np.unique(values, return_counts=True)[1] / values.size
    return float(-(share * np.log2(share)).sum() * values.size / 8)


def _difference_rows() -> Iterator[Row]:
    base, target = _retrain()
    blob = encode_difference(base, target)
    steps = _steps(base, target)
    bound = _shannon_bytes(steps)
    plain = steps.tobytes()
    yield Row(
        "protocol: difference of 50k int8 weights, over the Shannon order-0 bound",
        len(blob),
        "B",
        bound=bound,
        target=1.02 * bound,
    )
    peers = (
        ("zlib -9 of the plain difference", len(zlib.compress(plain, 9))),
        ("bz2 of the plain difference", len(bz2.compress(plain))),
        ("xz of the plain difference", len(lzma.compress(plain))),
        ("our full blob", len(encode_full(target))),
    )
    for peer, size in peers:
        yield Row(
            "protocol: difference of 50k int8 weights", len(blob), "B", peer, size, target=size
        )
    seconds = best_seconds(lambda: apply_difference(base, blob, _WIDE, 2))
    packed = zlib.compress(plain, 9)
    inflate = best_seconds(lambda: zlib.decompress(packed))
    yield Row(
        "protocol: decode a difference of 50k weights",
        seconds * _MILLISECONDS,
        "ms",
        "zlib alone, of the plain difference",
        inflate * _MILLISECONDS,
        target=20.0,
    )


def _wire_rows() -> Iterator[Row]:
    message = UploadAck(upload_id=bytes(16), offset=1, committed=True)
    frame = encode(message)
    ours = best_seconds(lambda: [decode(frame) for _ in range(_CALLS)]) / _CALLS
    bare = best_seconds(lambda: [msgpack.unpackb(frame) for _ in range(_CALLS)]) / _CALLS
    yield Row(
        "protocol: decode and validate an ack",
        ours * _MICROSECONDS,
        "µs",
        "msgpack alone, unvalidated",
        bare * _MICROSECONDS,
        target=50.0,
    )


def _feature_rows() -> Iterator[Row]:
    chinese = [f"帮我把下周{i}去杭州的行程改到周四下午{i}点" for i in range(_CALLS * 6)]
    english = [f"Do you remember restaurant {i} I mentioned last time?" for i in range(_CALLS * 6)]
    for language, texts in (("zh", chinese), ("en", english)):
        seconds = best_seconds(_taking(embed, texts))
        yield Row(
            f"protocol: embed a short text ({language}, not cached)",
            seconds / _CALLS * _MICROSECONDS,
            "µs",
            target=100.0,
        )
    seconds = best_seconds(_taking(lambda text: dedup_features(text, chinese[0]), chinese))
    name = "protocol: features of a pair (zh)"
    yield Row(name, seconds / _CALLS * _MICROSECONDS, "µs", target=250.0)
    rng = np.random.Generator(np.random.Philox(key=2))
    weights = initial_weights(ROUTER, rng)
    x = rng.standard_normal((1, ROUTER.layers[0])).astype(np.float32)
    seconds = best_seconds(lambda: [forward(weights, x, ROUTER) for _ in range(_CALLS)]) / _CALLS
    yield Row("protocol: route one query", seconds * _MILLISECONDS, "ms", target=5.0)


def _taking(call: Callable[[str], object], texts: list[str]) -> Callable[[], object]:
    """A timed call that takes fresh texts every time, so that no cache helps."""
    fresh = iter(texts)
    return lambda: [call(next(fresh)) for _ in range(_CALLS)]
