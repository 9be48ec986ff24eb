"""The TUF repository of one cloud, in its database.

Every method works in its caller's transaction, so that what is published and the signatures that
say so become visible together or not at all, and a step that died is simply taken again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, delete, insert, select, update

from cloud.releases.keys import KeysMissing, RoleKeys
from cloud.releases.tables import listed, role_files
from cloud.storage.database import insert_once
from protocol.identity import SigningKey
from protocol.metadata import (
    ROLES,
    Custom,
    Role,
    RoleFile,
    RoleRule,
    Root,
    Signed,
    Snapshot,
    Target,
    Targets,
    Timestamp,
    described,
    key_id,
    open_role,
    public_keys,
    seal_role,
    target,
    utc_text,
)

__all__ = ["LIFETIMES", "Lifetime", "Repository", "majority"]

DAY = 86_400.0


class Lifetime(NamedTuple):
    """Seconds a file is good for, and the age at which it is signed anew."""

    good_for: float
    renew_at: float


LIFETIMES: Mapping[Role, Lifetime] = {
    "timestamp": Lifetime(7 * DAY, 1 * DAY),
    "snapshot": Lifetime(30 * DAY, 10 * DAY),
    "targets": Lifetime(90 * DAY, 60 * DAY),
    "root": Lifetime(365 * DAY, 275 * DAY),
}
"""Phones can be held back unnoticed for as long as a timestamp is good; a cloud may be down so
long. Signed anew once a day, it costs a phone 500 bytes a day."""

_CONTENT: Mapping[Role, tuple[Callable[..., Signed], str]] = {
    "targets": (Targets, "targets"),
    "snapshot": (Snapshot, "meta"),
    "timestamp": (Timestamp, "meta"),
}
_UPWARDS: tuple[Role, ...] = ("targets", "snapshot", "timestamp")
"""Each names the file of the one before."""


class Repository:
    """Signs what the database lists."""

    def __init__(self, keys: RoleKeys) -> None:
        self._keys = keys

    def put(
        self,
        connection: Connection,
        name: str,
        data: bytes,
        percent: int = 100,
        withdrawn: Sequence[int] = (),
    ) -> None:
        """List a file under ``name``, in place of what had that name; `sign` makes it known."""
        row = (name, len(data), sha256(data).digest(), percent, sorted(withdrawn))
        held = connection.execute(select(listed).where(listed.c.name == name)).first()
        # A tick that changes nothing writes nothing.
        if held is None or tuple(held) != row:
            self.drop(connection, name)
            columns = [column.name for column in listed.columns]
            connection.execute(insert(listed).values(**dict(zip(columns, row, strict=True))))

    def drop(self, connection: Connection, name: str) -> None:
        """List ``name`` no more; `sign` makes it known."""
        connection.execute(delete(listed).where(listed.c.name == name))

    def names(self, connection: Connection) -> list[str]:
        """What is listed."""
        return list(connection.scalars(select(listed.c.name).order_by(listed.c.name)))

    def sign(self, connection: Connection, now: float) -> list[Role]:
        """Sign what has changed or grows old: root if its keys are here, targets, snapshot,
        timestamp. Gives the roles signed; nothing, and nothing written, when all is in order.

        Raises:
            KeysMissing: a role's keys are not at hand.
        """
        signed: list[Role] = []
        root = self.root(connection) or self._first_root(connection, now)
        if _aged(root, now) and self._can_sign(root):
            self._replace_root(connection, root, _keys_of(root), now)
            signed.append("root")
        content: Mapping[str, Any] = {
            row.name: _target(row)
            for row in connection.execute(select(listed).order_by(listed.c.name))
        }
        for role in _UPWARDS:
            file, changed = self._signed(connection, role, content, now)
            if changed:
                signed.append(role)
            content = {f"{role}.json": described(file.data, file.version)}
        return signed

    def due(self, connection: Connection) -> float:
        """Unix seconds at which one of the newest files is to be signed anew for its age."""
        held = [file for role in ROLES if (file := self._newest(connection, role)) is not None]
        return min(file.issued + LIFETIMES[file.role].renew_at for file in held)

    def root(self, connection: Connection) -> RoleFile | None:
        """The root in force; None before the first `sign`."""
        return self._newest(connection, "root")

    def first_root(self, connection: Connection) -> bytes:
        """The first root's file, for phones to pin by its SHA-256; b"" before it is signed."""
        query = select(role_files.c.data).where(role_files.c.role == "root")
        data = connection.scalars(query.order_by(role_files.c.version).limit(1)).first()
        return data or b""

    def files(self, connection: Connection) -> list[tuple[Role, int, bytes]]:
        """(role, version, file): every root, then the newest of the other roles."""
        rows = connection.execute(select(role_files).order_by(role_files.c.version)).all()
        order = {role: place for place, role in enumerate(ROLES)}
        rows = sorted(rows, key=lambda row: (order[row.role], row.version))
        return [(row.role, row.version, row.data) for row in rows]

    def rotate(
        self,
        connection: Connection,
        role: Role,
        bits: Callable[[int], bytes],
        now: float,
        *,
        keys: int = 1,
        threshold: int = 1,
        into: RoleKeys | None = None,
    ) -> list[SigningKey]:
        """Put new keys in the place of a role's; for root itself, both the old and the new sign.

        ``into`` says where the new keys go, when elsewhere. Gives the keys that sign no more;
        delete their files once the transaction holds.

        Raises:
            KeysMissing: root's keys are not at hand.
        """
        root = self.root(connection) or self._first_root(connection, now)
        self._require(root)
        fresh = [(into or self._keys).make(role, bits) for _ in range(keys)]
        old = self._keys.named(role, _root(root).roles[role].keyids)
        named = _keys_of(root) | {role: [key.public for key in fresh]}
        more = fresh if role == "root" else []
        self._replace_root(connection, root, named, now, {role: threshold}, more)
        self.sign(connection, now)
        return old

    def _first_root(self, connection: Connection, now: float) -> RoleFile:
        keys = {role: [key.public for key in self._keys.all(role)] for role in ROLES}
        for role, found in keys.items():
            if not found:
                raise KeysMissing(f"no key for {role}: run `reverie-cloud keys init`")
        thresholds = dict.fromkeys(ROLES, 1) | {"root": majority(len(keys["root"]))}
        signers = self._keys.all("root")
        return self._keep(connection, _new_root(1, keys, thresholds, now), signers, now)

    def _replace_root(
        self,
        connection: Connection,
        root: RoleFile,
        keys: Mapping[Role, Sequence[bytes]],
        now: float,
        thresholds: Mapping[Role, int] | None = None,
        more: Sequence[SigningKey] = (),
    ) -> RoleFile:
        rules = _root(root).roles
        wanted = {role: rules[role].threshold for role in ROLES} | dict(thresholds or {})
        signed = _new_root(root.version + 1, keys, wanted, now)
        signers = [*self._keys.named("root", rules["root"].keyids), *more]
        return self._keep(connection, signed, signers, now)

    def _signed(
        self, connection: Connection, role: Role, content: Mapping[str, Any], now: float
    ) -> tuple[RoleFile, bool]:
        """The role's file with this content, and whether it had to be signed anew."""
        model, field = _CONTENT[role]
        held = self._newest(connection, role)
        fresh = held is not None and not self._stale(connection, held, now)
        if held is not None and fresh and getattr(held.signed, field) == content:
            return held, False
        version = 1 if held is None else held.version + 1
        signed = model(**_dates(role, version, now), **{field: content})
        return self._sign_role(connection, signed, now), True

    def _stale(self, connection: Connection, held: RoleFile, now: float) -> bool:
        """Old, or signed by keys that root no longer names."""
        root = self.root(connection)
        assert root is not None
        known = set(_root(root).roles[held.role].keyids)
        return _aged(held, now) or not known & {keyid for keyid, _ in held.signatures}

    def _sign_role(self, connection: Connection, signed: Signed, now: float) -> RoleFile:
        role = signed.kind
        root = self.root(connection)
        assert root is not None
        rule = _root(root).roles[role]
        signers = self._keys.named(role, rule.keyids)
        if len(signers) < rule.threshold:
            raise KeysMissing(f"the key of {role} is not in its folder: restore it or rotate it")
        return self._keep(connection, signed, signers, now)

    def _keep(
        self, connection: Connection, signed: Signed, signers: Sequence[SigningKey], now: float
    ) -> RoleFile:
        role = signed.kind
        data = seal_role(signed, signers)
        if role != "root":
            connection.execute(delete(role_files).where(role_files.c.role == role))
        row = {"role": role, "version": signed.version, "data": data, "signed": now}
        if not insert_once(connection, role_files, row):
            here = (role_files.c.role == role) & (role_files.c.version == signed.version)
            connection.execute(update(role_files).where(here).values(**row))
        return open_role(data)

    def _newest(self, connection: Connection, role: Role) -> RoleFile | None:
        query = select(role_files.c.data).where(role_files.c.role == role)
        data = connection.scalars(query.order_by(role_files.c.version.desc()).limit(1)).first()
        return None if data is None else open_role(data)

    def _can_sign(self, root: RoleFile) -> bool:
        rule = _root(root).roles["root"]
        return len(self._keys.named("root", rule.keyids)) >= rule.threshold

    def _require(self, root: RoleFile) -> None:
        if not self._can_sign(root):
            raise KeysMissing(
                "root's keys are not here: mount the folder they lie in and give it with --root"
            )


