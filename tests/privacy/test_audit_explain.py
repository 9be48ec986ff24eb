"""Plain words: the same facts in both languages, each number one that was recomputed."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from privacy import DEMO, PRODUCTION, Ledger
from privacy.audit.explain import explain, remainders
from privacy.audit.phrases import LANGUAGES, PHRASES, Language
from privacy.audit.replay import audit_ledger
from privacy.budget import YEAR
from tests.privacy.audit_parts import (
    CLOUD_KEY,
    DEVICE,
    edited,
    ledger_on,
    other_value,
    receipt_for,
    release,
    reserve_local,
    rich_ledger,
)
from tests.privacy.parts import DAY, START, MemoryAnchor, MemoryLog, used_ledger

CHINESE = re.compile(r"[\u4e00-\u9fff]")


def told(payloads: list[bytes], language: Language = "en", now: float = START) -> dict[str, str]:
    page = explain(audit_ledger(payloads), language, now)
    sections = {section.key: "\n".join(section.lines) for section in page.sections}
    return sections | {"headline": "\n".join(page.headline)}


def test_both_languages_say_the_same_with_the_same_figures() -> None:
    english, chinese = PHRASES["en"], PHRASES["zh"]
    assert english.keys() == chinese.keys()
    for key in english:
        fields = [
            {name for _, name, _, _ in Formatter().parse(text) if name}
            for text in (english[key], chinese[key])
        ]
        assert fields[0] == fields[1], key
        assert CHINESE.search(chinese[key]), key
        assert not CHINESE.search(english[key]), key


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_question_of_a_layman_has_its_answer(language: Language) -> None:
    page = explain(audit_ledger(rich_ledger()), language, START)
    keys = [section.key for section in page.sections]
    assert keys == [
        "left", "when", "means", "numbers", "trust", "collusion", "year", "quarantine", "limits",
    ]  # fmt: skip
    text = "\n".join(line for section in page.sections for line in section.lines)
    for figure in ("1.29", "8", "18.2", "186", "2026-03-11", "2027-04-26"):
        assert figure in text
    assert bool(CHINESE.search(text)) is (language == "zh")
    assert "{" not in text


def test_figures_are_those_of_the_audit() -> None:
    audit = audit_ledger(used_ledger(weeks=10).payloads)
    said = told(used_ledger(weeks=10).payloads)
    assert "10 × usage counts" in said["left"]
    assert "ε = 0.613" in said["numbers"]
    assert f"ε = {audit.worst_year:.3g} (this phone stops itself at 8)" in said["numbers"]
    assert "65 %" in said["means"]  # e^0.613 / (1 + e^0.613)
    assert "ε = 7.82 a report" in said["collusion"]
    assert f"{audit.total.collusion.year:.3g} in the worst 365 days" in said["collusion"]
    assert "at least 100 honest phones" in said["trust"]
    assert "No. Nothing suggests" in said["quarantine"]


def test_what_is_left_shrinks_and_comes_back() -> None:
    payloads = used_ledger(weeks=10).payloads
    assert "81 % of this year's budget is left, about 42 more reports" in told(payloads)["year"]
    later = told(payloads, now=START + 2 * YEAR)["year"]
    assert "100 % of this year's budget is left, about 52 more reports" in later


def test_what_is_left_is_what_the_ledger_itself_says() -> None:
    log = MemoryLog(rich_ledger())
    ledger = ledger_on(log)
    for now in (START + 62 * DAY + YEAR, START + 500 * DAY, START + 3 * YEAR):
        mine = {each.stream: each.units for each in remainders(audit_ledger(log.payloads), now)}
        assert mine == ledger.remaining(now)


def test_a_quarantined_phone_is_left_nothing_until_it_ends() -> None:
    log = MemoryLog()
    ledger = ledger_on(log)
    for week in range(1, 6):  # unconfirmed charges count until the quarantine ends as well
        reserve_local(ledger, week, START + 7 * DAY * week)
    blob = receipt_for("usage", 9, b"z" * 32, START + 300 * DAY)
    ledger.acknowledge(blob, CLOUD_KEY.public, START + 300 * DAY)
    said = told(log.payloads, now=START + 500 * DAY)
    assert "used up; nothing more leaves before 2027-12-" in said["year"]
    assert "restored from an older copy" in said["quarantine"]
    assert remainders(audit_ledger(log.payloads), START + 500 * DAY)[0].units == 0
    assert remainders(audit_ledger(log.payloads), START + 300 * DAY + YEAR)[0].share == 1.0


def test_a_ledger_without_its_mark_says_so_in_words() -> None:
    log = MemoryLog(rich_ledger())
    moved = Ledger(log, PRODUCTION, device_id=DEVICE, anchor=MemoryAnchor())
    reserve_local(Ledger(log, PRODUCTION, device_id=DEVICE), 5, START + 3 * YEAR)
    assert moved.suspicion == "unmarked"
    with pytest.raises(Exception, match="restored or copied"):
        reserve_local(Ledger(log, PRODUCTION, device_id=DEVICE, anchor=MemoryAnchor()), 7, START)
    assert "moved here without the mark" in told(log.payloads)["quarantine"]
    assert "搬到了这里" in told(log.payloads, "zh")["quarantine"]


def test_local_reports_need_nobody() -> None:
    log = MemoryLog()
    ledger = ledger_on(log)
    ledger.commit(reserve_local(ledger, 1, START), bytes(32))
    said = told(log.payloads)
    assert "trust nobody but the program" in said["trust"]
    assert "local reports need no helper" in said["collusion"]
    assert "added up one by one: 0.12 a report" in said["numbers"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_empty_ledger_gave_nothing_away(language: Language) -> None:
    said = told([], language)
    assert said["headline"] == PHRASES[language]["empty"]
    assert said["means"] == PHRASES[language]["means_nothing"]


def test_a_forged_ledger_is_called_so_before_anything_else() -> None:
    forged = rich_ledger()
    for index in range(1, 9):
        forged[index] = edited(forged[index], ("seq",), other_value)
    said = told(forged)
    assert said["headline"].startswith("WARNING: the books of this phone are NOT in order")
    assert said["problems"].count("\n") == 5
    assert "more; `reverie-audit ledger` lists all" in said["problems"]


def test_the_demo_budget_protects_nobody_and_says_so() -> None:
    log = MemoryLog()
    release(ledger_on(log, DEMO), "usage", 1, START)
    assert "does NOT" in told(log.payloads)["headline"]
    assert "保护不了任何人" in told(log.payloads, "zh")["headline"]
