"""What the protocol costs, beside bounds and peers taken in the same run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgpack
import numpy as np

from protocol.messages import UploadAck
from protocol.models import ROUTER, dedup_features, embed, forward, initial_weights
from protocol.wire import decode, encode
from tests.benchmarks.row import Row, best_seconds

_CALLS = 500
_MILLISECONDS, _MICROSECONDS = 1e3, 1e6


def rows() -> Iterator[Row]:
    """Wire and features; differences have a module of their own."""
    yield from _wire_rows()
    yield from _feature_rows()


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
