"""One world of the fleet benchmark, played in a process of its own so that its memory is its own.

    python -m tests.benchmarks.fleet_world PHONES DAYS [HOSTS [FIDELITY]]

Prints JSON. Processor seconds are those of this process; with hosts on Ray they are not all.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from simulator.placing import place
from simulator.quiet import quiet
from simulator.resident import resident
from simulator.scenario import load_scenario
from simulator.world import Options, run_world

_SCENARIO = "city"
_SEED = 3


def main() -> None:
    """Play, then print."""
    quiet()
    phones, days = int(sys.argv[1]), int(sys.argv[2])
    placed = place(sys.argv[3] if len(sys.argv) > 3 else "1", None, phone_days=phones * days)
    seen = _Seen()
    fidelity = sys.argv[4] if len(sys.argv) > 4 else "full"
    scenario = load_scenario(_SCENARIO).changed(
        phones=phones, days=days, seed=_SEED, fidelity=fidelity
    )
    began = time.perf_counter()
    report = run_world(Options.of(scenario, placed.runtime, placed.hosts), seen.step)
    found = {
        "phones": phones,
        "days": days,
        "hosts": placed.hosts if placed.runtime == "ray" else 1,
        "runtime": placed.runtime,
        "wall_seconds": time.perf_counter() - began,
        "founding_seconds": seen.founded - seen.began,
        "living_seconds": time.process_time() - seen.founded,
        "peak_bytes": seen.peak,
        "violated": report["invariants"]["violated"],
        "digest": report["digest"],
    }
    sys.stdout.write(json.dumps(found) + "\n")


class _Seen:
    """Processor time and memory at the borders."""

    def __init__(self) -> None:
        self.began = self.founded = time.process_time()
        self.peak = 0
        self._lives = False

    def step(self, *_: Any) -> None:
        """A border; the first one is before any phone lives."""
        if not self._lives:
            self._lives, self.founded = True, time.process_time()
        self.peak = max(self.peak, resident(os.getpid()))


if __name__ == "__main__":
    main()
