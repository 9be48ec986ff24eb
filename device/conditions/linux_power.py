"""What a Linux machine runs on, from sysfs: mains, a battery that charges, or neither."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Power", "power_of"]

MAX_CHARACTERS = 256
"""Read of one file; sysfs says a word."""
SHOWN_CHARACTERS = 24
"""Of one word of sysfs, in a diagnosis."""


@dataclass(frozen=True, slots=True)
class Power:
    """What the machine runs on."""

    charging: bool | None
    level: float | None
    """0 … 1, of the emptiest battery."""
    mains_only: bool = False
    """No battery at all, such as a desktop or a Raspberry Pi: mains count as charging. A battery
    that the kernel does not know, such as most UPS boards, is not seen."""
    raw: tuple[str, ...] = ()
    """Each supply as it was read: its kind, and its word."""


@dataclass(frozen=True, slots=True)
class _Supply:
    kind: str
    online: bool | None
    status: str
    capacity: float | None

    @property
    def words(self) -> str:
        if self.kind == "Battery":
            level = "" if self.capacity is None else f" {self.capacity:.0%}"
            return f"{self.kind} {self.status[:SHOWN_CHARACTERS] or '?'}{level}"
        return f"{self.kind} {'online' if self.online else 'offline'}"


def power_of(root: Path) -> Power:
    """From ``class/power_supply`` below `root`; a kernel without that class has no battery."""
    try:
        folders = sorted((root / "class" / "power_supply").iterdir())
    except FileNotFoundError:
        # A kernel without the class has no battery; a missing sysfs says nothing.
        known = (root / "class").is_dir()
        return Power(True if known else None, None, mains_only=known)
    except OSError:
        return Power(None, None)
    supplies = [supply for folder in folders if (supply := _supply(folder)) is not None]
    batteries = [supply for supply in supplies if supply.kind == "Battery"]
    if not batteries:
        return Power(True, None, mains_only=True)
    levels = [supply.capacity for supply in batteries if supply.capacity is not None]
    raw = tuple(supply.words for supply in supplies)
    return Power(_charging(supplies, batteries), min(levels, default=None), raw=raw)


def _charging(supplies: list[_Supply], batteries: list[_Supply]) -> bool | None:
    states = {battery.status for battery in batteries}
    if "Discharging" in states:
        return False  # also on a charger too weak for the load
    plugs = [supply.online for supply in supplies if supply.kind != "Battery"]
    if any(plugs):
        return True
    # Some charge through a plug the kernel does not list; but full, or held back by a charge
    # limiter, a battery stays for a moment after every plug was pulled.
    if "Charging" in states and states <= {"Charging", "Full", "Not charging"}:
        return True
    if plugs and states <= {"Full", "Not charging"}:
        return False
    return True if states <= {"Full", "Not charging"} else None


def _supply(folder: Path) -> _Supply | None:
    """One power supply, or None when it is absent or belongs to a peripheral."""
    kind = _word(folder / "type")
    if kind not in ("Battery", "Mains", "USB", "Wireless"):
        return None
    if _word(folder / "scope") == "Device" or _word(folder / "present") == "0":
        return None
    online, capacity = _word(folder / "online"), _word(folder / "capacity")
    level = min(int(capacity), 100) / 100 if capacity.isdecimal() and len(capacity) <= 3 else None
    # 2: a programmable USB supply.
    return _Supply(kind, online not in ("", "0"), _word(folder / "status"), level)


def _word(path: Path) -> str:
    """The file's text; "" when it cannot be read (drivers raise ENODEV and EINVAL at will)."""
    try:
        with path.open(encoding="ascii", errors="replace") as file:
            return file.read(MAX_CHARACTERS).strip()
    except OSError:
        return ""
