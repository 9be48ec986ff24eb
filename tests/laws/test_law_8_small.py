"""Law 8: at most 20 KB per device-day on the wire, under the default budget."""

from __future__ import annotations

from simulator.world import Options, run_world

LIMIT = 20_000
"""Bytes up and down together, connection set-up, TLS and TCP overhead included."""


def test_a_device_day_stays_under_20_kb() -> None:
    """The first three days, enrolment and first full models included: the dearest there are."""
    report = run_world(Options(phones=8, days=3, seed=11, budget="production"))
    spent = report["bytes_per_device_day"]
    assert report["uploads_acked"] > 0
    assert report["releases"]["router"]["adopted"] == 8
    assert spent["up"] + spent["down"] <= LIMIT, spent
