"""What an agent learns of apps and tasks, and what it is given of it."""

from device.agent.agent import AgentMemory, KnownFact, KnownSkill, SkillRefused, UnknownSkill
from device.agent.distillation import (
    Distiller,
    ExactDistiller,
    ModelDistiller,
    ServiceDistiller,
)
from device.agent.injection import Injection
from device.agent.lessons import RunReport
from device.agent.patterns import Habit
from device.agent.permission import Ask, Permission
from device.agent.policy import AgentPolicy
from device.agent.records import (
    Confirmation,
    Fact,
    FactKind,
    Outcome,
    Page,
    Pattern,
    Result,
    Run,
    Skill,
    Step,
    Trigger,
)
from device.agent.writing import Writing

__all__ = [
    "AgentMemory",
    "AgentPolicy",
    "Ask",
    "Confirmation",
    "Distiller",
    "ExactDistiller",
    "Fact",
    "FactKind",
    "Habit",
    "Injection",
    "KnownFact",
    "KnownSkill",
    "ModelDistiller",
    "Outcome",
    "Page",
    "Pattern",
    "Permission",
    "Result",
    "Run",
    "RunReport",
    "ServiceDistiller",
    "Skill",
    "SkillRefused",
    "Step",
    "Trigger",
    "UnknownSkill",
    "Writing",
]
