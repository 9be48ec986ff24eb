"""Section G of the features: facts per app, their confidence, governance and kinds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device.agent.facts import (
    classify,
    confirmed,
    evicted,
    is_injectable,
    is_stale,
    is_unused,
    refuted,
    utility,
)
from device.agent.policy import AgentPolicy
from device.agent.records import Fact, FactKind
from tests.device.agent.parts import DAY, NOW, fact

POLICY = AgentPolicy()


def test_confidence_starts_at_0_7_and_gains_0_05_up_to_0_99() -> None:
    known = fact(confidence=POLICY.fact_confidence)
    assert known.confidence == 0.7
    known = confirmed(known, NOW + 1, POLICY)
    assert known.confidence == pytest.approx(0.75)
    for _ in range(20):
        known = confirmed(known, NOW + 2, POLICY)
    assert known.confidence == 0.99
    assert (known.confirmations, known.verified) == (21, NOW + 2)


def test_a_failed_use_costs_0_15_then_pending_then_dropped() -> None:
    once = refuted(fact(), POLICY)
    assert once is not None
    assert once.confidence == pytest.approx(0.55)
    assert is_injectable(once, NOW, POLICY)
    twice = refuted(once, POLICY)
    assert twice is not None
    assert twice.confidence == pytest.approx(0.40)
    assert not is_injectable(twice, NOW, POLICY), "under 0.5 waits to be verified"
    assert refuted(twice, POLICY) is None, "under 0.3 is dropped"


def test_three_refutations_drop_a_fact_however_sure() -> None:
    known: Fact | None = fact(confidence=0.99, confirmations=50)
    for expected in (1, 2):
        assert known is not None
        known = refuted(known, POLICY)
        assert known is not None
        assert known.refutations == expected
    assert known is not None
    assert refuted(known, POLICY) is None


def test_unverified_for_7_days_is_verified_before_use() -> None:
    assert not is_stale(fact(verified=NOW - 7 * DAY), NOW, POLICY)
    assert is_stale(fact(verified=NOW - 7 * DAY - 1), NOW, POLICY)


def test_unused_for_90_days_is_not_injected() -> None:
    old = fact(verified=NOW - 91 * DAY, used=NOW - 91 * DAY)
    assert is_unused(old, NOW, POLICY)
    assert not is_injectable(old, NOW, POLICY)
    assert is_injectable(fact(verified=NOW - 200 * DAY, used=NOW - 89 * DAY), NOW, POLICY)


def test_utility_is_two_confirmations_minus_three_refutations_plus_freshness() -> None:
    fresh = fact(confirmations=4, refutations=1)
    assert utility(fresh, NOW, POLICY) == pytest.approx(2 * 4 - 3 * 1 + 1.0)
    half = fact(verified=NOW - 15 * DAY, used=0.0)
    assert utility(half, NOW, POLICY) == pytest.approx(0.5)
    assert utility(fact(verified=NOW - 40 * DAY, used=0.0), NOW, POLICY) == 0.0


def test_an_app_holds_12_facts_and_the_least_useful_goes() -> None:
    facts = {f"mem:{n}": fact(f"fact {n}", confirmations=n) for n in range(14)}
    assert set(evicted(facts, NOW, POLICY)) == {"mem:0", "mem:1"}


def test_all_apps_hold_40_and_none_falls_below_its_floor_of_3() -> None:
    facts = {
        f"mem:{app}{n}": fact(f"fact {n}", app=f"app{app}", confirmations=app)
        for app in range(8)
        for n in range(10)
    }
    gone = set(evicted(facts, NOW, POLICY))
    kept = [known for identifier, known in facts.items() if identifier not in gone]
    assert len(kept) == 40
    counts = [sum(known.app == f"app{app}" for known in kept) for app in range(8)]
    assert min(counts) == 3
    assert counts[7] == 10, "the most useful stay"


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5), st.integers(0, 2)), max_size=120))
def test_governance_keeps_every_limit(rows: list[tuple[int, int, int]]) -> None:
    facts = {
        f"mem:{n}": fact(f"fact {n}", app=f"app{app}", confirmations=c, refutations=r)
        for n, (app, c, r) in enumerate(rows)
    }
    gone = evicted(facts, NOW, POLICY)
    assert len(gone) == len(set(gone))
    kept = {i: f for i, f in facts.items() if i not in set(gone)}
    by_app = {
        app: [f for f in kept.values() if f.app == app] for app in {f.app for f in kept.values()}
    }
    assert all(len(own) <= POLICY.facts_per_app for own in by_app.values())
    over_floor = any(len(own) > POLICY.facts_per_app_floor for own in by_app.values())
    assert len(kept) <= POLICY.facts_in_all or not over_floor
    assert set(evicted(kept, NOW, POLICY)) == set(), "governing twice changes nothing"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("The save button has id com.app:id/save.", FactKind.ANCHOR),
        ("Search is at (540, 2257).", FactKind.ANCHOR),
        ("搜索按钮的坐标是 540。", FactKind.ANCHOR),
        ("The soft keyboard covers the Save button.", FactKind.SYSTEM),
        ("输入工具在没有焦点时无效。", FactKind.SYSTEM),
        ("A new item is inserted at the top of the list.", FactKind.CONVENTION),
        ("新建的笔记排在列表第一个。", FactKind.CONVENTION),
    ],
)
def test_facts_are_anchored_conventions_or_of_the_system(content: str, kind: FactKind) -> None:
    assert classify(content) is kind
