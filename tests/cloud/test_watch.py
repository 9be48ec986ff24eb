"""Alarms: raised once, seen while they last, cleared with hysteresis, on both databases."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import insert, select
from typer.testing import CliRunner

from cloud.actors.drift import LEAST_PAST
from cloud.actors.findings import Finding, failing_rounds
from cloud.actors.watch import KINDS, Alarm, Watch, standing
from cloud.cli import app
from cloud.gateway.metrics import Metrics
from cloud.releases.tables import rollouts
from cloud.service import Cloud
from cloud.storage import Database
from cloud.storage.tables import aggregates, events, releases, rounds
from privacy import BUDGETS
from privacy.estimation import estimate_histograms, total_noise
from privacy.streams import USAGE_DIMENSION, USAGE_HISTOGRAMS
from tests.cloud.world import START, database_in

WEEK = 7 * 86_400.0
PHONES = 10_000
TERMS = BUDGETS["production"].terms("usage", PHONES)
SIGMA = total_noise(TERMS.sigma, PHONES, TERMS.n_min)
USUAL: dict[str, tuple[float, ...]] = {
    "decided_by": (0.62, 0.22, 0.06, 0.10),
    "top_layer": (0.25, 0.4, 0.25, 0.1),
    "language": (0.7, 0.2, 0.04, 0.06),
    "queries": (0.1, 0.3, 0.4, 0.15, 0.05),
    "records": (0.2, 0.3, 0.35, 0.15),
    "usefulness": (0.5, 0.05, 0.1, 0.15, 0.2),
    "router_adoption": (0.9, 0.09, 0.01),
    "dedup_adoption": (0.9, 0.09, 0.01),
}
"""What the fleet answers in a quiet week."""


class Fleet:
    """A cloud's database, and a watch over what is written there."""

    def __init__(self, url: str) -> None:
        self.database = Database(url)
        self.watch = Watch(url, "production")
        self.rng = np.random.Generator(np.random.Philox(key=5))
        self.week = 0

    def close(self) -> None:
        self.watch.close()
        self.database.close()

    @property
    def now(self) -> float:
        return START + self.week * WEEK

    def hear(self, **changed: tuple[float, ...]) -> list[Alarm]:
        """One week's usage round, with the noise of a production round; what stands after it."""
        self.week += 1
        shares = np.concatenate([(USUAL | changed)[each.name] for each in USAGE_HISTOGRAMS])
        total = shares * PHONES + self.rng.normal(0.0, SIGMA, USAGE_DIMENSION)
        units = np.rint(total * TERMS.scale).astype(np.int64)
        found = estimate_histograms(units, PHONES, TERMS.scale, SIGMA)
        self.ends("usage", "closed")
        row = {"task": "usage", "round": self.week, "base_version": 0, "n": PHONES}
        row |= {"scale": TERMS.scale, "clip": TERMS.clip, "sigma": SIGMA, "total": b""}
        row |= {"estimates": {"histograms": [one._asdict() for one in found]}}
        with self.database.write() as connection:
            connection.execute(insert(aggregates).values(created=self.now, **row))
        return self.watch.step(self.now)

    def ends(self, task: str, status: str, reason: str = "", reports: int = 0) -> None:
        """A round of this week that has ended."""
        row = {"task": task, "round": self.week, "status": status, "reason": reason}
        row |= {"dimension": 1, "scale": 1, "clip": 1.0, "sigma": 1.0, "n_min": 100}
        row |= {"base_version": 0, "budget": "production", "descriptor": b"", "reports": reports}
        with self.database.write() as connection:
            connection.execute(insert(rounds).values(opens=self.now - WEEK, closes=self.now, **row))

    def judged(self, version: int, status: str, model: str = "router") -> None:
        """A candidate and what became of it; a release begins its rollout now."""
        row = {"model": model, "version": version, "parent": 0, "status": status, "metrics": {}}
        row |= {"parameters": "", "sha256": b"", "epsilon": 1.0, "delta": 1e-6}
        with self.database.write() as connection:
            connection.execute(insert(releases).values(created=self.now, **row))
            if status in ("staged", "published"):
                where = {"model": model, "version": version, "percent": 1}
                connection.execute(
                    insert(rollouts).values(started=self.now, since=self.now, **where)
                )

    def events(self) -> list[tuple[str, str]]:
        query = select(events.c.kind, events.c.detail).order_by(events.c.id)
        with self.database.read() as connection:
            return [(row.kind, row.detail["alarm"]) for row in connection.execute(query)]


