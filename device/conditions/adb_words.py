"""What is said of a phone behind adb, in English and Chinese: what was seen, what to do."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["SAID", "TROUBLE"]

Pair = tuple[str, str]
"""(English, Chinese)"""

TROUBLE: Mapping[str, tuple[Pair, Pair]] = {
    "no adb": (
        ("adb is not installed", "没有安装 adb"),
        (
            "apt-get install adb, or Android's platform-tools",
            "apt-get install adb，或安装 Android 的 platform-tools",
        ),
    ),
    "no server": (
        ("adb's server does not start", "adb 服务没有启动"),
        ("run `adb devices` to see why", "运行 `adb devices` 查看原因"),
    ),
    "no phone": (
        ("adb knows no phone of this serial", "adb 没有这个序列号的手机"),
        (
            "see `adb devices`; over the net, `adb connect` first",
            "查看 `adb devices`；通过网络时先 `adb connect`",
        ),
    ),
    "offline": (
        ("the phone is offline", "手机离线"),
        (
            "unlock it, plug it in again, or run `adb reconnect offline`",
            "解锁、重新插线，或运行 `adb reconnect offline`",
        ),
    ),
    "unauthorized": (
        ("the phone has not allowed this computer", "手机还没有允许这台电脑"),
        ("unlock it and tap Allow", "解锁手机并点“允许”"),
    ),
    "connecting": (
        ("the phone is still being connected", "手机还在连接"),
        ("try again in a moment", "稍后再试"),
    ),
    "recovery": (
        ("the phone does not run Android now", "手机现在没有运行 Android"),
        ("start Android on it", "启动手机的 Android"),
    ),
    "no permissions": (
        ("this user may not use the phone's USB port", "当前用户无权使用手机的 USB 端口"),
        ("install Android's udev rules", "安装 Android 的 udev 规则"),
    ),
    "silent": (
        (
            "the phone did not answer in time, or not as Android does",
            "手机没有及时回应，或回应不像 Android",
        ),
        ("wait until it has started, then try again", "等它启动完成后再试"),
    ),
    "frozen": (
        (
            "the battery shows what `dumpsys battery set` was told, not what is",
            "电池显示的是 `dumpsys battery set` 设的值，不是实际值",
        ),
        ("run `adb shell dumpsys battery reset`", "运行 `adb shell dumpsys battery reset`"),
    ),
}
"""What is the case, and what to do about it."""

SAID: Mapping[str, Pair] = {
    "answers": ("the phone answers", "手机有回应"),
    "yes": ("yes ({raw})", "是（{raw}）"),
    "no": ("no ({raw})", "否（{raw}）"),
    "idle": ("idle", "空闲"),
    "charging": ("charging", "充电"),
    "unmetered": ("unmetered", "不计费网络"),
    "unknown": ("{name} unknown ({raw})", "{name}未知（{raw}）"),
    "unknown do": (
        "unknown counts as no; send this line with a report",
        "未知按“否”处理；反馈时请附上这一行",
    ),
    "nothing": ("nothing was said", "没有说明"),
    "joined": ("{said}: {do}", "{said}：{do}"),
}
