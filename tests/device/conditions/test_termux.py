"""Rung 1 of the ladder: real executables that answer as Termux:API does, well and badly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial

import pytest

from device.actors import LoopClock, Window
from device.conditions import Conditions, TermuxConditions
from device.conditions.termux import GATE_SECONDS
from device.conditions.tools import run_tool
from tests.device.conditions.conftest import Bench

WIFI = {
    "bssid": "02:00:00:00:00:00",
    "frequency_mhz": 2437,
    "ip": "10.20.30.40",
    "link_speed_mbps": 144,
    "network_id": -1,
    "rssi": -61,
    "ssid": "<unknown ssid>",
    "ssid_hidden": True,
    "supplicant_state": "COMPLETED",
}
GATE = {"REVERIE_JOB_GATE": "idle,charging,unmetered"}

V050 = {
    "health": "GOOD",
    "percentage": 71,
    "plugged": "PLUGGED_AC",
    "status": "CHARGING",
    "temperature": 26.200000762939453,
    "current": 640,
}
V051 = V050 | {"temperature": "26,2", "technology": "Li-poly", "cycle": None, "level": 71}
V052 = V051 | {"temperature": 26.2, "scale": 100, "energy": None}
V053 = {
    "present": True,
    "plugged": "PLUGGED_USB",
    "status": "FULL",
    "voltage": 4302,
    "level": 30,
    "scale": 40,
}

BATTERY: list[tuple[str, bool | None, float | None]] = [
    (json.dumps(V050, indent=2) + "\n", True, 0.71),
    (json.dumps(V051), True, 0.71),
    (json.dumps(V052), True, 0.71),
    (json.dumps(V053), True, 0.75),
    (json.dumps(V050 | {"plugged": "UNPLUGGED", "status": "DISCHARGING"}), False, 0.71),
    (json.dumps(V050 | {"plugged": "UNPLUGGED"}), False, 0.71),
    (json.dumps(V050 | {"status": "DISCHARGING"}), False, 0.71),
    (json.dumps(V050 | {"plugged": "PLUGGED_-1"}), False, 0.71),
    (json.dumps(V050 | {"plugged": "PLUGGED_0"}), False, 0.71),
    (json.dumps(V050 | {"plugged": "PLUGGED_8"}), True, 0.71),
    (json.dumps(V050 | {"status": "NOT_CHARGING", "percentage": 80}), True, 0.8),
    (json.dumps(V050 | {"status": "NOT_CHARGING", "percentage": 12}), False, 0.12),
    (json.dumps(V050 | {"status": "UNKNOWN"}), None, 0.71),
    (json.dumps(V050 | {"present": False, "percentage": -1}), None, None),
    (json.dumps({"percentage": 50}), None, 0.5),
    (json.dumps(V050 | {"percentage": True}), True, None),
    (json.dumps(V050 | {"percentage": "71"}), True, None),
    ('{"error": "Please grant the following permission"}', None, None),
    ('{"API_ERROR": "x", "plugged": "PLUGGED_AC", "status": "FULL"}', None, None),
    ("", None, None),
    ("null", None, None),
    ("[1, 2]", None, None),
    ('{"plugged": "PLUGGED_AC", "status":', None, None),
    ("\x00\x01", None, None),
]


@pytest.mark.parametrize(("printed", "charging", "level"), BATTERY)
async def test_battery_shapes(
    bench: Bench, printed: str, charging: bool | None, level: float | None
) -> None:
    bench.prints("termux-battery-status", printed)
    reading = await TermuxConditions(environ={}, now=lambda: 5.0).read()
    assert reading == Conditions(None, charging, None, level, read_at=5.0)
    assert bench.left_behind() == []


async def test_a_failed_call_is_unknown_whatever_it_printed(bench: Bench) -> None:
    bench.prints("termux-battery-status", json.dumps(V050), code=1)
    assert (await TermuxConditions(environ={}).read()).charging is None


class Phone:
    """The answers of one phone, to be changed as time goes by."""

    def __init__(self) -> None:
        self.now = 0.0
        self.battery: Mapping[str, object] | None = V050
        self.wifi: Mapping[str, object] | None = WIFI
        self.dump: str | None = "Permission Denial: can't dump DeviceIdleController from"

    async def run(self, argv: Sequence[str]) -> str | None:
        if argv[-1] == "deviceidle":
            return self.dump
        answer = self.battery if argv[0] == "termux-battery-status" else self.wifi
        return None if answer is None else json.dumps(answer)

    def conditions(self, environ: Mapping[str, str]) -> TermuxConditions:
        return TermuxConditions(self.run, now=lambda: self.now, environ=environ)


async def test_without_a_gate_idle_and_unmetered_are_unknown() -> None:
    reading = await Phone().conditions({}).read()
    assert (reading.idle, reading.unmetered) == (None, None)


async def test_the_gate_is_believed_for_one_job() -> None:
    phone = Phone()
    source = phone.conditions(GATE)
    assert (await source.read()).all_hold
    phone.now = GATE_SECONDS - 1
    assert (await source.read()).all_hold
    phone.now = GATE_SECONDS
    reading = await source.read()
    assert (reading.idle, reading.unmetered) == (None, None)


async def test_the_gate_never_vouches_for_charging() -> None:
    phone = Phone()
    phone.battery = None
    assert (await phone.conditions(GATE).read()).charging is None


async def test_a_partial_gate_vouches_for_its_part_only() -> None:
    reading = await Phone().conditions({"REVERIE_JOB_GATE": " unmetered "}).read()
    assert (reading.idle, reading.unmetered) == (None, True)


@pytest.mark.parametrize(
    ("change", "unmetered"),
    [
        ({"ip": "192.168.43.7"}, None),  # another network: perhaps a hotspot
        ({"supplicant_state": "DISCONNECTED", "ip": "0.0.0.0", "link_speed_mbps": -1}, False),
        ({"ip": "0.0.0.0"}, None),
        ({"link_speed_mbps": -1}, None),
        ({"ip": None}, None),
        ({"supplicant_state": "ASSOCIATED"}, True),
    ],
)
async def test_what_the_wifi_shows_goes_before_the_gate(
    change: dict[str, object], unmetered: bool | None
) -> None:
    phone = Phone()
    source = phone.conditions(GATE)
    assert (await source.read()).unmetered is True
    phone.wifi = WIFI | change
    assert (await source.read()).unmetered is unmetered


async def test_the_screen_goes_before_the_gate() -> None:
    phone = Phone()
    phone.dump = "Settings:\n  mScreenOn=true\n  mScreenLocked=false\n"
    assert (await phone.conditions(GATE).read()).idle is False
    phone.dump = "Settings:\n  mScreenOn=false\n"
    assert (await phone.conditions({}).read()).idle is True


@pytest.mark.parametrize("tool", ["termux-battery-status", "termux-wifi-connectioninfo"])
async def test_a_call_that_hangs_is_unknown_and_leaves_no_child(bench: Bench, tool: str) -> None:
    bench.prints("termux-battery-status", json.dumps(V050))
    bench.prints("termux-wifi-connectioninfo", json.dumps(WIFI))
    bench.tool(tool, f"sleep 3600 & echo $! >> {bench.children}; wait")
    reading = await TermuxConditions(partial(run_tool, limit=0.5), environ=GATE).read()
    hung = "charging" if tool == "termux-battery-status" else "unmetered"
    assert getattr(reading, hung) is None
    assert not reading.all_hold
    assert bench.noted(3), "the tools must have been running"
    assert bench.left_behind() == []


async def test_a_hanging_api_is_unknown_within_the_windows_limit(bench: Bench) -> None:
    hang = f"sleep 3600 & echo $! >> {bench.children}; wait"
    bench.prints("termux-wifi-connectioninfo", json.dumps(WIFI))
    bench.tool("termux-battery-status", hang)
    window = Window(LoopClock(0.0), TermuxConditions(environ=GATE), reading_limit=0.3)

    async def work() -> None:
        raise AssertionError("must not start")

    assert await window.run_while_open(work) == "interrupted"
    assert bench.left_behind() == []
