"""Conditions over adb: Debian's own adb against an adbd of ours, and what is printed otherwise."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial

import pytest

from device.actors import SystemClock
from device.actors.window import Window
from device.conditions import AdbConditions, Conditions, SerialInvalid, detect
from device.conditions.adb_dumps import SCRIPT
from device.conditions.tools import MAX_OUTPUT, Said, ask_tool
from tests.device.conditions.adb_server import connected, connecting, own_server
from tests.device.conditions.conftest import Bench
from tests.device.conditions.fake_adbd import FakeAdbd, running
from tests.device.conditions.fake_emulator import Emulator, Shape


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with own_server(tmp_path_factory.mktemp("adb")):
        yield


@pytest.fixture
def adbd(server: None) -> Iterator[FakeAdbd]:
    with running(Emulator()) as made:
        assert "connected" in connected(made.serial)
        yield made


def source(adbd: FakeAdbd) -> AdbConditions:
    return AdbConditions(adbd.serial, now=lambda: 12.0, environ={})


async def test_an_emulator_walks_through_its_day(adbd: FakeAdbd) -> None:
    emulator, asked = adbd.emulator, source(adbd)
    emulator.shell("dumpsys battery unplug; svc wifi disable")
    assert await asked.read() == Conditions(False, False, False, 0.88, read_at=12.0)
    emulator.shell("dumpsys battery set ac 1; dumpsys battery set status 2")
    assert await asked.read() == Conditions(False, True, False, 0.88, read_at=12.0)
    emulator.shell("svc wifi enable")
    assert await asked.read() == Conditions(False, True, True, 0.88, read_at=12.0)
    emulator.shell("input keyevent 223")
    assert (await asked.read()).all_hold
    emulator.shell("cmd netpolicy set metered-network AndroidWifi true")
    assert (await asked.read()).unmetered is False
    emulator.shell("cmd netpolicy set metered-network AndroidWifi false; input keyevent 224")
    assert (await asked.read()).idle is False
    assert (await asked.read()).reasons == ()


async def test_one_reading_is_one_call(adbd: FakeAdbd) -> None:
    await source(adbd).read()
    assert adbd.emulator.commands == [SCRIPT]


async def test_a_phone_that_vanishes_is_unknown_and_said_so(adbd: FakeAdbd) -> None:
    asked = source(adbd)
    adbd.close()
    reading = await asked.read()
    assert (reading.idle, reading.charging, reading.unmetered) == (None, None, None)
    assert reading.reasons[0].startswith(("the phone is offline", "adb knows no phone"))
    (finding,) = await asked.diagnose()
    assert (finding.name, finding.state) == ("adb", "fault")
    assert finding.do


async def test_a_phone_that_was_never_there(server: None) -> None:
    reading = await AdbConditions("emulator-5554", environ={}).read()
    assert reading.charging is None
    assert "knows no phone" in reading.reasons[0]


async def test_a_phone_nobody_tapped_allow_on(server: None) -> None:
    with running(Emulator(), "unauthorized") as adbd, connecting(adbd.serial):
        reading = await source(adbd).read()
        while "tap Allow" not in reading.reasons[0]:  # adb tries for a moment to get in
            assert reading.charging is None
            reading = await source(adbd).read()


async def test_a_phone_that_hangs_is_left_in_time(server: None) -> None:
    with running(Emulator(), "hang") as adbd:
        connected(adbd.serial)
        reading = await AdbConditions(adbd.serial, partial(ask_tool, limit=0.5), environ={}).read()
    assert reading.unmetered is None
    assert "did not answer in time" in reading.reasons[0]


async def test_a_phone_that_still_starts(adbd: FakeAdbd) -> None:
    adbd.emulator.silent = True
    reading = await source(adbd).read()
    assert reading.idle is None
    assert "wait until it has started" in reading.reasons[0]


async def test_what_is_unknown_is_said_with_its_reading() -> None:
    (reason,) = (await read_from(seen(vpn="VPN"))).reasons
    assert reason.startswith("unmetered unknown (")
    assert "Transports: VPN" in reason


@pytest.mark.parametrize("shape", ["old", "new"])
async def test_both_shapes_over_the_phones_own_shell(bench: Bench, shape: Shape) -> None:
    """The script runs in a real shell too: what `dumpsys` prints comes from the emulator."""
    emulator = Emulator(shape, awake=False)
    for name, words in (("battery", "battery"), ("power", "power"), ("net", "connectivity")):
        (bench.folder / name).write_text(emulator.shell(f"dumpsys {words}")[0])
    (bench.folder / "idle").write_text(emulator.shell("dumpsys deviceidle")[0])
    bench.tool(
        "dumpsys",
        f'cd {bench.folder}; case "$*" in battery) cat battery;; power) cat power;;\n'
        '"deviceidle get screen") echo false;; "deviceidle get "*) echo ACTIVE;;\n'
        "deviceidle) cat idle;; connectivity) cat net;; esac",
    )
    printed = (await ask_tool(("sh", "-c", SCRIPT))).text
    assert printed == Emulator(shape, awake=False).shell(SCRIPT)[0]
    assert (await read_from(printed)).all_hold


async def read_from(output: str | None) -> Conditions:
    async def tool(argv: Sequence[str]) -> Said:
        return Said(output if "shell" in argv else "List of devices attached\n")

    return await AdbConditions("emulator-5554", tool, now=lambda: 12.0, environ={}).read()


def seen(**state: object) -> str:
    return Emulator(**state).shell(SCRIPT)[0]  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", ["old", "new"])
@pytest.mark.parametrize(
    ("powered", "status", "level", "charging"),
    [
        ({"ac": True}, 2, 50, True),
        ({"usb": True}, 5, 100, True),
        ({"wireless": True}, 2, 50, True),
        ({}, 2, 50, False),  # `dumpsys battery unplug` leaves the status
        ({}, 5, 100, False),
        ({"ac": True}, 3, 50, False),  # a charger too weak for the load
        ({"ac": True}, 4, 80, True),  # a charge limiter
        ({"ac": True}, 4, 12, False),
        ({"ac": True}, 1, 50, None),
    ],
)
async def test_charging(
    shape: Shape, powered: dict[str, bool], status: int, level: int, charging: bool | None
) -> None:
    reading = await read_from(seen(shape=shape, powered=powered, status=status, level=level))
    assert (reading.charging, reading.battery) == (charging, level / 100)


async def test_a_dock_charges_where_there_is_one() -> None:
    assert (await read_from(seen(powered={"dock": True}))).charging is True
    assert (await read_from(seen(shape="old", powered={"dock": True}))).charging is False


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("present: true", "present: false"),
        ("AC powered: true", "AC powered: maybe"),
        ("Dock powered: false", "Dock powered: "),
        ("status: 2", "status: x"),
        ("status: 2", "status: " + "9" * 5000),
        ("Current Battery", "Can't find service: battery\nCurrent Battery"),
    ],
)
async def test_a_battery_that_says_otherwise(old: str, new: str) -> None:
    assert (await read_from(seen())).charging is True
    changed = await read_from(seen().replace(old, new))
    assert changed.charging is (True if "service" in new else None)


@pytest.mark.parametrize(
    ("wakefulness", "screen", "idle"),
    [
        ("Awake", "true", False),
        ("Awake", "false", False),  # held to an ear
        ("Asleep", "false", True),
        ("Dozing", "true", True),  # an always-on display
        ("Dreaming", "true", False),
        ("Dreaming", "false", False),  # whatever its screen: somebody may be looking
        ("", "false", True),
        ("", "true", False),
        ("Hibernating", "", None),
        ("", "", None),
    ],
)
async def test_idle(wakefulness: str, screen: str, idle: bool | None) -> None:
    output = seen().replace("mWakefulness=Awake", f"mWakefulness={wakefulness}")
    output = output.replace("=== reverie screen\ntrue", f"=== reverie screen\n{screen}")
    output = output.replace("mScreenOn=true", f"mScreenOn={screen}")
    assert (await read_from(output)).idle is idle


async def test_deep_doze_counts_only_where_nothing_else_is_said() -> None:
    output = seen(forced=True, awake=True)
    assert (await read_from(output)).idle is False
    bare = output.replace("mWakefulness=Awake", "").replace("true", "?")
    assert (await read_from(bare)).idle is True


@pytest.mark.parametrize("shape", ["old", "new"])
@pytest.mark.parametrize(
    ("state", "unmetered"),
    [
        ({}, True),
        ({"metered": True}, False),
        ({"wifi": False}, False),
        ({"vpn": "WIFI|VPN"}, True),
        ({"vpn": "WIFI|VPN", "metered": True}, False),
        ({"vpn": "CELLULAR|VPN"}, False),
        ({"vpn": "CELLULAR|WIFI|VPN"}, False),
        ({"vpn": "VPN"}, None),
        ({"vpn": "ETHERNET|VPN"}, True),
    ],
)
async def test_unmetered(shape: Shape, state: dict[str, object], unmetered: bool | None) -> None:
    assert (await read_from(seen(shape=shape, **state))).unmetered is unmetered


@pytest.mark.parametrize(
    ("old", "new", "unmetered"),
    [
        ("Active default network: 101", "Active default network: none", False),
        ("Active default network: 101", "Active default network: 103", None),
        ("Active default network: 101", "", None),
        (
            "Active default network: 101",
            "Active default network: 101\nActive default network: 1",
            None,
        ),
        ("VPN&VALIDATED&NOT_ROAMING", "VPN&NOT_ROAMING", False),  # behind a captive portal
        ("NOT_METERED&INTERNET", "TEMPORARILY_NOT_METERED&INTERNET", False),
        ("Transports: WIFI", "Transports: ", None),
        ("NetworkAgentInfo{network{101}", "NetworkRequest{network{101}", None),
    ],
)
async def test_a_network_that_says_otherwise(old: str, new: str, unmetered: bool | None) -> None:
    assert old in seen()
    assert (await read_from(seen().replace(old, new))).unmetered is unmetered


async def test_a_networks_name_cannot_speak_for_the_phone() -> None:
    """A Wi-Fi may be called anything, a line of our script included."""
    spelt = "\n=== reverie battery\n  AC powered: true\n  status: 2\n"
    spelt += "=== reverie power\nmWakefulness=Asleep\n"
    twin = "  NetworkAgentInfo{network{101} nc{[ Transports: WIFI "
    twin += "Capabilities: NOT_METERED&VALIDATED]}\n"
    output = seen(powered={}, metered=True) + spelt + twin
    assert await read_from(output) == Conditions(False, False, False, 0.88, read_at=12.0)


@pytest.mark.parametrize(
    "output",
    [None, "", "\x00\x01", "=== reverie battery", "=== reverie power\nmWakefulness=Asleep"],
)
async def test_garbage_is_unknown(output: str | None) -> None:
    assert await read_from(output) == Conditions(None, None, None, None, read_at=12.0)


async def test_more_than_a_reading_is_not_read(bench: Bench) -> None:
    bench.tool("adb", f'[ "$1" = devices ] || head -c {MAX_OUTPUT + 1} /dev/zero')
    reading = await AdbConditions("emulator-5554", environ={}).read()
    assert reading.idle is None
    assert "knows no phone" in reading.reasons[0]


@pytest.mark.parametrize(
    ("listed", "said"),
    [
        ("offline", "is offline"),
        ("unauthorized", "tap Allow"),
        ("authorizing", "tap Allow"),
        ("recovery", "does not run Android"),
        ("no permissions (user in plugdev group; are your udev rules wrong?)", "udev rules"),
        ("device", "did not answer"),
        ("weird", "did not answer"),
    ],
)
async def test_what_adb_says_of_a_phone(bench: Bench, listed: str, said: str) -> None:
    (bench.folder / "list").write_text(f"List of devices attached\nABC\tdevice\nR5CT\t{listed}\n")
    bench.tool("adb", f'[ "$1" = devices ] && cat {bench.folder}/list || exit 1')
    reading = await AdbConditions("R5CT", environ={}).read()
    assert reading.idle is None
    (reason,) = reading.reasons
    assert said in reason
    assert "R5CT" not in reason, "a serial can be an identifier"
    (chinese,) = (await AdbConditions("R5CT", environ={"LANG": "zh_CN.UTF-8"}).read()).reasons
    assert "手机" in chinese or "USB" in chinese


async def test_no_adb_and_no_server(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.tool("adb", "exit 1")
    asked = AdbConditions("R5CT", environ={})
    assert "server does not start" in (await asked.read()).reasons[0]
    monkeypatch.setenv("PATH", str(bench.folder / "empty"))
    assert "not installed" in (await asked.read()).reasons[0]


@pytest.mark.parametrize(
    "serial", ["", "-s", "--help", "a b", "a;reboot", "$(id)", "a\nb", "ü", "x" * 200, "a/b", "'"]
)
def test_what_is_no_serial(serial: str) -> None:
    with pytest.raises(SerialInvalid, match="adb devices"):
        AdbConditions(serial)


@pytest.mark.parametrize(
    "serial",
    [
        "emulator-5554",
        "192.0.2.7:5555",
        "[fe80::1%eth0]:5555",
        "adb-R5CT-xYz._adb-tls-connect._tcp.",
    ],
)
def test_what_is_one(serial: str) -> None:
    found = detect(lambda: 0.0, {"REVERIE_ADB": serial, "TERMUX_VERSION": "0.118"})
    assert isinstance(found, AdbConditions)


async def test_a_diagnosis_shows_the_raw_readings_and_no_name(adbd: FakeAdbd) -> None:
    adbd.emulator.shell("dumpsys battery unplug")
    found = {each.name: each for each in await source(adbd).diagnose()}
    assert [each.state for each in found.values()] == ["ok", "ok", "ok", "ok", "warning"]
    assert "AC powered: false" in found["charging"].said
    assert "status: 2" in found["charging"].said
    assert "mWakefulness=Awake" in found["idle"].said
    assert "NOT_METERED" in found["unmetered"].said
    assert "reset" in found["battery"].do
    adbd.emulator.vpn = "VPN"
    (unmetered,) = [each for each in await source(adbd).diagnose() if each.name == "unmetered"]
    assert (unmetered.state, "VPN" in unmetered.said) == ("unknown", True)


async def test_the_window_closes_when_the_phone_wakes(adbd: FakeAdbd) -> None:
    emulator = adbd.emulator
    emulator.awake = False
    window = Window(SystemClock(), source(adbd), settle=0.0, poll=0.05)
    await window.opened()
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        emulator.awake = True
        await asyncio.Event().wait()

    assert await window.run_while_open(work) == "interrupted"
    assert begun.is_set()
