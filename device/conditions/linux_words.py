"""What a Linux owner is told about a reading, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["SAID", "UNKNOWN"]

Pair = tuple[str, str]
"""(English, Chinese)"""

UNKNOWN: Mapping[str, tuple[Pair, Pair]] = {
    "idle": (
        (
            "systemd-logind does not tell whether anybody uses this machine",
            "systemd-logind 没有说明是否有人在用",
        ),
        (
            "check `busctl get-property org.freedesktop.login1 /org/freedesktop/login1 "
            "org.freedesktop.login1.Manager IdleHint`, or give --conditions a script",
            "检查 `busctl get-property org.freedesktop.login1 /org/freedesktop/login1 "
            "org.freedesktop.login1.Manager IdleHint`，或用 --conditions 给出脚本",
        ),
    ),
    "charging": (
        (
            "the batteries do not tell, and no plug is known to be in",
            "电池没有说明，也不知道是否插电",
        ),
        (
            "see /sys/class/power_supply/*/status; in a container, make /sys visible",
            "查看 /sys/class/power_supply/*/status；在容器中需让 /sys 可见",
        ),
    ),
    "unmetered": (
        (
            "NetworkManager does not tell whether the network is metered",
            "NetworkManager 没有说明网络是否计费",
        ),
        (
            "say so yourself: `nmcli connection modify NAME connection.metered no`; without "
            "NetworkManager, give --conditions a script",
            "请自行声明：`nmcli connection modify NAME connection.metered no`；没有 NetworkManager "
            "时用 --conditions 给出脚本",
        ),
    ),
}
"""Why a condition is unknown, and what to do."""

SAID: Mapping[str, Pair] = {
    "yes": ("yes ({raw})", "是（{raw}）"),
    "no": ("no ({raw})", "否（{raw}）"),
    "mains": (
        "no battery: mains count as charging",
        "没有电池：接市电即视为充电",
    ),
    "idle": ("idle", "空闲"),
    "charging": ("charging", "充电"),
    "unmetered": ("unmetered", "不计费网络"),
    "reason": ("{name} unknown: {said}; {do}", "{name}未知：{said}；{do}"),
}
