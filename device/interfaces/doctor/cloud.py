"""The cloud, as this phone sees it: there, trusted, in time, in a language both know."""

from __future__ import annotations

import ipaddress
import json
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from socket import create_connection
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, urlsplit
from urllib.request import urlopen

from device.conditions import Finding
from device.interfaces.doctor.patient import Patient
from device.interfaces.doctor.running import aside
from device.interfaces.doctor.store import newest_record
from device.interfaces.doctor.words import words
from device.interfaces.words import language
from device.vault import VaultError
from privacy.errors import LedgerCorrupt
from protocol.messages import VERSIONS

__all__ = ["clock", "cloud", "tls"]

SECONDS = 8.0
MAX_BYTES = 16 * 1024
MOST_OFF = 120.0
"""Seconds a clock may be off; a Date header has whole seconds, and a phone drifts."""
DAY = 86_400.0
SOON_DAYS = 14.0
EXPIRED = 10
"""OpenSSL's X509_V_ERR_CERT_HAS_EXPIRED."""
UNAVAILABLE = 503
SHOWN_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    at: float | None
    """Unix seconds of the Date header."""
    body: Any
    """JSON; None when it is none."""


async def cloud(patient: Patient) -> Sequence[Finding]:
    """Whether it answers, is the one trusted, takes phones, and speaks our protocol."""
    if not patient.settings.cloud_url:
        return [patient.finding("cloud", "ok", "cloud none")]
    return await aside(lambda: _cloud(patient))


def _cloud(patient: Patient) -> list[Finding]:
    host = _host(patient)
    root = _get(patient, "/v1/root")
    if root is None:
        return [patient.finding("cloud", "fault", "cloud away", host=host)]
    key = root.body.get("public_key") if isinstance(root.body, dict) else None
    if root.status != 200 or not isinstance(key, str):
        return [patient.finding("cloud", "fault", "cloud strange", host=host)]
    if patient.settings.cloud_key and key != patient.settings.cloud_key:
        return [patient.finding("cloud", "fault", "cloud other", host=host)]
    found = [patient.finding("cloud", "ok", "cloud fine", host=host)]
    ready = _get(patient, "/readyz")
    if ready is not None and ready.status == UNAVAILABLE:
        found.append(patient.finding("cloud", "warning", "cloud not ready", host=host))
    return [*found, *_spoken(patient)]


def _spoken(patient: Patient) -> list[Finding]:
    answer = _get(patient, "/version")
    said = answer.body if answer is not None and isinstance(answer.body, dict) else {}
    theirs = said.get("protocol")
    if not isinstance(theirs, list) or not all(isinstance(each, int) for each in theirs):
        return []  # a cloud older than this page
    shown = _listed(theirs)
    if not set(theirs) & set(VERSIONS):
        ours = _listed(VERSIONS)
        return [patient.finding("protocol", "fault", "protocol apart", theirs=shown, ours=ours)]
    version = str(said.get("version"))[:SHOWN_CHARACTERS]
    return [patient.finding("protocol", "ok", "protocol fine", version=version, theirs=shown)]


async def clock(patient: Patient) -> Sequence[Finding]:
    """Against the cloud's Date, and against what this phone has stored, rounds included."""
    return await aside(lambda: _clock(patient))


def _clock(patient: Patient) -> list[Finding]:
    answer = _get(patient, "/healthz") if patient.settings.cloud_url else None
    if answer is not None and answer.at is not None:
        by, _ = words("the cloud", language(patient.environ))
        off = abs(patient.now - answer.at)
        state, code = ("fault", "clock off") if off > MOST_OFF else ("ok", "clock fine")
        return [patient.finding("clock", state, code, seconds=off, by=by)]  # type: ignore[arg-type]
    newest = None
    if patient.protector is not None:
        try:
            newest = newest_record(patient.home, patient.protector, patient.now)
        except (VaultError, LedgerCorrupt):
            newest = None  # said by the checks of the store and the ledger
    if newest is not None and newest - patient.now > MOST_OFF:
        behind = newest - patient.now
        return [patient.finding("clock", "fault", "clock back", seconds=behind)]
    return [patient.finding("clock", "ok", "clock alone")]


async def tls(patient: Patient) -> Sequence[Finding]:
    """The certificate the cloud shows, by this system's authorities."""
    url = urlsplit(patient.settings.cloud_url)
    if not url.netloc:
        return []
    if url.scheme == "https":
        return [await aside(lambda: _certificate(patient, url))]
    if _is_here(url.hostname or ""):
        return [patient.finding("tls", "ok", "tls none")]
    return [patient.finding("tls", "warning", "tls missing", host=_host(patient))]


def _certificate(patient: Patient, url: SplitResult) -> Finding:
    name = url.hostname or ""
    try:
        with (
            create_connection((name, url.port or 443), timeout=SECONDS) as plain,
            ssl.create_default_context().wrap_socket(plain, server_hostname=name) as secured,
        ):
            shown = secured.getpeercert() or {}
    except ssl.SSLCertVerificationError as error:
        if error.verify_code == EXPIRED:
            return patient.finding("tls", "fault", "tls expired")
        return patient.finding("tls", "fault", "tls refused", why=error.verify_message)
    except ssl.SSLError as error:
        why = (error.reason or "TLS").lower().replace("_", " ")
        return patient.finding("tls", "fault", "tls refused", why=why)
    except OSError:
        return patient.finding("tls", "unknown", "cloud away", host=_host(patient))
    days = (ssl.cert_time_to_seconds(str(shown["notAfter"])) - patient.now) / DAY
    if days < SOON_DAYS:
        return patient.finding("tls", "warning", "tls soon", days=max(days, 0.0))
    return patient.finding("tls", "ok", "tls fine", days=days)


def _get(patient: Patient, path: str) -> _Answer | None:
    """One page of the cloud; None when nothing answers."""
    try:
        with urlopen(patient.settings.cloud_url.rstrip("/") + path, timeout=SECONDS) as answer:  # noqa: S310
            return _Answer(answer.status, _date(answer.headers), _json(answer.read(MAX_BYTES)))
    except HTTPError as refusal:
        with refusal:
            return _Answer(refusal.code, _date(refusal.headers), None)
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


def _host(patient: Patient) -> str:
    """Host and port; an address may carry a name and a password."""
    return urlsplit(patient.settings.cloud_url).netloc.rpartition("@")[2]


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listed(versions: Sequence[int]) -> str:
    return ", ".join(str(each) for each in versions)
