"""What a light world leaves out, and that it says so."""

import json
from pathlib import Path

from rich.console import Console
from typer.testing import CliRunner

from simulator.cli import app
from simulator.fidelity import LIGHT, Fidelity, played, said
from simulator.lives import Lives
from simulator.page import render
from simulator.people import Ask, Compare, Do, Person, Say
from simulator.scenario import Agents, Scenario
from simulator.summary import say
from simulator.world import EPOCH


def _sessions(person: Person) -> list[str]:
    says = (deed for deed in person.deeds if isinstance(deed, Say))
    return list(dict.fromkeys(say.session for say in says))


def _lives(scenario: Scenario) -> Lives:
    return Lives(scenario, seed=3, start=EPOCH, days=3, data=None)


def test_a_light_world_has_every_third_conversation_and_asks_every_third_question() -> None:
    full, light = _lives(Scenario()), _lives(Scenario(fidelity="light"))
    done = could = 0
    for phone in range(9):
        whole, part = full.of(phone).person, light.of(phone).person
        assert [deed for deed in whole.deeds if deed in part.deeds] == list(part.deeds)
        said = [deed for deed in part.deeds if isinstance(deed, Say)]
        told = {say.line for say in said}
        sessions = _sessions(whole)
        had = sessions[phone % LIGHT :: LIGHT]
        assert 0 < len(had) < len(sessions)
        assert said == [
            deed
            for deed in whole.deeds
            if isinstance(deed, Say) and (deed.session in had or deed.line == "canary")
        ]
        askable = [
            deed for deed in whole.deeds if isinstance(deed, Ask) and told.issuperset(deed.evidence)
        ]
        asked = [deed for deed in part.deeds if isinstance(deed, Ask)]
        assert asked == askable[phone // LIGHT % LIGHT :: LIGHT]
        done += len(asked)
        could += len(askable)
    assert 0 < done < could / 2


def test_a_light_world_tells_its_secret_and_compares_only_what_was_said() -> None:
    light = _lives(Scenario(fidelity="light"))
    for phone in range(12):
        person = light.of(phone).person
        told = {deed.line for deed in person.deeds if isinstance(deed, Say)}
        assert any(isinstance(deed, Say) and person.canary in deed.text for deed in person.deeds)
        for deed in person.deeds:
            if isinstance(deed, Compare):
                assert {deed.first, deed.second} <= told


def test_agents_work_in_a_light_world_as_in_a_full_one() -> None:
    def runs(fidelity: Fidelity) -> list[Do]:
        lives = _lives(Scenario(fidelity=fidelity, agents=Agents(share=1.0)))
        return [deed for deed in lives.of(1).person.deeds if isinstance(deed, Do)]

    assert runs("light") == runs("full") != []


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
