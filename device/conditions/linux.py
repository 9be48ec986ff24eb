"""Conditions of a Linux machine: sysfs power supplies, NetworkManager, systemd-logind."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from device.conditions.source import Conditions
from device.conditions.tools import RunTool, run_tool

__all__ = ["LinuxConditions"]

METERED = {"u 1": False, "u 2": True, "u 3": False, "u 4": True}
"""NetworkManager's NMMetered → unmetered: yes, no, guess-yes, guess-no; 0 is unknown."""
METERED_WORDS = {"yes": False, "no": True, "yes (guessed)": False, "no (guessed)": True}
CONNECTED = "100"
"""NetworkManager's device state "activated"."""

MANAGER_METERED = (
    "busctl",
    "get-property",
    "org.freedesktop.NetworkManager",
    "/org/freedesktop/NetworkManager",
    "org.freedesktop.NetworkManager",
    "Metered",
)
MANAGER_IDLE = (
    "busctl",
    "get-property",
    "org.freedesktop.login1",
    "/org/freedesktop/login1",
    "org.freedesktop.login1.Manager",
    "IdleHint",
)
DEVICES = ("nmcli", "-t", "-f", "GENERAL.DEVICE,GENERAL.STATE,GENERAL.METERED", "device", "show")


class LinuxConditions:
    """Reads `sys_root` and asks NetworkManager and logind; what is absent is unknown."""

    def __init__(
        self,
        sys_root: Path | str = "/sys",
        run: RunTool = run_tool,
        *,
        now: Callable[[], float] = time.time,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """`environ` may name the login session (XDG_SESSION_ID) to ask for its idle hint."""
        self._root = Path(sys_root)
        self._run = run
        self._now = now
        self._environ = environ

    async def read(self) -> Conditions:
        """The conditions now."""
        charging, battery = _power(self._root)
        idle, unmetered = await asyncio.gather(self._idle(), self._unmetered())
        return Conditions(idle, charging, unmetered, battery, read_at=self._now())

    async def _unmetered(self) -> bool | None:
        """Of the primary connection; from the devices' own words where busctl is absent."""
        word = await self._run(MANAGER_METERED)
        if word is not None:
            return METERED.get(word.strip())
        listing = await self._run(DEVICES)
        return None if listing is None else _unmetered_of(listing)

    async def _idle(self) -> bool | None:
        """Whether every session is idle; of our own session where busctl is absent."""
        word = await self._run(MANAGER_IDLE)
        if word is not None:
            return {"b true": True, "b false": False}.get(word.strip())
        session = self._environ.get("XDG_SESSION_ID")
        if not session:
            return None
        hint = await self._run(("loginctl", "show-session", session, "-p", "IdleHint"))
        return {"IdleHint=yes": True, "IdleHint=no": False}.get((hint or "").strip())


def _unmetered_of(listing: str) -> bool | None:
    """One answer over all connected devices: any metered one means no."""
    answers: list[bool] = []
    for block in listing.split("\n\n"):
        fields = dict(line.split(":", 1) for line in block.splitlines() if ":" in line)
        state = fields.get("GENERAL.STATE", "").split(" ")[0]
        answer = METERED_WORDS.get(fields.get("GENERAL.METERED", ""))
        if state == CONNECTED and answer is not None:
            answers.append(answer)
    return all(answers) if answers else None


@dataclass(frozen=True, slots=True)
class _Supply:
    kind: str
    online: bool | None
    status: str
    capacity: float | None


def _power(root: Path) -> tuple[bool | None, float | None]:
    """(charging, battery 0 … 1) from ``class/power_supply``; no battery at all means mains."""
    try:
        folders = sorted((root / "class" / "power_supply").iterdir())
    except FileNotFoundError:
        # A kernel without the class has no battery; a missing sysfs says nothing.
        return (True if (root / "class").is_dir() else None), None
    except OSError:
        return None, None
    supplies = [supply for folder in folders if (supply := _supply(folder)) is not None]
    batteries = [supply for supply in supplies if supply.kind == "Battery"]
    levels = [supply.capacity for supply in batteries if supply.capacity is not None]
    return _charging(supplies, batteries), min(levels, default=None)


def _charging(supplies: list[_Supply], batteries: list[_Supply]) -> bool | None:
    if not batteries:
        return True
    states = [battery.status for battery in batteries]
    if "Discharging" in states:
        return False  # also on a charger too weak for the load
    if any(supply.online for supply in supplies if supply.kind != "Battery"):
        return True
    if all(state in ("Charging", "Full", "Not charging") for state in states):
        return True
    return None


def _supply(folder: Path) -> _Supply | None:
    """One power supply, or None when it is absent or belongs to a peripheral."""
    kind = _word(folder / "type")
    if kind not in ("Battery", "Mains", "USB", "Wireless"):
        return None
    if _word(folder / "scope") == "Device" or _word(folder / "present") == "0":
        return None
    online, capacity = _word(folder / "online"), _word(folder / "capacity")
    level = min(int(capacity), 100) / 100 if capacity.isdecimal() else None
    return _Supply(kind, online not in ("", "0"), _word(folder / "status"), level)


def _word(path: Path) -> str:
    """The file's text; "" when it cannot be read (drivers raise ENODEV and EINVAL at will)."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
