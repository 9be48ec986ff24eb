"""What this cloud is and whom it trusts, in the database beside the rounds: public keys, a name.

The signing key itself lies in a file; an auditor with the database alone must still know its
public half, and a cloud must know again the helper it once worked with.
"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, select, update

from cloud.storage.database import insert_once
from cloud.storage.tables import pins

__all__ = ["Pins", "known_pins", "pin"]

KEY_BYTES = 32


class Pins(NamedTuple):
    """Keys of 32 bytes, b"" where there is none yet; `budget` is a name, "" before the start."""

    cloud_key: bytes
    budget: str
    helper_sealing: bytes
    helper_signing: bytes


def known_pins(connection: Connection) -> Pins:
    """All that is pinned."""
    values = {row.name: row.value for row in connection.execute(select(pins))}
    helper = values.get("helper", b"")
    budget = values.get("budget", b"").decode("ascii", "replace")
    return Pins(values.get("cloud", b""), budget, helper[:KEY_BYTES], helper[KEY_BYTES:])


def pin(connection: Connection, name: str, value: bytes, now: float) -> None:
    """Write one pin over the one before, if any."""
    row = {"name": name, "value": value, "pinned": now}
    if not insert_once(connection, pins, row):
        changed = (pins.c.name == name) & (pins.c.value != value)
        connection.execute(update(pins).where(changed).values(**row))
