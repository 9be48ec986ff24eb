"""The load test of a deployed cloud: a real `reverie-cloud serve`, real sockets, a few phones."""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cloud.actors.registry import Registry
from cloud.config import CloudConfig
from cloud.storage import Database
from cloud.storage.work import report
from simulator import cli
from simulator.deployed.clock import SpedClock
from simulator.deployed.phone import stretched
from simulator.tracks import Track
from tests.cloud.processes import Process, running_process
from tests.cloud.test_tls import certificate

PHONES = 3
TOKENS = [f"{number:032x}" for number in range(2 * PHONES)]
FAST = "28800"
"""Times real time: a day takes three seconds."""
ALWAYS = "phone,condition,start,end\n" + "".join(
    f"{phone},{condition},0,86400\n"
    for phone in "abc"
    for condition in ("charging", "unmetered", "idle")
)
"""A window of a few real milliseconds would be no window."""
UNUSED_PORT = 9
"""Discard: nobody listens there."""


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("deployed") / "state"


@pytest.fixture(scope="module")
def served(state: Path) -> Iterator[Process]:
    """A cloud that takes phones with a token only. It trains meanwhile; counts need no model."""
    arguments = ("serve", "--state", str(state), "--port", "0", "--budget", "demo")
    with running_process(*arguments) as process:
        registry = Registry(CloudConfig(state=state).database_url)
        registry.add_tokens(
            [sha256(token.encode()).hexdigest() for token in TOKENS], time.time(), 3_600.0
        )
        registry.close()
        yield process


def run(url: str, out: Path, *options: str, phones: int = PHONES) -> Any:
    trace = out / "trace.csv"
    trace.write_text(ALWAYS)
    fixed = ["--phones", str(phones), "--days", "1", "--speed", FAST, "--availability", str(trace)]
    return CliRunner().invoke(cli.app, ["run", "--cloud", url, "--out", str(out), *fixed, *options])


def token_file(folder: Path, tokens: list[str]) -> str:
    path = folder / "tokens.txt"
    path.write_text("\n".join(tokens) + "\n")
    return str(path)


def test_phones_live_a_day_on_a_served_cloud(served: Process, state: Path, tmp_path: Path) -> None:
    tokens = token_file(tmp_path, TOKENS[:PHONES])
    pins = ["--cloud-key", served.said["public_key"], "--helper-pin", served.said["helper_key"]]
    result = run(served.said["url"], tmp_path, "--token-file", tokens, "--json", *pins)
    assert result.exit_code == 0, result.output
    told = json.loads((tmp_path / "load.json").read_text())
    assert json.loads(result.stdout) == told
    assert told["invariants"]["violated"] == 0
    assert told["invariants"]["by_law"]["1 no canary outside the sealed store"]["checked"] > 0
    assert told["sessions"]["ended"]["in good order"] > 0
    assert told["latency_ms"]["session"]["p50"] > 0.0
    assert told["uploads"]["acked"] > 0
    database = Database(CloudConfig(state=state).database_url)
    assert report(database)["reports"] >= told["uploads"]["acked"]
    assert report(database)["devices"]["enrolled"] <= PHONES
    database.close()


def test_nobody_answers(tmp_path: Path) -> None:
    result = run(f"ws://127.0.0.1:{UNUSED_PORT}", tmp_path)
    assert result.exit_code == 2
    assert result.output.strip() == (
        f"reverie-fleet: nobody answers at http://127.0.0.1:{UNUSED_PORT}: "
        "is `reverie-cloud serve` running there?"
    )


def test_another_key_is_another_cloud(served: Process, tmp_path: Path) -> None:
    result = run(served.said["url"], tmp_path, "--cloud-key", "ab" * 32)
    assert result.exit_code == 2
    assert "not the one given: compare --cloud-key" in result.output
    assert result.output.count("\n") == 1


def test_a_token_is_needed_enough_of_them_and_good_ones(served: Process, tmp_path: Path) -> None:
    url = served.said["url"]
    without = run(url, tmp_path)
    assert "takes phones with a token only: give --token-file" in without.output
    few = run(url, tmp_path, "--token-file", token_file(tmp_path, TOKENS[PHONES:]), phones=4)
    assert "holds 3 tokens, 4 phones need one each" in few.output
    bad = run(url, tmp_path, "--token-file", token_file(tmp_path, ["nonsense"] * PHONES))
    assert "refuses the first token of" in bad.output
    assert [one.exit_code for one in (without, few, bad)] == [2, 2, 2]
    assert [one.output.count("\n") for one in (without, few, bad)] == [1, 1, 1]


def test_a_certificate_is_trusted_through_its_authority_only(tmp_path: Path) -> None:
    own = certificate(tmp_path, "here")
    secured = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secured.load_cert_chain(own.chain, own.key)
    server = HTTPServer(("127.0.0.1", 0), _NoCloud)
    server.socket = secured.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        url = f"wss://localhost:{server.server_port}"
        strange = run(url, tmp_path)
        trusted = run(url, tmp_path, "--trust-ca", str(own.chain))
        no_file = run(url, tmp_path, "--trust-ca", str(own.key))
    finally:
        server.shutdown()
        server.server_close()
    assert "is not trusted" in strange.output
    assert "--trust-ca" in strange.output
    assert "is no cloud (HTTP 404)" in trusted.output
    assert "is no certificate authority in PEM format" in no_file.output
    assert [one.exit_code for one in (strange, trusted, no_file)] == [2, 2, 2]


class _NoCloud(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def test_a_window_is_longer_by_the_slack_and_stays_disjoint() -> None:
    assert stretched(Track(((0.0, 10.0), (12.0, 20.0), (100.0, 110.0))), 5.0) == Track(
        ((0.0, 25.0), (100.0, 115.0))
    )


async def test_a_sped_clock_passes_faster_but_never_while_its_process_is_busy() -> None:
    clock = SpedClock(1_000.0, speed=36_000.0)
    async with clock.running():
        await clock.sleep(360.0)
        assert clock.now() >= 1_360.0
        before, busy = clock.now(), clock.real() + 0.2
        while clock.real() < busy:
            pass
        assert clock.now() - before < 0.1 * clock.speed
        assert clock.reached < clock.speed