@pytest.fixture
def fleet(each_database: str, tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(database_in(tmp_path))
    yield made
    made.close()


def names(found: list[Alarm]) -> list[str]:
    return [alarm.key for alarm in found]


MORE_RAW = (0.25, 0.3, 0.35, 0.1)


def test_a_shift_of_ten_points_raises_in_its_week_and_clears_when_it_is_usual(
    fleet: Fleet,
) -> None:
    for _ in range(8):
        assert fleet.hear() == []
    (alarm,) = fleet.hear(top_layer=MORE_RAW)
    assert (alarm.key, alarm.kind, alarm.cleared) == ("drift:top_layer", "drift", None)
    assert alarm.raised == alarm.seen == fleet.now
    detail = alarm.detail
    assert (detail["subject"], detail["phones"], detail["past_rounds"]) == ("top_layer", PHONES, 8)
    assert detail["bin"] in ("structured", "raw")
    assert abs(detail["share"] - detail["usual"]) == pytest.approx(0.1, abs=0.02)
    assert detail["distance"] > detail["bound"]
    raised = alarm.raised
    (again,) = fleet.hear(top_layer=MORE_RAW)
    assert (again.raised, again.seen) == (raised, fleet.now), "raised once, seen while it lasts"
    for _ in range(12):
        last = fleet.hear(top_layer=MORE_RAW)
    assert last == [], "what a fleet does for two months is its own"
    assert fleet.events() == [
        ("alarm_raised", "drift:top_layer"),
        ("alarm_cleared", "drift:top_layer"),
    ]


def test_every_step_may_run_twice(fleet: Fleet) -> None:
    for _ in range(5):
        fleet.hear()
    raised = fleet.hear(language=(0.5, 0.4, 0.04, 0.06))
    assert names(raised) == ["drift:language"]
    assert fleet.watch.step(fleet.now) == raised
    assert len(fleet.events()) == 1
    (later,) = fleet.watch.step(fleet.now + 60.0)
    assert (later.raised, later.seen) == (fleet.now, fleet.now + 60.0)


def test_an_alarm_that_comes_back_is_raised_anew(fleet: Fleet) -> None:
    for _ in range(8):
        fleet.hear()
    first = fleet.hear(top_layer=MORE_RAW)[0].raised
    assert fleet.hear() == [], "back to what it was, and the odd week hardly counts"
    (again,) = fleet.hear(top_layer=MORE_RAW)
    assert again.raised == fleet.now > first
    kinds = [kind for kind, _ in fleet.events()]
    assert kinds == ["alarm_raised", "alarm_cleared", "alarm_raised"]
    with fleet.database.read() as connection:
        assert len(standing(connection, past=True)) == 1


def test_without_a_past_nothing_drifts(fleet: Fleet) -> None:
    everyone, nobody = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)
    for week in range(LEAST_PAST):
        assert fleet.hear(language=everyone if week % 2 else nobody) == []
    assert names(fleet.hear(language=everyone)) == ["drift:language"]


def test_a_new_release_is_no_drift(fleet: Fleet) -> None:
    for _ in range(8):
        fleet.hear()
    found = fleet.hear(router_adoption=(0.1, 0.9, 0.0), top_layer=MORE_RAW)
    assert names(found) == ["drift:top_layer"]


def test_refusals_of_a_release_ring_before_they_withdraw_it(fleet: Fleet) -> None:
    fleet.judged(2, "staged")
    assert fleet.hear(router_adoption=(0.8, 0.18, 0.02)) == []
    (alarm,) = fleet.hear(router_adoption=(0.8, 0.12, 0.08))
    assert (alarm.key, alarm.kind) == ("refusals:router", "refusals")
    assert alarm.detail["version"] == 2
    assert alarm.detail["share"] == pytest.approx(0.4, abs=0.06)
    assert 0.25 < alarm.detail["at_least"] < alarm.detail["share"]
    between = fleet.hear(router_adoption=(0.8, 0.15, 0.05))
    assert names(between) == ["refusals:router"], "neither raised nor calm: it stays"
    assert fleet.hear(router_adoption=(0.8, 0.19, 0.01)) == []


def test_refusals_below_the_bound_raise_nothing(fleet: Fleet) -> None:
    fleet.judged(2, "published")
    assert fleet.hear(router_adoption=(0.8, 0.15, 0.05)) == [], "in between, and none stood"


def test_what_was_said_before_any_release_is_about_none(fleet: Fleet) -> None:
    assert fleet.hear(router_adoption=(0.2, 0.1, 0.7)) == []


