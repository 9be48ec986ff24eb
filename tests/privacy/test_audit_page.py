"""The HTML report: one file that loads nothing, escapes everything, and says the verdict first."""

from __future__ import annotations

import base64
import hashlib
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest

from privacy import DEMO
from privacy.audit.charts import Bar, Series, bar_chart, time_chart
from privacy.audit.crosscheck import CrossCheck
from privacy.audit.page import render
from privacy.audit.page_words import WORDS
from privacy.audit.replay import audit_ledger
from tests.privacy.audit_parts import (
    edited,
    ledger_on,
    other_value,
    rechained,
    release,
    rich_ledger,
)
from tests.privacy.parts import START, MemoryLog

HOSTILE = "<script>alert(1)</script>\"'&{x}<img src=x onerror=y>"
VOID = {"meta", "input", "br"}


class Page(HTMLParser):
    """Reads a page strictly: every tag closed in order, every text and attribute kept."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def page_of(payloads: list[bytes], found: CrossCheck | None = None) -> tuple[str, Page]:
    source = render(audit_ledger(payloads), found)
    return source, Page(source)


def hostile_ledger() -> list[bytes]:
    """A device, a task and a stream named to break out of a page."""
    forged = rich_ledger()
    forged[0] = edited(forged[0], ("device",), lambda value: HOSTILE)
    forged[1] = edited(forged[1], ("task",), lambda value: HOSTILE)
    at = len(forged) - 4
    forged[at] = edited(forged[at], ("units",), lambda value: value | {HOSTILE: 5})
    return rechained(forged)


def test_hostile_names_are_text_and_nothing_else() -> None:
    source, page = page_of(hostile_ledger())
    assert "<script" not in source
    assert "<img" not in source
    assert HOSTILE in page.texts  # whole, as a name
    assert {tag for tag, _ in page.tags} <= {
        "html", "head", "meta", "title", "style", "body", "input", "label", "main", "h1", "h2",
        "h3", "div", "strong", "p", "span", "section", "ul", "li", "b", "i", "br", "code", "table",
        "tr", "th", "td", "svg", "text", "line", "rect", "circle", "polyline",
    }  # fmt: skip


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    source, page = page_of(rich_ledger())
    for tag, attributes in page.tags:
        assert not {"src", "href", "action", "style", "onclick", "onload"} & attributes.keys(), tag
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv"))
    style = re.search(r"<style>(.*?)</style>", source, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy is not None
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in policy
    assert "http" not in style[1]
    assert "url(" not in style[1]
    assert "prefers-color-scheme: dark" in style[1]


def verdict(source: str) -> str:
    found = re.search(r'<div class="verdict (\w+)">', source)
    assert found is not None
    assert source.index("verdict") < source.index("<svg")  # on top
    return found[1]


def test_the_verdict_is_on_top_and_right() -> None:
    assert verdict(page_of(rich_ledger())[0]) == "ok"
    forged = rich_ledger()
    forged[2] = edited(forged[2], ("sha256",), other_value)
    source, page = page_of(forged)
    assert verdict(source) == "bad"
    assert any("hash chain is broken" in text for text in page.texts)
    log = MemoryLog()
    release(ledger_on(log, DEMO), "usage", 1, START)
    assert verdict(page_of(log.payloads)[0]) == "not_private"


def test_accountants_that_disagree_turn_the_page_red() -> None:
    found = CrossCheck(1e-6, 1.0, 1.1, 2.0, 1.1, 1.0, ("accountants disagree: <pld>",))
    source, page = page_of(rich_ledger(), found)
    assert verdict(source) == "bad"
    assert "accountants disagree: <pld>" in page.texts
    assert "2.0000" in page.texts


def test_both_languages_stand_on_the_page_without_a_script() -> None:
    source, page = page_of(rich_ledger())
    languages = [attributes.get("lang") for tag, attributes in page.tags if tag == "span"]
    assert languages.count("en") == languages.count("zh-CN") > 40
    assert source.count('type="radio"') == 2
    for key, (english, chinese) in WORDS.items():
        assert english, key
        assert chinese, key
        places = [sorted(re.findall(r"\{\w+\}", text)) for text in (english, chinese)]
        assert places[0] == places[1], key


def test_the_figures_are_those_of_the_audit() -> None:
    audit = audit_ledger(rich_ledger())
    text = "\n".join(Page(render(audit)).texts)
    for spending in (*audit.streams, audit.total):
        assert f"{spending.units.lifetime:,}" in text
    assert audit.device in text
    assert audit.device_key in text


def test_every_chart_is_well_formed_and_drawn() -> None:
    source = page_of(hostile_ledger())[0]
    charts = re.findall(r"<svg.*?</svg>", source, re.DOTALL)
    assert len(charts) == 4
    for chart in charts:
        root = ElementTree.fromstring(chart)
        assert root.attrib["role"] == "img"
        assert len(root) > 4
    assert 'class="mark"' in charts[0]  # the quarantine
    assert 'class="limit"' in charts[0]  # the cap
    assert 'class="r1"' in charts[2]  # the forfeited charge


@pytest.mark.parametrize("payloads", [[], rich_ledger()[:1], rich_ledger()[:2]], ids=len)
def test_a_young_ledger_has_a_page_too(payloads: list[bytes]) -> None:
    source, page = page_of(payloads)
    assert verdict(source) == "ok"
    assert not any("nan" in text for text in page.texts)


def test_a_chart_of_many_points_stays_small() -> None:
    points = [(START + n, float(n)) for n in range(50_000)]
    svg = time_chart([Series("x", 1, points), Series("y", 2, points, kind="stems")], title="t")
    assert len(svg) < 1_000_000
    assert 'x1="352.0"' in svg  # the newest is still there, in the middle of its two days


def test_charts_escape_their_texts() -> None:
    for svg in (
        time_chart([Series(HOSTILE, 1, [(START, 1.0)])], title=HOSTILE),
        time_chart([], title=HOSTILE),
        bar_chart([Bar(HOSTILE, 1.0, 1)], title=HOSTILE),
    ):
        assert "<script" not in svg
        assert ElementTree.fromstring(svg).attrib["aria-label"] == HOSTILE
