"""Where sealed bytes are kept: named byte strings with an explicit moment of durability."""

from __future__ import annotations

import re
from typing import Protocol

__all__ = ["MemoryStorage", "Storage", "check_name"]

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")


def check_name(name: str) -> str:
    """`name`, or ValueError unless it is plain lower-case letters, digits, dots and dashes."""
    if not NAME.fullmatch(name):
        raise ValueError("a stored name is 1 to 100 of a-z 0-9 . _ - and starts with a-z or 0-9")
    return name


class Storage(Protocol):
    """Named byte strings. Only `sync`, `replace` and `delete` promise to outlive a power loss.

    All methods raise `StorageFull`, `StorageReadOnly` or another `VaultError` for trouble with
    the medium, and FileNotFoundError for a name that is not there.
    """

    def names(self, prefix: str = "") -> list[str]:
        """Sorted names that start with `prefix`."""
        ...

    def read(self, name: str) -> bytes:
        """The whole content."""
        ...

    def append(self, name: str, data: bytes) -> None:
        """Add to the end, making the name if need be; volatile until `sync`."""
        ...

    def sync(self, name: str) -> None:
        """Make all that was appended to `name`, and the name itself, durable."""
        ...

    def replace(self, name: str, data: bytes) -> None:
        """Set the content, atomically and durably."""
        ...

    def delete(self, name: str) -> None:
        """Remove the name durably; no error when it is not there."""
        ...

    def size(self, name: str) -> int:
        """Bytes under the name."""
        ...


class MemoryStorage:
    """A store in RAM for simulated phones and tests; what it holds is as durable as the object."""

    __slots__ = ("_files",)

    def __init__(self) -> None:
        self._files: dict[str, bytearray] = {}

    def names(self, prefix: str = "") -> list[str]:
        """Sorted names that start with `prefix`."""
        return sorted(name for name in self._files if name.startswith(prefix))

    def read(self, name: str) -> bytes:
        """The whole content."""
        return bytes(self._file(name))

    def append(self, name: str, data: bytes) -> None:
        """Add to the end."""
        file = self._files.get(name)
        if file is None:
            file = self._files[check_name(name)] = bytearray()
        file += data

    def sync(self, name: str) -> None:
        """Check that the name is there; RAM has no other durability to offer."""
        self._file(name)

    def replace(self, name: str, data: bytes) -> None:
        """Set the content."""
        self._files[check_name(name)] = bytearray(data)

    def delete(self, name: str) -> None:
        """Remove the name."""
        self._files.pop(name, None)

    def size(self, name: str) -> int:
        """Bytes under the name."""
        return len(self._file(name))

    def _file(self, name: str) -> bytearray:
        try:
            return self._files[name]
        except KeyError:
            raise FileNotFoundError(name) from None
