"""Conditions of an emulator or phone on the other end of adb; the runtime itself runs here.

One `adb shell` a reading. Anything that does not come, comes late or reads otherwise is unknown,
and unknown never opens a window.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping

from device.conditions.adb_dumps import SCRIPT, battery_of, idle_of, sections, unmetered_of
from device.conditions.adb_words import SAID, TROUBLE
from device.conditions.findings import Finding
from device.conditions.source import Conditions
from device.conditions.tools import AskTool, ask_tool
from device.interfaces.words import language

__all__ = ["ADB_VARIABLE", "AdbConditions", "SerialInvalid"]

ADB_VARIABLE = "REVERIE_ADB"
"""Names the serial of the phone whose conditions count."""
READING_LIMIT = 3.0
"""Seconds a reading may take while work runs: it is one round trip and seven dumps."""
SHOWN_CHARACTERS = 200
"""Of one raw reading, in a diagnosis."""

_SERIAL = re.compile(r"[A-Za-z0-9\[][A-Za-z0-9._:%\[\]-]{0,127}")
"""A USB serial, emulator-5554, host:port, [IPv6%zone]:port, or a name that mDNS found."""
_STATES: Mapping[str, str] = {
    "offline": "offline",
    "unauthorized": "unauthorized",
    "authorizing": "unauthorized",
    "connecting": "connecting",
    "recovery": "recovery",
    "rescue": "recovery",
    "sideload": "recovery",
    "bootloader": "recovery",
    "no permissions": "no permissions",
}
"""How adb's list begins to describe a phone it cannot use → our word for it."""


class SerialInvalid(ValueError):
    """What was given can be no serial; the message says what one looks like."""


class AdbConditions:
    """Asks the phone that `adb` knows as `serial`."""

    reading_limit = READING_LIMIT

    def __init__(
        self,
        serial: str,
        ask: AskTool = ask_tool,
        *,
        now: Callable[[], float] = time.time,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        """`environ` says in which language. The serial is one argument of adb, never part of a
        shell's line. Raises `SerialInvalid`."""
        if not _SERIAL.fullmatch(serial):
            raise SerialInvalid(
                "the serial is none: take it from `adb devices`, such as emulator-5554"
            )
        self._serial = serial
        self._ask = ask
        self._now = now
        self._place = 1 if language(environ) == "zh" else 0

    async def read(self) -> Conditions:
        """The conditions now, with the reason of what is unknown."""
        parts, trouble = await self._look()
        battery = battery_of(parts.get("battery", ""))
        seen = self._seen(parts)
        return Conditions(
            idle=seen["idle"][0],
            charging=seen["charging"][0],
            unmetered=seen["unmetered"][0],
            battery=battery.level,
            read_at=self._now(),
            reasons=self._reasons(seen, trouble),
        )

    async def diagnose(self) -> list[Finding]:
        """Each condition with what was read for it, and why it is unknown. A serial can be an
        identifier and a network has a name: neither is said."""
        parts, trouble = await self._look()
        if trouble:
            return [Finding("adb", "fault", *self._trouble(trouble))]
        found = [Finding("adb", "ok", self._word("answers"))]
        for name, (holds, raw) in self._seen(parts).items():
            if holds is None:
                said = self._word("unknown", name=self._word(name), raw=raw)
                found.append(Finding(name, "unknown", said, self._word("unknown do")))
            else:
                found.append(Finding(name, "ok", self._word("yes" if holds else "no", raw=raw)))
        if battery_of(parts.get("battery", "")).frozen:
            found.append(Finding("battery", "warning", *self._trouble("frozen")))
        return found

    async def _look(self) -> tuple[dict[str, str], str]:
        """(the sections of one reading, "") or ({}, why there is none)."""
        reply = await self._ask(("adb", "-s", self._serial, "shell", SCRIPT))
        parts = sections(reply.text or "")
        return parts, "" if parts else await self._why(reply.trouble)

    async def _why(self, trouble: str) -> str:
        """A key of `TROUBLE`, by adb's own list of phones."""
        if trouble == "absent":
            return "no adb"
        listing = (await self._ask(("adb", "devices"))).text
        if listing is None:
            return "no server"
        states = dict(line.split("\t", 1) for line in listing.splitlines() if "\t" in line)
        state = states.get(self._serial)
        if state is None:
            return "no phone"
        return next((ours for name, ours in _STATES.items() if state.startswith(name)), "silent")

    def _seen(self, parts: Mapping[str, str]) -> dict[str, tuple[bool | None, str]]:
        """Condition → (whether it holds, what says so)."""
        battery, network = parts.get("battery", ""), parts.get("connectivity", "")
        return {
            "idle": (idle_of(parts), self._short(_sleep_words(parts))),
            "charging": (battery_of(battery).charging, self._short(_battery_words(battery))),
            "unmetered": (unmetered_of(network), self._short(_network_words(network))),
        }

    def _reasons(
        self, seen: Mapping[str, tuple[bool | None, str]], trouble: str
    ) -> tuple[str, ...]:
        if trouble:
            said, do = self._trouble(trouble)
            return (self._word("joined", said=said, do=do),)
        return tuple(
            self._word("unknown", name=self._word(name), raw=raw)
            for name, (holds, raw) in seen.items()
            if holds is None
        )

    def _trouble(self, code: str) -> tuple[str, str]:
        said, do = TROUBLE[code]
        return said[self._place], do[self._place]

    def _word(self, code: str, **values: str) -> str:
        return SAID[code][self._place].format(**values)

    def _short(self, text: str) -> str:
        return " ".join(text.split())[:SHOWN_CHARACTERS] or self._word("nothing")


def _sleep_words(parts: Mapping[str, str]) -> str:
    """What decides whether it is idle, as it was printed."""
    named = {name: parts.get(name, "").strip() for name in ("screen", "deep", "light")}
    said = [parts.get("power", "").strip(), *(f"{name} {word}" for name, word in named.items())]
    return " · ".join(word for word in said if word)


def _battery_words(dump: str) -> str:
    """The lines that decide, as they were printed."""
    wanted = re.compile(r"(\w+ powered|status|level|present): ")
    lines = [line.strip() for line in dump.splitlines()]
    return " · ".join(line for line in lines if wanted.match(line))


def _network_words(dump: str) -> str:
    """Transports and flags alone: a network's name is nobody's business."""
    seen = re.findall(r"Transports: [A-Z_|]{1,80}|\bNOT_METERED\b|\bVALIDATED\b", dump)
    return " · ".join(dict.fromkeys(seen))
