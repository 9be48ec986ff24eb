"""Where a world is played: in this process, or on Ray with a host for every core."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["BIG", "MOST_HOSTS", "Placing", "PlacingRefused", "place", "usable_cores"]

BIG: Final = 1_200
"""Phone-days from which a second core gains more than Ray costs: about 12 s to start it, against
half of 20 ms a phone-day."""
MOST_HOSTS: Final = 256
_AUTO = "auto"


class PlacingRefused(ValueError):
    """The hosts asked for cannot be had; the message is one line that says what can."""


@dataclass(frozen=True)
class Placing:
    """A runtime and how many hosts share the phones; `said` is for the terminal."""

    runtime: Literal["inproc", "ray"]
    hosts: int
    said: str


def place(
    hosts: str,
    runtime: Literal["inproc", "ray"] | None,
    *,
    phone_days: int,
    cores: int | None = None,
    ray: bool | None = None,
) -> Placing:
    """The placing for ``hosts``, a number or "auto".

    Args:
        runtime: None leaves it to the size of the world, where `hosts` is "auto".
        cores: of this machine; None to look.
        ray: whether Ray is installed; None to look.

    Raises:
        PlacingRefused: `hosts` is neither.
    """
    cores = cores or usable_cores()
    if hosts != _AUTO:
        if not hosts.isdecimal() or not 1 <= int(hosts) <= MOST_HOSTS:
            raise PlacingRefused(f"--hosts is a number from 1 to {MOST_HOSTS}, or auto")
        chosen = runtime or "inproc"
        return Placing(chosen, int(hosts), _said(chosen, int(hosts), "as asked for"))
    if runtime is not None:
        count = cores if runtime == "ray" else 1
        return Placing(runtime, count, _said(runtime, count, f"{cores} cores"))
    if ray is None:
        ray = importlib.util.find_spec("ray") is not None
    if phone_days < BIG:
        return Placing("inproc", 1, _said("inproc", 1, "a small world"))
    if cores < 2:
        return Placing("inproc", 1, _said("inproc", 1, "one core"))
    if not ray:
        return Placing("inproc", 1, _said("inproc", 1, "Ray is not installed"))
    return Placing("ray", cores, _said("ray", cores, f"{phone_days:,} phone-days on {cores} cores"))


def usable_cores() -> int:
    """Cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _said(runtime: str, hosts: int, why: str) -> str:
    where = "on Ray" if runtime == "ray" else "in this process"
    return f"{hosts} host{'s' if hosts > 1 else ''} {where}: {why}"
