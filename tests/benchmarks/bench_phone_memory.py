"""What one more virtual phone takes of a host's resident memory, in the world an operator deploys.

    python -m tests.benchmarks.bench_phone_memory PHONES DAYS

plays one world and writes a line of JSON: the resident KB at the end of each day. The rows play a
small and a larger fleet that way, each in a process of its own, and divide the difference by the
phones between them: what every process needs once (code, the cloud, what was read of the stories)
is in both and drops out. Memory that the cloud's founding freed is given back to the system before
anything is read, or the first phones would live in it for nothing.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from simulator.quiet import quiet
from simulator.world import Options, run_world
from tests.benchmarks.row import Row

_ROOT = Path(__file__).parents[2]
_FEW, _MANY = 50, 250
_DAYS = 3
_SHOWN = (1, _DAYS)
_SEED = 3
_DAY = 86_400.0
_PHONE_KB = 150.0
"""Resident KB a phone may take in a world of 10,000."""
_STATUS = Path("/proc/self/status")


def rows() -> Iterator[Row]:
    """Resident KB a phone after one day and after three."""
    few, many = _resident(_FEW), _resident(_MANY)
    for day in _SHOWN:
        taken = (many[day - 1] - few[day - 1]) / (_MANY - _FEW)
        name = f"memory of a virtual phone after {day} day{'s' if day > 1 else ''}"
        yield Row(name, taken, "KB", bound=_PHONE_KB, target=_PHONE_KB)


def _resident(phones: int) -> list[float]:
    """Resident KB of a process with so many phones, day by day."""
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, str(phones), str(_DAYS)],
        cwd=_ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    by_day: list[float] = json.loads(done.stdout.splitlines()[-1])
    return by_day


def _play(phones: int, days: int) -> list[float]:
    resident: list[float] = []

    def at_border(passed: float, _violations: int) -> None:
        if passed % _DAY == 0.0:
            resident.append(_resident_kb())

    run_world(Options(phones, days, seed=_SEED, budget="production"), at_border)
    return resident


def _resident_kb() -> float:
    """Anonymous resident memory, after all that can be given back was."""
    gc.collect()
    trim = getattr(ctypes.CDLL(ctypes.util.find_library("c")), "malloc_trim", None)
    if trim is not None:  # glibc only
        trim(0)
    line = next(row for row in _STATUS.read_text().splitlines() if row.startswith("RssAnon:"))
    return float(line.split()[1])


if __name__ == "__main__":
    quiet()
    sys.stdout.write(json.dumps(_play(int(sys.argv[1]), int(sys.argv[2]))) + "\n")
