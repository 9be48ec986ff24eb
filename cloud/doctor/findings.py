"""What one look found, and what the looks are given: all of it, so a test gives its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sqlalchemy import Connection
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from cloud.config import CloudConfig
from cloud.storage.database import read_only

__all__ = ["Finding", "RecordUnread", "Scene", "State"]

State = Literal["ok", "warning", "fault", "unknown"]


class RecordUnread(Exception):
    """The database cannot be read; the check of the database says why."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one look found. Neither line holds a secret, a report or a phone's id."""

    name: str
    """What was looked at, such as ``database``."""
    state: State
    said: str
    """What was seen, in one line."""
    do: str = ""
    """What to do about it, in one line; empty when there is nothing to do."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One cloud, by its state folder and what only its operator knows."""

    config: CloudConfig
    """With the helper's address and token file, where one is run apart."""
    now: float
    """Unix seconds by this machine's clock."""
    gateways: tuple[str, ...] = ()
    """Addresses at which phones are served."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    ray_address: str = ""
    statvfs: Callable[[Path], os.statvfs_result] = os.statvfs
    proc: Path = field(default=Path("/proc"))

    @contextmanager
    def record(self) -> Iterator[Connection]:
        """A reading connection to the database of record. Raises `RecordUnread`."""
        try:
            engine = read_only(self.config.database_url)
        except (ArgumentError, ModuleNotFoundError) as error:
            raise RecordUnread from error
        try:
            with engine.connect() as connection, connection.begin():
                yield connection
        except SQLAlchemyError as error:
            raise RecordUnread from error
        finally:
            engine.dispose()
