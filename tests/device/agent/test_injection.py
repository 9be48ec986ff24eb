"""Section G: what is injected, within which budget, and that it is told exactly."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from device.agent.injection import inject, tokens
from device.agent.policy import AgentPolicy
from tests.device.agent.parts import DAY, NOW, fact, skill

POLICY = AgentPolicy()
sentences = st.text(
    alphabet=st.sampled_from("abc def 搜索在右上角，。 the menu"), min_size=1, max_size=200
)


def test_facts_of_the_apps_by_confidence_at_most_15_as_plain_sentences() -> None:
    facts = {
        f"mem:{n}": fact(f"Fact {n} is in the menu.", confidence=0.5 + n / 50) for n in range(20)
    }
    block = inject(facts, {}, now=NOW, policy=POLICY)
    assert block.facts == tuple(f"mem:{n}" for n in range(19, 4, -1))
    lines = block.text.splitlines()
    assert lines[1] == "- Fact 19 is in the menu."
    assert len(lines) == 16
    assert block.left_out == 5
    assert "{" not in block.text


def test_pending_and_archived_facts_stay_out_and_stale_ones_are_marked() -> None:
    facts = {
        "mem:1": fact("One is in the menu.", pending=True),
        "mem:2": fact("Two is in the menu.", confidence=0.45),
        "mem:3": fact("Three is in the menu.", verified=NOW - 8 * DAY),
    }
    block = inject(facts, {}, now=NOW, policy=POLICY)
    assert block.facts == ("mem:3",)
    assert "(not checked lately)" in block.text


def test_skills_are_named_not_told_and_facts_get_at_least_half() -> None:
    skills = {f"mem:{n}": skill(f"skill {n}") for n in range(3)}
    facts = {f"mem:{n}": fact("The menu is " + "x" * 120, confidence=0.9) for n in range(10, 40)}
    block = inject(facts, skills, now=NOW, policy=POLICY)
    assert block.skills == ("mem:0", "mem:1", "mem:2")
    assert "tap the search icon" not in block.text
    told = block.text.index("Skills at hand")
    assert told >= POLICY.block_characters // 2
    assert block.characters <= POLICY.block_characters


def test_chinese_headings() -> None:
    block = inject({"mem:1": fact("搜索在右上角。")}, {}, now=NOW, policy=POLICY, language="zh")
    assert block.text.startswith("已知的关于当前应用的信息：\n- 搜索在右上角。")


@given(
    contents=st.lists(sentences, max_size=60),
    names=st.lists(st.text(min_size=1, max_size=80), max_size=20),
    characters=st.integers(0, 2_000),
    most_tokens=st.integers(0, 1_500),
)
def test_no_block_is_over_budget_and_its_ids_are_what_is_in_it(
    contents: list[str], names: list[str], characters: int, most_tokens: int
) -> None:
    policy = AgentPolicy(block_characters=characters, block_tokens=most_tokens)
    facts = {f"mem:{n}": fact(content) for n, content in enumerate(contents)}
    skills = {f"mem:{n + 100}": skill(name) for n, name in enumerate(names)}
    block = inject(facts, skills, now=NOW, policy=policy)
    assert len(block.text) <= characters
    assert tokens(block.text) <= most_tokens
    assert all(facts[i].content in block.text for i in block.facts)
    assert all(skills[i].name in block.text for i in block.skills)
    assert block.left_out == len(facts) + len(skills) - len(block.facts) - len(block.skills)


def test_tokens_are_rather_too_many() -> None:
    assert tokens("搜索在右上角") == 6
    assert tokens("The search icon") == 1 + 2 + 1
    assert tokens("") == 0
