"""Secret keys in files of mode 0600, made on first use."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from protocol.identity import SigningKey

__all__ = ["KeyFileUnusable", "create_private", "ensure_key", "read_key", "signing_key"]

KEY_BYTES = 32


class KeyFileUnusable(Exception):
    """A key file is damaged or unreadable; the message is one line that says what to do."""


def ensure_key(path: Path, bits: Callable[[int], bytes]) -> bytes:
    """The 32 secret bytes in `path`, drawn from `bits` when there is no such file yet.

    Raises:
        KeyFileUnusable: the file is not a key.
        OSError: the folder cannot be written.
    """
    if not path.exists():
        create_private(path, bits(KEY_BYTES))
    return read_key(path)


def read_key(path: Path) -> bytes:
    """The 32 secret bytes in `path`.

    Raises:
        KeyFileUnusable: missing, unreadable or of another length.
    """
    try:
        key = path.read_bytes()
    except OSError:
        raise KeyFileUnusable(f"cannot read the key file {path}: check its owner") from None
    if len(key) != KEY_BYTES:
        raise KeyFileUnusable(f"{path} is not a {KEY_BYTES}-byte key: restore it from a backup")
    return key


def signing_key(path: str | Path) -> SigningKey:
    """The cloud's Ed25519 key in `path`."""
    return SigningKey(read_key(Path(path)))


def create_private(path: Path, secret: bytes) -> None:
    """Write a secret to a new file of mode 0600, durably; a file that is there already stays."""
    # Linked into place whole: a crash leaves no half key, a rival process no second one.
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(secret)
        file.flush()
        os.fsync(file.fileno())
    try:
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
