"""`reverie-cloud doctor`: a real cloud, one thing broken at a time, and what the doctor names."""

from __future__ import annotations

import asyncio
import datetime
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from sqlalchemy import create_engine, text
from typer.testing import CliRunner

from cloud.actors.runtime import InProcessRuntime
from cloud.cli import app
from cloud.config import CloudConfig
from cloud.doctor import CHECKS, Finding, Report, Scene, examine
from cloud.storage import Database, open_blobs
from cloud.storage.places import Places, remember
from cloud.storage.tables import alarms, events, releases
from tests.cloud.conftest import running
from tests.cloud.postgres import PostgresServer
from tests.cloud.processes import Process, running_process
from tests.cloud.world import START

NOW = START + 60.0
CHECK_OF = {
    "migration": "database",
    "signing key": "keys",
    "permissions": "keys",
    "role keys": "metadata",
    "versions": "gateway",
}
"""Finding → the check that makes it, where it has another name."""


def looked(state: Path, name: str, **changes: Any) -> list[Finding]:
    """The findings of this name; only the check that can make them runs."""
    settings = {
        key: changes.pop(key) for key in ("helper_url", "helper_token_file") if key in changes
    }
    config = CloudConfig(state=state, **settings)
    chosen = tuple(each for each in CHECKS if each[0] == CHECK_OF.get(name, name))
    fields: dict[str, Any] = {"config": config, "now": NOW} | changes
    scene = Scene(**fields)
    report = asyncio.run(examine(scene, chosen))
    return [each for each in report.findings if each.name == name]


def found(state: Path, name: str, **changes: Any) -> Finding:
    """The worst finding of this name."""
    order = ("ok", "unknown", "warning", "fault")
    finding = max(looked(state, name, **changes), key=lambda each: order.index(each.state))
    assert (finding.state == "ok") == (finding.do == ""), "what to do, when there is something"
    return finding


