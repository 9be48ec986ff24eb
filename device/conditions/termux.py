"""Conditions of an Android phone, as far as Termux lets a process see them.

- charging: ``termux-battery-status``
- idle: screen off in ``dumpsys deviceidle`` (needs the DUMP grant), else the job's gate
- unmetered: ``dumpsys connectivity`` (DUMP grant), else the job's gate while
  ``termux-wifi-connectioninfo`` shows the same connection
- heat: ``dumpsys thermalservice`` (DUMP grant), or a battery that complains; space: the file system

The gate is what Android's JobScheduler promised when it started us: the job script exports
``REVERIE_JOB_GATE=idle,charging,unmetered``. Android does not stop a script when a condition ends,
so the promise is believed for one job's length only and never against what can be seen.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from device.conditions.adb_dumps import unmetered_of
from device.conditions.findings import Finding
from device.conditions.source import Conditions
from device.conditions.space import free_bytes
from device.conditions.termux_api import HEDGE, Reply, ask_again, reply_of
from device.conditions.termux_diagnosis import Seen, Sight, findings_of, reasons_of
from device.conditions.termux_shapes import (
    charging_of,
    level_of,
    network_of,
    overheated,
    screen_off,
    thermal_status,
)
from device.conditions.tools import AskTool, ask_tool
from device.interfaces.words import language

__all__ = ["GATE_SECONDS", "GATE_VARIABLE", "TermuxConditions"]

GATE_VARIABLE = "REVERIE_JOB_GATE"
GATE_SECONDS = 585.0
"""How long the gate is believed: the length of one job (AOSP FederatedCompute's result timeout)."""
READING_LIMIT = 3.0
"""Seconds a healthy Termux:API call may take; a slower one counts as unknown while work runs."""
MODERATE = 2
"""Android's thermal status from which no work starts (AOSP FederatedCompute)."""
DUMPSYS = "/system/bin/dumpsys"


@dataclass(frozen=True, slots=True)
class _Dumps:
    """What Android's own services told; None without the DUMP grant."""

    idle: bool | None = None
    unmetered: bool | None = None
    thermal: int | None = None


class TermuxConditions:
    """Asks Termux:API; a call that hangs, fails or prints something else is unknown."""

    reading_limit = READING_LIMIT

    def __init__(
        self,
        ask: AskTool = ask_tool,
        *,
        now: Callable[[], float] = time.time,
        environ: Mapping[str, str] = os.environ,
        free: Callable[[], int | None] | None = None,
        hedge: float = HEDGE,
    ) -> None:
        """`environ` carries the job's gate, taken to have been opened now, and the locale.

        `free` measures free bytes, by default below HOME; `hedge` seconds after which a silent
        call is made once more.
        """
        self._ask = ask
        self._now = now
        self._environ = environ
        self._free = free or (lambda: free_bytes(Path(environ.get("HOME", "."))))
        self._hedge = hedge
        words = environ.get(GATE_VARIABLE, "").split(",")
        self._gate = frozenset(word.strip() for word in words)
        self._gate_ends = now() + GATE_SECONDS
        self._gated_network: tuple[str, ...] | None = None

    async def read(self) -> Conditions:
        """The conditions now, with the reason of every one that is unknown."""
        seen = await self._look()
        return Conditions(
            idle=seen.idle.holds,
            charging=seen.charging.holds,
            unmetered=seen.unmetered.holds,
            battery=level_of(seen.battery.value),
            read_at=self._now(),
            hot=seen.hot,
            free=seen.free,
            reasons=reasons_of(seen, language(self._environ)),
        )

    async def diagnose(self) -> list[Finding]:
        """What was read, raw but without names and addresses, and what to do about the rest."""
        seen, jobs = await asyncio.gather(
            self._look(), self._ask(("termux-job-scheduler", "--pending"))
        )
        return findings_of(seen, jobs, language(self._environ))

    async def _look(self) -> Seen:
        battery, wifi, dumps = await asyncio.gather(
            self._call("termux-battery-status"),
            self._call("termux-wifi-connectioninfo"),
            self._dumps(),
        )
        hot = overheated(battery.value)
        if dumps.thermal is not None:
            hot = hot or dumps.thermal >= MODERATE
        return Seen(
            battery=battery,
            wifi=wifi,
            idle=self._idle(dumps),
            charging=_charging(battery),
            unmetered=self._unmetered(dumps, wifi),
            thermal=dumps.thermal,
            hot=hot,
            free=self._free(),
            app_known=bool(self._environ.get("TERMUX_API_VERSION")),
        )

    async def _call(self, tool: str) -> Reply:
        return reply_of(await ask_again(self._ask, (tool,), self._hedge))

    async def _dumps(self) -> _Dumps:
        """One after the other: Android counts the children of all apps (32) and kills beyond."""
        idle = screen_off(await self._dump("deviceidle"))
        if idle is None:
            return _Dumps()  # no grant: the others would be refused as well
        connectivity = await self._dump("connectivity")
        thermal = await self._dump("thermalservice")
        return _Dumps(idle, unmetered_of(connectivity), thermal_status(thermal))

    async def _dump(self, service: str) -> str:
        # Termux preloads a library of its own, which Android's programs must not see.
        clean = ("env", "-u", "LD_PRELOAD", "-u", "LD_LIBRARY_PATH")
        return (await self._ask((*clean, DUMPSYS, service))).text or ""

    def _promised(self, condition: str) -> Sight:
        """Yes while the job's gate vouches for it; a gate can never say no."""
        if condition not in self._gate:
            return Sight(None, "no job")
        over = self._now() >= self._gate_ends
        return Sight(None, "job over") if over else Sight(True, "by gate")

    def _idle(self, dumps: _Dumps) -> Sight:
        return self._promised("idle") if dumps.idle is None else Sight(dumps.idle, "by dump")

    def _unmetered(self, dumps: _Dumps, wifi: Reply) -> Sight:
        if dumps.unmetered is not None:
            return Sight(dumps.unmetered, "by dump")
        if wifi.trouble:
            return Sight(None, wifi.trouble)
        network = network_of(wifi.value)
        if network is None:
            return Sight(None, "no address")
        if not network:
            return Sight(False, "")  # no Wi-Fi at all
        if self._gated_network is None:
            self._gated_network = network
        # The promise was about one network: another one may be somebody's hotspot.
        if network != self._gated_network:
            return Sight(None, "other network")
        return self._promised("unmetered")


def _charging(battery: Reply) -> Sight:
    if battery.trouble:
        return Sight(None, battery.trouble)
    holds = charging_of(battery.value)
    return Sight(holds, "charging untold" if holds is None else "")
