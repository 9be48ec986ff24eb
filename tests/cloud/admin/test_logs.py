"""Nothing of a user reaches a log, a metric or a trace: a busy process is searched for canaries."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
import shutil
import signal
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest
import structlog
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from structlog.contextvars import bound_contextvars
from websockets.asyncio.client import connect

from cloud.admin.operators import Operators
from cloud.config import CloudConfig
from cloud.identity import KeyFileUnusable
from cloud.logs import Masking, configure_logs, plain_errors
from cloud.randomness import SeededBits
from cloud.storage import Database
from protocol.session import Enrolled, PlanReceived, UploadRefused
from tests.cloud.processes import running_process
from tests.cloud.world import Phone, sqlite

CANARY = "canary-7f3a-in-a-query"
LETTER = b"canary-bytes-of-an-upload" * 4


class Collector(ThreadingHTTPServer):
    """What an OpenTelemetry collector is to the cloud: something that takes POSTs."""

    def __init__(self) -> None:
        self.received: list[tuple[str, bytes]] = []
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                received.append((self.path, self.rfile.read(size)))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Busy(NamedTuple):
    """What a process that was busy for a while left behind."""

    log: str
    metrics: str
    traces: bytes
    secrets: list[str]
    session_request_id: str


@pytest.fixture(scope="module")
def busy(published: Path, tmp_path_factory: pytest.TempPathFactory) -> Busy:
    """A served cloud with tracing on and the log at its loudest, visited by good and bad guests."""
    state = Path(shutil.copytree(published, tmp_path_factory.mktemp("busy") / "cloud"))
    database = Database(CloudConfig(state=state).database_url)
    operators = Operators(database)
    tokens = [
        operators.add(role, role, 0.0, 1e10, SeededBits(3, role)) for role in ("viewer", "operator")
    ]
    database.close()
    collector = Collector()
    patch = pytest.MonkeyPatch()
    patch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    options = ["--port", "0", "--budget", "demo", "--tick-seconds", "600", "--log-level", "debug"]
    with running_process("serve", "--state", str(state), *options) as process:
        visit = _visit(process.said["url"], process.said["token"], tokens)
        metrics, secrets, number = asyncio.run(visit)
        code, log = process.end(signal.SIGTERM)
    patch.undo()
    collector.shutdown()
    collector.server_close()
    assert code == 0
    assert {path for path, _ in collector.received} == {"/v1/traces"}
    traces = b"".join(body for _, body in collector.received)
    secrets += [*tokens, process.said["token"], CANARY]
    return Busy(log, metrics, traces, secrets, number)


async def _visit(url: str, token: str, tokens: list[str]) -> tuple[str, list[str], str]:
    secrets = []
    phone = Phone(1)
    async with connect(
        url.replace("http", "ws") + "/v1/session", compression=None, proxy=None
    ) as s:
        assert s.response is not None
        number = s.response.headers["X-Request-Id"]
        session = phone.session(token)
        seen: list[Any] = []
        while not any(isinstance(event, PlanReceived) for event in seen):
            seen += await _turn(s, session)
        phone.device_id = next(each.device_id for each in seen if isinstance(each, Enrolled))
        # Bytes that are no report: refused, and the refusal is told of without them.
        session.upload(b"u" * 16, LETTER)
        while not any(isinstance(event, UploadRefused) for event in seen):
            seen += await _turn(s, session)
    secrets += [phone.device_id, phone.key.public.hex(), LETTER.hex(), LETTER[:24].decode()]
    secrets += [base64.b64encode(LETTER)[:24].decode()]
    async with connect(
        url.replace("http", "ws") + "/v1/session", compression=None, proxy=None
    ) as s:
        await s.send(LETTER)
        assert LETTER not in bytes(await s.recv(decode=False))
    bearer = {"Authorization": f"Bearer {tokens[0]}"}
    steer = {"Authorization": f"Bearer {tokens[1]}"}
    async with aiohttp.ClientSession(url) as http:
        for path in (
            f"/admin/?{CANARY}=1",
            f"/v1/root?{CANARY}",
            f"/v1/releases/router/1/{CANARY}",
        ):
            async with http.get(path) as answer:
                assert answer.headers["X-Request-Id"]
        wrong = {"Authorization": f"Bearer {CANARY}"}
        async with http.get("/v1/admin/status", headers=wrong) as answer:
            assert answer.status == 401
        async with http.get(f"/v1/admin/devices?after={phone.device_id}", headers=bearer) as answer:
            assert answer.status == 200
        body = {"device_id": phone.device_id}
        async with http.post("/v1/admin/revoke", headers=steer, json=body) as answer:
            assert answer.status == 200
        async with http.get("/metrics") as answer:  # this machine only: no token
            metrics = await answer.text()
    return metrics, secrets, number


async def _turn(socket: Any, session: Any) -> list[Any]:
    for frame in session.frames_to_send():
        await socket.send(frame)
    return list(session.receive(await socket.recv(decode=False)))


def test_a_busy_processs_log_holds_no_canary(busy: Busy) -> None:
    lines = [json.loads(line) for line in busy.log.splitlines()]
    told = {line["event"] for line in lines}
    assert {"request", "steered", "cloud_listening"} <= told
    assert [secret for secret in busy.secrets if secret in busy.log] == []
    assert "/v1/releases/{model}/{version}/{base}" in {line.get("route") for line in lines}
    assert re.search("[0-9a-f]{32}", busy.log) is None


def test_lines_of_one_session_share_its_id(busy: Busy) -> None:
    lines = [json.loads(line) for line in busy.log.splitlines()]
    mine = [line for line in lines if line.get("request_id") == busy.session_request_id]
    assert [line["route"] for line in mine if line["event"] == "request"] == ["/v1/session"]
    steered = next(line for line in lines if line["event"] == "steered")
    same = [line for line in lines if line.get("request_id") == steered["request_id"]]
    assert "/v1/admin/revoke" in {line.get("route") for line in same}
    assert all(re.fullmatch("[0-9a-f]{16}", line["request_id"]) for line in same)


def test_traces_go_out_and_hold_no_canary(busy: Busy) -> None:
    for name in (b"session", b"tick", b"sign_listing", b"batch", b"request"):
        assert name in busy.traces
    assert [secret for secret in busy.secrets if secret.encode() in busy.traces] == []
    assert re.search(rb"[0-9a-f]{32}", busy.traces) is None


LABELS = {
    "code", "task", "status", "model", "outcome", "act", "actor", "method", "state", "kind", "le",
}  # fmt: skip


def test_metrics_tell_of_the_service_and_of_nobody(busy: Busy) -> None:
    families = {family.name: family for family in text_string_to_metric_families(busy.metrics)}
    told = {name for name, family in families.items() if family.samples}
    assert {
        "process_cpu_seconds",
        "reverie_start_time_seconds",
        "reverie_sessions",
        "reverie_ack_seconds",
        "reverie_actor_call_seconds",
        "reverie_actor_calls_waiting",
        "reverie_admin_logins",
        "reverie_alarms",
        "reverie_database_up",
        "reverie_devices",
        "reverie_newest_version",
        "reverie_refusals",
        "reverie_round_fill",
        "reverie_steered",
        "reverie_tick_leader",
        "reverie_tick_lease_seconds_left",
    } <= told | {"reverie_alarms"}
    samples = [sample for family in families.values() for sample in family.samples]
    assert {label for sample in samples for label in sample.labels} <= LABELS
    values = {value for sample in samples for name, value in sample.labels.items() if name != "le"}
    assert [value for value in values if not re.fullmatch("[a-z_-]{1,32}", value)] == []
    assert [secret for secret in busy.secrets if secret in busy.metrics] == []
    leader = families["reverie_tick_leader"].samples[0]
    assert leader.value == 1.0
    (active,) = [
        each for each in families["reverie_devices"].samples if each.labels["state"] == "active"
    ]
    assert active.value == 1.0 or active.value == 0.0


# --- the two nets -----------------------------------------------------------------------------


def _line(error: BaseException) -> dict[str, Any]:
    return dict(Masking(b"k")(None, "", plain_errors(None, "", {"event": "x", "exc_info": error})))


def test_a_database_error_is_told_without_the_row(tmp_path: Path) -> None:
    database = Database(sqlite(tmp_path))
    with pytest.raises(SQLAlchemyError) as raised, database.write() as connection:
        connection.execute(
            text("insert into devices values (:id, :key, null, null)"),
            {"id": CANARY, "key": LETTER},
        )
    database.close()
    assert CANARY not in str(raised.value)
    line = _line(raised.value)
    assert CANARY not in json.dumps(line)
    assert line["error"].startswith("IntegrityError")
    assert any("test_logs.py" in place for place in line["at"])


def test_messages_of_ours_are_kept_and_others_are_not() -> None:
    try:
        try:
            raise ValueError(CANARY)
        except ValueError as cause:
            raise KeyFileUnusable("restore it from a backup") from cause
    except KeyFileUnusable as error:
        line = _line(error)
    assert line["error"] == "KeyFileUnusable: restore it from a backup from ValueError"


def test_whatever_looks_like_an_id_is_a_short_hash() -> None:
    device, other = "ab" * 16, "cd" * 16
    told = Masking(b"k")(
        None,
        "",
        {"a": f"of {device}.", "b": [device, {"c": other}], "d": LETTER, "e": 7, "f": None},
    )
    assert device not in json.dumps(told)
    short = told["a"].removeprefix("of ").removesuffix(".")
    assert re.fullmatch("#[0-9a-f]{8}", short)
    assert told["b"][0] == short != told["b"][1]["c"]
    assert (told["d"], told["e"], told["f"]) == (f"{len(LETTER)} bytes", 7, None)
    assert Masking(b"l")(None, "", {"a": device})["a"] != short
    assert Masking(b"k")(None, "", {"request_id": "0123456789abcdef"}) == {
        "request_id": "0123456789abcdef"
    }


def test_levels_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    before = structlog.get_config()
    written = io.StringIO()
    monkeypatch.setattr("sys.stderr", written)
    try:
        configure_logs("warning")
        log = structlog.get_logger("test")
        with bound_contextvars(request_id="01"):
            log.info("quiet")
            log.warning("loud")
    finally:
        structlog.configure(**before)
    (line,) = written.getvalue().splitlines()
    assert json.loads(line) | {"timestamp": ""} == {
        "event": "loud",
        "level": "warning",
        "request_id": "01",
        "timestamp": "",
    }
    with pytest.raises(ValueError, match="debug, info"):
        configure_logs("loud")