def test_two_failed_rounds_in_a_row_say_why_and_what_to_do(fleet: Fleet) -> None:
    fleet.week = 1
    fleet.ends("router", "expired", "too few", reports=40)
    assert fleet.watch.step(fleet.now) == []
    fleet.week = 2
    fleet.ends("router", "expired", "too few", reports=60)
    (alarm,) = fleet.watch.step(fleet.now)
    assert alarm.key == "rounds_failing:router"
    assert alarm.detail == {
        "subject": "router",
        "rounds": [1, 2],
        "status": "expired",
        "reason": "too_few_reports",
        "todo": "gather_phones",
        "reports": 60,
        "n_min": 100,
    }
    fleet.week = 3
    fleet.ends("router", "closed", reports=100)
    assert fleet.watch.step(fleet.now) == []


@pytest.mark.parametrize(
    ("reason", "code", "todo"),
    [
        ("implausible", "implausible_sum", "look_for_poisoning"),
        ("invalid", "unproven_reports", "look_for_poisoning"),
        ("the helper answered another batch", "helper_answered_another", "check_helper"),
        ("seal", "sealed_for_another_helper", "check_helper_key"),
        ("something new", "helper_refused", "check_helper"),
    ],
)
def test_every_reason_has_a_code_and_advice(
    tmp_path: Path, reason: str, code: str, todo: str
) -> None:
    made = Fleet(database_in(tmp_path))
    for week in (1, 2):
        made.week = week
        made.ends("dedup", "refused", reason)
    with made.database.read() as connection:
        (found,) = failing_rounds(connection)
    made.close()
    assert isinstance(found, Finding)
    assert (found.level, found.detail["reason"], found.detail["todo"]) == ("raised", code, todo)


def test_three_rejected_candidates_in_a_row_ring_until_one_passes(fleet: Fleet) -> None:
    fleet.judged(1, "published")
    for version in (2, 3):
        fleet.judged(version, "rejected")
        assert fleet.watch.step(fleet.now) == []
    fleet.judged(4, "rejected")
    (alarm,) = fleet.watch.step(fleet.now)
    assert (alarm.key, alarm.detail["versions"]) == ("rejected:router", [2, 3, 4])
    fleet.judged(5, "candidate")
    assert names(fleet.watch.step(fleet.now)) == ["rejected:router"], "not judged yet"
    fleet.judged(6, "staged")
    assert fleet.watch.step(fleet.now) == []


def test_what_an_alarm_says_is_codes_and_numbers(fleet: Fleet) -> None:
    fleet.judged(1, "rejected")
    fleet.judged(2, "rejected")
    fleet.judged(3, "rejected")
    (alarm,) = fleet.watch.step(fleet.now)
    text = json.dumps(alarm.detail)
    assert json.loads(text) == alarm.detail
    assert alarm.kind in KINDS


def test_the_gauge_counts_by_kind() -> None:
    metrics = Metrics()
    metrics.alarmed(["drift", "drift", "rejected"])
    assert metrics.value("reverie_alarms", kind="drift") == 2.0
    metrics.alarmed(["drift"])
    assert metrics.value("reverie_alarms", kind="drift") == 1.0
    assert metrics.value("reverie_alarms", kind="rejected") == 0.0
    assert b'kind="rejected"' not in metrics.exposition()


async def test_the_tick_keeps_watch(cloud: Cloud) -> None:
    made = Fleet(cloud.config.database_url)
    for version in (11, 12, 13):
        made.judged(version, "rejected")
    await cloud.tick(START + 60.0)
    assert cloud.metrics.value("reverie_alarms", kind="rejected") == 1.0
    with made.database.read() as connection:
        assert names(standing(connection)) == ["rejected:router"]
    made.close()


def run(state: Path, *arguments: str) -> Any:
    return CliRunner().invoke(app, ["alarms", "--state", str(state), *arguments])


def test_the_command_lists_them(state: Path) -> None:
    made = Fleet(database_in(state))
    for version in (11, 12, 13):
        made.judged(version, "rejected")
    made.watch.step(made.now)
    shown = run(state, "--json")
    assert shown.exit_code == 0, shown.output
    (alarm,) = json.loads(shown.stdout)
    assert (alarm["key"], alarm["cleared"]) == ("rejected:router", None)
    shown = run(state).stdout
    assert "rejected:router  raised" in shown
    assert "versions  [11, 12, 13]" in shown
    made.judged(14, "published")
    made.watch.step(made.now + 1.0)
    made.close()
    assert json.loads(run(state, "--json").stdout) == []
    assert json.loads(run(state, "--past", "--json").stdout)[0]["cleared"] == made.now + 1.0


def test_the_command_needs_a_cloud(tmp_path: Path) -> None:
    shown = run(tmp_path)
    assert shown.exit_code == 2
    assert "there is no cloud" in shown.stderr
