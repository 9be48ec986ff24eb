"""Who may look at the service (role "viewer") or steer it ("operator").

A token is 256 random bits, shown once; the database keeps its SHA-256, so a stolen database lets
nobody in. Everything is looked up anew on each request: what is revoked ends at once, on every
gateway.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Literal, get_args

from sqlalchemy import ColumnElement, Row, select, update

from cloud.storage.database import Database, insert_once
from cloud.storage.tables import operators

__all__ = ["DEFAULT_DAYS", "ROLES", "Operator", "OperatorRefused", "Operators", "Role"]

Role = Literal["viewer", "operator"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
"""From the least to the most allowed."""

DEFAULT_DAYS: Final = 90.0
TOKEN_BYTES: Final = 32
LONGEST_TOKEN: Final = 128
"""Characters of what is tried as a token: more is refused before it is hashed."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class OperatorRefused(Exception):
    """The name cannot be used; the message is one line that says what to do."""


@dataclass(frozen=True, slots=True)
class Operator:
    """A person or program with a token. Times are unix seconds; `sha256` is the token's, in hex."""

    name: str
    role: Role
    sha256: str
    created: float
    expires: float
    revoked: float | None

    def active(self, now: float) -> bool:
        """Whether the token opens anything."""
        return self.revoked is None and now < self.expires

    def may(self, role: Role) -> bool:
        """Whether this role covers `role`."""
        return ROLES.index(self.role) >= ROLES.index(role)


class Operators:
    """Owner of the table `operators`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        name: str,
        role: Role,
        now: float,
        lifetime: float,
        bits: Callable[[int], bytes],
    ) -> str:
        """Make a token, good for `lifetime` seconds; it is returned here and kept nowhere.

        A name whose token has expired or was revoked may be given again, with a new token.

        Raises:
            OperatorRefused: the name is malformed, or in use.
        """
        if not _NAME.fullmatch(name):
            raise OperatorRefused(
                "an operator's name has 1 to 64 letters, digits, dots, dashes or underscores"
            )
        token = bits(TOKEN_BYTES).hex()
        row: dict[str, Any] = {"name": name, "role": role, "sha256": _digest(token)}
        row |= {"created": now, "expires": now + lifetime, "revoked": None}
        with self._database.write() as connection:
            if not insert_once(connection, operators, row):
                here = operators.c.name == name
                held = connection.execute(select(operators).where(here)).one()
                if _operator(held).active(now):
                    raise OperatorRefused(
                        f"{name} has a token already: `reverie-cloud operator revoke {name}` first"
                    )
                connection.execute(update(operators).where(here).values(**row))
        return token

    def named(self, name: str) -> Operator | None:
        """The operator of that name, active or not."""
        if not _NAME.fullmatch(name):
            return None
        return self._one(operators.c.name == name)

    def holding(self, token: str, now: float) -> Operator | None:
        """The active operator with this token; None for any other text."""
        if not 0 < len(token) <= LONGEST_TOKEN or not token.isascii():
            return None
        digest = _digest(token)
        found = self._one(operators.c.sha256 == digest)
        # The index finds the row by its hash, whose timing says nothing of a 256-bit token; the
        # decision itself is taken in constant time.
        if found is None or not hmac.compare_digest(found.sha256, digest):
            return None
        return found if found.active(now) else None

    def all(self) -> list[Operator]:
        """Every operator by name, those that are revoked or expired too."""
        with self._database.read() as connection:
            rows = connection.execute(select(operators).order_by(operators.c.name)).all()
        return [_operator(row) for row in rows]

    def revoke(self, name: str, now: float) -> bool:
        """End a token at once; False when nobody has the name. Repeating it changes nothing."""
        here = operators.c.name == name
        with self._database.write() as connection:
            if connection.execute(select(operators.c.name).where(here)).first() is None:
                return False
            ended = update(operators).where(here, operators.c.revoked.is_(None))
            connection.execute(ended.values(revoked=now))
        return True

    def _one(self, which: ColumnElement[bool]) -> Operator | None:
        with self._database.read() as connection:
            row = connection.execute(select(operators).where(which)).first()
        return None if row is None else _operator(row)


def _digest(token: str) -> str:
    return sha256(token.encode()).hexdigest()


def _operator(row: Row[Any]) -> Operator:
    return Operator(**row._mapping)
