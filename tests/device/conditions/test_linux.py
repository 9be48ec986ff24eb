from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from device.conditions import Conditions, LinuxConditions
from device.conditions.tools import run_tool
from tests.device.conditions.conftest import Bench

Supply = dict[str, str]
AC_ON: Supply = {"type": "Mains", "online": "1"}
AC_OFF: Supply = {"type": "Mains", "online": "0"}
MOUSE: Supply = {"type": "Battery", "scope": "Device", "status": "Discharging", "capacity": "5"}
USB_PD: Supply = {"type": "USB", "online": "2"}
LIMITED: Supply = {"charge_control_end_threshold": "80"}


def battery(status: str, capacity: str = "80") -> Supply:
    return {"type": "Battery", "present": "1", "status": status, "capacity": capacity}


def tree(root: Path, **supplies: Supply) -> Path:
    folder = root / "class" / "power_supply"
    folder.mkdir(parents=True)
    for name, files in supplies.items():
        (folder / name).mkdir()
        for file, content in files.items():
            (folder / name / file).write_text(content + "\n")
    return root


async def absent(argv: Sequence[str]) -> str | None:
    return None


POWER: list[tuple[dict[str, Supply], bool | None, float | None]] = [
    ({}, True, None),
    ({"AC": AC_ON}, True, None),
    ({"AC": AC_ON, "BAT0": battery("Charging")}, True, 0.8),
    ({"AC": AC_ON, "BAT0": battery("Full", "100")}, True, 1.0),
    ({"AC": AC_ON, "BAT0": battery("Not charging", "60")}, True, 0.6),
    ({"AC": AC_ON, "BAT0": battery("Unknown")}, True, 0.8),
    ({"AC": AC_OFF, "BAT0": battery("Discharging", "42")}, False, 0.42),
    ({"AC": AC_ON, "BAT0": battery("Discharging", "42")}, False, 0.42),
    ({"BAT0": battery("Full"), "BAT1": battery("Discharging", "10")}, False, 0.1),
    ({"BAT0": battery("Charging", "20"), "BAT1": battery("Full", "100")}, True, 0.2),
    ({"BAT0": battery("Unknown")}, None, 0.8),
    # A charge limiter holds the battery where it is; no plug is listed, or one that is in or out.
    ({"BAT0": battery("Not charging") | LIMITED}, True, 0.8),
    ({"AC": AC_ON, "BAT0": battery("Not charging") | LIMITED}, True, 0.8),
    ({"AC": AC_OFF, "BAT0": battery("Not charging") | LIMITED}, False, 0.8),
    ({"AC": AC_OFF, "BAT0": battery("Full", "100")}, False, 1.0),
    ({"AC": AC_OFF, "BAT0": battery("Charging")}, True, 0.8),
    ({"AC": AC_OFF, "USBC": USB_PD, "BAT0": battery("Full", "100")}, True, 1.0),
    ({"AC": AC_OFF, "USBC": USB_PD, "BAT0": battery("Not charging")}, True, 0.8),
    ({"AC": AC_ON, "BAT0": battery("Charging"), "BAT1": battery("Unknown", "7")}, True, 0.07),
    ({"BAT0": battery("Charging"), "BAT1": battery("Unknown", "7")}, None, 0.07),
    ({"pad": {"type": "Wireless", "online": "1"}, "BAT0": battery("Unknown")}, True, 0.8),
    ({"hid": MOUSE, "AC": AC_OFF, "BAT0": battery("Discharging", "42")}, False, 0.42),
    ({"hid": MOUSE | {"status": "Charging"}, "BAT0": battery("Discharging", "42")}, False, 0.42),
    ({"ups": {"type": "UPS", "status": "Discharging", "capacity": "3"}}, True, None),
    ({"AC": AC_ON, "BAT0": battery("Charging", "9" * 5000)}, True, None),
    ({"AC": AC_OFF, "BAT0": battery("Unknown", "")}, None, None),
    ({"USBC": {"type": "USB", "online": "2"}, "BAT0": battery("Unknown")}, True, 0.8),
    ({"hid": MOUSE}, True, None),
    ({"BAT0": battery("Discharging") | {"present": "0"}}, True, None),
    ({"BAT0": battery("Charging", "garbage")}, True, None),
    ({"odd": {"type": "\x00\xff"}, "empty": {}}, True, None),
]


@pytest.mark.parametrize(("supplies", "charging", "level"), POWER)
async def test_power(
    tmp_path: Path, supplies: dict[str, Supply], charging: bool | None, level: float | None
) -> None:
    source = LinuxConditions(tree(tmp_path, **supplies), absent, now=lambda: 12.0)
    reading = await source.read()
    assert (reading.charging, reading.battery) == (charging, level)
    assert (reading.idle, reading.unmetered, reading.read_at) == (None, None, 12.0)


async def test_no_sysfs_is_unknown_and_no_power_class_is_mains(tmp_path: Path) -> None:
    assert (await LinuxConditions(tmp_path, absent).read()).charging is None
    (tmp_path / "class").mkdir()
    assert (await LinuxConditions(tmp_path, absent).read()).charging is True


