"""Keys of the four roles, each in a file of its own named after its role and its key id.

    keys/targets.1f0c….key   keys/snapshot.77ab….key   keys/timestamp.e05d….key
    keys/root.90c2….key      or in another folder, on a medium that is only there when needed

Which of the files in a folder count is said by the root in force, not by the folder: a key made
but never named, as after a crash during a rotation, signs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from cloud.identity import KeyFileUnusable, create_private, read_key
from protocol.identity import SigningKey
from protocol.metadata import ROLES, Role, key_id

__all__ = ["ONLINE_ROLES", "KeysMissing", "RoleKeys"]

ONLINE_ROLES: tuple[Role, ...] = ("timestamp", "snapshot", "targets")
"""Roles that sign while the service runs."""
KEY_BYTES = 32
NAMED_DIGITS = 16
"""Hex digits of the key id in a file's name."""

BitSource = Callable[[int], bytes]


class KeysMissing(KeyFileUnusable):
    """Too few of a role's keys are at hand; the message says which and what to do."""


class RoleKeys:
    """The key files at hand.

    Args:
        folder: of the online roles. root_folder: of root's keys; the same one when None.
    """

    def __init__(self, folder: str | Path, root_folder: str | Path | None = None) -> None:
        self._folder = Path(folder)
        self._root_folder = Path(root_folder) if root_folder else self._folder

    def all(self, role: Role) -> list[SigningKey]:
        """Every key of a role, by key id.

        Raises:
            KeyFileUnusable: one of the files is damaged.
        """
        found = [
            SigningKey(read_key(path)) for path in sorted(self._at(role).glob(f"{role}.*.key"))
        ]
        return sorted(found, key=lambda key: key_id(key.public))

    def named(self, role: Role, keyids: Iterable[str]) -> list[SigningKey]:
        """Those of a role's keys that a root names."""
        wanted = set(keyids)
        return [key for key in self.all(role) if key_id(key.public) in wanted]

    def make(self, role: Role, bits: BitSource) -> SigningKey:
        """A new key in a new file of mode 0600."""
        key = SigningKey.generate(bits)
        folder = self._at(role)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        create_private(folder / _file_name(role, key), key.seed)
        return key

    def ensure(self, bits: BitSource, root_keys: int = 1) -> None:
        """Make what is missing: ``root_keys`` for root, one for each other role."""
        for role in ROLES:
            wanted = root_keys if role == "root" else 1
            for _ in range(wanted - len(self.all(role))):
                self.make(role, bits)

    def discard(self, role: Role, keys: Iterable[SigningKey]) -> None:
        """Delete the files of keys that sign no more."""
        for key in keys:
            (self._at(role) / _file_name(role, key)).unlink(missing_ok=True)

    def _at(self, role: Role) -> Path:
        return self._root_folder if role == "root" else self._folder


def _file_name(role: Role, key: SigningKey) -> str:
    return f"{role}.{key_id(key.public)[:NAMED_DIGITS]}.key"
