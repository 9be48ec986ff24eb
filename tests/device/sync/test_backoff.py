from __future__ import annotations

import numpy as np

from device.sync.backoff import FIRST_SECONDS, LONGEST_HINT_SECONDS, LONGEST_SECONDS, Backoff


def test_success_waits_for_the_interval(rng: np.random.Generator) -> None:
    backoff = Backoff(interval=100.0, rng=rng)
    assert backoff.due(0.0)
    backoff.succeeded(0.0, retry_after=0.0)
    assert not backoff.due(99.0)
    assert backoff.due(100.0)


def test_a_wait_the_cloud_asks_for_is_kept_and_spread_but_not_believed_beyond_a_day() -> None:
    after_success, after_failure = [], []
    for seed in range(100):
        backoff = Backoff(100.0, np.random.Generator(np.random.Philox(key=seed)))
        backoff.succeeded(0.0, retry_after=500.0)
        after_success.append(backoff.not_before)
        backoff.failed(0.0, retry_after=500.0)
        after_failure.append(backoff.not_before)
        backoff.failed(0.0, retry_after=1e12)
        assert backoff.not_before <= LONGEST_HINT_SECONDS + LONGEST_SECONDS
    assert 500.0 <= min(after_success) < max(after_success) <= 550.0
    assert 500.0 <= min(after_failure) < max(after_failure) <= 500.0 + FIRST_SECONDS
    assert np.std(after_success) > 10.0
    assert np.std(after_failure) > FIRST_SECONDS / 5


def test_failures_spread_over_a_doubling_span_and_never_beyond_the_longest() -> None:
    waits = []
    for seed in range(200):
        backoff = Backoff(100.0, np.random.Generator(np.random.Philox(key=seed)))
        for _ in range(12):
            backoff.failed(0.0)
        waits.append(backoff.not_before)
    assert min(waits) >= 0.0
    assert max(waits) <= LONGEST_SECONDS
    assert np.std(waits) > LONGEST_SECONDS / 8


def test_a_clock_that_is_set_back_ends_a_wait_and_a_small_correction_does_not(
    rng: np.random.Generator,
) -> None:
    backoff = Backoff(interval=12 * 3600.0, rng=rng)
    backoff.succeeded(1_000_000.0, retry_after=0.0)
    assert not backoff.due(1_000_000.0 - 120.0)
    assert backoff.due(1_000_000.0 - 3 * 86_400.0)
    backoff.failed(1_000_000.0, retry_after=600.0)
    assert not backoff.due(1_000_000.0 - 120.0)
    assert backoff.due(1_000_000.0 - 3 * 86_400.0)
