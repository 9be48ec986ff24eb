"""Scale of a simulated fleet: the production budget, every habit, the cloud included.

Small worlds are measured by the processor time of one process, which others on the machine do not
disturb. With ``REVERIE_SCALE=full`` the three large ones are played too, by the clock, on a Ray
host for every core: three quarters of an hour in all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.row import Row

_ROOT = Path(__file__).parents[2]
_WORLD = "tests.benchmarks.fleet_world"
_FEW, _MANY = 100, 1_000
_FULL = "REVERIE_SCALE"
_FLAT = 1.2
"""Most by which a phone-day may cost more in the larger fleet."""
_FOUNDING_SECONDS = 10.0
_KIB = 1024.0
_GIB = 2.0**30
_MS = 1_000.0


@dataclass(frozen=True)
class _Large:
    """A world that is to be played within `seconds` of the clock."""

    phones: int
    days: int
    seconds: float
    fidelity: str = "full"
    kib_a_phone: float | None = None
    """Of one phone more than in the first of these worlds."""
    gib: float | None = None


_LARGE = (
    _Large(1_000, 7, 90.0),
    _Large(10_000, 7, 720.0, kib_a_phone=150.0),
    _Large(100_000, 1, 1_200.0, fidelity="light", gib=16.0),
)


def rows() -> Iterator[Row]:
    """The lines of this room."""
    few, many = _played(_FEW, 1), _played(_MANY, 1)
    name = "founding a fleet's cloud: corpora, two trainings, their account; CPU"
    yield Row(name, min(few["founding_seconds"], many["founding_seconds"]), "s",
              target=_FOUNDING_SECONDS)  # fmt: skip
    for world in (few, many):
        rate = world["phones"] / world["living_seconds"]
        yield Row(f"phone-days a second of one core, {world['phones']:,} phones", rate, "1/s",
                  better="high")  # fmt: skip
    cost = [_MS * one["living_seconds"] / one["phones"] for one in (many, few)]
    yield Row(f"cost of a phone-day among {_MANY:,} phones, against {_FEW}", cost[0], "ms",
              f"among {_FEW}", cost[1], target=_FLAT * cost[1])  # fmt: skip
    grown = (many["peak_bytes"] - few["peak_bytes"]) / (_MANY - _FEW) / _KIB
    yield Row(f"memory of one more phone, from {_FEW} to {_MANY:,}", grown, "KiB")
    if os.environ.get(_FULL) == "full":
        small: dict[str, Any] | None = None
        for large in _LARGE:
            found = _played(large.phones, large.days, "auto", large.fidelity)
            small = small or found
            yield from _large(large, found, small)


def _large(world: _Large, found: dict[str, Any], small: dict[str, Any]) -> Iterator[Row]:
    where = f"{found['hosts']} {found['runtime']} hosts"
    what = f"{world.phones:,} phones × {world.days} d, {world.fidelity} fidelity, {where}"
    yield Row(what, found["wall_seconds"], "s", target=world.seconds)
    if world.kib_a_phone is not None:
        more = world.phones - small["phones"]
        kib = (found["peak_bytes"] - small["peak_bytes"]) / more / _KIB
        yield Row(f"{what}: memory of one more phone", kib, "KiB", target=world.kib_a_phone)
    if world.gib is not None:
        yield Row(f"{what}: memory", found["peak_bytes"] / _GIB, "GiB", target=world.gib)


def _played(phones: int, days: int, hosts: str = "1", fidelity: str = "full") -> dict[str, Any]:
    command = [sys.executable, "-m", _WORLD, str(phones), str(days), hosts, fidelity]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=_ROOT, env=environment, check=True, capture_output=True, text=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert not found["violated"], f"{found['violated']} violations in a world of {phones}"
    return found
