"""Learning from this phone's own use: examples from feedback, and a short local training.

examples.py   the sealed, bounded store of labelled feature vectors
mlp.py        backpropagation with closed-form per-example clipping, in numpy
training.py   local_update: what training changes in a model's federated head
"""

from device.learning.examples import DEDUP_LABELS, ExampleInvalid, ExampleStore, layer_label
from device.learning.training import Training, local_update, local_update_async

__all__ = [
    "DEDUP_LABELS",
    "ExampleInvalid",
    "ExampleStore",
    "Training",
    "layer_label",
    "local_update",
    "local_update_async",
]
