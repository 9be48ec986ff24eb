"""The gateways as phones find them: there, ready, of one version, in time, with a good certificate.

A gateway named by an address that only phones can reach is asked from here all the same: name the
addresses this machine can reach.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from hashlib import sha256
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from socket import create_connection
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from cryptography import x509
from sqlalchemy import func, select

from cloud.doctor.findings import Finding, Scene
from cloud.doctor.running import aside
from cloud.storage.tables import events
from cloud.tls import TlsUnusable, load_tls
from protocol.messages import VERSIONS

__all__ = ["clock", "gateways", "tls"]

SECONDS = 5.0
MAX_BYTES = 16 * 1024
MOST_OFF = 60.0
"""Seconds a clock may be off; sessions and rounds tell the time."""
SOON_DAYS = 21.0
DAY = 86_400.0
SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    at: float | None
    body: Any


async def gateways(scene: Scene) -> Sequence[Finding]:
    """Each gateway alone, then all of them together."""
    return await aside(lambda: _gateways(scene))


def _gateways(scene: Scene) -> list[Finding]:
    found: list[Finding] = []
    versions: dict[str, str] = {}
    for url in scene.gateways:
        where = urlsplit(url).netloc.rpartition("@")[2]
        said = _get(url, "/version")
        if said is None or not isinstance(said.body, dict) or "protocol" not in said.body:
            do = "start it, or name the address where it listens with --gateway"
            found.append(Finding("gateway", "fault", f"none answers at {where}", do))
            continue
        versions[where] = _short(said.body.get("version"))
        ready = _get(url, "/readyz")
        if ready is not None and ready.status == 200:
            found.append(Finding("gateway", "ok", f"{where} takes phones"))
            continue
        why = ready.body.get("reason") if ready and isinstance(ready.body, dict) else "no answer"
        do = "see its log; a balancer sends no phones there meanwhile"
        found.append(Finding("gateway", "fault", f"{where} is not ready: {_short(why)}", do))
    return found + ([_skew(versions)] if versions else [])


def _skew(versions: dict[str, str]) -> Finding:
    ours = _installed()
    if {*versions.values()} == {ours}:
        protocol = ", ".join(str(each) for each in VERSIONS)
        said = f"all run {ours}, which is installed here; protocol {protocol}"
        return Finding("versions", "ok", said)
    named = ", ".join(f"{where} {each}" for where, each in sorted(versions.items()))
    do = "finish the upgrade: restart the older ones; mixed versions are meant for hours, not weeks"
    return Finding("versions", "warning", f"{named}; installed here is {ours}", do)


async def clock(scene: Scene) -> Sequence[Finding]:
    """Against the gateways' and against the newest event of the record."""
    return await aside(lambda: [_clock(scene)])


def _clock(scene: Scene) -> Finding:
    dates = [(url, answer.at) for url in scene.gateways if (answer := _get(url, "/healthz"))]
    apart = [abs(scene.now - at) for _, at in dates if at is not None]
    with scene.record() as connection:
        newest = connection.execute(select(func.max(events.c.at))).scalar()
    do = "set the clocks (`timedatectl set-ntp true`): rounds open and close by them"
    if apart and max(apart) > MOST_OFF:
        said = f"{max(apart):.0f} s between this machine and a gateway"
        return Finding("clock", "fault", said, do)
    if newest is not None and newest - scene.now > MOST_OFF:
        said = f"this machine is {newest - scene.now:.0f} s behind the newest event of the record"
        return Finding("clock", "fault", said, do)
    return Finding("clock", "ok", "in step with the gateways and the record")


async def tls(scene: Scene) -> Sequence[Finding]:
    """The certificate's end, its key, and whether the gateways show that very one."""
    if scene.tls_cert is None:
        return await aside(lambda: _plain(scene))
    return await aside(lambda: _certificate(scene, scene.tls_cert or Path()))


def _plain(scene: Scene) -> list[Finding]:
    wide = [url for url in scene.gateways if not _is_here(url)]
    plain = [url for url in wide if urlsplit(url).scheme != "https"]
    if plain:
        do = "give serve --tls-cert and --tls-key, or put a proxy with TLS in front"
        return [Finding("tls", "warning", "a gateway beyond this machine has no TLS", do)]
    if wide:
        do = "give --tls-cert, so that its end and its name are looked at"
        return [Finding("tls", "unknown", "no certificate was named", do)]
    return [Finding("tls", "ok", "none: the gateways are on this machine")]


def _certificate(scene: Scene, path: Path) -> list[Finding]:
    try:
        binding = load_tls(path, scene.tls_key).binding
        certificate = x509.load_pem_x509_certificates(path.read_bytes())[0]
    except TlsUnusable as error:
        return [Finding("tls", "fault", str(error).partition(": ")[0], "check both files")]
    except (OSError, ValueError):
        return [Finding("tls", "fault", "the certificate cannot be read", "check --tls-cert")]
    days = (certificate.not_valid_after_utc.timestamp() - scene.now) / DAY
    renew = "renew it, then restart the gateways: they read it at their start"
    if days <= 0:
        return [Finding("tls", "fault", f"the certificate ended {-days:.0f} days ago", renew)]
    if days < SOON_DAYS:
        found = [Finding("tls", "warning", f"the certificate ends in {days:.0f} days", renew)]
    else:
        found = [Finding("tls", "ok", f"the certificate is good for {days:.0f} days")]
    return found + [each for url in scene.gateways if (each := _shown(url, binding))]


def _shown(url: str, binding: bytes) -> Finding | None:
    """What a gateway shows, when it is not the certificate that was named."""
    parts = urlsplit(url)
    if parts.scheme != "https":
        return None
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # only looked at, not used
    try:
        with (
            create_connection((parts.hostname or "", parts.port or 443), SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=parts.hostname) as secured,
        ):
            der = secured.getpeercert(binary_form=True) or b""
    except (OSError, ValueError):
        return None  # said by the check of the gateways
    if sha256(der).digest() == binding:
        return None
    do = "restart it, or give serve the certificate that the proxy in front shows"
    said = f"{parts.hostname} shows another certificate: phones' proofs will not hold"
    return Finding("tls", "fault", said, do)


def _get(url: str, path: str) -> _Answer | None:
    """One page; None when nothing answers. No secret is sent, so no certificate is asked for."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with urlopen(url.rstrip("/") + path, timeout=SECONDS, context=context) as answer:  # noqa: S310
            return _Answer(answer.status, _date(answer.headers), _json(answer.read(MAX_BYTES)))
    except HTTPError as refusal:
        with refusal:
            return _Answer(refusal.code, _date(refusal.headers), _json(refusal.read(MAX_BYTES)))
    except (URLError, HTTPException, OSError, ValueError):
        return None


def _date(headers: Any) -> float | None:
    try:
        return parsedate_to_datetime(headers["Date"]).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _short(text: object) -> str:
    return str(text)[:SHOWN_CHARACTERS]


def _is_here(url: str) -> bool:
    return (urlsplit(url).hostname or "") in ("localhost", "127.0.0.1", "::1")


def _installed() -> str:
    try:
        return version("reverie")
    except PackageNotFoundError:  # run from a source tree
        return "unknown"
