"""pfl (package pfl, on torch) at the common task; run by an interpreter of its own.

`python federated_pfl.py TASK.npz [CLIP NOISE]` prints one JSON object. With a clip every client's
update is clipped to it and Gaussian noise, of so many clips, is added to the sum. One process, one
thread. The first round is left out of the timing.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.federated_data import (
    BATCH,
    LAYERS,
    RATE,
    Task,
    accuracy,
    read_task,
)


def _module(name: str) -> Any:
    return importlib.import_module(name)


def _network(task: Task) -> Any:
    torch = _module("torch")

    class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
        """The MLP, with the two methods that pfl asks of it."""

        def __init__(self) -> None:
            super().__init__()
            inputs, hidden, outputs = LAYERS
            self.first = torch.nn.Linear(inputs, hidden)
            self.last = torch.nn.Linear(hidden, outputs)
            with torch.no_grad():
                for layer, (w, b) in (
                    (self.first, (task.w1, task.b1)),
                    (self.last, (task.w2, task.b2)),
                ):
                    layer.weight.copy_(torch.from_numpy(w.T.copy()))
                    layer.bias.copy_(torch.from_numpy(b.copy()))

        def forward(self, x: Any) -> Any:
            return self.last(torch.relu(self.first(x)))

        def loss(self, x: Any, label: Any) -> Any:
            return torch.nn.functional.cross_entropy(self(x), label)

        def metrics(self, _x: Any, _label: Any) -> dict[Any, Any]:
            return {}

    return Network()


def _weights(network: Any) -> list[Any]:
    return [
        each.detach().numpy().T
        for layer in (network.first, network.last)
        for each in (layer.weight, layer.bias)
    ]


def measure(path: str, clip: float = 0.0, noise: float = 0.0) -> dict[str, Any]:
    """Seconds of wall clock and CPU for the updates of all rounds but the first, and accuracy."""
    torch = _module("torch")
    torch.set_num_threads(1)
    task = read_task(path)
    rounds, a_round = task.schedule.shape
    x, label = torch.from_numpy(task.x), torch.from_numpy(task.label)
    rows = torch.from_numpy(task.clients)
    dataset = _module("pfl.data.dataset").Dataset

    def of_user(client: int) -> Any:
        # Gathered when it is asked for, as a user's data would be read.
        return dataset((x[rows[client]], label[rows[client]]), user_id=client)

    network = _network(task)
    model = _module("pfl.model.pytorch").PyTorchModel(
        model=network,
        local_optimizer_create=torch.optim.SGD,
        central_optimizer=torch.optim.SGD(network.parameters(), lr=1.0),
    )
    # The callback at the end of a round hears of it; pfl asks for a cohort's users one by one.
    users = iter(int(client) for cohort in task.schedule for client in cohort)
    federated = _module("pfl.data.federated_dataset").FederatedDataset(of_user, lambda: next(users))
    processors = []
    if clip:
        privacy = _module("pfl.privacy.privacy_mechanism")
        gaussian = _module("pfl.privacy.gaussian_mechanism").GaussianMechanism(clip, noise)
        processors.append(privacy.CentrallyAppliedPrivacyMechanism(gaussian))
    backend = _module("pfl.aggregate.simulate").SimulatedBackend(
        training_data=federated, val_data=federated, postprocessors=processors
    )
    marks: list[tuple[float, float]] = []
    callback = _module("pfl.callback.base").TrainingProcessCallback

    class Marks(callback):  # type: ignore[misc, valid-type]
        """Notes the time at the end of each round."""

        def after_central_iteration(self, *_: Any, **__: Any) -> tuple[bool, Any]:
            marks.append((time.perf_counter(), time.process_time()))
            return False, _module("pfl.metrics").Metrics()

    hyper = _module("pfl.hyperparam")
    _module("pfl.algorithm.federated_averaging").FederatedAveraging().run(
        algorithm_params=_module("pfl.algorithm.base").NNAlgorithmParams(
            central_num_iterations=rounds,
            evaluation_frequency=rounds + 1,
            train_cohort_size=a_round,
            val_cohort_size=0,
        ),
        backend=backend,
        model=model,
        model_train_params=hyper.NNTrainHyperParams(
            local_num_epochs=1, local_learning_rate=RATE, local_batch_size=BATCH
        ),
        model_eval_params=hyper.NNEvalHyperParams(local_batch_size=None),
        callbacks=[Marks()],
    )
    wall, cpu = (last - first for first, last in zip(marks[0], marks[-1], strict=True))
    return {
        "wall": wall,
        "cpu": cpu,
        "updates": (rounds - 1) * a_round,
        "accuracy": accuracy(task, _weights(network)),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(measure(sys.argv[1], *map(float, sys.argv[2:]))) + "\n")