def majority(keys: int) -> int:
    """How many of several root keys must sign: one that is lost or stolen decides nothing."""
    return keys // 2 + 1


def _new_root(
    version: int,
    keys: Mapping[Role, Sequence[bytes]],
    thresholds: Mapping[Role, int],
    now: float,
) -> Root:
    rules = {
        role: RoleRule(
            keyids=tuple(sorted(key_id(public) for public in keys[role])),
            threshold=thresholds[role],
        )
        for role in ROLES
    }
    everyone = public_keys({public for role in ROLES for public in keys[role]})
    return Root(**_dates("root", version, now), keys=everyone, roles=rules)


def _keys_of(root: RoleFile) -> dict[Role, Sequence[bytes]]:
    parsed = _root(root)
    return {
        role: [bytes.fromhex(parsed.keys[keyid].keyval.public) for keyid in rule.keyids]
        for role, rule in parsed.roles.items()
    }


def _dates(role: Role, version: int, now: float) -> dict[str, Any]:
    expires = utc_text(now + LIFETIMES[role].good_for)
    return {"version": version, "issued": utc_text(now), "expires": expires}


def _aged(held: RoleFile, now: float) -> bool:
    return now - held.issued >= LIFETIMES[held.role].renew_at


def _root(file: RoleFile) -> Root:
    assert isinstance(file.signed, Root)
    return file.signed


def _target(row: Row[Any]) -> Target:
    custom = Custom(percent=row.percent, withdrawn=tuple(row.withdrawn))
    return target(row.length, row.sha256, custom)
