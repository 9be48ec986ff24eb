"""report.json and report.html: what the seed decides, and whether a person can read it."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from rich.console import Console

from privacy.streams import USAGE_HISTOGRAMS
from simulator.charts import Series, bars, lines
from simulator.estimates import UsageSum, estimates
from simulator.faults.plan import FaultPlan
from simulator.labels import fault_name, law_name
from simulator.laws import LAWS
from simulator.page import render
from simulator.summary import say
from simulator.words import count, times
from simulator.world import Options, run_world

from .conftest import SMALL, Played, Report

KEYS = {
    "schema_version", "estimates", "groups",
    "phones", "virtual_days", "seed", "recall", "uploads_acked", "rounds", "releases",
    "bytes_per_device_day", "epsilon", "invariants", "wall_clock",
}  # fmt: skip
"""What the report promises to hold."""
INNER_KEYS = {
    "recall": {"answered", "by_layer"},
    "bytes_per_device_day": {"up", "down"},
    "epsilon": {"max", "median"},
    "invariants": {"checked", "violated"},
    "wall_clock": {"seconds"},
}
CHARTS = 9
"""Of a world too small for a round to close: no published counts, so no error of theirs."""
AXIS_Y = 202.0
"""Where the labels of a chart's x axis stand."""
LOADS = {"src", "href", "srcset", "data", "poster", "xlink:href", "action"}

BINS = bytes(len(USAGE_HISTOGRAMS))
"""A phone that is in the first bin of every histogram."""
SUM = UsageSum(
    "usage", 1, 2,
    [
        {"histogram": "language", "bin": "zh", "estimate": 0.9, "low": 0.7, "high": 1.0},
        {"histogram": "language", "bin": "en", "estimate": 0.3, "low": 0.1, "high": 0.5},
    ],
    [b"a", b"b"],
)  # fmt: skip

Timeless = Callable[[Report], Report]


def test_it_has_the_promised_keys(report: Report) -> None:
    assert set(report) >= KEYS
    for key, inner in INNER_KEYS.items():
        assert set(report[key]) >= inner, key
    for model in ("router", "dedup"):
        assert set(report["releases"][model]) >= {"published", "adopted", "accuracy"}
    assert isinstance(report["rounds"], int)


def test_the_same_seed_gives_the_same_report_on_one_host_or_three(
    report: Report, timeless: Timeless
) -> None:
    again = run_world(Options(SMALL.phones, SMALL.days, SMALL.seed, hosts=3))
    assert timeless(again) == timeless(report)


def test_another_seed_is_another_world(report: Report) -> None:
    other = run_world(Options(SMALL.phones, SMALL.days, SMALL.seed + 1))
    assert other["digest"] != report["digest"]
    assert other["invariants"]["violated"] == 0, other["invariants"]["violations"]


class Loads(HTMLParser):
    """Collects whatever a browser would fetch or run, and whether all tags are closed."""

    VOID = frozenset({"meta", "br", "link", "img", "input", "hr"})
    IMPLIED = frozenset({"tr", "td", "th"})

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [f"{tag} {name}" for name, _ in attrs if name in LOADS]
        self.loads += [tag] if tag in {"script", "link", "iframe", "img"} else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_stands_alone(played: Played) -> None:
    parser = Loads()
    parser.feed(played.page)
    assert parser.loads == []
    assert parser.open == []
    assert not re.search(r"https?://|url\(|@import", played.page)
    assert played.page.count("<svg") == CHARTS
    assert sorted(path.name for path in played.out.iterdir()) == ["report.html", "report.json"]


def test_the_page_is_readable_by_day_by_night_and_on_a_phone(played: Played) -> None:
    assert "prefers-color-scheme: dark" in played.page
    assert 'name="viewport" content="width=device-width' in played.page
    assert f'<span lang="en">{SMALL.phones} phones over 1 virtual day</span>' in played.page
    assert "protects nobody" in played.page


def test_the_page_shows_the_violations_and_trusts_no_text(report: Report) -> None:
    line = "law 1: phone 3: <script>alert(1)</script>"
    report["invariants"] |= {"violated": 1, "violations": [line]}
    report["data"] = "<b>mine</b>.json"
    page = render(report)
    assert '<span lang="en">1 violation</span>' in page
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    assert "<b>mine" not in page


