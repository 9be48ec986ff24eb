"""One Ray node on loopback: `ray_node.py --head --port=6379 …`, with the options of `ray start`.

Ray believes that a cluster on loopback has one node. Every node of this one is told that it lives
at 127.0.0.1, so that several fit on a machine and nothing listens beyond it.
"""

from __future__ import annotations

import sys

import ray._private.services as services
from ray.scripts.scripts import main

LOOPBACK = "127.0.0.1"
STORE_BYTES = 80 << 20
"""Ray refuses less than 75 MiB, and no message here comes near it."""


def start(options: list[str]) -> None:
    """Become the node; returns when a signal ends it."""
    services.get_node_ip_address = lambda *_: LOOPBACK
    fixed = [f"--node-ip-address={LOOPBACK}", "--disable-usage-stats", "--block"]
    fixed += [f"--object-store-memory={STORE_BYTES}"]
    # Ports of the system's choice: several nodes share this machine.
    fixed += ["--min-worker-port=0", "--max-worker-port=0"]
    sys.argv = ["ray", "start", *fixed, *options]
    main()


if __name__ == "__main__":
    start(sys.argv[1:])
