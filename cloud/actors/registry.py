"""Who may speak: enrolment tokens and device keys."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from sqlalchemy import bindparam, func, select, update

from cloud.storage.database import Database, insert_once
from cloud.storage.tables import devices, tokens

__all__ = ["DEVICE_ID_BYTES", "Device", "EnrolmentRefused", "Registry", "device_id_of"]

DEVICE_ID_BYTES = 16
PUBLIC_KEY_BYTES = 32
_OF_IDS: Final = select(
    devices.c.device_id, devices.c.public_key, devices.c.enrolled, devices.c.revoked
).where(devices.c.device_id.in_(bindparam("ids", expanding=True)))


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
        with self._database.write() as connection:
            for digest in token_sha256s:
                row = {"sha256": digest, "created": now, "expires": now + lifetime}
                insert_once(connection, tokens, row)

    def enrol(self, token: str, public_key: bytes, now: float) -> str:
        """Admit a key; the same token and key again give the same id (a lost reply is harmless).

        Raises:
            EnrolmentRefused: "bad_token", "revoked" or "bad_message" (not an Ed25519 key).
        """
        if len(public_key) != PUBLIC_KEY_BYTES:
            raise EnrolmentRefused("bad_message")
        device_id = device_id_of(public_key)
        # Others enrol meanwhile where the database can do that; the token's row is locked.
        with self._database.write(shared=True) as connection:
            if not self._open:
                digest = sha256(token.encode()).hexdigest()
                held = select(tokens).where(tokens.c.sha256 == digest).with_for_update()
                found = connection.execute(held).first()
                if found is None or found.expires < now:
                    raise EnrolmentRefused("bad_token")
                if found.device_id is not None and not hmac.compare_digest(
                    found.device_id, device_id
                ):
                    raise EnrolmentRefused("bad_token")
                if found.device_id is None:
                    spent = update(tokens).where(tokens.c.sha256 == digest)
                    connection.execute(spent.values(device_id=device_id, used=now))
            row = {"device_id": device_id, "public_key": public_key, "enrolled": now}
            if not insert_once(connection, devices, row):
                known = select(devices.c.revoked).where(devices.c.device_id == device_id)
                if connection.execute(known).scalar_one() is not None:
                    raise EnrolmentRefused("revoked")
        return device_id

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
