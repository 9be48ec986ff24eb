"""What a fleet shows of itself: to everyone a public page, to an auditor with the database more.

The page holds what phones are shown anyway (round parameters), sums that were protected before
they arrived, and the guarantees claimed for releases. It names no device, counts no round that
was too small to be summed, and carries no receipt.
"""

from __future__ import annotations

import http.client
import json
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from sqlalchemy import Connection, Row, make_url, select
from sqlalchemy.exc import SQLAlchemyError

from cloud.storage.database import Database, read_only
from cloud.storage.pins import known_pins
from cloud.storage.places import places_of
from cloud.storage.tables import aggregates, releases, rounds, uploads
from cloud.training.config import TRAINING
from privacy.audit.evidence import FleetEvidence, ReleaseEvidence, RoundEvidence
from privacy.errors import PrivacyError

__all__ = ["LARGEST_PAGE", "PATH", "FleetUnavailable", "open_fleet", "public_page"]

PATH = "/v1/transparency"
LARGEST_PAGE = 16 << 20
"""Bytes of a page we are willing to read."""

_TIMEOUT_SECONDS = 30.0
_FORMAT = "reverie/transparency/1"
_FLEET_FIELDS = ("cloud_key", "budget", "helper_signing_key")
_ROUND_FIELDS: Mapping[str, type] = {
    "task": str,
    "round": int,
    "status": str,
    "dimension": int,
    "scale": int,
    "clip": float,
    "sigma": float,
    "n_min": int,
    "epsilon": float,
    "reports": int,
    "total_sigma": float,
}
_RELEASE_FIELDS: Mapping[str, type] = {
    "model": str,
    "version": int,
    "epsilon": float,
    "delta": float,
    "steps": int,
    "noise_multiplier": float,
    "sample_rate": float,
}


class FleetUnavailable(PrivacyError):
    """The fleet cannot be read; the message is one line that says what to do."""


def public_page(database: Database) -> bytes:
    """The body of `/v1/transparency`: JSON, keys and certificates in hex."""
    with database.read() as connection:
        known = known_pins(connection)
        page = {
            "format": _FORMAT,
            "cloud_key": known.cloud_key.hex(),
            "budget": known.budget,
            "helper_key": known.helper_sealing.hex(),
            "helper_signing_key": known.helper_signing.hex(),
            "rounds": [_shown_round(*pair) for pair in _rounds(connection)],
            "releases": [_shown_release(row) for row in _published(connection)],
            "cards": _newest_cards(connection),
        }
    return json.dumps(page, separators=(",", ":")).encode()


def open_fleet(source: str) -> FleetEvidence:
    """What the fleet at `source` shows: a cloud's http(s) URL, its database URL, file or folder.

    Only a database holds receipts and report ids. Nothing is written. Raises FleetUnavailable.
    """
    if source.startswith(("http://", "https://")):
        return _from_page(_fetch(source))
    return _from_database(source)


# --- the public page --------------------------------------------------------------------------


def _rounds(connection: Connection) -> Iterator[tuple[Row[Any], Row[Any] | None]]:
    """Every round with its aggregate, if it has one, in the order they were opened."""
    summed = {(row.task, row.round): row for row in connection.execute(select(aggregates))}
    for row in connection.execute(select(rounds).order_by(rounds.c.opens, rounds.c.task)):
        yield row, summed.get((row.task, row.round))


def _published(connection: Connection) -> Sequence[Row[Any]]:
    query = select(releases).where(releases.c.status == "published")
    return connection.execute(query.order_by(releases.c.model, releases.c.version)).all()


def _newest_cards(connection: Connection) -> dict[str, Any]:
    """Model → the card of its newest release; a few kilobytes each, so not those of all."""
    return {row.model: row.card for row in _published(connection) if row.card is not None}


def _shown_round(row: Row[Any], summed: Row[Any] | None) -> dict[str, Any]:
    evidence = _round(row, summed)
    shown = {name: getattr(evidence, name) for name in _ROUND_FIELDS}
    return shown | {
        "histogram": row.histogram,
        "base_version": row.base_version,
        "opens": row.opens,
        "closes": row.closes,
        "budget": row.budget,
        "certificate": evidence.certificate.hex(),
        "helper_signing_key": "" if summed is None else summed.helper_key.hex(),
        "estimates": {} if summed is None else summed.estimates,
    }


def _shown_release(row: Row[Any]) -> dict[str, Any]:
    evidence = _release(row)
    shown = {name: getattr(evidence, name) for name in _RELEASE_FIELDS}
    return shown | {"published": row.published, "accuracy": row.metrics.get("accuracy")}


# --- evidence ---------------------------------------------------------------------------------


