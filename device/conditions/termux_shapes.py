"""What Termux:API and Android's dumps print, over their versions.

The battery has four shapes: the app up to 0.50 prints six keys; 0.51 more, with the temperature as
text in the phone's own language (``"27,7"``); 0.52 has it as a number again and writes unsupported
values as null; 0.53 leaves them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

__all__ = [
    "AppAge", "app_age", "battery_words", "charging_of", "level_of", "network_of", "overheated",
    "screen_off", "thermal_status", "wifi_words",
]  # fmt: skip

AppAge = Literal["0.50 or older", "0.51", "0.52", "0.53 or newer"]

LIMITER_LEVEL = 0.3
"""Charge from which NOT_CHARGING on a plugged phone is a charge limiter, not a fault (0 … 1)."""
UNPLUGGED = ("PLUGGED_-1", "PLUGGED_0")
"""Android's "no data" and "nothing", printed with the prefix of a plug."""
LARGEST = 10**12
"""No reading comes near it, and JSON may hold a number that no float can."""
MAX_WORD = 24
"""Characters of a word of the phone's that is shown; BATTERY_STATUS words have up to 12."""


def charging_of(battery: Mapping[str, Any]) -> bool | None:
    """A plug AND a status; the current's sign is the vendor's whim and not asked."""
    plugged, status = battery.get("plugged"), battery.get("status")
    if not isinstance(plugged, str) or not isinstance(status, str):
        return None
    if battery.get("present") is False or status == "UNKNOWN":
        return None
    if not plugged.startswith("PLUGGED_") or plugged in UNPLUGGED:
        return False
    if status == "NOT_CHARGING":
        level = level_of(battery)
        return None if level is None else level >= LIMITER_LEVEL
    return status in ("CHARGING", "FULL")


def level_of(battery: Mapping[str, Any]) -> float | None:
    """0 … 1, from `percentage` or else `level` / `scale`; apps up to 0.53 give either or both."""
    percentage = _number(battery.get("percentage"))
    if percentage is None:
        level, scale = _number(battery.get("level")), _number(battery.get("scale"))
        if level is None or scale is None or scale <= 0:
            return None
        percentage = 100 * level / scale
    return percentage / 100 if 0 <= percentage <= 100 else None


def overheated(battery: Mapping[str, Any]) -> bool | None:
    """Whether the battery itself complains of heat; that it does not is no proof of coolness."""
    return True if battery.get("health") == "OVERHEAT" else None


def app_age(battery: Mapping[str, Any]) -> AppAge | None:
    """Which app printed this; None when it was none."""
    if not battery:
        return None
    if "present" not in battery and "technology" not in battery:
        return "0.50 or older"
    if isinstance(battery.get("temperature"), str):
        return "0.51"
    return "0.52" if None in battery.values() else "0.53 or newer"


def network_of(wifi: Mapping[str, Any]) -> tuple[str, ...] | None:
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


def screen_off(dump: str) -> bool | None:
    """From the plain `dumpsys deviceidle`; None without the DUMP grant ("Permission Denial: …",
    exit code 0)."""
    words = {line.strip() for line in dump.splitlines()}
    if "mScreenOn=true" in words:
        return False
    return True if "mScreenOn=false" in words else None


def thermal_status(dump: str) -> int | None:
    """From `dumpsys thermalservice`: 0 none, 1 light, 2 moderate … 6 shutdown."""
    for line in dump.splitlines():
        name, colon, value = line.strip().partition(": ")
        if colon and name == "Thermal Status" and value in ("0", "1", "2", "3", "4", "5", "6"):
            return int(value)
    return None


def battery_words(battery: Mapping[str, Any]) -> str:
    """The raw reading in one line."""
    level = level_of(battery)
    shown = "?" if level is None else f"{level:.0%}"
    plugged, status = _word(battery.get("plugged")), _word(battery.get("status"))
    return f"plugged {plugged}, status {status}, {shown}"


def wifi_words(wifi: Mapping[str, Any]) -> str:
    """The raw reading in one line, without names and addresses: they tell where somebody lives."""
    speed = _number(wifi.get("link_speed_mbps"))
    shown = "?" if speed is None else f"{speed:.0f}"
    ip = wifi.get("ip")
    address = "an address" if isinstance(ip, str) and ip != "0.0.0.0" else "no address"  # noqa: S104
    return f"supplicant {_word(wifi.get('supplicant_state'))}, {shown} Mbit/s, {address}"


def _word(value: object) -> str:
    """A word of Android's own vocabulary; anything else is not repeated."""
    plain = isinstance(value, str) and value.replace("_", "").replace("-", "").isalnum()
    return str(value) if plain and str(value).isascii() and len(str(value)) <= MAX_WORD else "?"


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < LARGEST else None
