"""A fact's life: surer with every use that works, dropped when it fails (000, 001).

Confidence decides trust and injection; utility decides who goes when there are too many.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from device.agent.policy import AgentPolicy
from device.agent.records import Fact, FactKind

__all__ = [
    "classify",
    "confirmed",
    "evicted",
    "is_injectable",
    "is_stale",
    "is_unused",
    "refuted",
    "utility",
]

DAY_SECONDS = 86_400.0
_ANCHOR = re.compile(
    r"\bid/\w|\b(?:resource|view|control|element)[- ]?id\b|#\w+|\b\w+:id/"
    r"|控件\s*(?:id|ID|编号)|坐标"
    r"|\bcoordinates?\b|[(\[（]\s*\d{1,4}\s*[,，]\s*\d{1,4}\s*[)\]）]"
)
_SYSTEM = re.compile(
    r"\b(?:tool|tools|screenshots?|keyboard|system service|accessibility|permission dialog|"
    r"input method|focus(?:ed)?|adb|control tree|notification shade)\b"
    r"|工具|截图|截屏|软?键盘|系统服务|无障碍|输入法|焦点|控件树|权限弹窗",
    re.IGNORECASE,
)


def classify(content: str) -> FactKind:
    """Anchored, of the tools and the system, or a convention (001: the transferable ones)."""
    if _ANCHOR.search(content):
        return FactKind.ANCHOR
    return FactKind.SYSTEM if _SYSTEM.search(content) else FactKind.CONVENTION


def confirmed(fact: Fact, at: float, policy: AgentPolicy) -> Fact:
    """The fact after an action based on it worked."""
    confidence = min(fact.confidence + policy.fact_confirmed, policy.fact_confidence_cap)
    return replace(
        fact,
        confidence=max(confidence, fact.confidence),
        confirmations=fact.confirmations + 1,
        verified=max(at, fact.verified),
        pending=fact.pending and confidence < policy.fact_pending_below,
    )


def refuted(fact: Fact, policy: AgentPolicy) -> Fact | None:
    """The fact after an action based on it failed; None when it is dropped."""
    weaker = replace(
        fact,
        confidence=max(fact.confidence - policy.fact_refuted, 0.0),
        refutations=fact.refutations + 1,
    )
    too_weak = weaker.confidence < policy.fact_dropped_below
    return None if too_weak or weaker.refutations >= policy.fact_refutations else weaker


def is_injectable(fact: Fact, now: float, policy: AgentPolicy) -> bool:
    """Whether it may go into an agent's prompt."""
    sure = fact.confidence >= policy.fact_pending_below and not fact.pending
    return sure and not is_unused(fact, now, policy)


def is_stale(fact: Fact, now: float, policy: AgentPolicy) -> bool:
    """Whether it should be verified before it is used."""
    return now - fact.verified > policy.fact_verify_days * DAY_SECONDS


def is_unused(fact: Fact, now: float, policy: AgentPolicy) -> bool:
    """Whether it goes to the archive: kept, not injected."""
    last = max(fact.used, fact.verified)
    return now - last > policy.fact_archive_days * DAY_SECONDS


def utility(fact: Fact, now: float, policy: AgentPolicy) -> float:
    """2 · confirmations − 3 · refutations + freshness, which falls from 1 to 0 in 30 days (001)."""
    age = max(now - max(fact.verified, fact.used), 0.0)
    freshness = max(1.0 - age / (policy.freshness_days * DAY_SECONDS), 0.0)
    return (
        policy.utility_confirmed * fact.confirmations
        - policy.utility_refuted * fact.refutations
        + freshness
    )


def evicted(facts: Mapping[str, Fact], now: float, policy: AgentPolicy) -> list[str]:
    """Ids that must go so that every app and all together keep to their limits, least useful first.

    The limit over all never takes an app below its floor: with very many apps the floors win.
    """
    by_app: dict[str, list[str]] = defaultdict(list)
    for identifier in _best_first(facts, now, policy):
        by_app[facts[identifier].app].append(identifier)
    gone = [i for ids in by_app.values() for i in ids[policy.facts_per_app :]]
    kept = {app: ids[: policy.facts_per_app] for app, ids in by_app.items()}
    spare = {i for ids in kept.values() for i in ids[policy.facts_per_app_floor :]}
    surplus = sum(map(len, kept.values())) - policy.facts_in_all
    worst_first = [i for i in reversed(_best_first(facts, now, policy)) if i in spare]
    return [*gone, *worst_first[: max(surplus, 0)]]


def _best_first(facts: Mapping[str, Fact], now: float, policy: AgentPolicy) -> Sequence[str]:
    def rank(identifier: str) -> tuple[float, float, str]:
        fact = facts[identifier]
        return -utility(fact, now, policy), -fact.confidence, identifier

    return sorted(facts, key=rank)