def _round(
    row: Row[Any], summed: Row[Any] | None, report_ids: tuple[bytes, ...] = ()
) -> RoundEvidence:
    return RoundEvidence(
        task=row.task,
        round=row.round,
        status=row.status,
        dimension=row.dimension,
        scale=row.scale,
        clip=row.clip,
        sigma=row.sigma,
        n_min=row.n_min,
        epsilon=row.epsilon,
        reports=0 if summed is None else summed.n,
        total_sigma=0.0 if summed is None else summed.sigma,
        certificate=b"" if summed is None else summed.certificate,
        report_ids=report_ids,
    )


def _release(row: Row[Any]) -> ReleaseEvidence:
    # A release of an earlier version kept no noise of its own: it was trained with the defaults.
    default = TRAINING[row.model]
    return ReleaseEvidence(
        model=row.model,
        version=row.version,
        epsilon=row.epsilon,
        delta=row.delta,
        steps=int(row.metrics.get("central_steps", 0)),
        noise_multiplier=float(row.metrics.get("noise_multiplier", default.noise_multiplier)),
        sample_rate=float(row.metrics.get("sample_rate", default.sampling_rate)),
    )


def _from_database(source: str) -> FleetEvidence:
    try:
        engine = read_only(_database_url(source))
        try:
            with engine.connect() as connection, connection.begin():
                return _evidence(connection)
        finally:
            engine.dispose()
    except SQLAlchemyError as error:
        kind = type(error).__name__
        raise FleetUnavailable(
            f"{_without_password(source)} is no database of a cloud of this version ({kind}): "
            "give the folder of `reverie-cloud serve --state`"
        ) from None


def _evidence(connection: Connection) -> FleetEvidence:
    found = list(_rounds(connection))
    known = known_pins(connection)
    receipts = select(uploads.c.receipt).where(uploads.c.receipt != b"")
    return FleetEvidence(
        cloud_key=known.cloud_key.hex(),
        budget=known.budget,
        helper_signing_key=known.helper_signing.hex(),
        rounds=tuple(
            _round(row, summed, () if summed is None else _summed_ids(connection, row))
            for row, summed in found
        ),
        releases=tuple(_release(row) for row in _published(connection)),
        receipts=tuple(connection.scalars(receipts.order_by(uploads.c.upload_id))),
    )


def _summed_ids(connection: Connection, row: Row[Any]) -> tuple[bytes, ...]:
    here = (uploads.c.task == row.task) & (uploads.c.round == row.round) & (uploads.c.counted == 1)
    query = select(uploads.c.report_id).where(here).order_by(uploads.c.report_id)
    return tuple(connection.scalars(query))


def _database_url(source: str) -> str:
    if "://" in source:
        return source
    path = Path(source)
    if path.is_dir() and (named := places_of(path).database_url) is not None:
        return named
    path = path / "cloud.db" if path.is_dir() else path
    if not path.is_file():
        raise FleetUnavailable(f"there is no cloud's database at {source}")
    return f"sqlite:///{path.absolute()}"


def _without_password(source: str) -> str:
    if "://" not in source:
        return source
    try:
        return make_url(source).render_as_string(hide_password=True)
    except SQLAlchemyError:
        return "the URL"


def _fetch(source: str) -> bytes:
    url = source.rstrip("/")
    url = url if url.endswith(PATH) else url + PATH
    request = urllib.request.Request(url, headers={"Accept": "application/json"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310
            body: bytes = answer.read(LARGEST_PAGE + 1)
    except (OSError, http.client.HTTPException, ValueError) as error:
        kind = type(error).__name__
        raise FleetUnavailable(f"{url} does not answer ({kind}): check the address") from None
    if len(body) > LARGEST_PAGE:
        raise FleetUnavailable(f"{url} answers with more than {LARGEST_PAGE} bytes")
    return body


def _from_page(body: bytes) -> FleetEvidence:
    try:
        page = json.loads(body)
        if not isinstance(page, dict) or page.get("format") != _FORMAT:
            raise ValueError("another format")
        return FleetEvidence(
            **{name: _field(page, name, str) for name in _FLEET_FIELDS},
            rounds=tuple(_read_round(each) for each in _field(page, "rounds", list)),
            releases=tuple(
                ReleaseEvidence(**_fields(each, _RELEASE_FIELDS))
                for each in _field(page, "releases", list)
            ),
        )
    except (ValueError, RecursionError):
        raise FleetUnavailable("the page is not one a Reverie cloud shows of its fleet") from None


def _read_round(shown: object) -> RoundEvidence:
    values = _fields(shown, _ROUND_FIELDS)
    certificate = bytes.fromhex(_field(cast("dict[str, Any]", shown), "certificate", str))
    return RoundEvidence(**values, certificate=certificate)


def _fields(shown: object, kinds: Mapping[str, type]) -> dict[str, Any]:
    if not isinstance(shown, dict):
        raise ValueError("not an object")
    return {name: _field(shown, name, kind) for name, kind in kinds.items()}


def _field(shown: Mapping[str, Any], name: str, kind: type) -> Any:
    """One value of the expected type: JSON writes 1.0 as it likes, and True is no integer."""
    value = shown.get(name)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise ValueError(f"{name} is missing or of another type")
    return value
