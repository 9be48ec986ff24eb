"""What goes into an agent's prompt: a few plain sentences, and word of exactly which (000, 001)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from device.agent.facts import is_injectable, is_stale
from device.agent.policy import AgentPolicy
from device.agent.records import Fact, Skill

__all__ = ["Injection", "inject", "tokens"]

HEADINGS = {
    "en": ("What is known of these apps:", "Skills at hand (load one by its name):"),
    "zh": ("已知的关于当前应用的信息：", "可用的技能（按名称加载）："),
}
UNVERIFIED = {"en": " (not checked lately)", "zh": "（近期未核实）"}
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")
_WORD = re.compile(r"[A-Za-z]+|\d|[^\sA-Za-z\d]")
LETTERS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Injection:
    """The block and what is in it."""

    text: str
    facts: tuple[str, ...]
    """Ids of the facts in it, in order."""
    skills: tuple[str, ...]
    """Ids of the skills named in it, in order."""
    left_out: int
    """Facts and skills that would have fitted the task but not the budget."""
    tokens: int
    clean_up: bool = False
    """Several blocks in a row left something out: the memory wants weeding (`maintain`)."""

    @property
    def characters(self) -> int:
        """Length of the block."""
        return len(self.text)


def tokens(text: str) -> int:
    """Tokens of a text, rather too many than too few: a wide letter, a sign, a digit, 4 letters."""
    wide = len(_WIDE.findall(text))
    rest = _WORD.findall(_WIDE.sub(" ", text))
    return wide + sum(-(-len(word) // LETTERS_A_TOKEN) for word in rest)


def inject(
    facts: Mapping[str, Fact],
    skills: Mapping[str, Skill],
    *,
    now: float,
    policy: AgentPolicy,
    language: str = "en",
) -> Injection:
    """The block for one task: `facts` of its apps by confidence, `skills` best first, names only.

    Half the budget each; with no skill the facts may take it all.
    """
    usable = [i for i, fact in facts.items() if is_injectable(fact, now, policy)]
    ranked = sorted(usable, key=lambda i: (-facts[i].confidence, -facts[i].verified, i))
    lines = {i: _fact_line(facts[i], now, policy, language) for i in ranked}
    outlines = {i: f"- {skill.name}: {len(skill.steps)} steps" for i, skill in skills.items()}
    fact_heading, skill_heading = HEADINGS[language]
    whole = _Budget(policy.block_characters, policy.block_tokens)
    half = _Budget(policy.block_characters // 2, policy.block_tokens // 2)
    named = _fitting(skill_heading, outlines, half)
    rest = whole.less(_text(skill_heading, named.values())) if named else whole
    # Facts get their half, or what the skills left of the whole when that is more.
    told = _fitting(fact_heading, dict(list(lines.items())[: policy.facts_injected]), rest)
    blocks = [_text(fact_heading, told.values()), _text(skill_heading, named.values())]
    text = "\n".join(block for block in blocks if block)
    left_out = len(ranked) - len(told) + len(skills) - len(named)
    return Injection(text, tuple(told), tuple(named), left_out, tokens(text))


@dataclass(frozen=True, slots=True)
class _Budget:
    characters: int
    tokens: int

    def holds(self, text: str) -> bool:
        return len(text) <= self.characters and tokens(text) <= self.tokens

    def less(self, text: str) -> _Budget:
        return _Budget(self.characters - len(text) - 1, self.tokens - tokens(text))


def _fitting(heading: str, lines: Mapping[str, str], budget: _Budget) -> dict[str, str]:
    """The lines, best first, that fit under `heading`; one too long is passed over."""
    chosen: dict[str, str] = {}
    for identifier, line in lines.items():
        if budget.holds(_text(heading, [*chosen.values(), line])):
            chosen[identifier] = line
    return chosen


def _text(heading: str, lines: Iterable[str]) -> str:
    body: Sequence[str] = list(lines)
    return "\n".join([heading, *body]) if body else ""


def _fact_line(fact: Fact, now: float, policy: AgentPolicy, language: str) -> str:
    doubt = UNVERIFIED[language] if is_stale(fact, now, policy) else ""
    return f"- {fact.content}{doubt}"
