"""Ray as an operator meets it: what listens, who gets in, what a lost head costs."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cloud.actors.ray_cluster import LOOPBACK_ONLY, RayUnavailable, _check
from cloud.actors.ray_probe import Found
from tests.cloud.ray_head import RayHead, family, titles

pytestmark = pytest.mark.ray

MEMORY_CALLS = int(os.environ.get("REVERIE_RAY_CALLS", "300"))
GROWTH_KIB = 16 << 10
LOOPBACK = {"127.0.0.1", "::ffff:127.0.0.1", "::1"}


@pytest.fixture(scope="module")
def head() -> Iterator[RayHead]:
    """A cluster; who kills it starts it again."""
    made = RayHead()
    yield made
    made.stop()


def _clean() -> dict[str, str]:
    """The environment without whatever Ray has put into this process's."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}


class Driver:
    """A Python program that prints a line of JSON for every line it is given."""

    def __init__(self, program: str, environment: dict[str, str]) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=_clean() | environment,
        )

    def hears(self) -> Any:
        """The next line it prints."""
        assert self.popen.stdout is not None
        line = self.popen.stdout.readline()
        assert line, f"it ended with {self.popen.wait()}"
        return json.loads(line)

    def told(self, line: str) -> Any:
        """Its answer to a line."""
        assert self.popen.stdin is not None
        self.popen.stdin.write(line + "\n")
        self.popen.stdin.flush()
        return self.hears()

    def end(self) -> None:
        """Kill it, and what it has started."""
        for pid in family(self.popen.pid):
            os.kill(pid, signal.SIGKILL)
        self.popen.wait()


COMMON = """
    import asyncio, json, os, sys
    from pathlib import Path
    from cloud.actors.ray_runtime import RayRuntime, RayUnavailable
    from cloud.actors.runtime import ActorBusy, ActorGone
    from cloud.logs import configure_logs
    from tests.cloud.ray_actors import Patient, Tally

    configure_logs()

    def say(value):
        print(json.dumps(value), flush=True)

    def line():
        return asyncio.to_thread(sys.stdin.readline)
"""


def _driver(body: str, environment: dict[str, str], **names: str) -> Driver:
    given = "".join(f"    {name} = {value!r}\n" for name, value in names.items())
    return Driver(COMMON + given + body, environment)


LOCAL = """
    async def main():
        runtime = RayRuntime()
        tally = runtime.spawn("tally", Tally, path)
        await tally.ask("add", "one")
        import ray
        say([ray.get_runtime_context().gcs_address, os.path.exists(Path.home() / ".ray")])
        await line()
        await runtime.stop()
        say("stopped")

    asyncio.run(main())
"""


def test_a_local_cluster_listens_on_loopback_and_asks_for_its_token(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    driver = _driver(LOCAL, home, path=str(tmp_path / "tally"))
    try:
        address, wrote_token = driver.hears()
        members = family(driver.popen.pid)
        listening = _listening(set(members))
        assert listening
        assert {host for host, _ in listening} <= LOOPBACK
        assert not any("dashboard.py" in title for title in _servers(members))
        assert not wrote_token
        assert address.startswith("127.0.0.1:")
        port = int(address.rpartition(":")[2])
        assert port in {each for _, each in listening}
        home |= LOOPBACK_ONLY
        assert _asked(address, home) == "refused"
        assert _asked(address, home | {"RAY_AUTH_TOKEN": "0" * 64}) == "refused"
        assert driver.told("stop") == "stopped"
    finally:
        driver.end()


def _servers(pids: list[int]) -> list[str]:
    """Titles of those that listen beyond a socket file."""
    owners = {pid for pid in pids if _sockets(pid)}
    return list(titles(sorted(owners)).values())


def _sockets(pid: int) -> set[str]:
    found = set()
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            named = re.fullmatch(r"socket:\[(\d+)\]", str(link.readlink()))
        except OSError:
            continue
        if named:
            found.add(named[1])
    return found & set(_inodes())


def _inodes() -> dict[str, tuple[str, int]]:
    """The listening TCP sockets of this machine: inode -> (host, port)."""
    found = {}
    for name, kind in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for row in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            fields = row.split()
            host, _, port = fields[1].partition(":")
            if fields[3] == "0A":  # LISTEN
                words = bytes.fromhex(host)
                turned = b"".join(words[i : i + 4][::-1] for i in range(0, len(words), 4))
                found[fields[9]] = (socket.inet_ntop(kind, turned), int(port, 16))
    return found


def _listening(pids: set[int]) -> set[tuple[str, int]]:
    known = _inodes()
    return {known[inode] for pid in pids for inode in _sockets(pid)}


def _asked(address: str, environment: dict[str, str]) -> str:
    """What a stranger hears on the cluster's port."""
    code = f"from cloud.actors.ray_probe import probe; print(probe({address!r}).state)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=_clean() | environment
    )
    return done.stdout.strip()


JOIN = """
    try:
        RayRuntime(address)
    except RayUnavailable as error:
        say(str(error))
    else:
        say("joined")
"""


def _joining(address: str, environment: dict[str, str]) -> str:
    driver = _driver(JOIN, environment, address=address)
    try:
        return str(driver.hears())
    finally:
        driver.end()


