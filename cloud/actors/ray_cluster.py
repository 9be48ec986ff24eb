"""This process's place in a Ray cluster: joined, watched, left.

Facts behind the choices (measured with Ray 2.60): whether a token is asked for is read when ray is
imported, and so is whether a cluster of one machine listens beyond it, so the environment is set
first. A driver that lost its head waits for ever in every call, and some of Ray's own questions
then abort the process; a read of the control store under a deadline does neither.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Literal

import structlog

from cloud.actors.ray_probe import Found, probe

__all__ = ["Cluster", "RayUnavailable"]

log = structlog.get_logger("reverie.cloud.actors")

OBJECT_STORE_BYTES: Final = 96 << 20
"""Messages here are small; Ray refuses less than 75 MiB."""
TOKEN_BYTES: Final = 32
LOOK_TIMEOUT_SECONDS: Final = 3.0
LOG_BYTES: Final = 16 << 20
MAX_SAID: Final = 200

QUIET: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_task_events_report_interval_ms": "0",  # else the control store grows without bound
    "RAY_ROTATION_MAX_BYTES": str(LOG_BYTES),
    "RAY_ROTATION_BACKUP_COUNT": "2",
    "OMP_NUM_THREADS": "1",
}
LOOPBACK_ONLY: Final = {
    # Ray's switch for systems whose firewall asks about every open port: loopback alone.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_enable_metrics_collection": "0",
}


class RayUnavailable(Exception):
    """Ray is not installed, or the cluster does not take this process; the message is one line
    that says what to do."""


class Cluster:
    """A connection to Ray.

    Args:
        address: "auto" or host:port of an existing cluster, whose token is in ``RAY_AUTH_TOKEN``,
            in the file that ``RAY_AUTH_TOKEN_PATH`` names, or in ``~/.ray/auth_token``. None
            starts a cluster here that listens on loopback alone, asks for a token that only this
            process and its children know, and ends with it.
        namespace: keeps this service's actor names apart from others on the cluster.
        bits: n -> n random bytes, for the local cluster's token.

    `guest` is True where this process was connected already: someone else then looks after it.

    Raises:
        RayUnavailable: there is no ray package, nothing at the address, or no way in.
    """

    def __init__(
        self, address: str | None, namespace: str, bits: Callable[[int], bytes] = os.urandom
    ) -> None:
        self._address, self._namespace = address, namespace
        if find_spec("ray") is None:
            raise RayUnavailable("Ray is not installed; run: pip install 'reverie[ray]'")
        if "ray" not in sys.modules:
            _prepare(None if address is not None else bits)
        self.ray: Any = importlib.import_module("ray")
        self.guest = bool(self.ray.is_initialized())
        # Ray prints what happens to its workers on our standard output, where commands write JSON.
        self.ray._private.worker.print_to_stdstream = _note
        if not self.guest:
            self.join()

    def join(self) -> None:
        """Connect, or start the local cluster; within a minute or so, or not at all."""
        options: dict[str, Any] = {"namespace": self._namespace, "log_to_driver": False}
        options |= {"logging_level": "ERROR", "configure_logging": False}
        if self._address is None:
            options |= {"address": "local", "include_dashboard": False}
            options |= {"object_store_memory": OBJECT_STORE_BYTES, "num_cpus": os.cpu_count() or 1}
        else:
            _check(self._address, probe(self._address))
            options["address"] = self._address
        where = self._address or "on this machine"
        try:
            with _own_signals():
                self.ray.init(**options)
        except (OSError, RuntimeError, ValueError, self.ray.exceptions.RayError) as error:
            reason = str(error).partition("\n")[0]
            raise RayUnavailable(f"no Ray cluster {where}: {reason}") from error

    def look(self) -> Literal["here", "silent", "gone"]:
        """Whether the cluster that was joined still answers; within a few seconds."""
        try:
            client = self.ray._private.worker.global_worker.gcs_client
            node = bytes.fromhex(self.ray.get_runtime_context().get_node_id())
            client.internal_kv_get(b"session_name", b"session", timeout=LOOK_TIMEOUT_SECONDS)
            alive = client.check_alive([self.ray.NodeID(node)], timeout=LOOK_TIMEOUT_SECONDS)
        except self.ray.exceptions.AuthenticationError:
            return "gone"  # another cluster answers at the same address: the head was restarted
        except Exception:  # what Ray raises while it falls apart is not always its own
            return "silent"
        return "here" if all(alive) else "gone"

    def leave(self) -> None:
        """Disconnect; ends the local cluster."""
        self.ray.shutdown()


def _note(said: dict[str, Any], **_options: Any) -> None:
    lines = " ".join(str(line) for line in said.get("lines", ()))
    log.warning("ray_said", text=lines[:MAX_SAID])


def _check(address: str, found: Found) -> None:
    if found.state == "silent":
        raise RayUnavailable(
            f"no Ray cluster answers at {address}: start its head, or mend --ray-address"
        )
    if found.state == "refused":
        raise RayUnavailable(
            f"the Ray cluster at {address} refuses this token: give the cluster's own in "
            "RAY_AUTH_TOKEN, or the path of its file in RAY_AUTH_TOKEN_PATH"
        )
    if found.state == "other":
        raise RayUnavailable(
            f"the Ray cluster at {address} runs {found.theirs}, this process {found.ours}: "
            "both must be the same to the last number"
        )


def _prepare(bits: Callable[[int], bytes] | None) -> None:
    """Set the environment that Ray reads once; `bits` makes the token of a local cluster."""
    environment = dict(QUIET)
    if bits is not None:
        environment |= LOOPBACK_ONLY
        environment["RAY_AUTH_TOKEN"] = bits(TOKEN_BYTES).hex()
        environment["RAY_AUTH_MODE"] = "token"
    elif os.environ.get("RAY_AUTH_MODE") == "disabled":
        log.warning("ray_without_token", advice="whoever reaches its ports can run any program")
    elif not _has_token():
        raise RayUnavailable(
            "a Ray cluster is joined with its token: set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH to "
            "a file that holds it"
        )
    else:
        environment["RAY_AUTH_MODE"] = "token"
    for name, value in environment.items():
        os.environ.setdefault(name, value)


def _has_token() -> bool:
    if os.environ.get("RAY_AUTH_TOKEN"):
        return True
    named = os.environ.get("RAY_AUTH_TOKEN_PATH")
    path = Path(named) if named else Path.home() / ".ray" / "auth_token"
    try:
        return bool(path.read_text().strip())
    except OSError:
        return False


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray takes over SIGTERM while it starts; the process keeps its own way to stop."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
