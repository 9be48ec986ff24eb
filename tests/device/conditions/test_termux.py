"""Rung 1 of the ladder: real executables that answer as Termux:API does, well and badly."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Mapping, Sequence
from functools import partial

import pytest
from rich.console import Console

from device.actors import LoopClock, Window
from device.conditions import Conditions, TermuxConditions, termux_words
from device.conditions.findings import Finding
from device.conditions.termux import GATE_SECONDS
from device.conditions.tools import Said, ask_tool
from device.interfaces.views import status_table
from tests.device.conditions.conftest import Bench
from tests.device.conftest import OpenPhone

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
    reading = await TermuxConditions(environ={}, now=lambda: 5.0, free=lambda: None).read()
    assert reading == Conditions(None, charging, None, level, read_at=5.0)
    assert bench.left_behind() == []


async def test_a_failed_call_is_unknown_whatever_it_printed(bench: Bench) -> None:
    bench.prints("termux-battery-status", json.dumps(V050), code=1)
    assert (await TermuxConditions(environ={}).read()).charging is None


class Phone:
    """The answers of one phone, to be changed as time goes by."""

    def __init__(self) -> None:
        self.now = 0.0
        self.battery: Mapping[str, object] | Said | None = V050
        self.wifi: Mapping[str, object] | Said | None = WIFI
        self.dumps = {"deviceidle": "Permission Denial: can't dump DeviceIdleController from"}
        self.jobs = Said("No pending jobs")
        self.free: int | None = 10**9

    async def ask(self, argv: Sequence[str]) -> Said:
        if "/system/bin/dumpsys" in argv:
            text = self.dumps.get(argv[-1])
            return Said(None, "absent") if text is None else Said(text)
        if argv[0] == "termux-job-scheduler":
            return self.jobs
        answer = self.battery if argv[0] == "termux-battery-status" else self.wifi
        if isinstance(answer, Said):
            return answer
        return Said(None, "late") if answer is None else Said(json.dumps(answer))

    def conditions(self, environ: Mapping[str, str]) -> TermuxConditions:
        return TermuxConditions(
            self.ask, now=lambda: self.now, environ=environ, free=lambda: self.free
        )


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
    phone.dumps["deviceidle"] = "Settings:\n  mScreenOn=true\n  mScreenLocked=false\n"
    assert (await phone.conditions(GATE).read()).idle is False
    phone.dumps["deviceidle"] = "Settings:\n  mScreenOn=false\n"
    assert (await phone.conditions({}).read()).idle is True


@pytest.mark.parametrize("tool", ["termux-battery-status", "termux-wifi-connectioninfo"])
async def test_a_call_that_hangs_is_unknown_and_leaves_no_child(bench: Bench, tool: str) -> None:
    bench.prints("termux-battery-status", json.dumps(V050))
    bench.prints("termux-wifi-connectioninfo", json.dumps(WIFI))
    bench.tool(tool, f"sleep 3600 & echo $! >> {bench.children}; wait")
    reading = await TermuxConditions(partial(ask_tool, limit=0.5), environ=GATE).read()
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


# --- why a condition is unknown ---

REFUSED = (
    '{"error": "Please grant the following permission to use this command: '
    'android.permission.ACCESS_FINE_LOCATION, 10.20.30.40"}'
)


@pytest.mark.parametrize(
    ("answer", "environ", "words"),
    [
        (Said(None, "absent"), {}, ("is not installed", "pkg install termux-api")),
        (Said(None, "late"), {}, ("knows of no Termux:API app", "F-Droid or GitHub")),
        (
            Said(None, "late"),
            {"TERMUX_API_VERSION": "0.53.0"},
            ("does not answer", "battery restrictions"),
        ),
        (Said(None, "failed"), {}, ("ended with an error", "pkg upgrade")),
        (Said(None, "unreadable"), {}, ("is no answer", "pkg upgrade termux-api")),
        (Said(REFUSED), {}, ("ACCESS_FINE_LOCATION", "Permissions")),
        (Said('{"error": "no"}'), {}, ("the permission ?", "Permissions")),
        (Said('{"API_ERROR": "boom"}'), {}, ("error of the Termux:API app", "by hand")),
        (Said(""), {}, ("prints nothing", "0.53 or newer")),
        (Said(" \n"), {}, ("prints nothing", "0.53 or newer")),
        (Said("not json"), {}, ("is no answer", "pkg upgrade termux-api")),
        (Said("[" * 100_000), {}, ("is no answer", "pkg upgrade termux-api")),
        (Said("[1]"), {}, ("is no answer", "pkg upgrade termux-api")),
        (Said(json.dumps(V050 | {"status": "UNKNOWN"})), {}, ("does not tell", "PLUGGED_AC")),
    ],
)
@pytest.mark.parametrize("locale", ["C.UTF-8", "zh_CN.UTF-8"])
async def test_an_unknown_says_why_and_what_to_do(
    answer: Said, environ: dict[str, str], words: tuple[str, ...], locale: str
) -> None:
    phone = Phone()
    phone.battery = answer
    reading = await phone.conditions({**GATE, **environ, "LANG": locale}).read()
    assert reading.charging is None
    assert not reading.all_hold
    (reason,) = reading.reasons
    assert "10.20.30.40" not in reason
    assert "\n" not in reason
    if locale.startswith("zh"):
        assert reason.startswith("充电未知：")
    else:
        assert reason.startswith("charging unknown: ")
        assert all(word in reason for word in words)


async def test_a_phone_outside_its_job_says_who_would_vouch() -> None:
    reading = await Phone().conditions({}).read()
    assert [line.partition(":")[0] for line in reading.reasons] == [
        "idle unknown",
        "unmetered unknown",
    ]
    assert all("android.permission.DUMP" in line for line in reading.reasons)


@pytest.mark.parametrize(
    ("wifi", "word"),
    [
        (WIFI | {"ip": "192.168.43.7"}, "not the network the job began on"),
        (WIFI | {"ip": "0.0.0.0"}, "with IPv4"),
        (Said('{"API_ERROR": "No current connection"}'), "no current Wi-Fi connection"),
        (Said(None, "late"), "termux-wifi-connectioninfo does not answer"),
        (Said(REFUSED), "ACCESS_FINE_LOCATION"),
    ],
)
async def test_an_unknown_network_says_why(wifi: dict[str, object] | Said, word: str) -> None:
    phone = Phone()
    source = phone.conditions({**GATE, "TERMUX_API_VERSION": "0.53.0"})
    assert (await source.read()).reasons == ()
    phone.wifi = wifi
    reading = await source.read()
    assert reading.unmetered is None
    (reason,) = reading.reasons
    assert word in reason


async def test_a_job_that_is_over_says_so() -> None:
    phone = Phone()
    source = phone.conditions(GATE)
    phone.now = GATE_SECONDS
    assert all("585 s" in line for line in (await source.read()).reasons)


# --- what the DUMP permission shows goes before any promise ---

DEFAULT_WIFI = (
    "Active default network: 141\n"
    "  NetworkAgentInfo{ ni{WIFI}  network{141}  nc{[ Transports: WIFI Capabilities: "
    "NOT_METERED&INTERNET&TRUSTED&VALIDATED LinkUpBandwidth>=9000Kbps]} }\n"
)


async def test_with_the_grant_no_job_is_needed() -> None:
    phone = Phone()
    phone.dumps = {"deviceidle": "  mScreenOn=false", "connectivity": DEFAULT_WIFI}
    reading = await phone.conditions({}).read()
    assert reading.all_hold
    assert reading.reasons == ()
    phone.dumps["connectivity"] = DEFAULT_WIFI.replace("NOT_METERED&", "")
    assert (await phone.conditions(GATE).read()).unmetered is False, "seen beats promised"


async def test_without_the_grant_android_is_asked_once() -> None:
    asked: list[str] = []
    phone = Phone()

    async def ask(argv: Sequence[str]) -> Said:
        asked.append(argv[-1])
        return await phone.ask(argv)

    await TermuxConditions(ask, environ={}, free=lambda: None).read()
    assert sorted(asked) == ["deviceidle", "termux-battery-status", "termux-wifi-connectioninfo"]


async def test_androids_programs_do_not_see_termuxs_preload(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", "")
    bench.tool("env", f'echo "$*" >> {bench.folder}/asked')
    await TermuxConditions(environ={}, free=lambda: None).read()
    asked = (bench.folder / "asked").read_text()
    assert asked == "-u LD_PRELOAD -u LD_LIBRARY_PATH /system/bin/dumpsys deviceidle\n"


# --- AOSP FederatedCompute's policy: charge, heat, space ---

HELD = {"deviceidle": "  mScreenOn=false", "connectivity": DEFAULT_WIFI}


@pytest.mark.parametrize(
    ("battery", "thermal", "free", "opens"),
    [
        (V050, "Thermal Status: 0", 10**9, True),
        (V050, "Thermal Status: 1", 10**9, True),
        (V050, "Thermal Status: 2", 10**9, False),
        (V050, "Thermal Status: 6", 10**9, False),
        (V050, "Thermal Status: 77", 10**9, True),  # no status at all
        (V050, "", 10**9, True),
        (V050 | {"health": "OVERHEAT"}, "Thermal Status: 0", 10**9, False),
        (V050, "Thermal Status: 0", 50 * 10**6, True),
        (V050, "Thermal Status: 0", 50 * 10**6 - 1, False),
        (V050, "Thermal Status: 0", None, True),
        (V050 | {"percentage": 30}, "", None, True),
        (V050 | {"percentage": 29}, "", None, False),
        (V050 | {"percentage": 10**400}, "", None, True),  # no level: not a crash
    ],
)
async def test_work_starts_only_charged_cool_and_with_room(
    battery: dict[str, object], thermal: str, free: int | None, opens: bool
) -> None:
    phone = Phone()
    phone.battery, phone.free = battery, free
    phone.dumps = {**HELD, "thermalservice": f"IsStatusOverride: false\n{thermal}\nCached:"}
    source = phone.conditions({})
    reading = await source.read()
    assert reading.all_hold
    assert Window(LoopClock(0.0), source).allows(reading) is opens
    told = " ".join(reading.reasons)
    assert ("too warm" in told) is (reading.hot is True)
    assert ("50 MB" in told) is (free is not None and free < 50 * 10**6)


# --- a call that hangs now and then does not end the work ---


class Sometimes:
    """Hangs at every call but the `good`-th; says who was cancelled."""

    def __init__(self, good: int) -> None:
        self.good = good
        self.calls = 0
        self.cancelled = 0

    async def ask(self, argv: Sequence[str]) -> Said:
        if argv[0] != "termux-battery-status":
            return Said(json.dumps(WIFI))
        self.calls += 1
        if self.calls == self.good:
            return Said(json.dumps(V053))
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        raise AssertionError("never set")


async def test_a_silent_call_is_made_once_more_beside_the_first() -> None:
    some = Sometimes(good=2)
    source = TermuxConditions(some.ask, environ=GATE, free=lambda: None, hedge=0.0)
    assert (await source.read()).charging is True
    assert (some.calls, some.cancelled) == (2, 1)


async def test_an_answer_in_time_is_asked_for_once() -> None:
    some = Sometimes(good=1)
    source = TermuxConditions(some.ask, environ=GATE, free=lambda: None, hedge=60.0)
    assert (await source.read()).charging is True
    assert (some.calls, some.cancelled) == (1, 0)


async def test_cancelling_a_reading_ends_both_calls() -> None:
    some = Sometimes(good=3)
    source = TermuxConditions(some.ask, environ=GATE, free=lambda: None, hedge=0.0)
    reading = asyncio.ensure_future(source.read())
    for _ in iter(lambda: some.calls, 2):
        await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert some.cancelled == 2


# --- doctor ---

PENDING = (
    "Pending Job 12: /x/other.sh\t(periodic: 900000ms) - response 1\n"
    "Pending Job 7301: /x/job.sh\t(periodic: 900000ms) (while charging) (while idle) (persisted)\n"
)


async def findings(phone: Phone, **environ: str) -> dict[str, Finding]:
    return {one.name: one for one in await phone.conditions(environ).diagnose()}


async def test_a_healthy_phone_has_nothing_to_do() -> None:
    phone = Phone()
    phone.battery = V053
    phone.dumps = {**HELD, "thermalservice": "Thermal Status: 1"}
    phone.jobs = Said(PENDING)
    found = await findings(phone)
    assert list(found) == [
        "termux-api", "idle", "charging", "unmetered", "thermal", "storage", "job"
    ]  # fmt: skip
    assert {one.state for one in found.values()} == {"ok"}
    assert {one.do for one in found.values()} == {""}
    assert "plugged PLUGGED_USB, status FULL, 75%" in found["charging"].said


@pytest.mark.parametrize(
    ("battery", "state", "said"),
    [
        (V050, "warning", "0.50 or older"),
        (V051, "warning", "0.51"),
        (V052, "warning", "0.52"),
        (V053, "ok", "0.53 or newer"),
        (Said(None, "late"), "fault", "no Termux:API app"),
        (Said(REFUSED), "fault", "ACCESS_FINE_LOCATION"),
        (Said(""), "fault", "prints nothing"),
    ],
)
async def test_the_apps_age_is_told_by_its_battery(
    battery: dict[str, object] | Said, state: str, said: str
) -> None:
    phone = Phone()
    phone.battery = battery
    found = (await findings(phone))["termux-api"]
    assert found.state == state
    assert said in found.said
    assert bool(found.do) is (state != "ok")


@pytest.mark.parametrize(
    ("jobs", "state", "said"),
    [
        (Said(PENDING), "ok", "7301"),
        (Said(PENDING.replace("(while idle) ", "")), "warning", "without Android's idle gate"),
        (Said("No pending jobs\n"), "warning", "no job 7301"),
        (Said("No jobs found\n"), "warning", "no job 7301"),
        (Said(PENDING.replace("7301", "73010")), "warning", "no job 7301"),
        (Said(""), "unknown", "prints nothing"),
        (Said(None, "late"), "unknown", "does not answer"),
        (Said(None, "absent"), "unknown", "not installed"),
        (Said(None, "unreadable"), "unknown", "no answer"),
    ],
)
async def test_the_registered_job_is_looked_at(jobs: Said, state: str, said: str) -> None:
    phone = Phone()
    phone.jobs = jobs
    found = (await findings(phone))["job"]
    assert found.state == state
    assert said in found.said


async def test_no_finding_names_the_network_or_the_phone() -> None:
    phone = Phone()
    phone.battery = V053 | {"plugged": "PLUGGED_ my home", "status": "FULL"}
    phone.wifi = WIFI | {"ssid": "Ann's flat", "bssid": "a4:50:46:00:11:22"}
    for environ in ({}, GATE):
        found = await findings(phone, **environ)
        told = " ".join(f"{one.said} {one.do}" for one in found.values())
        for secret in ("10.20.30.40", "Ann", "a4:50", "my home"):
            assert secret not in told


@pytest.mark.parametrize("locale", ["zh_CN.UTF-8", "en_GB.UTF-8"])
async def test_every_sentence_there_is_comes_in_both_languages(locale: str) -> None:
    chinese = locale.startswith("zh")
    values = dict.fromkeys(
        ("tool", "permission", "raw", "age", "job", "mb", "status", "condition", "said", "do"), "x"
    )
    for code in termux_words.codes():
        lines = termux_words.advice(code, "zh" if chinese else "en", **values)
        assert all(line and any("一" <= sign <= "鿿" for sign in line) is chinese for line in lines)


async def test_status_shows_the_reasons(open_phone: OpenPhone) -> None:
    phone = await open_phone(conditions=Phone().conditions({}))
    status = await phone.status()
    assert len(status.conditions.reasons) == 2
    console = Console(record=True, width=400, file=io.StringIO())
    console.print(status_table(status))
    assert "idle unknown: Termux itself does not see this" in console.export_text()