def stale(day: float) -> dict[str, float]:
    return {"day": day, "fresh": 0.5, "median": 0.1, "p90": 1.0, "max": 2.0}


def version(number: int) -> Report:
    return {"version": number, "accuracy": 0.8, "phones": 1, "published_day": 0.0,
            "days_to_half": 0.1, "days_to_95": None}  # fmt: skip


@pytest.mark.parametrize(("phones", "days"), [(1, 1), (1_000, 60)])
def test_the_page_stays_small_for_any_fleet(report: Report, phones: int, days: int) -> None:
    report |= {"phones": phones, "virtual_days": days}
    report["timeline"] |= {
        "bytes_by_phone": [1000.0 + number for number in range(phones)],
        "epsilon_by_phone": [0.001 * number for number in range(phones)],
        "uploads_per_hour": [1] * (24 * days),
        "adoption": {"router": [{"day": hour / 24, "share": 0.5} for hour in range(24 * days)]},
        "staleness": {"router": [stale(6 * hour / 24) for hour in range(4 * days)]},
    }
    report["releases"]["router"]["versions"] = [
        version(number) for number in range(1, 13 * days + 1)
    ]
    page = render(report)
    assert page.count("<rect") < 600
    assert page.count("<tr>") < 80
    assert len(page) < 200_000


def test_the_page_of_a_fleet_where_nothing_happened(report: Report) -> None:
    report["releases"] = {
        model: {"published": 0, "adopted": 0, "kept_older": 0, "accuracy": [], "versions": []}
        for model in report["releases"]
    }
    report["recall"] = {"answered": 0, "useful": 0, "by_layer": {}, "decided_by": {}}
    report["timeline"] |= {
        "adoption": {"router": [], "dedup": []},
        "staleness": {"router": [], "dedup": []},
        "uploads_per_hour": [0] * 24,
    }
    assert render(report).count("none yet") == 4
    assert "none could be judged" in told(report)


CHINESE = re.compile("[\u4e00-\u9fff]")


class Tongues(HTMLParser):
    """What a reader of one language sees: all text but what is marked as in another."""

    def __init__(self, shown: str) -> None:
        super().__init__()
        self.shown, self.text = shown, ""
        self._open: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in Loads.VOID:
            self._open.append(dict(attrs).get("lang") if tag in {"span", "text"} else None)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """It holds no text."""

    def handle_endtag(self, tag: str) -> None:
        self._open.pop()

    def handle_data(self, data: str) -> None:
        if all(tongue in (None, self.shown) for tongue in self._open):
            self.text += data


def read_in(tongue: str, page: str) -> str:
    body = re.sub(
        r"<nav.*?</nav>|<title>.*?</title>", "", page.split("<body>")[1].split("</body>")[0]
    )
    parser = Tongues(tongue)
    parser.feed(body)
    return parser.text


def test_a_reader_of_one_language_reads_no_other(report: Report) -> None:
    report["faults"] = {name: {"rate": 0.1, "fired": 2} for name in FaultPlan.model_fields}
    report["data"] = ""
    page = render(report)
    assert not CHINESE.search(read_in("en", page))
    chinese = read_in("zh", page)
    for english in ("phones", "Adoption", "Staleness", "window", "accuracy", "checked", "rounds"):
        assert english not in chinese
    assert all(word in chinese for word in ("部手机", "陈旧程度", "法则", "丢包", "数据库重启"))


def test_faults_have_their_place_and_without_any_there_is_none(report: Report) -> None:
    report.pop("faults", None)
    assert "Faults and what they did" not in render(report)
    report["faults"] = {"cut": {"rate": 0.25, "fired": 12}, "kill": {"rate": 3.0, "fired": 0}}
    page = render(report)
    assert "Faults and what they did" in page
    assert '<td class="n">0.25</td><td class="n">12</td>' in page
    assert '<td class="n">3</td><td class="n alarm">0</td>' in page