@pytest.fixture(scope="module")
def founded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state folder of a cloud that started once and published one release."""
    state = tmp_path_factory.mktemp("founded") / "cloud"

    async def once() -> None:
        runtime = InProcessRuntime(inline=True)
        async with running(state, runtime):
            pass
        await runtime.stop()

    asyncio.run(once())
    config = CloudConfig(state=state)
    row = {"model": "router", "version": 1, "parent": 0, "status": "published", "created": START}
    row |= {"sha256": bytes(32), "metrics": {}, "epsilon": 0.0, "delta": 0.0}
    database = Database(config.database_url)
    with database.write() as connection:
        key = open_blobs(config.blobs_url).put(b"parameters")
        connection.execute(releases.insert().values(**row, parameters=key))
    database.close()
    return state


@pytest.fixture
def state(founded: Path, tmp_path: Path) -> Path:
    """A copy of it to be broken."""
    return Path(shutil.copytree(founded, tmp_path / "cloud"))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Process]]:
    """A real cloud that runs."""
    state = tmp_path_factory.mktemp("served") / "cloud"
    options = ("--port", "0", "--budget", "demo", "--open-enrolment", "--tick-seconds", "3600")
    with running_process("serve", "--state", str(state), *options) as process:
        yield state, process


@pytest.fixture
def no_ports(tmp_path: Path) -> Path:
    """A /proc in which nothing listens."""
    (tmp_path / "proc" / "net").mkdir(parents=True)
    (tmp_path / "proc" / "net" / "tcp").write_text("  sl  local_address\n")
    return tmp_path / "proc"


def test_a_running_cloud_is_well(served: tuple[Path, Process], no_ports: Path) -> None:
    state, process = served
    scene = Scene(
        CloudConfig(state=state), time.time(), gateways=(process.said["url"],), proc=no_ports
    )
    while True:  # its first tick takes the lease
        report = asyncio.run(examine(scene, CHECKS))
        if found(state, "ticker", now=time.time()).state == "ok":
            break
    report = asyncio.run(examine(scene, CHECKS))
    assert report.exit_code == 0, report
    names = {each.name for each in report.findings}
    assert {"database", "migration", "blobs", "signing key", "ticker", "gateway"} <= names


def test_the_command(served: tuple[Path, Process]) -> None:
    state, process = served
    arguments = ["doctor", "--state", str(state), "--gateway", process.said["url"]]
    said = CliRunner().invoke(app, [*arguments, "--json"])
    assert said.exit_code in (0, 1), "what else listens on this machine is not ours to say"
    findings = json.loads(said.stdout)["findings"]
    assert {"name", "state", "said", "do"} == set(findings[0])
    faults = [each for each in findings if each["state"] == "fault" and each["name"] != "ports"]
    assert faults == []
    seen = CliRunner().invoke(app, arguments).stdout
    assert "✓ database" in seen
    for secret in ("signing.key", *(path.name for path in (state / "keys").glob("*.key"))):
        raw = (state / secret if secret == "signing.key" else state / "keys" / secret).read_bytes()
        assert raw.hex() not in said.stdout + seen


def test_no_cloud_is_exit_code_2(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["doctor", "--state", str(tmp_path / "none")])
    assert done.exit_code == 2
    assert "there is no cloud" in done.stderr


def test_help_shows_examples() -> None:
    assert "reverie-cloud doctor --gateway" in CliRunner().invoke(app, ["doctor", "--help"]).output


# --- the database ---------------------------------------------------------------------------------


def sql(state: Path, statement: str, **values: Any) -> None:
    engine = create_engine(f"sqlite:///{state / 'cloud.db'}")
    with engine.begin() as connection:
        connection.execute(text(statement), values)
    engine.dispose()


def test_a_database_that_is_no_database(state: Path) -> None:
    for path in state.glob("cloud.db*"):
        path.unlink()
    (state / "cloud.db").write_bytes(b"not a database" * 1000)
    assert (found(state, "database").state, found(state, "ticker").state) == ("fault", "unknown")


def test_an_empty_database(state: Path) -> None:
    for path in state.glob("cloud.db*"):
        path.unlink()
    (state / "cloud.db").touch()
    assert "holds no cloud yet" in found(state, "database").said


def test_a_stale_and_a_newer_migration(state: Path) -> None:
    assert found(state, "migration").state == "ok"
    sql(state, "UPDATE cloud_schema SET version_num = '0001'")
    stale = found(state, "migration")
    assert (stale.state, "0001" in stale.said) == ("warning", True)
    sql(state, "UPDATE cloud_schema SET version_num = '9999'")
    newer = found(state, "migration")
    assert (newer.state, "newer version" in newer.said) == ("fault", True)


def test_looking_migrates_nothing(state: Path) -> None:
    sql(state, "UPDATE cloud_schema SET version_num = '0001'")
    for name, _ in CHECKS:
        looked(state, name)
    assert found(state, "migration").state == "warning"


def test_a_write_lock_that_is_never_given_back(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloud.doctor.record.BUSY_SECONDS", 0.01)
    holder = sqlite3.connect(state / "cloud.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    assert "write lock" in found(state, "database").said
    holder.close()
    assert found(state, "database").state == "ok"


def test_a_killed_postgresql(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.migrated()
    remember(tmp_path, Places(database_url=url))
    assert found(tmp_path, "database").said == "postgresql answers"
    postgres.halt(signal.SIGQUIT)
    try:
        killed = found(tmp_path, "database")
        assert (killed.state, killed.said) == ("fault", "PostgreSQL does not answer")
        assert url not in killed.said + killed.do
        assert found(tmp_path, "alarms").state == "unknown"
    finally:
        postgres.resume()
        postgres.drop(url)


def test_a_url_that_is_none(tmp_path: Path) -> None:
    remember(tmp_path, Places(database_url="nonsense, with a password"))
    unread = found(tmp_path, "database")
    assert unread.state == "fault"
    assert "password" not in unread.said


# --- blobs, disk, keys ----------------------------------------------------------------------------


def test_blobs(state: Path) -> None:
    assert "newest releases are whole" in found(state, "blobs").said
    assert not list((state / "blobs").glob(".doctor*"))
    kept = [path for path in (state / "blobs").iterdir() if len(path.name) == 64]
    for path in kept:
        path.write_bytes(b"damaged")
    damaged = found(state, "blobs")
    assert (damaged.state, "missing or damaged" in damaged.said) == ("fault", True)
    shutil.rmtree(state / "blobs")
    assert "not there" in found(state, "blobs").said
    assert not (state / "blobs").exists(), "a look makes nothing"


def test_blobs_that_cannot_be_written(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(descriptor: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("cloud.doctor.stores.os.fsync", fsync)
    assert "No space left" in found(state, "blobs").said


def test_disk(state: Path) -> None:
    def left(megabytes: int, files: int = 9) -> Any:
        blocks = megabytes * 10**6 // 4096
        fields = (4096, 4096, blocks, blocks, blocks, 9, files, files, 0, 255)
        return lambda path: os.statvfs_result(fields)

    assert found(state, "disk", statvfs=left(9000)).state == "ok"
    assert found(state, "disk", statvfs=left(900)).state == "warning"
    assert found(state, "disk", statvfs=left(9)).state == "fault"
    assert "no more files" in found(state, "disk", statvfs=left(9000, files=0)).said


def test_the_signing_key(state: Path) -> None:
    assert found(state, "signing key").said == "this cloud's"
    key = state / "signing.key"
    mine = key.read_bytes()
    key.write_bytes(bytes(32))
    assert "another cloud's" in found(state, "signing key").said
    key.write_bytes(mine[:5])
    assert "no key" in found(state, "signing key").said
    key.unlink()
    assert "there is none" in found(state, "signing key").said


def test_key_files_that_others_may_read(state: Path) -> None:
    assert found(state, "permissions").state == "ok"
    path = next((state / "keys").glob("targets.*.key"))
    path.chmod(0o640)
    open_ = found(state, "permissions")
    assert (open_.state, path.name in open_.said) == ("fault", True)


def test_what_the_roles_signed_ends(state: Path) -> None:
    day = 86_400.0
    assert found(state, "metadata").state == "ok"
    assert "timestamp in 1" in found(state, "metadata", now=START + 6 * day).said
    ended = found(state, "metadata", now=START + 20 * day)
    assert (ended.state, "timestamp ended 13 days ago" in ended.said) == ("fault", True)


def test_role_keys_that_are_not_here(state: Path) -> None:
    assert found(state, "role keys").state == "ok"
    next((state / "keys").glob("snapshot.*.key")).unlink()
    gone = found(state, "role keys")
    assert (gone.state, gone.said) == ("fault", "not at hand: snapshot")


def test_root_keys_beside_the_others_are_said_unless_it_is_a_demo(state: Path) -> None:
    sql(state, "UPDATE pins SET value = :name WHERE name = 'budget'", name=b"production")
    assert "root's keys lie here" in found(state, "role keys").said
    for path in (state / "keys").glob("root.*.key"):
        path.unlink()
    assert found(state, "role keys").state == "ok"


# --- helper, ticker, alarms -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def helper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = str(tmp_path_factory.mktemp("helper"))
    options = ("--state", folder, "--port", "0", "--budget", "demo")
    with running_process("helper", *options) as process:
        yield process


def test_the_embedded_helper(state: Path) -> None:
    assert found(state, "helper").state == "ok"
    sql(state, "UPDATE pins SET value = :name WHERE name = 'budget'", name=b"production")
    assert "adds no trust" in found(state, "helper").said
    shutil.rmtree(state / "helper")
    assert found(state, "helper").state == "unknown", "it is run apart, and was not named"


def test_a_remote_helper(state: Path, helper: Process, tmp_path: Path) -> None:
    at = {"helper_url": helper.said["url"], "helper_token_file": Path(helper.said["token_file"])}
    assert "other keys than the pinned" in found(state, "helper", **at).said
    keys = bytes.fromhex(helper.said["public_key"] + helper.said["signing_public_key"])
    sql(state, "UPDATE pins SET value = :keys WHERE name = 'helper'", keys=keys)
    assert found(state, "helper", **at).said == "it answers and is the pinned one"
    sql(state, "UPDATE pins SET value = :name WHERE name = 'budget'", name=b"production")
    assert (
        found(state, "helper", **at).state == "ok" or "floors" in found(state, "helper", **at).said
    )
    wrong = tmp_path / "wrong.token"
    wrong.write_text("ab" * 32)
    assert "refuses the token" in found(state, "helper", **(at | {"helper_token_file": wrong})).said
    wrong.write_text("no token")
    assert "is none" in found(state, "helper", **(at | {"helper_token_file": wrong})).said
    assert found(state, "helper", helper_url=at["helper_url"]).state == "unknown"


def test_a_missing_helper(state: Path, helper: Process) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    token = Path(helper.said["token_file"])
    at: dict[str, Any] = {"helper_url": f"http://127.0.0.1:{port}", "helper_token_file": token}
    missing = found(state, "helper", **at)
    assert (missing.state, "does not answer" in missing.said) == ("fault", True)


def test_nobody_ticks(state: Path) -> None:
    assert "nobody has ever ticked" in found(state, "ticker").said
    sql(
        state,
        "INSERT INTO leases (name, holder, epoch, until) VALUES ('tick', 'a', 3, :until)",
        until=NOW - 7200.0,
    )
    assert "ran out 2 hours ago" in found(state, "ticker").said
    sql(state, "UPDATE leases SET until = :until", until=NOW + 10.0)
    assert found(state, "ticker").said == "a process ticks (epoch 3)"


def test_alarms_are_named(state: Path) -> None:
    assert found(state, "alarms").state == "ok"
    database = Database(CloudConfig(state=state).database_url)
    with database.write() as connection:
        row = {"key": "drift:routes", "kind": "drift", "raised": 1.0, "seen": 1.0, "detail": {}}
        connection.execute(alarms.insert().values(**row))
    database.close()
    stands = found(state, "alarms")
    assert (stands.state, "drift:routes" in stands.said) == ("warning", True)


# --- gateways, clock, TLS, ports, Ray -------------------------------------------------------------


def test_gateways(served: tuple[Path, Process]) -> None:
    state, process = served
    url = process.said["url"]
    assert found(state, "gateway", gateways=(url,)).said.endswith("takes phones")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        gone = f"http://ann:secret@127.0.0.1:{closed.getsockname()[1]}"
    away = found(state, "gateway", gateways=(url, gone))
    assert (away.state, "secret" in away.said) == ("fault", False)


def test_a_gateway_of_another_version(
    served: tuple[Path, Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    state, process = served
    assert found(state, "versions", gateways=(process.said["url"],)).state == "ok"
    monkeypatch.setattr("cloud.doctor.gateways._installed", lambda: "9.9")
    skew = found(state, "versions", gateways=(process.said["url"],))
    assert (skew.state, "installed here is 9.9" in skew.said) == ("warning", True)


def test_a_gateway_that_is_not_ready(state: Path) -> None:
    class Draining(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            ready = self.path != "/readyz"
            body = {"protocol": [2], "version": "1"} if ready else {"reason": "draining"}
            self.send_response(200 if ready else 503)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Draining) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        seen = found(state, "gateway", gateways=(f"http://127.0.0.1:{server.server_port}",))
        server.shutdown()
        thread.join()
    assert (seen.state, "is not ready: draining" in seen.said) == ("fault", True)


def test_clocks_that_disagree(served: tuple[Path, Process]) -> None:
    state, process = served
    at = (process.said["url"],)
    assert found(state, "clock", gateways=at, now=time.time()).state == "ok"
    off = found(state, "clock", gateways=at, now=time.time() + 600)
    assert (off.state, "gateway" in off.said) == ("fault", True)


def test_a_clock_behind_the_record(state: Path) -> None:
    database = Database(CloudConfig(state=state).database_url)
    with database.write() as connection:
        row = {"at": NOW + 900.0, "kind": "test", "key": "test", "detail": {}}
        connection.execute(events.insert().values(**row))
    database.close()
    assert "behind the newest event" in found(state, "clock").said


def certified(folder: Path, days: float) -> tuple[Path, Path]:
    """A certificate that ends so many days after `NOW`, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.fromtimestamp(NOW, datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=900))
        .not_valid_after(now + datetime.timedelta(days=days))
        .sign(key, hashes.SHA256())
    )
    folder.mkdir(parents=True, exist_ok=True)
    chain, secret = folder / "chain.pem", folder / "key.pem"
    pem = serialization.Encoding.PEM
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    chain.write_bytes(built.public_bytes(pem))
    secret.write_bytes(key.private_bytes(pem, form, plain))
    return chain, secret


