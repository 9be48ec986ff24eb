"""Asking a cloud for its public root: the key to pin, and whether it takes new phones."""

from __future__ import annotations

import json
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

from pydantic import BaseModel, Field, ValidationError

from device.actors import DomainError

__all__ = ["CloudRoot", "RootUnusable", "fetch_root"]

TIMEOUT = 10.0
"""Seconds."""
MAX_BYTES = 16 * 1024
"""A root is a few hundred bytes; more is not read."""


class RootUnusable(DomainError):
    """No cloud there, or what answers is none."""


class CloudRoot(BaseModel):
    """What `/v1/root` says."""

    public_key: str = Field(pattern=r"^[0-9a-f]{64}$")
    """Ed25519, hex: signs rounds and releases."""
    root_sha256: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    """Hex hash of the root file that names the keys of the release metadata."""
    open_enrolment: bool = False
    """Whether a phone may enrol without a token."""
    budget: str = ""


def fetch_root(cloud_url: str) -> CloudRoot:
    """Read the root of the cloud at `cloud_url`.

    Raises:
        RootUnusable: one clear line.
    """
    parts = urlsplit(cloud_url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise RootUnusable(f"{cloud_url!r} is no address; try http://127.0.0.1:8770")
    try:
        with urlopen(cloud_url.rstrip("/") + "/v1/root", timeout=TIMEOUT) as answer:  # noqa: S310
            body = answer.read(MAX_BYTES)
        return CloudRoot.model_validate(json.loads(body))
    except (URLError, OSError, TimeoutError):
        raise RootUnusable(
            f"no cloud answers at {cloud_url}: is `reverie-cloud serve` running there?"
        ) from None
    except (ValueError, ValidationError):
        raise RootUnusable(f"what answers at {cloud_url} is not a Reverie cloud") from None
