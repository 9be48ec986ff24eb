"""What a light world leaves out, and that it says so."""

import json
from pathlib import Path

from rich.console import Console
from typer.testing import CliRunner

from simulator.cli import app
from simulator.fidelity import LIGHT_ASKS, played, said
from simulator.lives import Lives
from simulator.page import render
from simulator.people import Ask
from simulator.scenario import Scenario
from simulator.summary import say
from simulator.world import EPOCH


def _lives(scenario: Scenario) -> Lives:
    return Lives(scenario, seed=3, start=EPOCH, days=3, data=None)


def test_a_light_world_asks_one_question_in_four_and_says_all_the_rest() -> None:
    full, light = _lives(Scenario()), _lives(Scenario(fidelity="light"))
    for phone in range(6):
        whole, part = full.of(phone).person.deeds, light.of(phone).person.deeds
        asks = [deed for deed in whole if isinstance(deed, Ask)]
        asked = [deed for deed in part if isinstance(deed, Ask)]
        assert asked == asks[phone % LIGHT_ASKS :: LIGHT_ASKS]
        assert 0 < len(asked) < len(asks)
        assert [deed for deed in part if not isinstance(deed, Ask)] == [
            deed for deed in whole if not isinstance(deed, Ask)
        ]


def test_a_full_world_leaves_nothing_out() -> None:
    person = _lives(Scenario()).of(0).person
    assert played("full", person, 0) is person
    assert said("full") is None


def test_the_report_the_page_and_the_summary_say_what_was_lowered(tmp_path: Path) -> None:
    arguments = ["run", "--phones", "2", "--days", "1", "--out", str(tmp_path), "--json"]
    done = CliRunner().invoke(app, [*arguments, "--fidelity", "light"])
    assert done.exit_code == 0, done.output
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert report["fidelity"] == said("light")
    page = render(report)
    assert report["fidelity"] in page
    assert "精度 light" in page
    console = Console(record=True, width=300)
    say(report, console)
    assert report["fidelity"] in console.export_text()
    del report["fidelity"]
    assert "Fidelity" not in render(report)