@pytest.mark.parametrize(("days", "state_"), [(90, "ok"), (5, "warning"), (-2, "fault")])
def test_a_certificate_that_ends(state: Path, tmp_path: Path, days: float, state_: str) -> None:
    chain, key = certified(tmp_path, days)
    assert found(state, "tls", tls_cert=chain, tls_key=key).state == state_


def test_a_certificate_and_another_key(state: Path, tmp_path: Path) -> None:
    chain, _ = certified(tmp_path / "a", 90)
    _, key = certified(tmp_path / "b", 90)
    assert "not the private key" in found(state, "tls", tls_cert=chain, tls_key=key).said
    chain.write_text("no certificate")
    assert found(state, "tls", tls_cert=chain).state == "fault"


def test_a_gateway_that_shows_another_certificate(tmp_path: Path, state: Path) -> None:
    chain, key = certified(tmp_path / "a", 90)
    named, _ = certified(tmp_path / "b", 90)
    options = ["--tls-cert", str(chain), "--tls-key", str(key), "--aggregation", "local"]
    own = str(tmp_path / "own")
    with running_process("serve", "--state", own, "--port", "0", *options) as process:
        at = (process.said["url"],)
        assert found(state, "tls", tls_cert=chain, gateways=at).state == "ok"
        other = found(state, "tls", tls_cert=named, gateways=at)
    assert (other.state, "another certificate" in other.said) == ("fault", True)