def test_each_way_of_not_getting_in_is_one_line(head: RayHead, tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)} | LOOPBACK_ONLY
    assert "RAY_AUTH_TOKEN" in _joining(head.address, home)
    wrong = _joining(head.address, home | {"RAY_AUTH_TOKEN": "0" * 64})
    assert "refuses this token" in wrong
    assert "\n" not in wrong
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        free = f"127.0.0.1:{nobody.getsockname()[1]}"
    assert "no Ray cluster answers" in _joining(free, head.environment)
    file = tmp_path / "token"
    file.write_text(head.environment["RAY_AUTH_TOKEN"])
    named = {**head.environment, "RAY_AUTH_TOKEN_PATH": str(file)}
    del named["RAY_AUTH_TOKEN"], named["RAY_AUTH_MODE"]
    assert _joining(head.address, named) == "joined"


def test_another_python_is_named(head: RayHead) -> None:
    found = Found("other", "Ray 2.60.0 on Python 3.11.9", "Ray 2.60.0 on Python 3.11.7")
    with pytest.raises(RayUnavailable, match=r"3\.11\.9, this process .* 3\.11\.7"):
        _check(head.address, found)


SERVED = """
    async def main():
        runtime = RayRuntime(address, look_seconds=0.5)
        tally = runtime.spawn("tally", Tally, path)
        say([runtime.actor_name("tally"), await tally.ask("add", "start")])
        while said := (await line()).strip():
            # As a phone does: again until it is acknowledged.
            while True:
                try:
                    say([said, await tally.ask("add", said), await tally.ask("pid")])
                    break
                except ActorGone as error:
                    await asyncio.sleep(0.1)
        await runtime.stop()
        say("stopped")

    asyncio.run(main())
"""


def test_a_killed_worker_answers_the_next_call(head: RayHead, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    driver = _driver(SERVED, head.environment, address=head.address, path=path)
    try:
        driver.hears()
        pid = driver.told("a")[2]
        os.kill(pid, signal.SIGKILL)
        _, count, other = driver.told("b")
        assert (count, other != pid) == (3, True)
    finally:
        driver.end()


def test_two_versions_live_side_by_side(head: RayHead, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    newer = SERVED.replace("async def main", OTHER_VERSION + "    async def main")
    first = _driver(SERVED, head.environment, address=head.address, path=path)
    second = _driver(newer, head.environment, address=head.address, path=path)
    try:
        names = {first.hears()[0], second.hears()[0]}
        assert len(names) == 2
        assert any("-9.9.9-" in name for name in names)
        assert first.told("a")[1] == 2
        assert first.told("") == "stopped"
        assert second.told("a")[1] == 2
        assert second.told("b")[1] == 3
    finally:
        first.end()
        second.end()


OTHER_VERSION = """import cloud.actors.ray_runtime
    cloud.actors.ray_runtime.version = lambda name: "9.9.9"
"""

WAITING = """
    async def main():
        runtime = RayRuntime(address)
        patient = runtime.spawn("patient", Patient, path)
        heard = []
        for _ in range(2):
            try:
                await patient.ask("hello")
            except Exception as error:
                heard.append(type(error).__name__)
        say(heard)
        await line()
        while True:
            try:
                say(await patient.ask("hello"))
                break
            except ActorBusy:
                await asyncio.sleep(0.1)

    asyncio.run(main())
"""


def test_an_actor_whose_database_is_away_is_built_later(head: RayHead, tmp_path: Path) -> None:
    path = tmp_path / "t"
    driver = _driver(WAITING, head.environment, address=head.address, path=str(path))
    try:
        assert driver.hears() == ["FileNotFoundError", "ActorBusy"]
        path.write_text("here")
        assert driver.told("") == "here"
    finally:
        driver.end()


GROWING = """
    async def main():
        runtime = RayRuntime(address)
        tally = runtime.spawn("tally", Tally, path)

        async def calls(n):
            for _ in range(n // 50):
                await asyncio.gather(*(tally.ask("echo", bytes(4000)) for _ in range(50)))
            return await tally.ask("rss_kib"), len(runtime._link._waiting)

        before = await calls(int(n))
        say([before, await calls(int(n))])

    asyncio.run(main())
"""


def test_nothing_grows_with_the_calls(head: RayHead, tmp_path: Path) -> None:
    names = {"address": head.address, "path": str(tmp_path / "t"), "n": str(MEMORY_CALLS)}
    driver = _driver(GROWING, head.environment, **names)
    try:
        (before, waiting), (after, still) = driver.hears()
        assert after - before < GROWTH_KIB
        assert (waiting, still) == (0, 0)
    finally:
        driver.end()


def test_a_lost_head_is_joined_again_and_nothing_counts_twice(
    head: RayHead, tmp_path: Path
) -> None:
    driver = _driver(SERVED, head.environment, address=head.address, path=str(tmp_path / "t"))
    try:
        assert driver.hears()[1] == 1
        assert driver.told("a")[1] == 2
        head.kill()
        head.start()
        assert driver.told("a")[1] == 2  # it was acknowledged before
        assert driver.told("b")[1] == 3
        assert driver.told("") == "stopped"
    finally:
        driver.end()
