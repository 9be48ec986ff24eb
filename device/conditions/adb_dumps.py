"""What a phone's own services print, read over adb: one script, and what its output means.

The script keeps only the lines that matter: a whole `dumpsys connectivity` names every network the
phone has seen, and nobody needs that here. Formats: Android 9 to 16 (AOSP's dump methods).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["SCRIPT", "BatteryDump", "battery_of", "idle_of", "sections", "unmetered_of"]

MARK = "=== reverie "
"""Begins the line before each section."""
SECTIONS: Mapping[str, str] = {
    "battery": "dumpsys battery",
    "power": "dumpsys power | grep -m 1 mWakefulness=",
    "screen": "dumpsys deviceidle get screen",
    "deep": "dumpsys deviceidle get deep",
    "light": "dumpsys deviceidle get light",
    "idle": "dumpsys deviceidle | grep -m 1 mScreenOn=",
    # The only section with a name chosen by a stranger, the network's: so it comes last, and what
    # such a name might spell can begin no section of its own.
    "connectivity": (
        "dumpsys connectivity | grep -e '^ *NetworkAgentInfo{' -e '^Active default network'"
    ),
}
SCRIPT = "; ".join(f"echo '{MARK}{name}'; {command}" for name, command in SECTIONS.items())
"""One command line for the phone's own shell; constant, so nothing of ours is ever quoted."""

CHARGING, DISCHARGING, NOT_CHARGING, FULL = 2, 3, 4, 5
"""BatteryManager.BATTERY_STATUS_…; 1 is unknown."""
LIMITER_LEVEL = 0.3
"""Charge from which "not charging" on a plugged phone is a charge limiter, not a fault (0 … 1)."""
POWERED = ("AC powered", "USB powered", "Wireless powered", "Dock powered")
"""Android before 13 has no dock."""
MAX_DIGITS = 9

_NETWORK = re.compile(r"network\{(\d{1,9})\}")
_DEFAULT = re.compile(r"Active default network: (\d{1,9}|none)$")
_OFFERS = re.compile(r"Transports: (\S{1,200}) Capabilities: (\S{1,4000})")


@dataclass(frozen=True, slots=True)
class BatteryDump:
    """`dumpsys battery`; None is what it did not say."""

    powered: bool | None
    status: int | None
    level: float | None
    """0 … 1"""
    present: bool | None
    frozen: bool
    """Somebody ran `dumpsys battery unplug` or `set …`: it shows what was set, not what is."""

    @property
    def charging(self) -> bool | None:
        """A plug AND a status: `dumpsys battery unplug` leaves the status at "charging"."""
        if self.powered is None or self.present is False:
            return None
        if not self.powered:
            return False
        if self.status in (CHARGING, FULL):
            return True
        if self.status == NOT_CHARGING and self.level is not None:
            return self.level >= LIMITER_LEVEL
        return False if self.status in (DISCHARGING, NOT_CHARGING) else None


def sections(output: str) -> dict[str, str]:
    """Section → what was printed in it; each begins once, in the order of the script."""
    found: dict[str, list[str]] = {}
    wanted = iter(SECTIONS)
    awaited: str | None = next(wanted)
    current: list[str] = []
    for line in output.splitlines():
        if awaited is not None and line == MARK + awaited:
            current = found[awaited] = []
            awaited = next(wanted, None)
        else:
            current.append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def battery_of(dump: str) -> BatteryDump:
    """From `dumpsys battery`."""
    lines = [line.partition(":") for line in dump.splitlines()]
    fields = {name.strip(): value.strip() for name, _, value in lines}
    flags = [_yes_no(fields[name]) for name in POWERED if name in fields]
    powered = None if not flags or None in flags else any(flags)
    level, scale = _number(fields.get("level")), _number(fields.get("scale"))
    known = level is not None and scale and 0 <= level <= scale
    return BatteryDump(
        powered=powered,
        status=_number(fields.get("status")),
        level=level / scale if known and level is not None and scale else None,
        present=_yes_no(fields.get("present", "")),
        frozen="UPDATES STOPPED" in dump,
    )


def idle_of(parts: Mapping[str, str]) -> bool | None:
    """Whether the phone sleeps: by its wakefulness, else by its screen, else by deep Doze.

    Doze alone says little: Android never enters it while charging. A screen that is dark while the
    phone is awake is one held to an ear.
    """
    wakefulness = parts.get("power", "").strip().removeprefix("mWakefulness=")
    if wakefulness in ("Asleep", "Dozing"):  # Dozing: a display that is always on
        return True
    if wakefulness in ("Awake", "Dreaming"):
        return False
    on = _yes_no(parts.get("screen", "").strip())
    if on is None:
        on = _yes_no(parts.get("idle", "").strip().removeprefix("mScreenOn="))
    if on is not None:
        return not on
    return True if parts.get("deep", "").strip() in ("IDLE", "IDLE_MAINTENANCE") else None


def unmetered_of(dump: str) -> bool | None:
    """Whether the default network is Wi-Fi or a cable, validated and not metered.

    Only what networks say of themselves (`NetworkAgentInfo`) is read: a request for an unmetered
    network says NOT_METERED too. A VPN counts by what carries it; when that is not told, unknown.
    """
    lines = [line.strip() for line in dump.splitlines()]
    defaults = [match[1] for line in lines if (match := _DEFAULT.match(line))]
    if len(defaults) != 1:
        return None
    if defaults[0] == "none":
        return False
    offers = [_OFFERS.search(line) for line in lines if _is_network(line, defaults[0])]
    # Two that claim to be the same network: whichever says less is believed.
    answers = {_offers_unmetered(match[1], match[2]) if match else None for match in offers}
    if not answers or None in answers:
        return None
    return answers == {True}


def _is_network(line: str, number: str) -> bool:
    if not line.startswith("NetworkAgentInfo{"):
        return False
    named = _NETWORK.search(line)
    return named is not None and named[1] == number


def _offers_unmetered(transports: str, capabilities: str) -> bool | None:
    carriers = set(transports.split("|"))
    offered = set(capabilities.split("&"))
    if carriers == {"VPN"}:
        return None
    carried = bool(carriers & {"WIFI", "ETHERNET"}) and "CELLULAR" not in carriers
    return carried and {"NOT_METERED", "VALIDATED"} <= offered


def _yes_no(word: str) -> bool | None:
    return {"true": True, "false": False}.get(word)


def _number(word: str | None) -> int | None:
    text = (word or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else None
