"""How much room is left where the phone's store lies."""

from __future__ import annotations

import shutil
from pathlib import Path

__all__ = ["free_bytes"]


def free_bytes(folder: Path) -> int | None:
    """Bytes this user may still write below `folder`; None when the system does not tell."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None
