"""Phones that lie, and what the cloud makes of them."""

from __future__ import annotations

import pytest

from simulator.faults.lies import Lie
from simulator.faults.plan import MALICE, FaultPlan, account, silent
from simulator.fleet_checks import check_counts
from simulator.laws import ACKED_ONCE, FORGED, Tally

from .storms import storm


def test_every_kind_of_lie_is_told_and_none_does_harm() -> None:
    report = storm(2, FaultPlan(malicious_phone=1.0))
    laws = report["invariants"]
    assert laws["violated"] == 0, laws["violations"]
    assert laws["by_law"][FORGED]["checked"] > 100
    told = {name: row["fired"] for name, row in report["faults"].items()}
    assert all(told[f"malicious_phone: {kind}"] for kind in MALICE), told
    assert report["uploads_acked"]
    assert report["rounds_by_task"]["usage"]["closed"]


def test_a_kind_that_never_came_is_silent() -> None:
    plan = FaultPlan(malicious_phone=0.5, unreachable=0.0, cut=0.0)
    fired = {"malicious_phone": 3} | {f"malicious_phone: {kind}": 1 for kind in MALICE[1:]}
    assert silent(plan, fired) == [f"malicious_phone: {MALICE[0]}"]
    assert account(plan, fired)[f"malicious_phone: {MALICE[1]}"] == {"rate": 0.5, "fired": 1}
    assert not any(":" in name for name in account(FaultPlan(), {}))


HELD_ROUND = ("usage", 1)


@pytest.mark.parametrize(
    ("lie", "held", "summed", "count", "broken"),
    [
        (Lie(b"z", "usage", 1, True), [], [], 1, {}),
        (Lie(b"z", "usage", 1, True), [b"z"], [], 1, {FORGED: 1}),
        (Lie(b"z", "usage", 1, False), [b"z"], [], 1, {}),
        (Lie(b"z", "usage", 1, False), [b"z"], [b"z"], 2, {FORGED: 1, ACKED_ONCE: 1}),
    ],
    ids=["refused", "held", "held, not counted", "counted"],
)
def test_a_lie_that_is_held_or_counted_is_seen(
    lie: Lie, held: list[bytes], summed: list[bytes], count: int, broken: dict[str, int]
) -> None:
    tally = Tally()
    check_counts(
        tally,
        acked=[b"a"],
        released=[b"a"],
        held=dict.fromkeys([b"a", *held], 1),
        counted={HELD_ROUND: count},
        held_by_round={HELD_ROUND: 1 + len(held)},
        lies=[lie],
        summed={b"a", *summed},
    )
    assert tally.violated == broken
