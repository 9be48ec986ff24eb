"""Conditions of a Linux machine: sysfs power supplies, NetworkManager, systemd-logind."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from device.conditions.findings import Finding
from device.conditions.linux_power import Power, power_of
from device.conditions.linux_words import SAID, UNKNOWN
from device.conditions.source import Conditions
from device.conditions.tools import RunTool, run_tool
from device.interfaces.words import language

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
        """`environ` says in which language, and may name the login session (XDG_SESSION_ID) to
        ask for its idle hint."""
        self._root = Path(sys_root)
        self._run = run
        self._now = now
        self._environ = environ
        self._place = 1 if language(environ) == "zh" else 0

    async def read(self) -> Conditions:
        """The conditions now, with the reason of what is unknown, and of mains that count."""
        power, answers = await self._look()
        return Conditions(
            idle=answers["idle"],
            charging=answers["charging"],
            unmetered=answers["unmetered"],
            battery=power.level,
            read_at=self._now(),
            reasons=self._reasons(power, answers),
        )

    async def diagnose(self) -> list[Finding]:
        """Each condition with what was read for it, and what to do where it is unknown."""
        power, answers = await self._look()
        raw = {
            "idle": "logind",
            "charging": self._power_words(power),
            "unmetered": "NetworkManager",
        }
        found = []
        for name, holds in answers.items():
            if holds is None:
                found.append(Finding(name, "unknown", *self._unknown(name)))
            else:
                said = self._word("yes" if holds else "no", raw=raw[name])
                found.append(Finding(name, "ok", said))
        return found

    async def _look(self) -> tuple[Power, dict[str, bool | None]]:
        power = power_of(self._root)
        idle, unmetered = await asyncio.gather(self._idle(), self._unmetered())
        return power, {"idle": idle, "charging": power.charging, "unmetered": unmetered}

    def _reasons(self, power: Power, answers: Mapping[str, bool | None]) -> tuple[str, ...]:
        lines = [self._word("mains")] if power.mains_only else []
        for name in (name for name, holds in answers.items() if holds is None):
            said, do = self._unknown(name)
            lines.append(self._word("reason", name=self._word(name), said=said, do=do))
        return tuple(lines)

    def _power_words(self, power: Power) -> str:
        return self._word("mains") if power.mains_only else " · ".join(power.raw)

    def _unknown(self, name: str) -> tuple[str, str]:
        said, do = UNKNOWN[name]
        return said[self._place], do[self._place]

    def _word(self, code: str, **values: str) -> str:
        return SAID[code][self._place].format(**values)

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
