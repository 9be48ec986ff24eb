"""Conditions of an Android phone, as far as Termux lets a process see them.

- charging: ``termux-battery-status``
- idle: screen off in ``dumpsys deviceidle`` (needs the DUMP grant), else the job's gate
- unmetered: the job's gate, while ``termux-wifi-connectioninfo`` shows the same connection

The gate is what Android's JobScheduler promised when it started us: the job script exports
``REVERIE_JOB_GATE=idle,charging,unmetered``. Android does not stop a script when a condition ends,
so the promise is believed for one job's length only and never against what can be seen.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from device.conditions.source import Conditions
from device.conditions.tools import RunTool, run_tool

__all__ = ["TermuxConditions"]

GATE_VARIABLE = "REVERIE_JOB_GATE"
GATE_SECONDS = 585.0
"""How long the gate is believed: the length of one job (AOSP FederatedCompute's result timeout)."""
READING_LIMIT = 3.0
"""Seconds a healthy Termux:API call may take; a slower one counts as unknown while work runs."""
LIMITER_LEVEL = 0.3
"""Charge from which NOT_CHARGING on a plugged phone is a charge limiter, not a fault (0 … 1)."""

UNPLUGGED = ("PLUGGED_-1", "PLUGGED_0")
"""Android's "no data" and "nothing", printed with the prefix of a plug."""


class TermuxConditions:
    """Asks Termux:API; a call that hangs, fails or prints something else is unknown."""

    reading_limit = READING_LIMIT

    def __init__(
        self,
        run: RunTool = run_tool,
        *,
        now: Callable[[], float] = time.time,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """`environ` carries the job's gate; it is taken to have been opened now."""
        self._run = run
        self._now = now
        words = environ.get(GATE_VARIABLE, "").split(",")
        self._gate = frozenset(word.strip() for word in words)
        self._gate_ends = now() + GATE_SECONDS
        self._gated_network: tuple[str, ...] | None = None

    async def read(self) -> Conditions:
        """The conditions now."""
        status, wifi, screen = await asyncio.gather(
            self._run(("termux-battery-status",)),
            self._run(("termux-wifi-connectioninfo",)),
            self._run(("/system/bin/dumpsys", "deviceidle")),
        )
        battery = _object(status)
        return Conditions(
            idle=self._idle(screen),
            charging=_charging(battery),
            unmetered=self._unmetered(_object(wifi)),
            battery=_level(battery),
            read_at=self._now(),
        )

    def _promised(self, condition: str) -> bool | None:
        """True while the job's gate vouches for it; a gate can never say no."""
        return True if condition in self._gate and self._now() < self._gate_ends else None

    def _idle(self, dump: str | None) -> bool | None:
        seen = _screen_off(dump)
        return self._promised("idle") if seen is None else seen

    def _unmetered(self, wifi: Mapping[str, Any]) -> bool | None:
        network = _network(wifi)
        if network is None:
            return None
        if not network:
            return False  # no Wi-Fi at all
        if self._gated_network is None:
            self._gated_network = network
        # The promise was about one network: another one may be somebody's hotspot.
        return self._promised("unmetered") if network == self._gated_network else None


def _object(text: str | None) -> Mapping[str, Any]:
    """The JSON object a tool printed; empty for an error object or anything else."""
    try:
        value = json.loads(text or "")
    except ValueError:
        return {}
    if not isinstance(value, dict) or "error" in value or "API_ERROR" in value:
        return {}
    return value


def _charging(battery: Mapping[str, Any]) -> bool | None:
    plugged, status = battery.get("plugged"), battery.get("status")
    if not isinstance(plugged, str) or not isinstance(status, str):
        return None
    if battery.get("present") is False or status == "UNKNOWN":
        return None
    if not plugged.startswith("PLUGGED_") or plugged in UNPLUGGED:
        return False
    if status == "NOT_CHARGING":
        level = _level(battery)
        return None if level is None else level >= LIMITER_LEVEL
    return status in ("CHARGING", "FULL")


def _level(battery: Mapping[str, Any]) -> float | None:
    """0 … 1, from `percentage` or else `level` / `scale`; apps up to 0.53 give either or both."""
    percentage = _number(battery.get("percentage"))
    if percentage is None:
        level, scale = _number(battery.get("level")), _number(battery.get("scale"))
        if level is None or scale is None or scale <= 0:
            return None
        percentage = 100 * level / scale
    return percentage / 100 if 0 <= percentage <= 100 else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def _screen_off(dump: str | None) -> bool | None:
    """From the plain dump; None without the DUMP grant ("Permission Denial: …", exit code 0)."""
    words = {line.strip() for line in (dump or "").splitlines()}
    if "mScreenOn=true" in words:
        return False
    return True if "mScreenOn=false" in words else None


def _network(wifi: Mapping[str, Any]) -> tuple[str, ...] | None:
    """What tells one connection from another, () when not connected, None when unknown."""
    ip, speed = wifi.get("ip"), _number(wifi.get("link_speed_mbps"))
    state = wifi.get("supplicant_state")
    if not isinstance(ip, str) or speed is None:
        return None
    if state in ("DISCONNECTED", "UNINITIALIZED", "INTERFACE_DISABLED"):
        return ()
    if ip == "0.0.0.0" or speed <= 0:  # noqa: S104 - also what an IPv6-only network shows
        return None
    # Names are often redacted; the address changes with the network even then.
    return (ip, str(wifi.get("ssid")), str(wifi.get("bssid")))