def test_no_tls_beyond_this_machine(state: Path) -> None:
    assert found(state, "tls").state == "ok"
    assert found(state, "tls", gateways=("http://192.0.2.1:8770",)).state == "warning"
    assert found(state, "tls", gateways=("https://192.0.2.1:8770",)).state == "unknown"


LISTENER = (
    "import socket, sys; s = socket.create_server((sys.argv[1], 0)); "
    "print(s.getsockname()[1], flush=True); sys.stdin.read()"
)


@pytest.mark.parametrize(
    ("host", "role", "said"),
    [
        ("0.0.0.0", "raylet", "Ray listens beyond loopback"),
        ("0.0.0.0", "reverie-cloud", "this cloud listens beyond loopback"),
        ("127.0.0.1", "raylet", ""),
        ("0.0.0.0", "postgres", ""),
    ],
)
def test_open_ports(state: Path, host: str, role: str, said: str) -> None:
    command = [sys.executable, "-c", LISTENER, host, role]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port = process.stdout.readline().strip()
        lines = [each.said for each in looked(state, "ports") if f" {port}" in each.said]
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()
    assert any(said in line for line in lines) if said else lines == []


def test_a_system_without_proc(state: Path, tmp_path: Path) -> None:
    assert found(state, "ports", proc=tmp_path).state == "unknown"


@pytest.mark.ray
def test_ray_that_is_not_there(state: Path) -> None:
    pytest.importorskip("ray")
    assert looked(state, "ray") == []
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    assert found(state, "ray", ray_address=address).said == "no cluster answers there"


# --- the checks themselves ------------------------------------------------------------------------


def test_a_check_that_hangs_or_breaks_stops_no_other(state: Path) -> None:
    async def hangs(_scene: Scene) -> list[Finding]:
        await asyncio.Event().wait()
        return []

    async def breaks(_scene: Scene) -> list[Finding]:
        raise RuntimeError("postgresql://ann:secret@db")

    scene = Scene(CloudConfig(state=state), NOW)
    checks = (("one", hangs), ("two", breaks), *CHECKS[:1])
    report: Report = asyncio.run(examine(scene, checks, limit=0.2))
    first, second, third = report.findings
    assert (first.state, second.state, third.state) == ("unknown", "unknown", "ok")
    assert second.said == "this check itself failed (RuntimeError)"
