"""The cloud as the doctor sees it: a real one, and every way in which it is not there."""

from __future__ import annotations

import datetime
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from device.settings import load_settings
from tests.cloud.processes import running_process
from tests.device.interfaces.doctor.conftest import Doctored, MakePhone, with_settings

KEY = "ab" * 32
PAGES: dict[str, Any] = {
    "/v1/root": {"public_key": KEY},
    "/readyz": {"status": "ready"},
    "/healthz": {"status": "ok"},
    "/version": {"version": "9.9", "protocol": [1, 2]},
}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real one that has started."""
    state = str(tmp_path_factory.mktemp("cloud") / "state")
    options = ("--port", "0", "--open-enrolment", "--aggregation", "local")
    with running_process("serve", "--state", state, *options) as process:
        yield process.said["url"]


def test_a_real_cloud(make_phone: MakePhone, cloud: str) -> None:
    phone = make_phone("--cloud", cloud)
    assert phone.found("clock").said.endswith("s off the cloud's")
    assert phone.found("tls").state == "ok", "it is on this machine"
    found = {each.name: each for each in phone.report().findings}
    assert (found["cloud"].state, found["protocol"].state) == ("ok", "ok")
    assert cloud.removeprefix("http://") in found["cloud"].said
    hour_off = phone.found("clock", now=time.time() + 3600)
    assert (hour_off.state, "360" in hour_off.said) == ("fault", True)
    other = load_settings(phone.home).model_copy(update={"cloud_key": KEY})
    wrong = phone.found("cloud", settings=other)
    assert (wrong.state, "another key" in wrong.said) == ("fault", True)
    assert KEY not in wrong.said


@contextmanager
def answering(pages: dict[str, Any], context: ssl.SSLContext | None = None) -> Iterator[str]:
    """A server on a free port that answers these pages; a number is an HTTP status."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path, 404)
            body = page if isinstance(page, bytes) else json.dumps(page).encode()
            self.send_response(page if isinstance(page, int) else 200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    scheme = "http" if context is None else "https"
    try:
        yield f"{scheme}://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def found(phone: Doctored, url: str, name: str) -> tuple[str, str]:
    finding = phone.found(name, settings=with_settings(phone, cloud_url=url, cloud_key=KEY))
    return finding.state, finding.said


@pytest.mark.parametrize(
    ("pages", "name", "state", "said"),
    [
        ({}, "protocol", "ok", "runs 9.9"),
        ({"/version": {"version": "9.9", "protocol": [77]}}, "protocol", "fault", "77"),
        ({"/v1/root": b"<html>Sign in to the Wi-Fi"}, "cloud", "fault", "no Reverie cloud"),
        ({"/v1/root": b"[" * 10_000}, "cloud", "fault", "no Reverie cloud"),
        ({"/v1/root": b"x" * 1_000_000}, "cloud", "fault", "no Reverie cloud"),
        ({"/v1/root": 500}, "cloud", "fault", "no Reverie cloud"),
        ({"/v1/root": {"public_key": 7}}, "cloud", "fault", "no Reverie cloud"),
        ({"/v1/root": {"public_key": "cd" * 32}}, "cloud", "fault", "another key"),
    ],
)
def test_what_answers(
    phone: Doctored, pages: dict[str, Any], name: str, state: str, said: str
) -> None:
    with answering(PAGES | pages) as url:
        seen, line = found(phone, url, name)
    assert (seen, said in line) == (state, True), line


def test_a_cloud_that_takes_no_phones(phone: Doctored) -> None:
    settings = with_settings(phone, cloud_key=KEY)
    with answering(PAGES | {"/readyz": 503}) as url:
        report = phone.report(settings=settings.model_copy(update={"cloud_url": url}))
    assert any("takes no phones just now" in each.said for each in report.findings)


def test_no_cloud_answers(phone: Doctored) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    state, said = found(phone, f"http://ann:secret@127.0.0.1:{port}", "cloud")
    assert state == "fault"
    assert f"127.0.0.1:{port}" in said
    assert "secret" not in said


def test_no_tls_on_the_way(phone: Doctored) -> None:
    state, said = found(phone, "http://192.0.2.1:1", "tls")
    assert (state, "no TLS" in said) == ("warning", True)


def certified(folder: Path, days: float, host: str = "localhost") -> Path:
    """A certificate of its own authority, good for so many days, and its key: one PEM file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    today = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=60))
        .not_valid_after(today + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    pem = serialization.Encoding.PEM
    path = folder / "server.pem"
    path.write_bytes(built.public_bytes(pem) + key.private_bytes(pem, form, plain))
    return path


@pytest.mark.parametrize(
    ("days", "host", "trusted", "state", "said"),
    [
        (90, "localhost", True, "ok", "good for"),
        (3, "localhost", True, "warning", "ends in"),
        (-1, "localhost", True, "fault", "expired"),
        (90, "elsewhere.example", True, "fault", "does not hold"),
        (90, "localhost", False, "fault", "does not hold"),
    ],
)
def test_the_certificate(
    phone: Doctored,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    days: float,
    host: str,
    trusted: bool,
    state: str,
    said: str,
) -> None:
    pem = certified(tmp_path, days, host)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem) if trusted else "/dev/null")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with answering(PAGES, context) as url:
        seen, line = found(phone, url, "tls")
        reached, _ = found(phone, url, "cloud")
    assert (seen, said in line) == (state, True), line
    assert (reached == "ok") == (state != "fault")


def test_a_port_that_speaks_no_tls(phone: Doctored) -> None:
    with answering(PAGES) as url:
        state, said = found(phone, url.replace("http", "https"), "tls")
    assert (state, "does not hold" in said) == ("fault", True)
