"""Asks a Ray cluster who it is, in a process of its own that can be ended.

Ray's client waits minutes for a server that never answers, inside native code. A child under a
deadline finds out first; only a cluster that answered it is joined.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Final, Literal

__all__ = ["Found", "probe"]

PROBE_SECONDS: Final = 25.0
"""Importing Ray takes seconds on a busy machine; the question itself milliseconds."""
CONNECT_SECONDS: Final = 5.0


@dataclass(frozen=True)
class Found:
    """What is at an address, and which versions it runs (as "Ray 2.60.0 on Python 3.11.7")."""

    state: Literal["here", "silent", "refused", "other"]
    theirs: str = ""
    ours: str = ""


def probe(address: str, seconds: float = PROBE_SECONDS) -> Found:
    """Look at `address` (host:port or "auto") for at most `seconds`."""
    command = [sys.executable, "-c", f"from {__name__} import main; main()", address]
    try:
        done = subprocess.run(  # noqa: S603 (this very program, no shell)
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
        return Found(**json.loads(done.stdout))
    except (subprocess.TimeoutExpired, ValueError):
        return Found("silent")


def main() -> None:
    """The child: one line of JSON on standard output."""
    sys.stdout.write(json.dumps(_look(sys.argv[1])))


def _look(address: str) -> dict[str, Any]:
    from ray._common.usage.usage_lib import get_cluster_metadata
    from ray._private.services import canonicalize_bootstrap_address
    from ray._private.utils import compute_version_info
    from ray._raylet import GcsClient  # type: ignore[attr-defined]
    from ray.exceptions import AuthenticationError, RayError

    try:
        found = canonicalize_bootstrap_address(address)
        host, _, port = str(found).rpartition(":")
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
        client = GcsClient(address=found)
        client.internal_kv_get(b"session_name", b"session", timeout=CONNECT_SECONDS)
        theirs = get_cluster_metadata(client) or {}
    except AuthenticationError:
        return {"state": "refused"}
    except (OSError, ValueError, RayError):
        return {"state": "silent"}
    ours = compute_version_info()
    told = (theirs.get("ray_version", ""), theirs.get("python_version", ""))
    versions = {"theirs": _shown(told), "ours": _shown(ours)}
    return {"state": "here" if told == ours else "other", **versions}


def _shown(versions: tuple[str, str]) -> str:
    return f"Ray {versions[0]} on Python {versions[1]}"
