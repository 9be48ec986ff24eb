"""install.sh in a fake Termux: from nothing, again, interrupted, with every answer of Android's.

Mutants seen failing here: the idle flag left out; "response 1" enough without "(while idle)"; the
venv not remade after an interruption; the poller left beside the job; a store touched.
"""

from __future__ import annotations

import re

import pytest

from device.conditions.termux_diagnosis import JOB
from tests.deploy.termux.fake import ACCEPTED, DEPLOY, FakeTermux

PACKAGES = (
    "python", "python-cryptography", "python-numpy", "python-msgpack", "termux-api",
    "termux-services", "util-linux",
)  # fmt: skip
PERMISSION = (
    '{\n  "error": "Please grant the following permission to use this command: '
    'android.permission.WAKE_LOCK"\n}\n'
)


def mode(termux: FakeTermux) -> str:
    return (termux.reverie / "mode").read_text().strip()


def test_from_nothing(termux: FakeTermux) -> None:
    done = termux.install()
    assert done.returncode == 0, done.stderr
    asked = [line.split()[-1] for line in termux.noted("pkg install")]
    assert asked == [*PACKAGES, "rust"], "coreutils was there already"
    for package in (*PACKAGES, "rust"):
        assert re.search(rf"^  {package}: \S", done.stdout, re.M), f"{package} is not explained"
    assert termux.noted("venv") == [f"venv -m venv --system-site-packages {termux.reverie}/venv"]
    assert mode(termux) == "job"
    assert "no phone is set up yet" in done.stdout


def test_the_job_is_androids_own_threefold_gate(termux: FakeTermux) -> None:
    termux.install()
    (asked,) = termux.noted("termux-api")
    assert asked.split()[1:] == [
        "JobScheduler", "--ei", "job_id", str(JOB), "--es", "script", f"{termux.reverie}/job.sh",
        "--ei", "period_ms", "900000", "--es", "network", "unmetered", "--ez", "charging", "true",
        "--ez", "battery_not_low", "true", "--ez", "idle", "true", "--ez", "persisted", "true",
    ]  # fmt: skip


def test_no_script_ever_asks_for_network_none() -> None:
    for script in DEPLOY.rglob("*"):
        if script.is_file() and script.suffix != ".md":
            code = [line.partition("# ")[0] for line in script.read_text().splitlines()]
            assert not re.search(r"network[ =]+.?none", "\n".join(code)), script


def test_again_does_nothing_twice_and_keeps_the_store(termux: FakeTermux) -> None:
    kept = termux.keep_something()
    assert termux.install().returncode == 0
    termux.forget_log()
    done = termux.install()
    assert done.returncode == 0
    assert termux.noted("pkg") == []
    assert termux.noted("venv") == []
    assert not [line for line in termux.noted("pip") if " wheel " in line]
    assert termux.kept() == kept
    assert mode(termux) == "job"


@pytest.mark.parametrize("point", ["pkg", "venv", "pip", "api"])
def test_an_interrupted_installation_is_taken_up_again(termux: FakeTermux, point: str) -> None:
    kept = termux.keep_something()
    termux.install_killed_at(point)
    installed = (termux.root / "installed").read_text().split()
    termux.forget_log()
    done = termux.install()
    assert done.returncode == 0, done.stderr
    again = [line.split()[-1] for line in termux.noted("pkg install")]
    assert not set(again) & set(installed), "what was installed is not installed again"
    assert (termux.reverie / "venv" / "bin" / "reverie-device").exists()
    assert mode(termux) == "job"
    assert termux.kept() == kept
    assert termux.bench.left_behind() == []


OLD_REPLY = ACCEPTED + "\n"
NEW_REPLY = ACCEPTED + "\n" + ACCEPTED.replace("Scheduling", "Pending").split(" - ")[0] + "\n"


@pytest.mark.parametrize("reply", [OLD_REPLY, NEW_REPLY], ids=["up to 0.51", "from 0.52"])
def test_a_confirmed_idle_gate_means_the_job(termux: FakeTermux, reply: str) -> None:
    termux.job_reply(reply)
    done = termux.install()
    assert "(while idle) confirmed" in done.stdout
    assert mode(termux) == "job"
    assert not (termux.prefix / "var" / "service" / "reverie").exists()


REFUSED = [
    ("no idle", ACCEPTED.replace("(while idle) ", ""), "does not pass the idle flag on"),
    ("response 0", ACCEPTED.replace("response 1", "response 0"), "refused the job"),
    ("nothing", "", "gives no answer"),
    ("no such file", "No such file: /x/job.sh\n", "cannot start"),
    ("cannot execute", "Cannot execute file: /x/job.sh\n", "cannot start"),
    ("permission", PERMISSION, "grant what it asks for"),
    ("API_ERROR", '{"API_ERROR": "x"}', "grant what it asks for"),
    ("garbage", "\x07\x00 what?", "answers with something unknown"),
]


