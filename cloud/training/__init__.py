"""Central training: corpora, DP-SGD, federated averaging, scoring."""

from cloud.training.config import TRAINING, TrainingConfig

__all__ = ["TRAINING", "TrainingConfig"]
