"""A real Ray cluster on loopback: processes of our own, ended by id."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from pathlib import Path

__all__ = ["RayHead", "family", "free_port", "titles"]

RAY = """
import sys
import ray._private.services as services
# A cluster on loopback has one node, says Ray; this makes every node believe that it lives there.
services.get_node_ip_address = lambda *_: "127.0.0.1"
from ray.scripts.scripts import main
main()
"""
SEVERAL_NODES = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1"}

LOWEST_PORT, PORTS = 21_000, 9_000
"""Ray's own workers take ports between 10002 and 19999, the system its clients' above 32768."""
STORE_BYTES = 80 << 20


class RayHead:
    """A head, and further nodes when asked for; started when made.

    `environment` is what a process needs to join it.
    """

    def __init__(self, *, cpus: int = 2) -> None:
        self.address = f"127.0.0.1:{free_port()}"
        self._cpus = cpus
        self._nodes: list[subprocess.Popen[bytes]] = []
        self._ever: set[int] = set()
        self.environment = {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_enable_metrics_collection": "0",
            "OMP_NUM_THREADS": "1",
        }
        self.start()

    def start(self) -> None:
        """Start the head; at the same address as before."""
        port = self.address.rpartition(":")[2]
        self._launch("--head", f"--port={port}", "--include-dashboard=false")

    def add_node(self) -> int:
        """Start one more node; gives the id of its first process."""
        return self._launch(f"--address={self.address}")

    def family(self) -> list[int]:
        """Every process of the cluster that runs."""
        return [each for node in self._nodes for each in family(node.pid)]

    def kill(self) -> None:
        """SIGKILL for every process of every node."""
        nodes, self._nodes = self._nodes, []
        for node in nodes:
            self._end(node)

    def kill_node(self, first: int) -> None:
        """SIGKILL for every process of one node."""
        for node in [each for each in self._nodes if each.pid == first]:
            self._nodes.remove(node)
            self._end(node)

    def stop(self) -> None:
        """End everything that ever ran here."""
        self.kill()
        for each in self._ever:
            _kill(each, only="ray")

    def _end(self, node: subprocess.Popen[bytes]) -> None:
        everyone = family(node.pid)
        self._ever.update(everyone)
        for each in everyone:
            _kill(each)
        node.wait()

    def _launch(self, *arguments: str) -> int:
        fixed = ["--node-ip-address=127.0.0.1", "--disable-usage-stats", "--block"]
        fixed += [f"--num-cpus={self._cpus}", f"--object-store-memory={STORE_BYTES}"]
        # Ports of the system's choice: several clusters and nodes share this machine.
        fixed += ["--min-worker-port=0", "--max-worker-port=0"]
        node = subprocess.Popen(
            [sys.executable, "-c", RAY, "start", *fixed, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | self.environment | SEVERAL_NODES,
            start_new_session=True,
        )
        self._nodes.append(node)
        assert node.stdout is not None
        said = b""
        while b"--block" not in said:
            line = node.stdout.readline()
            assert line, said.decode()
            said += line
        return node.pid


def family(pid: int) -> list[int]:
    """A process and all below it."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, ahead = [], [pid]
    while ahead:
        one = ahead.pop()
        found.append(one)
        ahead += parents.get(one, [])
    return found


def titles(pids: list[int]) -> dict[int, str]:
    """What these processes call themselves."""
    found = {}
    for pid in pids:
        try:
            found[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
    return found


def free_port() -> int:
    """A port for a head, free just now."""
    import socket

    while True:
        port = LOWEST_PORT + secrets.randbelow(PORTS)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue


def _kill(pid: int, only: str = "") -> None:
    """SIGKILL, unless the number belongs to somebody else by now."""
    if only not in titles([pid]).get(pid, ""):
        return
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
