"""Who may speak: enrolment tokens and device keys."""

from __future__ import annotations

import hmac
import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, func, select, update

from cloud.storage.database import Database, insert_new
from cloud.storage.tables import devices, tokens

__all__ = ["DEVICE_ID_BYTES", "Device", "EnrolmentRefused", "Registry", "Wanted", "device_id_of"]

DEVICE_ID_BYTES = 16
PUBLIC_KEY_BYTES = 32
_OF_IDS: Final = select(
    devices.c.device_id, devices.c.public_key, devices.c.enrolled, devices.c.revoked
).where(devices.c.device_id.in_(bindparam("ids", expanding=True)))
_HELD: Final = (
    select(tokens)
    .where(tokens.c.sha256.in_(bindparam("digests", expanding=True)))
    .order_by(tokens.c.sha256)
    .with_for_update()
)
_SPEND: Final = (
    update(tokens)
    .where(tokens.c.sha256 == bindparam("digest"))
    .values(device_id=bindparam("by"), used=bindparam("at"))
)


class EnrolmentRefused(Exception):
    """The token is unknown, used or expired ("bad_token"), or the key was revoked ("revoked")."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class Device:
    """An enrolled phone. Times are unix seconds."""

    device_id: str
    public_key: bytes
    enrolled: float
    revoked: float | None


def device_id_of(public_key: bytes) -> str:
    """The id follows from the key, so that the order of enrolment leaves no trace."""
    return sha256(public_key).digest()[:DEVICE_ID_BYTES].hex()


class Wanted(NamedTuple):
    """An enrolment that is asked for at `now` (unix seconds)."""

    token: str
    public_key: bytes
    now: float

    @property
    def digest(self) -> str:
        """What is kept of the token."""
        return sha256(self.token.encode()).hexdigest()


class _Desk:
    """What a batch of enrolments needs to know, read once, and what it changes, written once."""

    def __init__(self, connection: Connection, wanted: Sequence[Wanted], *, free: bool) -> None:
        """`free`: no token is needed."""
        self._connection, self._free = connection, free
        ids = {device_id_of(one.public_key) for one in wanted}
        known = connection.execute(_OF_IDS, {"ids": sorted(ids)})
        self._revoked: dict[str, bool] = {row.device_id: row.revoked is not None for row in known}
        self._tokens: dict[str, tuple[float, str | None]] = {}
        if not free:
            # In one order everywhere, so that two batches never wait for each other.
            held = connection.execute(_HELD, {"digests": sorted({one.digest for one in wanted})})
            self._tokens = {row.sha256: (row.expires, row.device_id) for row in held}
        self._spent: list[dict[str, Any]] = []
        self._devices: list[dict[str, Any]] = []

    def admit(self, one: Wanted) -> str | EnrolmentRefused:
        """The device's id, or why it is not admitted."""
        if len(one.public_key) != PUBLIC_KEY_BYTES:
            return EnrolmentRefused("bad_message")
        device_id = device_id_of(one.public_key)
        if not self._free and not self._holds(one, device_id):
            return EnrolmentRefused("bad_token")
        if self._revoked.get(device_id):
            return EnrolmentRefused("revoked")
        if not self._free and self._tokens[one.digest][1] is None:
            self._tokens[one.digest] = self._tokens[one.digest][0], device_id
            self._spent.append({"digest": one.digest, "by": device_id, "at": one.now})
        if device_id not in self._revoked:
            self._revoked[device_id] = False
            row = {"device_id": device_id, "public_key": one.public_key, "enrolled": one.now}
            self._devices.append(row)
        return device_id

    def write(self) -> None:
        """Spend the tokens and list the devices."""
        if self._spent:
            self._connection.execute(_SPEND, self._spent)
        insert_new(self._connection, devices, self._devices)

    def _holds(self, one: Wanted, device_id: str) -> bool:
        expires, holder = self._tokens.get(one.digest, (-math.inf, None))
        return one.now <= expires and (holder is None or hmac.compare_digest(holder, device_id))


class Registry:
    """Owner of tokens and devices.

    Args:
        database_url: where they are kept.
        open_enrolment: admit any key without a token (loopback demonstrations only).
    """

    def __init__(self, database_url: str, open_enrolment: bool = False) -> None:
        self._database = Database(database_url)
        self._open = open_enrolment

    def add_token(self, token_sha256: str, now: float, lifetime: float) -> None:
        """Remember a token by its hex SHA-256; it enrols one key within `lifetime` seconds."""
        self.add_tokens([token_sha256], now, lifetime)

    def add_tokens(self, token_sha256s: Sequence[str], now: float, lifetime: float) -> None:
        """As `add_token`, for many at once: all of them, or none."""
        rows = [
            {"sha256": digest, "created": now, "expires": now + lifetime}
            for digest in token_sha256s
        ]
        with self._database.write() as connection:
            insert_new(connection, tokens, rows)

    def enrol(self, token: str, public_key: bytes, now: float) -> str:
        """Admit a key; the same token and key again give the same id (a lost reply is harmless).

        Raises:
            EnrolmentRefused: "bad_token", "revoked" or "bad_message" (not an Ed25519 key).
        """
        [outcome] = self.enrolments([Wanted(token, public_key, now)])
        if isinstance(outcome, EnrolmentRefused):
            raise outcome
        return outcome

    def enrolments(self, wanted: Sequence[Wanted]) -> list[str | EnrolmentRefused]:
        """As `enrol`, for many at once: for each its device id, or why it was refused."""
        # Others enrol meanwhile where the database can do that; the tokens' rows are locked.
        with self._database.write(shared=True) as connection:
            desk = _Desk(connection, wanted, free=self._open)
            outcomes = [desk.admit(one) for one in wanted]
            desk.write()
        return outcomes

    def lookup(self, device_id: str) -> Device | None:
        """The device under that id, revoked or not."""
        return self.lookups([device_id])[0]

    def lookups(self, device_ids: Sequence[str]) -> list[Device | None]:
        """For each id its device, revoked or not; asked anew for every session, so that a
        revocation holds from the next one on, at every gateway."""
        ids = [each for each in device_ids if each.isalnum()]  # PostgreSQL takes no NUL in a text
        with self._database.read() as connection:
            found = {row[0]: Device(*row) for row in connection.execute(_OF_IDS, {"ids": ids})}
        return [found.get(each) for each in device_ids]

    def revoke(self, device_id: str, now: float) -> bool:
        """Shut a device out from its next session on; False when there is no such device."""
        with self._database.write() as connection:
            known = update(devices).where(devices.c.device_id == device_id)
            if not connection.execute(known.values(revoked=devices.c.revoked)).rowcount:
                return False
            connection.execute(known.where(devices.c.revoked.is_(None)).values(revoked=now))
        return True

    def devices(self) -> list[Device]:
        """Every device by id."""
        with self._database.read() as connection:
            rows = connection.execute(select(devices).order_by(devices.c.device_id)).all()
        return [Device(**row._mapping) for row in rows]

    def count(self) -> int:
        """How many devices are enrolled and not revoked."""
        with self._database.read() as connection:
            active = select(func.count()).select_from(devices).where(devices.c.revoked.is_(None))
            return int(connection.execute(active).scalar_one())

    def close(self) -> None:
        """Give the file handles back."""
        self._database.close()
