"""Flower (package flwr, simulating on Ray) at the common task, in an interpreter of its own.

`python federated_flower.py TASK.npz` prints one JSON object. Its clients train in plain numpy, the
cheapest way: importing torch into every Ray worker would only slow them. Each message names the
client that is to train, so that the cohorts are the schedule's. The first round, in which Ray
starts its workers, is left out of the timing.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

ROOT = str(Path(__file__).resolve().parents[2])
sys.path.insert(0, ROOT)
os.environ["PYTHONPATH"] = ROOT  # Ray's workers import this module too.
os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

from tests.benchmarks.federated_data import Task, accuracy, read_task, train_one  # noqa: E402

ACTORS = 2
"""Clients that train at the same time, one on each core."""


def cpu_seconds(root: int) -> float:
    """CPU seconds of a process, its live descendants and those they have reaped."""
    ticks, parents = {}, {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # ended meanwhile
        parents[int(folder.name)] = int(fields[1])
        ticks[int(folder.name)] = sum(map(int, fields[11:15]))
    total, wanted = 0, [root]
    while wanted:
        one = wanted.pop()
        total += ticks.get(one, 0)
        wanted += [child for child, parent in parents.items() if parent == one]
    return total / os.sysconf("SC_CLK_TCK")


@cache
def _task(path: str) -> Task:
    return read_task(path)


def client_app(path: str) -> Any:
    """The clients: one function that trains whoever a message names."""
    app = importlib.import_module("flwr.app")
    client = importlib.import_module("flwr.clientapp").ClientApp()

    @client.train()  # type: ignore[untyped-decorator]
    def train(message: Any, _context: Any) -> Any:
        import numpy as np

        task, config = _task(path), message.content["config"]
        start = message.content["arrays"].to_numpy_ndarrays()
        number = int(config["client"])
        rng = np.random.default_rng([int(config["round"]), number])
        record = app.RecordDict(
            {
                "arrays": app.ArrayRecord(train_one(task, number, start, rng)),
                "metrics": app.MetricRecord({"num-examples": len(task.clients[number])}),
            }
        )
        return app.Message(content=record, reply_to=message)

    return client


def server_app(task: Task, told: dict[str, Any]) -> Any:
    """The server: FedAvg over the schedule's cohorts; `told` hears accuracy and times."""
    app = importlib.import_module("flwr.app")
    serverapp = importlib.import_module("flwr.serverapp")
    average = importlib.import_module("flwr.serverapp.strategy").FedAvg
    rounds, a_round = task.schedule.shape
    server = serverapp.ServerApp()

    class Scheduled(average):  # type: ignore[misc, valid-type]
        """FedAvg whose messages name the clients of the schedule."""

        def _construct_messages(self, record: Any, node_ids: list[int], message_type: str) -> Any:
            number = int(record["config"]["server-round"]) - 1
            return [
                app.Message(
                    content=app.RecordDict(
                        {
                            "arrays": record["arrays"],
                            "config": app.ConfigRecord({"client": int(client), "round": number}),
                        }
                    ),
                    message_type=message_type,
                    dst_node_id=node,
                )
                for node, client in zip(node_ids, task.schedule[number], strict=True)
            ]

    marks: list[tuple[float, float]] = []

    def evaluate(number: int, arrays: Any) -> Any:
        marks.append((time.perf_counter(), cpu_seconds(os.getpid())))
        if number == rounds:
            told["accuracy"] = accuracy(task, arrays.to_numpy_ndarrays())
        return app.MetricRecord({})

    @server.main()  # type: ignore[untyped-decorator]
    def main(grid: Any, _context: Any) -> None:
        clients = len(task.clients)
        strategy = Scheduled(
            fraction_train=a_round / clients,
            fraction_evaluate=0.0,
            min_train_nodes=a_round,
            min_available_nodes=clients,
        )
        strategy.start(
            grid=grid,
            initial_arrays=app.ArrayRecord(task.weights),
            num_rounds=rounds,
            evaluate_fn=evaluate,
        )
        # marks[0] is before the first round, marks[1] after it, with Ray's workers up.
        wall, cpu = (last - first for first, last in zip(marks[1], marks[-1], strict=True))
        told.update(wall=wall, cpu=cpu, updates=(rounds - 1) * a_round)

    return server


def measure(path: str) -> dict[str, Any]:
    """Seconds of wall clock and CPU for the updates of all rounds but the first, and accuracy."""
    logging.getLogger("flwr").setLevel(logging.ERROR)
    simulation = importlib.import_module("flwr.simulation")
    task = read_task(path)
    told: dict[str, Any] = {}
    simulation.run_simulation(
        server_app=server_app(task, told),
        client_app=client_app(path),
        num_supernodes=len(task.clients),
        backend_config={
            # A cluster of its own, whatever else runs on this machine.
            "init_args": {
                "address": "local",
                "num_cpus": ACTORS,
                "include_dashboard": False,
                "log_to_driver": False,
            },
            "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
        },
    )
    return told


if __name__ == "__main__":
    # As a module: what Ray is to run elsewhere must have a name there.
    itself = importlib.import_module("tests.benchmarks.federated_flower")
    sys.stdout.write(json.dumps(itself.measure(sys.argv[1])) + "\n")
