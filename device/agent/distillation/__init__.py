"""Distillers: how facts are drawn from runs, with no model, the built-in one, or a service."""

from device.agent.distillation.distiller import Distiller, Judgement, Marks, Verdict
from device.agent.distillation.exact import ExactDistiller
from device.agent.distillation.model import ModelDistiller
from device.agent.distillation.service import ServiceDistiller

__all__ = [
    "Distiller",
    "ExactDistiller",
    "Judgement",
    "Marks",
    "ModelDistiller",
    "ServiceDistiller",
    "Verdict",
]