@pytest.mark.parametrize(
    ("printed", "unmetered"),
    [("u 0", None), ("u 1", False), ("u 2", True), ("u 3", False), ("u 4", True), ("x", None)],
)
async def test_metered_by_the_manager(bench: Bench, printed: str, unmetered: bool | None) -> None:
    bench.tool("busctl", f'case "$2" in *NetworkManager) echo "{printed}";; *) exit 1;; esac')
    source = LinuxConditions(tree(bench.folder), environ={})
    reading = await source.read()
    assert reading.unmetered is unmetered
    assert reading.idle is None


CHINESE = {"LANG": "zh_CN.UTF-8"}


async def test_mains_without_a_battery_are_said_to_count(tmp_path: Path) -> None:
    root = tree(tmp_path, hid=MOUSE)
    reading = await LinuxConditions(root, absent, environ={}).read()
    assert reading.reasons[0] == "no battery: mains count as charging"
    assert "市电" in (await LinuxConditions(root, absent, environ=CHINESE).read()).reasons[0]
    found = {each.name: each for each in await LinuxConditions(root, absent, environ={}).diagnose()}
    assert found["charging"].said == "yes (no battery: mains count as charging)"


async def test_what_is_unknown_is_said_with_what_to_do(tmp_path: Path) -> None:
    root = tree(tmp_path, AC=AC_OFF, BAT0=battery("Unknown", "41"))
    reading = await LinuxConditions(root, absent, environ={}).read()
    assert [line.split(":")[0] for line in reading.reasons] == [
        "idle unknown",
        "charging unknown",
        "unmetered unknown",
    ]
    found = await LinuxConditions(root, absent, environ=CHINESE).diagnose()
    assert {each.state for each in found} == {"unknown"}
    assert all(each.do for each in found)


async def test_a_diagnosis_shows_the_raw_readings(bench: Bench) -> None:
    bench.tool("busctl", 'case "$2" in *login1) echo "b false";; *) echo "u 4";; esac')
    root = tree(bench.folder, AC=AC_ON, BAT0=battery("Not charging"), hid=MOUSE)
    found = [
        (each.name, each.state, each.said)
        for each in await LinuxConditions(root, environ={}).diagnose()
    ]
    assert found == [
        ("idle", "ok", "no (logind)"),
        ("charging", "ok", "yes (Mains online · Battery Not charging 80%)"),
        ("unmetered", "ok", "yes (NetworkManager)"),
    ]


def device(name: str, state: str, metered: str) -> str:
    return f"GENERAL.DEVICE:{name}\nGENERAL.STATE:{state}\nGENERAL.METERED:{metered}\n"


LO = device("lo", "100 (connected (externally))", "unknown")
NMCLI: list[tuple[str, bool | None]] = [
    (device("wlan0", "100 (connected)", "no (guessed)") + "\n" + LO, True),
    (device("wlan0", "100 (connected)", "yes"), False),
    (device("wlan0", "100 (connected)", "yes (guessed)"), False),
    (device("wlan0", "100 (connected)", "no") + "\n" + device("usb0", "100 (c)", "yes"), False),
    (device("wlan0", "100 (connected)", "no") + "\n" + device("usb0", "30 (d)", "yes"), True),
    (device("wlan0", "30 (disconnected)", "unknown"), None),
    (LO, None),
    ("", None),
    ("Fehler: NetworkManager läuft nicht", None),
]


@pytest.mark.parametrize(("listing", "unmetered"), NMCLI)
async def test_metered_by_devices(bench: Bench, listing: str, unmetered: bool | None) -> None:
    bench.tool("busctl", "exit 1")
    bench.prints("nmcli", listing)
    reading = await LinuxConditions(tree(bench.folder), environ={}).read()
    assert reading.unmetered is unmetered


@pytest.mark.parametrize(
    ("manager", "session", "idle"),
    [
        ("b true", "", True),
        ("b false", "IdleHint=yes", False),
        ("?", "IdleHint=yes", None),
        (None, "IdleHint=yes", True),
        (None, "IdleHint=no", False),
        (None, "", None),
    ],
)
async def test_idle(bench: Bench, manager: str | None, session: str, idle: bool | None) -> None:
    answer = "exit 1" if manager is None else f'echo "{manager}"'
    bench.tool("busctl", f'case "$2" in *login1) {answer};; *) exit 1;; esac')
    bench.tool("loginctl", f'[ "$2" = c2 ] && echo "{session}"')
    bench.tool("nmcli", "exit 1")
    source = LinuxConditions(tree(bench.folder), environ={"XDG_SESSION_ID": "c2"})
    assert (await source.read()).idle is idle
    assert bench.left_behind() == []


@pytest.mark.parametrize("manager", ["hang", "exit 1"], ids=["busctl hangs", "the others hang"])
async def test_tools_that_hang_are_unknown_and_leave_no_child(bench: Bench, manager: str) -> None:
    hang = f"sleep 3600 & echo $! >> {bench.children}; wait"
    bench.tool("busctl", hang if manager == "hang" else manager)
    bench.tool("nmcli", hang)
    bench.tool("loginctl", hang)
    source = LinuxConditions(
        tree(bench.folder, AC=AC_ON, BAT0=battery("Charging")),
        partial(run_tool, limit=0.3),
        now=lambda: 12.0,
        environ={"XDG_SESSION_ID": "c2"},
    )
    assert await source.read() == Conditions(None, True, None, 0.8, read_at=12.0)
    assert bench.noted(4), "the tools must have been running"
    assert bench.left_behind() == []


async def test_this_machine_can_be_asked() -> None:
    reading = await LinuxConditions().read()
    assert reading.charging in (True, False, None)