def test_published_counts_are_drawn_beside_the_truth(report: Report) -> None:
    report["estimates"] = estimates([SUM], {b"a": BINS, b"b": BINS})
    page = render(report)
    assert page.count("<svg") == CHARTS + 1
    assert page.count('<div class="bin off">') == 1
    assert "50 % of the 2 intervals hold the truth" in page


def labels(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


@pytest.mark.parametrize("last", [1, 2, 3, 7, 40])
def test_a_version_axis_names_whole_versions_only(last: int) -> None:
    series = Series("router", [(version, 80.0) for version in range(1, last + 1)])
    svg = lines([series], title="t", x_label="version", top=100.0, whole=True)
    ticks = [float(said) for said in re.findall(rf'y="{AXIS_Y}"[^>]*>([^<]*)<', svg)]
    assert ticks[0] == 1.0
    assert all(tick.is_integer() and tick <= last for tick in ticks)


@pytest.mark.parametrize("dots", [True, False])
def test_a_single_point_is_a_dot_inside_the_frame(dots: bool) -> None:
    svg = lines([Series("a", [(1, 50.0)], dots=dots)], title="t", x_label="x", whole=True)
    (place,) = re.findall(r'<circle class="f1" cx="([\d.]+)" cy="([\d.]+)"', svg)
    assert 60 < float(place[0]) < 480
    assert 0 < float(place[1]) < 200


def test_equal_series_do_not_hide_each_other() -> None:
    points = [(0.0, 1.0), (1.0, 2.0)]
    svg = lines([Series("a", points, dots=True), Series("b", points, dots=True)], title="t",
                x_label="x")  # fmt: skip
    assert svg.count("dashed") == 1
    first, second = (re.findall(rf'class="f{n}".*?r="([\d.]+)"', svg)[0] for n in (1, 2))
    assert float(first) > float(second)


def test_an_axis_of_counts_has_no_fractions() -> None:
    said = labels(bars([1, 0], ["x", "y"], title="t", whole=True))
    assert said == ["0", "1", "x", "y"]


def told(report: Report) -> str:
    console = Console(file=io.StringIO(), width=200)
    say(report, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_summary_tells_what_was_promised(played: Played, report: Report) -> None:
    for word in ("Fleet", "turns kept", "Recalls", "best memory from", "Uploads", "Rounds",
                 "Router", "Dedup", "KiB up", "ε", "Laws", "no violation"):  # fmt: skip
        assert word in played.printed
    assert f"{SMALL.phones} phones, 1 day;" in told(report)
    assert report["budget"]["says"] in " ".join(told(report).split())


def test_the_summary_counts_as_people_do(report: Report) -> None:
    report["releases"]["router"] |= {"published": 1, "adopted": 1, "kept_older": 1}
    report["releases"]["dedup"] |= {"published": 2, "adopted": 0, "kept_older": 3}
    report["network"]["cuts"] = 1
    report["invariants"]["violated"] = 1
    summary = told(report)
    assert "1 version published, 1 adoption; phones kept the older one once" in summary
    assert "2 versions published, 0 adoptions; phones kept the older one 3 times" in summary
    assert "1 connection cut" in summary
    assert "1 violation in" in summary
    assert not re.search(r"\b1 \w+s\b(?! %)", summary.split("budget (")[0])


def test_the_summary_of_a_private_budget_claims_it_and_no_other_does(report: Report) -> None:
    assert "protects nobody" in told(report)
    report["budget"] |= {"name": "production", "private": True}
    summary = told(report)
    assert "protects nobody" not in summary
    assert "δ 1e-06" in summary


def test_numbers_in_words() -> None:
    assert [count(n, "phone") for n in (0, 1, 1200)] == ["0 phones", "1 phone", "1,200 phones"]
    assert [times(n) for n in (1, 2, 11)] == ["once", "twice", "11 times"]


@pytest.mark.parametrize("name", [*FaultPlan.model_fields, *LAWS])
def test_every_fault_and_law_has_a_chinese_name(name: str) -> None:
    said = (law_name if name in LAWS else fault_name)(name)
    assert CHINESE.search(said.zh)
    assert not CHINESE.search(said.en)
