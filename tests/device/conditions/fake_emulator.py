"""An emulator as its shell shows it: a small state machine that prints what Android prints.

Two shapes: OLD (Android 9: no dock line, the networks' lines begin with ni{…}) and NEW (Android 15:
dock, charging policy, the networks' lines begin with network{…}). Every value is made up here.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Emulator"]

Shape = Literal["old", "new"]
NETWORK = "AndroidWifi"
FLAGS = {"ac": "AC", "usb": "USB", "wireless": "Wireless", "dock": "Dock"}


@dataclass
class Emulator:
    """What the shell of one emulator answers; `commands` is all it was ever asked."""

    shape: Shape = "new"
    powered: dict[str, bool] = field(default_factory=lambda: {"ac": True})
    status: int = 2
    level: int = 88
    frozen: bool = False
    awake: bool = True
    wifi: bool = True
    metered: bool = False
    vpn: str = ""
    """Transports of a VPN that is the default network."""
    forced: bool = False
    emulated: bool = True
    """It says that it is an emulator."""
    silent: bool = False
    """It prints nothing at all, as while it starts."""
    commands: list[str] = field(default_factory=list)

    def shell(self, line: str) -> tuple[str, int]:
        """(output, exit code) of a line of commands, `;` between them and `| grep` behind them."""
        self.commands.append(line)
        printed, code = "", 0
        for part in line.split(";"):
            command, _, filtered = part.partition("|")
            text, code = self._one(shlex.split(command))
            if filtered:
                text, code = _grep(text, shlex.split(filtered))
            printed += text
        return ("", code) if self.silent else (printed, code)

    def _one(self, words: list[str]) -> tuple[str, int]:
        match words:
            case ["echo", *said]:
                return " ".join(said) + "\n", 0
            case ["dumpsys", "battery", *rest]:
                return self._battery(rest), 0
            case ["dumpsys", "power"]:
                state = "Awake" if self.awake else "Asleep"
                return (
                    f"POWER MANAGER (dumpsys power)\n  mWakefulness={state}\n  mStayOn=false\n",
                    0,
                )
            case ["dumpsys", "deviceidle", *rest]:
                return self._deviceidle(rest), 0
            case ["dumpsys", "connectivity"]:
                return self._connectivity(), 0
            case ["input", "keyevent", key]:
                self.awake = {"223": False, "224": True}.get(key, self.awake)
                return "", 0
            case ["svc", "wifi", word]:
                self.wifi = word == "enable"
                return "", 0
            case ["cmd", "netpolicy", "set", "metered-network", name, word]:
                self.metered = name == NETWORK and word == "true"
                return "", 0
            case ["getprop", name]:
                # Android before 12 says it of the kernel, later ones of the boot.
                named = {"old": "ro.kernel.qemu", "new": "ro.boot.qemu"}[self.shape]
                return ("1\n" if name == named and self.emulated else "\n"), 0
        return f"/system/bin/sh: {words[0] if words else ''}: inaccessible or not found\n", 127

    def _battery(self, words: list[str]) -> str:
        match words:
            case []:
                return self._battery_dump()
            case ["unplug"]:
                self.powered, self.frozen = {}, True  # and the status stays what it was
            case ["set", "status", number]:
                self.status, self.frozen = int(number), True
            case ["set", "level", number]:
                self.level, self.frozen = int(number), True
            case ["set", plug, number] if plug in FLAGS:
                self.powered[plug], self.frozen = number == "1", True
            case ["reset"]:
                self.powered, self.status, self.frozen = {"ac": True}, 2, False
            case ["set", name, *_]:
                return f"Unknown set option: {name}\n"
        return ""

    def _battery_dump(self) -> str:
        flags = [name for name in FLAGS if name != "dock" or self.shape == "new"]
        lines = ["Current Battery Service state:"]
        if self.frozen:
            lines.append("  (UPDATES STOPPED -- use 'reset' to restart)")
        on = {name: str(self.powered.get(name, False)).lower() for name in flags}
        lines += [f"  {FLAGS[name]} powered: {word}" for name, word in on.items()]
        lines += ["  Max charging current: 0", f"  status: {self.status}", "  health: 2"]
        lines += ["  present: true", f"  level: {self.level}", "  scale: 100", "  voltage: 4987"]
        lines += ["  temperature: 241", "  technology: Li-ion"]
        if self.shape == "new":
            lines += ["  Charging state: 0", "  Charging policy: 0"]
        return "\n".join(lines) + "\n"

    def _deviceidle(self, words: list[str]) -> str:
        match words:
            case []:
                screen = str(self.awake).lower()
                return f"  Settings:\n    x=1\n  mScreenOn={screen}\n  mState={self._deep()}\n"
            case ["get", "screen"]:
                return f"{str(self.awake).lower()}\n"
            case ["get", "deep"]:
                return f"{self._deep()}\n"
            case ["get", "light"]:
                return "ACTIVE\n"
            case ["enable", *_]:
                return "Deep idle mode enabled\n"
            case ["force-idle", *_]:
                self.forced = True
                return "Now forced in to deep idle mode\n"
            case ["unforce"]:
                self.forced = False
                return "Light state: ACTIVE, deep state: ACTIVE\n"
        return f"Unknown get option: {words[-1]}\n"

    def _deep(self) -> str:
        charging = any(self.powered.values())
        return "IDLE" if self.forced or not (charging or self.awake) else "ACTIVE"

    def _connectivity(self) -> str:
        wifi = "" if self.metered else "NOT_METERED&"
        carried = f"{wifi}INTERNET&NOT_RESTRICTED&TRUSTED&NOT_VPN&VALIDATED&NOT_ROAMING&FOREGROUND"
        cell = "MMS&SUPL&INTERNET&NOT_RESTRICTED&TRUSTED&NOT_VPN&VALIDATED&FOREGROUND"
        networks = [self._network(100, "CELLULAR", cell)]
        if self.wifi:
            networks.append(self._network(101, "WIFI", carried))
        if self.vpn:
            flags = f"{wifi}INTERNET&NOT_RESTRICTED&TRUSTED&VALIDATED&FOREGROUND"
            networks.append(self._network(102, self.vpn, flags))
        default = 102 if self.vpn else 101 if self.wifi else 100
        lines = ["NetworkProviders for:", f"Active default network: {default}", "", "Networks:"]
        lines += [f"  {each}" for each in networks]
        # What somebody asks for says NOT_METERED too, on every phone.
        lines += ["", "Network Requests:", "  NetworkRequest [ REQUEST id=3, [ Transports: WIFI "]
        lines[-1] += "Capabilities: NOT_METERED&INTERNET&VALIDATED Uid: 10071] ]"
        return "\n".join(lines) + "\n"

    def _network(self, number: int, transports: str, capabilities: str) -> str:
        offers = f"nc{{[ Transports: {transports} Capabilities: {capabilities} LinkUpBandwidth>=9"
        offers += "Kbps]}"
        if self.shape == "old":
            kind = f'ni{{[type: {transports}[], state: CONNECTED/CONNECTED, extra: "x"]}}'
            rest = f"network{{{number}}}  lp{{{{}}}}  {offers}  Score{{60}}}}"
            return f"NetworkAgentInfo{{ {kind}  {rest}"
        kind = f"network{{{number}}}  handle{{4{number}02}}  ni{{{transports} CONNECTED extra: }}"
        return f"NetworkAgentInfo{{{kind}  lp{{{{}}}}  {offers}  factorySerialNumber=2}}"


def _grep(text: str, words: list[str]) -> tuple[str, int]:
    patterns = [words[place + 1] for place, word in enumerate(words) if word == "-e"]
    most = int(words[words.index("-m") + 1]) if "-m" in words else None
    patterns = [re.sub(r"(?<!\\)\{", r"\\{", each) for each in patterns or [words[-1]]]
    found = [line for line in text.splitlines() if any(re.search(p, line) for p in patterns)]
    found = found[:most]
    return "".join(f"{line}\n" for line in found), 0 if found else 1
