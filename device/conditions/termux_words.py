"""What a Termux owner is told, in English and Chinese: what was seen, and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["advice", "codes", "plain"]

Pair = tuple[str, str]
"""(English, Chinese)"""

_ADVICE: dict[str, tuple[Pair, Pair]] = {
    "absent": (
        ("{tool} is not installed", "没有安装 {tool}"),
        ("run `pkg install termux-api`", "运行 `pkg install termux-api`"),
    ),
    "no app": (
        (
            "{tool} does not answer, and Termux knows of no Termux:API app",
            "{tool} 没有回应，Termux 也没有发现 Termux:API 应用",
        ),
        (
            "install the Termux:API app from where Termux itself came from (F-Droid or GitHub, "
            "never one of each), open it once, then close and start Termux",
            "从 Termux 的同一来源（F-Droid 或 GitHub，不可混用）安装 Termux:API 应用，打开一次，"
            "再重启 Termux",
        ),
    ),
    "late": (
        ("{tool} does not answer", "{tool} 没有回应"),
        (
            "open the Termux:API app once; in Android's settings lift battery restrictions from "
            "Termux and Termux:API and let both start by themselves; then `pkg upgrade`",
            "打开一次 Termux:API；在系统设置中解除 Termux 与 Termux:API 的电池限制并允许自启动；"
            "然后 `pkg upgrade`",
        ),
    ),
    "failed": (
        ("{tool} ended with an error", "{tool} 以错误结束"),
        ("run `pkg upgrade`, then {tool} by hand", "运行 `pkg upgrade`，再手动运行 {tool}"),
    ),
    "refused": (
        (
            "Android refuses {tool} the permission {permission}",
            "系统拒绝了 {tool} 的权限 {permission}",
        ),
        (
            "allow it in Android's settings: Apps › Termux:API › Permissions (all the time)",
            "在系统设置 › 应用 › Termux:API › 权限中允许（始终）",
        ),
    ),
    "api error": (
        ("{tool} answers with an error of the Termux:API app", "{tool} 报告 Termux:API 应用出错"),
        ("run {tool} by hand and read what it says", "手动运行 {tool} 查看说明"),
    ),
    "no connection": (
        ("Android names no current Wi-Fi connection", "系统没有给出当前的 Wi-Fi 连接"),
        ("join a Wi-Fi network", "连接 Wi-Fi"),
    ),
    "empty": (
        (
            "{tool} prints nothing: the Termux:API app stopped on an error",
            "{tool} 没有输出：Termux:API 应用中途出错",
        ),
        (
            "update the Termux:API app to 0.53 or newer; its notification names the error",
            "把 Termux:API 应用更新到 0.53 或更新；它的通知里写有错误",
        ),
    ),
    "garbage": (
        ("{tool} prints something that is no answer", "{tool} 的输出不是应答"),
        (
            "update both: the Termux:API app, and `pkg upgrade termux-api`",
            "两者都更新：Termux:API 应用，以及 `pkg upgrade termux-api`",
        ),
    ),
    "charging untold": (
        ("the battery does not tell ({raw})", "电池没有说明（{raw}）"),
        (
            "if it stays so on the charger, this device cannot be used in its dreams",
            "如果插上充电器仍是这样，这台设备无法做梦",
        ),
    ),
    "no job": (
        (
            "Termux itself does not see this; Android's scheduler vouches for it when it starts "
            "a job, and this process is none",
            "Termux 自己看不到；由系统调度器启动任务时担保，而当前进程不是任务",
        ),
        (
            "nothing, if the job is registered (`reverie-device doctor`); else run "
            "deploy/termux/install.sh, or once from a computer: "
            "adb shell pm grant com.termux android.permission.DUMP",
            "任务已登记就不用管（`reverie-device doctor`）；否则运行 deploy/termux/install.sh，"
            "或在电脑上执行一次：adb shell pm grant com.termux android.permission.DUMP",
        ),
    ),
    "job over": (
        (
            "what the job was promised holds for 585 s, and they are over",
            "任务的担保只有 585 秒，已过",
        ),
        ("nothing: the next job comes by itself", "不用管：下一个任务会自己来"),
    ),
    "other network": (
        (
            "this is not the network the job began on, and nobody vouches for it ({raw})",
            "已不是任务开始时的网络，没有人为它担保（{raw}）",
        ),
        ("nothing: the next job comes by itself", "不用管：下一个任务会自己来"),
    ),
    "no address": (
        ("the Wi-Fi shows no connection that can be told ({raw})", "看不出 Wi-Fi 连接（{raw}）"),
        (
            "join a network with IPv4: on one without, Termux:API shows no address",
            "换用有 IPv4 的网络：否则 Termux:API 看不到地址",
        ),
    ),
    "hot": (
        ("the phone is too warm to work now", "手机太热，现在不工作"),
        ("let it cool down: work goes on by itself", "等它凉下来，会自己继续"),
    ),
    "full": (
        ("less than 50 MB are free", "剩余空间不足 50 MB"),
        ("free some space", "清理一些空间"),
    ),
    "old app": (
        ("the Termux:API app is {age}", "Termux:API 应用是 {age}"),
        (
            "update it to 0.53 or newer: older ones fail on some phones",
            "更新到 0.53 或更新：旧版在一些手机上会失败",
        ),
    ),
    "old app for jobs": (
        (
            "the Termux:API app is 0.51, whose jobs may never start",
            "Termux:API 应用是 0.51，它的任务可能不启动",
        ),
        ("update it to 0.53 or newer", "更新到 0.53 或更新"),
    ),
    "job missing": (
        ("no job {job} is registered", "没有登记任务 {job}"),
        (
            "run deploy/termux/install.sh; without the job give Termux the DUMP permission",
            "运行 deploy/termux/install.sh；不用任务则需给 Termux DUMP 权限",
        ),
    ),
    "job without idle": (
        ("job {job} is registered without Android's idle gate", "任务 {job} 没有带系统的空闲条件"),
        (
            "run deploy/termux/install.sh again: it then polls instead",
            "再次运行 deploy/termux/install.sh：它会改为轮询",
        ),
    ),
}  # fmt: skip

_PLAIN: dict[str, Pair] = {
    "yes": ("yes ({raw})", "是（{raw}）"),
    "no": ("no ({raw})", "否（{raw}）"),
    "by dump": ("seen in Android's own dump", "来自系统自己的转储"),
    "by gate": ("vouched for by Android's scheduler", "由系统调度器担保"),
    "api fine": ("Termux:API answers; app {age}", "Termux:API 有回应；应用 {age}"),
    "job fine": (
        "job {job} waits for idle, charging, unmetered",
        "任务 {job} 等待空闲、充电、不计费网络",
    ),
    "thermal": ("thermal status {status} of 6", "散热状态 {status}（共 6 级）"),
    "thermal untold": (
        "not told to Termux without the DUMP permission; the battery does not complain",
        "没有 DUMP 权限，Termux 看不到；电池没有过热告警",
    ),
    "free": ("{mb} MB free", "剩余 {mb} MB"),
    "free untold": ("the system does not tell how much space is free", "系统没有说明剩余空间"),
    "idle": ("idle", "空闲"),
    "charging": ("charging", "充电"),
    "unmetered": ("unmetered", "不计费网络"),
    "unknown": ("{condition} unknown: {said}; {do}", "{condition}未知：{said}；{do}"),
    "hindered": ("{said}; {do}", "{said}；{do}"),
}


def codes() -> tuple[str, ...]:
    """Everything `advice` knows of."""
    return tuple(_ADVICE)


def advice(code: str, language: str, **values: object) -> tuple[str, str]:
    """(what was seen, what to do), a line each; `language` is ``en`` or ``zh``."""
    said, do = _ADVICE[code]
    return _of(said, language, values), _of(do, language, values)


def plain(code: str, language: str, **values: object) -> str:
    """A line that asks for nothing."""
    return _of(_PLAIN[code], language, values)


def _of(pair: Pair, language: str, values: Mapping[str, object]) -> str:
    return pair[1 if language == "zh" else 0].format(**values)
