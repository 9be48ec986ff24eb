"""Section I: finding, merging and weeding skills."""

from __future__ import annotations

import pytest

from device.agent.policy import AgentPolicy
from device.agent.records import Trigger
from device.agent.skills import SkillIndex, alike, merged, used, weeded
from tests.device.agent.parts import DAY, NOW, skill

POLICY = AgentPolicy()


def test_found_by_app_then_page_then_task() -> None:
    skills = {
        "app": skill("a", "open x", "tap y", trigger=Trigger(apps=("shop",))),
        "page": skill("b", "read m", "tap n", trigger=Trigger(pages=("product list",))),
        "task": skill("c", "say p", "tap q", trigger=Trigger(tasks=("search",))),
        "other": skill("d", "go r", "tap s", trigger=Trigger(apps=("bank",))),
    }
    index = SkillIndex(skills, POLICY)
    assert list(index.find(apps=["shop"], page="product list", tasks=["search"])) == [
        "app",
        "page",
        "task",
    ]
    assert list(index.find(apps=["bank"])) == ["other"]
    assert index.find(apps=["elsewhere"]) == {}


def test_three_are_found_at_most_and_disabled_ones_never() -> None:
    skills = {f"s{n}": skill(f"s{n}", f"open {n}a", f"close {n}b") for n in range(5)}
    skills["off"] = skill("off", "open z", "close z", enabled=False)
    assert len(SkillIndex(skills, POLICY).find(apps=["shop"])) == 3
    assert "off" not in SkillIndex({"off": skills["off"]}, POLICY).find(apps=["shop"])


def test_steps_half_alike_are_both_kept_but_told_once() -> None:
    a = skill("a", "open the cart page", "tap the first row", "choose red")
    b = skill("b", "open the cart page", "tap the first row", "pick blue size", successes=3)
    assert POLICY.skill_alike_above < alike(a, b) <= POLICY.skill_merge_above
    assert list(SkillIndex({"a": a, "b": b}, POLICY).find(apps=["shop"])) == ["b"]


def test_alike_goes_by_order() -> None:
    one = skill("a", "open the cart", "tap the row", "type a name")
    same = skill("b", "open the cart", "tap the row", "type a name")
    backwards = skill("c", "type a name", "tap the row", "open the cart")
    assert alike(one, same) == 1.0
    assert alike(one, backwards) == pytest.approx(1 / 3)


def test_merging_unites_triggers_and_adds_counts() -> None:
    a = skill("a", "x y", "z", successes=4, failures=1, average_steps=10.0, used=5.0)
    b = skill(
        "b", "x y", "z w", trigger=Trigger(apps=("bank",), tasks=("pay",)), failures=5, used=9.0,
        average_steps=20.0,
    )  # fmt: skip
    one = merged(a, b)
    assert one.name == "a"
    assert one.trigger == Trigger(("shop", "bank"), (), ("pay",))
    assert (one.successes, one.failures, one.used) == (4, 6, 9.0)
    assert one.average_steps == pytest.approx((5 * 10 + 5 * 20) / 10)


def test_success_fail_counts_and_average_steps() -> None:
    known = used(skill(), success=True, steps=8, at=NOW)
    known = used(known, success=False, steps=12, at=NOW + 1)
    assert (known.successes, known.failures, known.average_steps) == (1, 1, 10.0)
    assert known.used == NOW + 1


def test_maintenance_drops_failing_unused_and_all_over_20() -> None:
    failing = skill("f", failures=3, successes=1, used=NOW - 31 * DAY)
    lately = skill("l", failures=3, successes=1, used=NOW - 29 * DAY)
    assert weeded({"f": failing, "l": lately}, NOW, POLICY) == ["f"]
    many = {f"s{n}": skill(f"s{n}", successes=n, used=NOW) for n in range(23)}
    assert weeded(many, NOW, POLICY) == ["s0", "s1", "s2"]


def test_skills_by_people_outlive_distilled_ones() -> None:
    many = {f"s{n}": skill(f"s{n}", used=NOW, distilled=n >= 20, successes=n) for n in range(22)}
    assert set(weeded(many, NOW, POLICY)) == {"s20", "s21"}
