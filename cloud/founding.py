"""What must be in the state folder and the database before a process may serve phones.

The process of role "all" that comes first founds a cloud: its signing key, the keys of the roles
and the pins. Every other process joins it, and has to be of the same cloud: phones pin one key.
"""

from __future__ import annotations

from collections.abc import Callable

from cloud.config import CloudConfig
from cloud.helper_client import HelperIdentity
from cloud.helper_pin import pinned_helper
from cloud.identity import KeyFileUnusable, ensure_key, signing_key
from cloud.releases.keys import RoleKeys
from cloud.releases.repository import Repository
from cloud.storage.database import Database
from cloud.storage.pins import Pins, known_pins, pin
from protocol.identity import SigningKey

__all__ = ["NotFounded", "found", "join"]


class NotFounded(Exception):
    """There is no cloud this process could join; the message is one line that says what to do."""


def found(
    config: CloudConfig, database: Database, bits: Callable[[int], bytes], now: float
) -> SigningKey:
    """Make what is missing, for a process of role "all". Gives the cloud's key.

    Raises:
        KeyFileUnusable: the database is that of a cloud with another key.
        OSError: the state folder cannot be written.
    """
    with database.write() as connection:
        pinned = known_pins(connection)
        if not pinned.cloud_key:
            ensure_key(config.signing_key, bits)
        key = _own_key(config, pinned)
        pin(connection, "cloud", key.public, now)
        pin(connection, "budget", config.budget.encode(), now)
        roles = RoleKeys(config.keys)
        if Repository(roles).root(connection) is None:
            roles.ensure(bits)
    return key


def join(config: CloudConfig, database: Database) -> tuple[SigningKey, HelperIdentity | None]:
    """The cloud's key and the helper it trusts, for a process of role "gateway", which makes
    nothing.

    Raises:
        KeyFileUnusable: the signing key is not at hand, or that of another cloud.
        NotFounded: no process of role "all" has begun yet, or it serves another budget.
    """
    with database.read() as connection:
        pinned = known_pins(connection)
        begun = Repository(RoleKeys(config.keys)).root(connection) is not None
    helper = None
    if config.aggregation == "two-server":
        helper = pinned_helper(database, config.budget)
        begun = begun and helper is not None
    if not begun:
        raise NotFounded(
            "no cloud has begun in this database, or one of another --aggregation: "
            "start `reverie-cloud serve --role all` first"
        )
    if pinned.budget != config.budget:
        raise NotFounded(
            f"this cloud serves the {pinned.budget} budget: give --budget {pinned.budget}"
        )
    return _own_key(config, pinned), helper


def _own_key(config: CloudConfig, pinned: Pins) -> SigningKey:
    """The key in the state folder, which has to be the one this database's cloud began with."""
    advice = f"copy the cloud's key to {config.signing_key}, or restore it from a backup"
    if pinned.cloud_key and not config.signing_key.exists():
        raise KeyFileUnusable(f"this database belongs to a cloud whose key is not here: {advice}")
    key = signing_key(config.signing_key)
    if pinned.cloud_key and pinned.cloud_key != key.public:
        raise KeyFileUnusable(f"this database belongs to a cloud with another key: {advice}")
    return key
