"""Worlds as files: what they may say, what is said of a fault in one, and that each plays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from simulator import cli
from simulator.faults.plan import FaultPlan
from simulator.habits import HabitName
from simulator.scenario import (
    About,
    Mix,
    Scenario,
    ScenarioUnreadable,
    load_scenario,
    ready_scenarios,
)
from simulator.world import Options, run_world

READY = ["city", "commuters", "demo", "half-offline", "outage", "release-day"]
HOURS = 24


def written(folder: Path, text: str) -> str:
    file = folder / "world.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def refusal(named: str) -> str:
    with pytest.raises(ScenarioUnreadable) as caught:
        load_scenario(named)
    said = str(caught.value)
    assert "\n" not in said
    return said


def test_the_defaults_are_the_demo() -> None:
    assert load_scenario("demo") == Scenario()
    assert Options.of(Scenario(), "inproc", 1) == Options(phones=50, days=3)


def test_the_ready_ones_speak_two_languages() -> None:
    ready = ready_scenarios()
    assert [one.name for one in ready] == READY
    for one in ready:
        assert one.about.en.isascii()
        assert any("\u4e00" <= sign <= "\u9fff" for sign in one.about.zh)


def test_a_file_says_all_there_is_to_say(tmp_path: Path) -> None:
    scenario = load_scenario(
        written(
            tmp_path,
            """
name: mine
about: {en: A test., zh: 一个测试。}
phones: 7
days: 2
seed: 5
budget: production
aggregation: local
data: dialogues
mix: {alpha: 0.1, dialogues: 3}
agents: {share: 0.5, episodes: runs.jsonl}
population: {commuter: 2, night-shift: 1}
balanced: true
availability: trace.csv
zones: {en: [Asia/Kolkata]}
faults: {loss: 0.1, kill: {rate: 2, to_day: 1}}
""",
        )
    )
    assert scenario.about == About(en="A test.", zh="一个测试。")
    assert scenario.mix == Mix(alpha=0.1, dialogues=3)
    assert scenario.population == {HabitName.COMMUTER: 2.0, HabitName.NIGHT_SHIFT: 1.0}
    assert scenario.data == tmp_path / "dialogues"
    assert scenario.availability == tmp_path / "trace.csv"
    assert scenario.agents.episodes == tmp_path / "runs.jsonl"
    assert scenario.faults.loss.rate == 0.1
    assert scenario.faults.kill.to_day == 1
    assert scenario.faults.cut == FaultPlan().cut


def test_flags_hold_over_the_file() -> None:
    changed = load_scenario("outage").changed(phones=3, seed=None, availability=Path("x.csv"))
    assert (changed.phones, changed.days, changed.availability) == (3, 7, Path("x.csv"))
    options = Options.of(changed, "ray", 2)
    assert (options.phones, options.days, options.hosts, options.runtime) == (3, 7, 2, "ray")
    assert options.scenario is changed
    with pytest.raises(ScenarioUnreadable, match="phones: Input should be greater"):
        changed.changed(phones=0)


def test_the_storm_has_a_short_name(tmp_path: Path) -> None:
    file = written(tmp_path, "faults: {storm: 0.5, to_day: 2, kill: 0.25}")
    faults = load_scenario(file).faults
    stormy = FaultPlan.storm(0.5, to_day=2)
    assert faults == stormy.model_copy(update={"kill": faults.kill})
    assert faults.kill.rate == 0.25


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("days: 3\nphone: 9", "line 2: phone: no such field; allowed: name, about, phones"),
        ("mix: {alpha: 1}\nfaults:\n  los: 1", "line 3: faults.los: no such field; allowed: unrea"),
        ("mix:\n  alpha: 0", "line 2: mix.alpha: Input should be greater than 0"),
        ("phones: many", "line 1: phones: Input should be a valid integer"),
        ("population: {dolphin: 1}", "line 1: population.dolphin: Input should be 'measured', 'ni"),
        ("population: {measured: 0}", "line 1: population: some habit needs a share above 0"),
        ("zones: {en: [Mars/Base]}", "line 1: zones: 'Mars/Base' is no IANA time zone"),
        ("zones: {en: [../../etc/passwd]}", "is no IANA time zone"),
        ("about: {en: only}", "line 1: about.zh: Field required"),
        ("faults: {storm: much}", "line 1: faults: storm is a strength from 0 on"),
        ("days: 3\ndays: 4", "line 2: days stands here a second time"),
        ("a: &x [1]\nb: *x", "line 1: anchors and aliases are not allowed"),
        ("phones: [1", "line 1: "),
        ("- 1", "line 1: give fields, one a line"),
        ("name: !!python/object/apply:os.system [x]", "line 1: could not determine a constructor"),
        ("fidelity: low", "line 1: fidelity: Input should be 'full' or 'light'"),
        ("days: 2001-99-99", "line 1: "),
        ("[" * 2000, "line 1: "),
        ("name: " + "x" * 70_000, "over 64 KiB"),
    ],
)
def test_a_fault_in_a_file_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    file = written(tmp_path, text)
    told = refusal(file)
    assert told.startswith(file)
    assert said in told


def test_what_is_no_file_at_all() -> None:
    assert "there are city, commuters, demo," in refusal("nowhere")
    assert "cannot read absent.yaml: No such file" in refusal("absent.yaml")


def test_an_empty_file_is_the_demo(tmp_path: Path) -> None:
    assert load_scenario(written(tmp_path, "")) == Scenario()


def test_the_command_lists_them() -> None:
    listed = CliRunner().invoke(cli.app, ["scenarios", "--json"])
    assert [one["name"] for one in json.loads(listed.output)] == READY
    shown = CliRunner().invoke(cli.app, ["scenarios"])
    assert shown.exit_code == 0
    assert all(name in shown.output for name in READY)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--scenario", "nowhere"], "no scenario is called 'nowhere'"),
        (["--availability", "absent.csv"], "cannot read absent.csv: No such file"),
    ],
)
def test_the_command_refuses_in_one_line(tmp_path: Path, arguments: list[str], said: str) -> None:
    refused = CliRunner().invoke(cli.app, ["run", "--out", str(tmp_path), *arguments])
    assert refused.exit_code == 2
    assert said in refused.output
    assert "Traceback" not in refused.output


@pytest.mark.parametrize("name", sorted(set(READY) - {"demo", "outage"}))
def test_each_is_played(name: str) -> None:
    report = run_world(Options.of(load_scenario(name).changed(phones=2, days=1), "inproc", 1))
    assert report["invariants"]["violated"] == 0, report["invariants"]["violations"]
    assert report["records"] > 0
    assert report["recall"]["answered"] > 0


def test_nothing_arrives_while_the_cloud_is_down() -> None:
    report = run_world(Options.of(load_scenario("outage").changed(phones=2, days=3), "inproc", 1))
    assert report["invariants"]["violated"] == 0, report["invariants"]["violations"]
    uploads = report["timeline"]["uploads_per_hour"]
    down = uploads[2 * HOURS :]
    assert len(down) == HOURS
    assert sum(uploads[: 2 * HOURS]) > 0
    assert sum(down) == 0
    assert report["network"]["unreachable"] > 0
