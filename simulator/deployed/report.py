"""What a load test is worth telling: `load.json`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from device.observer import Adopted
from device.sync.root import CloudRoot
from simulator.deployed.clock import SpedClock
from simulator.deployed.line import Meter
from simulator.deployed.phone import LoadedPhone
from simulator.fidelity import said
from simulator.laws import LAWS, Tally
from simulator.phone_result import Left
from simulator.scenario import Scenario

__all__ = ["SCHEMA", "load_report"]

SCHEMA: Final = 1
_MS: Final = 1000.0
_KEPT_UP: Final = 0.9
"""Share of the speed asked for from which this machine was fast enough for its phones."""
_QUANTILES: Final = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


def load_report(
    url: str,
    scenario: Scenario,
    clock: SpedClock,
    meter: Meter,
    phones: Sequence[LoadedPhone],
    left: Sequence[Left],
    root: CloudRoot,
) -> dict[str, Any]:
    """The report, with keys and values that JSON can hold.

    Times are real milliseconds, bytes those of frames (WebSocket payload), laws as in the report of
    a world: here 1 and 2 are checked on the wire, and that every acknowledged upload has its
    receipt in the phone's ledger. What only the cloud's database can tell is not.
    """
    tally = Tally()
    for phone in phones:
        tally.merge(phone.watch.tally)
    adopted = Counter(
        event.model
        for phone in phones
        for event in phone.watch.events
        if isinstance(event, Adopted)
    )
    device_days = scenario.phones * scenario.days
    seconds = clock.real()
    return {
        "load_schema": SCHEMA,
        "cloud": url,
        "budget": root.budget,
        "scenario": scenario.name,
        "fidelity": said(scenario.fidelity),
        "phones": scenario.phones,
        "virtual_days": scenario.days,
        "seed": scenario.seed,
        "speed": {"asked": clock.speed, "reached": round(clock.reached, 1)},
        "seconds": round(seconds, 2),
        "sessions": {
            "ended": dict(sorted(meter.ended.items())),
            "opened": len(meter.opening),
            "per_second": round(len(meter.opening) / seconds, 3),
        },
        "latency_ms": {
            "opening": _spread(meter.opening),
            "session": _spread(meter.sessions),
            "answer": _spread(meter.answers),
            "queueing": _spread(meter.queueing),
        },
        "refusals": dict(sorted(meter.refusals.items())),
        "uploads": {
            "released": sum(len(phone.watch.released) for phone in phones),
            "acked": sum(len(phone.watch.acked) for phone in phones),
            "waiting": sum(one.waiting for one in left),
        },
        "adopted": dict(sorted(adopted.items())),
        "bytes": {
            "up": meter.up,
            "down": meter.down,
            "up_per_device_day": round(meter.up / device_days, 1),
            "down_per_device_day": round(meter.down / device_days, 1),
        },
        "memory": {
            "records": sum(phone.owner.records for phone in phones),
            "answered": sum(phone.owner.answered for phone in phones),
        },
        "late_ms": _spread(clock.late),
        "kept_up": clock.reached >= _KEPT_UP * clock.speed,
        "invariants": {
            "checked": tally.checked.total(),
            "violated": tally.violated.total(),
            "by_law": {
                law: {"checked": tally.checked[law], "violated": tally.violated[law]}
                for law in LAWS
                if tally.checked[law]
            },
            "violations": tally.violations,
        },
    }


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    """How many there are, and their quantiles in milliseconds; only the number where it is 0."""
    if not seconds:
        return {"count": 0}
    values = np.asarray(seconds)
    found = {"count": len(seconds)}
    for name, share in _QUANTILES.items():
        found[name] = round(float(np.quantile(values, share)) * _MS, 2)  # type: ignore[assignment]
    return {**found, "max": round(float(values.max()) * _MS, 2)}
