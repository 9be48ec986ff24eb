"""The privacy ledger's anchor: how far the ledger has come, kept outside the phone's folder.

A hash chain shows every edit but a cut tail, and a copied folder is whole in itself. So a mark of
the ledger's length and head lies where backups and copies of the phone's folder do not reach. A
ledger that is behind its mark was restored, one that has no mark was copied: it then counts what
it no longer knows as spent (`privacy.ledger`). The mark holds no user data.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from platformdirs import user_state_path

from device.vault.folder import make_folder, replace_durably, translated
from privacy.anchor import Mark

__all__ = ["STATE_VARIABLE", "FileAnchor", "MemoryAnchor", "anchor_file"]

STATE_VARIABLE: Final = "REVERIE_STATE_HOME"
"""Environment variable: the folder that holds `anchors/`, in place of the user's state folder."""
_MAX_BYTES = 1024
"""A mark is about 100 bytes; a larger file is none."""
_HASH = re.compile(r"[0-9a-f]{64}")


def anchor_file(phone: Path, environ: Mapping[str, str]) -> Path:
    """Where the anchor of the phone in folder `phone` lies: never inside that folder.

    Named after the folder's place, so that a copy elsewhere finds no anchor.
    """
    state = environ.get(STATE_VARIABLE, "")
    root = Path(state) if state else user_state_path("reverie")
    place = hashlib.sha256(str(phone.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
    return root / "anchors" / f"{place[:32]}.json"


class FileAnchor:
    """An anchor in one small file, written anew and durably after every ledger entry."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def read(self) -> Mark | None:
        """The mark; None when there is none, or what is there is not one.

        Raises VaultError when the file cannot be read at all.
        """
        try:
            with translated(self._path.parent), self._path.open("rb") as file:
                return _mark(file.read(_MAX_BYTES + 1))
        except FileNotFoundError:
            return None

    def write(self, mark: Mark) -> None:
        """Replace the mark; durable on return. Raises StorageFull, StorageReadOnly, VaultError."""
        body = json.dumps({"head": mark.head, "length": mark.length}, sort_keys=True).encode()
        with translated(self._path.parent):
            make_folder(self._path.parent)
            replace_durably(self._path, body + b"\n")


class MemoryAnchor:
    """An anchor in RAM, for simulated phones and tests; as durable as the object."""

    def __init__(self) -> None:
        self._mark: Mark | None = None

    def read(self) -> Mark | None:
        """The mark; None before the first write."""
        return self._mark

    def write(self, mark: Mark) -> None:
        """Replace the mark."""
        self._mark = mark


def _mark(body: bytes) -> Mark | None:
    if len(body) > _MAX_BYTES:
        return None
    try:
        fields = json.loads(body)
    except ValueError:
        return None
    if not isinstance(fields, dict) or set(fields) != {"head", "length"}:
        return None
    head, length = fields["head"], fields["length"]
    if type(length) is not int or length < 0 or not isinstance(head, str):
        return None
    return Mark(length, head) if _HASH.fullmatch(head) else None
