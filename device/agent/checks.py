"""What may become a fact or a skill: judged by rule before anything is written (000, 001).

What a model or a screen says is hostile until it passes: a fact states, it never tells anyone what
to do; a skill never pays, transfers or deletes.
"""

from __future__ import annotations

import re

from device.agent.permission import is_irreversible
from device.agent.policy import AgentPolicy
from device.agent.records import FactKind, Skill

__all__ = ["fact_refusal", "skill_refusal"]

FACT_CHARACTERS = 200
"""A fact is one short sentence."""
STEP_CHARACTERS = 200
NAME_CHARACTERS = 80
_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget)\b.{0,40}"
    r"\b(?:previous|above|earlier|all|any|instructions?|rules?)\b"
    r"|\b(?:you (?:must|should|are)|never (?:ask|confirm|tell))\b"
    r"|\balways (?:say|confirm|send|pay|approve|skip)\b"
    r"|\b(?:system|developer|assistant|user)\s*(?:prompt|message|:)|<\|?\w+\|?>"
    r"|(?:忽略|无视|忘记|忘掉).{0,12}(?:以上|之前|前面|所有|指令|规则|提示)"
    r"|你(?:必须|应该|要|是一个)|(?:跳过|不用|无需|不要).{0,6}(?:确认|询问|告诉)|(?:请|务必|立即|马上)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"https?://|www\.|\b[\w.+-]+@[\w-]+\.\w+|\b\d{7,}\b")
"""Links, mail addresses and long numbers are content, not behaviour."""
_PLACE = re.compile(
    r"\b(?:top|bottom|left|right|corner|middle|centre|center|side|bar|tab|menu|button|icon|page|"
    r"screen|list|field|box|drawer|dialog|toolbar|header|footer|option|section|settings?|folder|"
    r"switch|toggle|link|row|first|last|under|behind|inside|above|below|next to|dots?|search)\b"
    r"|顶部|底部|左|右|上方|下方|中间|角|栏|标签|菜单|按钮|图标|页|屏|列表|输入框|对话框|选项|设置|"
    r"文件夹|开关|链接|第一|最后|里面|旁边|搜索|入口",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069]")


def fact_refusal(content: str, kind: FactKind) -> str:
    """Why a sentence is no fact; empty when it is one."""
    if not content.strip():
        return "empty"
    if len(content) > FACT_CHARACTERS:
        return "too long"
    if _CONTROL.search(content):
        return "control characters"
    if _INSTRUCTION.search(content):
        return "an instruction, not a statement"
    if _ADDRESS.search(content):
        return "content, not behaviour"
    # A convention or a tool's behaviour holds anywhere; an anchored fact must say where.
    if kind is not FactKind.SYSTEM and not _PLACE.search(content):
        return "names no place or feature"
    return ""


def skill_refusal(skill: Skill, policy: AgentPolicy) -> str:
    """Why this is no skill; empty when it is one."""
    if not skill.name.strip() or len(skill.name) > NAME_CHARACTERS:
        return "a skill needs a short name"
    if not policy.skill_steps_least <= len(skill.steps) <= policy.skill_steps_most:
        return f"a skill has {policy.skill_steps_least} to {policy.skill_steps_most} steps"
    if not (skill.trigger.apps or skill.trigger.pages or skill.trigger.tasks):
        return "a skill needs a trigger: an app, a page feature or a task type"
    for step in (skill.name, *skill.steps):
        if not step.strip() or len(step) > STEP_CHARACTERS or _CONTROL.search(step):
            return "a step is one short line"
        if _INSTRUCTION.search(step) or _ADDRESS.search(step):
            return "a step holds an instruction to the model or an address"
        if is_irreversible(step):
            return "a skill never pays, transfers or deletes"
    return ""