@pytest.mark.parametrize(
    ("reply", "words"), [row[1:] for row in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_anything_else_is_said_and_polled(termux: FakeTermux, reply: str, words: str) -> None:
    termux.job_reply(reply)
    done = termux.install()
    assert done.returncode == 0, done.stderr
    assert words in done.stdout
    assert mode(termux) == "poll"
    assert termux.noted("job-scheduler") == [f"job-scheduler --cancel --job-id {JOB}"]
    assert termux.noted("sv-enable") == ["sv-enable reverie"]
    assert "android.permission.DUMP" in done.stdout


def test_a_helper_that_hangs_is_ended_with_its_children(termux: FakeTermux) -> None:
    termux.job_reply("", f"sleep 3600 & echo $! >> {termux.bench.children}; wait")
    done = termux.install(REVERIE_API_SECONDS="0.5")
    assert "gives no answer" in done.stdout
    assert mode(termux) == "poll"
    assert termux.bench.left_behind() == []


def test_job_or_nothing(termux: FakeTermux) -> None:
    termux.job_reply("")
    done = termux.install("--mode", "job")
    assert done.returncode == 1
    assert "--mode poll" in done.stderr


def test_polling_can_be_asked_for(termux: FakeTermux) -> None:
    termux.install("--mode", "poll")
    assert termux.noted("termux-api") == []
    assert mode(termux) == "poll"
    boot = termux.home / ".termux" / "boot" / "20-reverie"
    service = termux.prefix / "var" / "service" / "reverie"
    for unit in (boot, service / "run", service / "log" / "run"):
        assert unit.read_text().startswith(f"#!{termux.prefix}/bin/sh\n")
        assert unit.stat().st_mode & 0o100
        assert "@" not in unit.read_text()
    assert termux.noted("start-services"), "the service daemon must run before sv-enable"


def test_the_job_and_the_poller_are_never_both(termux: FakeTermux) -> None:
    termux.install("--mode", "poll")
    termux.install()
    assert mode(termux) == "job"
    assert not (termux.prefix / "var" / "service" / "reverie").exists()
    assert not (termux.home / ".termux" / "boot" / "20-reverie").exists()
    assert termux.noted("sv down") == ["sv down reverie"] * 2, (
        "paused for the upgrade, then removed"
    )


def test_a_folder_among_the_boot_scripts_is_warned_of(termux: FakeTermux) -> None:
    (termux.home / ".termux" / "boot" / "old").mkdir(parents=True)
    done = termux.install("--mode", "poll")
    assert "Termux:Boot stops at it" in done.stdout


def test_a_new_python_of_termux_gets_a_new_environment(termux: FakeTermux) -> None:
    termux.install()
    termux.forget_log()
    termux.python_version("3.15")
    done = termux.install()
    assert done.returncode == 0, done.stderr
    assert len(termux.noted("venv")) == 1
    wheels = [line for line in termux.noted("pip") if " wheel " in line]
    assert wheels == [], "what was built before is tried first"


def test_a_wheel_built_on_another_phone_is_enough(termux: FakeTermux) -> None:
    brought = termux.root / "brought"
    brought.mkdir()
    (brought / "pydantic.whl").touch()
    done = termux.install("--wheels", str(brought))
    assert done.returncode == 0, done.stderr
    assert "rust" not in (termux.root / "installed").read_text()


def test_too_little_space_to_build_is_said_before_anything_is_built(termux: FakeTermux) -> None:
    termux.bench.prints("df", "Filesystem 1024-blocks Used Available\n/dev/x 9 9 409600 1% /\n")
    done = termux.install()
    assert done.returncode == 1
    assert "400 MB are free" in done.stderr
    assert "rust" not in (termux.root / "installed").read_text()


def test_a_package_that_cannot_be_had_stops_with_what_to_do(termux: FakeTermux) -> None:
    (termux.root / "broken-python-numpy").touch()
    done = termux.install()
    assert done.returncode == 1
    assert "stopped: pkg could not install python-numpy" in done.stderr
    assert "what to do: check the network" in done.stderr


def test_pip_never_builds_what_termux_has(termux: FakeTermux) -> None:
    termux.install()
    ours = [line for line in termux.noted("pip") if "--upgrade" in line]
    assert len(ours) == 1
    assert "--only-binary cryptography,numpy,msgpack,pydantic-core" in ours[0]


def test_a_wheel_is_put_in_even_when_its_version_is_there(termux: FakeTermux) -> None:
    wheel = termux.root / "reverie-9-py3-none-any.whl"
    wheel.touch()
    termux.install("--wheel", str(wheel))
    last = termux.noted("pip")[-1]
    assert "--no-deps --force-reinstall" in last
    assert str(wheel) in last


@pytest.mark.parametrize("missing", ["PREFIX", "HOME"])
def test_outside_termux_nothing_is_done(termux: FakeTermux, missing: str) -> None:
    done = termux.install(**{missing: ""})
    assert done.returncode == 1
    assert "Termux" in done.stderr
    assert termux.log.read_text() == ""


@pytest.mark.parametrize("wrong", [("--mode", "sometimes"), ("--what",), ("--wheel",)])
def test_a_wrong_option_is_2(termux: FakeTermux, wrong: tuple[str, ...]) -> None:
    assert termux.install(*wrong).returncode == 2
    assert termux.log.read_text() == ""
