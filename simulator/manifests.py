"""Which releases a cloud has really signed; every phone of a fleet is offered the same."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from protocol.errors import ProtocolError
from protocol.release import open_manifest

__all__ = ["signed_by"]

_CACHED: Final = 64


@lru_cache(maxsize=_CACHED)
def signed_by(blob: bytes, cloud_key: bytes) -> tuple[str, int] | None:
    """Model and version that a manifest really signs, else None: a phone must refuse it, adopting
    it anyway is the violation."""
    try:
        manifest = open_manifest(blob, cloud_key)
    except ProtocolError:
        return None
    return manifest.model, manifest.version
