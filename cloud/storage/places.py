"""Where a cloud keeps its database and blobs, written down in its state folder.

`serve` is told once; every other command finds it there.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, ValidationError

__all__ = [
    "FILE",
    "Places",
    "PlacesUnreadable",
    "has_cloud",
    "name_places",
    "places_of",
    "remember",
]

FILE: Final = "storage.json"


class PlacesUnreadable(Exception):
    """The file is damaged; the message is one line that says what to do."""


class Places(BaseModel):
    """URLs; None is the state folder itself. A database URL may hold a password."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    database_url: str | None = None
    blobs_url: str | None = None


def places_of(state: Path) -> Places:
    """What was written down in a state folder, if anything.

    Raises:
        PlacesUnreadable: the file is not one of ours.
    """
    file = state / FILE
    try:
        return Places.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return Places()
    except ValidationError:
        raise PlacesUnreadable(
            f"{file} is damaged: remove it and give --database-url and --blobs-url again"
        ) from None


def remember(state: Path, places: Places) -> None:
    """Write them down, readable by the owner only; nothing is written where nothing is special."""
    if places == places_of(state):
        return
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = state / f".{FILE}.new"
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        json.dump(places.model_dump(exclude_none=True), file)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(state / FILE)


def name_places(state: Path, database_url: str | None, blobs_url: str | None) -> None:
    """Write down what is given; what is None stays as it was named before."""
    before = places_of(state)
    remember(
        state,
        Places(
            database_url=database_url or before.database_url,
            blobs_url=blobs_url or before.blobs_url,
        ),
    )


def has_cloud(state: Path) -> bool:
    """Whether a state folder has a database, or names one."""
    return (state / "cloud.db").exists() or places_of(state).database_url is not None
