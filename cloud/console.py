"""What the commands print, and how a user's error becomes one line and exit code 2."""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table
from sqlalchemy.exc import SQLAlchemyError

from cloud.actors.ray_runtime import RayUnavailable
from cloud.actors.runtime import ActorGone
from cloud.faults import outage
from cloud.founding import NotFounded
from cloud.helper_client import HelperChanged, HelperUnavailable, HelperUnsuitable
from cloud.identity import KeyFileUnusable
from cloud.serve import PortBusy
from cloud.storage import BlobsUnavailable, DatabaseUnavailable
from cloud.storage.places import PlacesUnreadable
from cloud.telemetry import TelemetryMissing
from cloud.tls import TlsUnusable
from cloud.training.corpora.contributed import CorpusRefused

__all__ = ["check_bind", "fail", "hint", "out", "plain_errors", "print_json", "show"]

USAGE_ERROR = 2

out = Console()
_err = Console(stderr=True)
_TIMES = frozenset({"opens", "closes", "created", "enrolled", "revoked"})


def check_bind(host: str, insecure: bool) -> bool:
    """Whether `host` is this machine; anything wider needs --insecure while there is no TLS."""
    try:
        loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback and not insecure:
        fail(f"{host} is reachable from other machines and there is no TLS: add --insecure")
    return loopback


@contextmanager
def plain_errors(state: Path) -> Iterator[None]:
    """Turn what a user can mend into one line; anything else is a fault and shows itself."""
    plain = (
        PortBusy,
        DatabaseUnavailable,
        BlobsUnavailable,
        PlacesUnreadable,
        KeyFileUnusable,
        NotFounded,
        CorpusRefused,
        HelperUnavailable,
        HelperChanged,
        HelperUnsuitable,
        RayUnavailable,
        TlsUnusable,
        TelemetryMissing,
    )
    try:
        yield
    except plain as error:
        fail(str(error))
    except (SQLAlchemyError, ActorGone) as error:
        if line := outage(error):
            fail(line)
        raise
    except PermissionError:
        fail(f"cannot write to {state}: choose another folder with --state")
    except (FileExistsError, NotADirectoryError):
        fail(f"{state} is not a folder: choose another with --state")


def show(title: str, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    """A table of these columns; times are shown in local time."""
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*(_cell(column, row.get(column)) for column in columns))
    out.print(table)


def _cell(column: str, value: object) -> str:
    if value is None:
        return "-"
    if column in _TIMES and isinstance(value, float):
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def print_json(value: object) -> None:
    """One line of JSON on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False))


def hint(line: str) -> None:
    """One line on standard error beside the answer."""
    _err.print(f"reverie-cloud: {line}", highlight=False, markup=False, soft_wrap=True)


def fail(line: str) -> NoReturn:
    """One line on standard error and exit code 2."""
    _err.print(f"reverie-cloud: {line}", highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(USAGE_ERROR)
