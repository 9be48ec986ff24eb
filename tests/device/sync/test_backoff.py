from __future__ import annotations

import numpy as np

from device.sync.backoff import LONGEST_SECONDS, Backoff


def test_success_waits_for_the_interval_or_the_clouds_wish(rng: np.random.Generator) -> None:
    backoff = Backoff(interval=100.0, rng=rng)
    assert backoff.due(0.0)
    backoff.succeeded(0.0, retry_after=0.0)
    assert not backoff.due(99.0)
    assert backoff.due(100.0)
    backoff.succeeded(100.0, retry_after=500.0)
    assert not backoff.due(599.0)
    assert backoff.due(600.0)


def test_failures_spread_over_a_doubling_span_and_never_beyond_the_longest() -> None:
    waits = []
    for seed in range(200):
        backoff = Backoff(100.0, np.random.Generator(np.random.Philox(key=seed)))
        for _ in range(12):
            backoff.failed(0.0)
        waits.append(backoff._not_before)
    assert min(waits) >= 0.0
    assert max(waits) <= LONGEST_SECONDS
    assert np.std(waits) > LONGEST_SECONDS / 8
