"""From an operator's file to a phone's answer, with real processes and a real socket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from cloud.cli import app
from tests.cloud.processes import running_process
from tests.stories.test_two_terminals import Terminal

MOST_SYNCS = 60
FARE = {"id": "fare", "text": "A metro ticket costs 4 yuan", "language": "en", "source": "City"}


def publish(state: Path, *lines: dict[str, str]) -> Any:
    file = state.parent / "metro.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    options = ["--state", str(state), "--json"]
    done = CliRunner().invoke(app, ["publish", "knowledge", str(file), *options])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_published_fetched_recalled_renewed_dropped(tmp_path: Path) -> None:
    state, phone = tmp_path / "cloud", Terminal(tmp_path / "phone")
    serve = ("serve", "--state", str(state), "--port", "0", "--open-enrolment", "--budget", "demo")
    padding = [
        {"id": f"s{n:03}", "text": f"Stop {n} has {n * 7919 % 97} seats", "language": "en"}
        for n in range(200)
    ]
    with running_process(*serve, "--tick-seconds", "0.2") as cloud:
        assert publish(state, FARE, *padding)["version"] == 1
        phone.device("init", "--cloud", str(cloud.said["url"]), "--timezone", "UTC")
        assert held(phone, 1) == [("metro", 1, 201)]
        (best, *_) = phone.device_json("recall", "what does a metro ticket cost")["hits"]
        assert (best["layer"], best["text"]) == ("public", FARE["text"])
        assert best["public"] == {"document": "metro", "version": 1, "record": "fare"}

        phone.device("record", "A metro ticket costs me 3 yuan")
        first, second, *_ = phone.device_json("recall", "what does a metro ticket cost")["hits"]
        assert (first["public"], second["layer"]) == (None, "public")

        publish(state, FARE | {"text": "A metro ticket costs 5 yuan"}, *padding)
        assert held(phone, 2) == [("metro", 2, 201)]
        knowledge(phone, "drop", "metro")
        phone.device("sync", "--now")
        hits = phone.device_json("recall", "what does a metro ticket cost")["hits"]
        assert {hit["layer"] for hit in hits} <= {"raw", "working", "structured"}


def held(phone: Terminal, version: int) -> list[tuple[str, int, int]]:
    """What the phone holds once that version has come: the cloud shows it from its next step."""
    found: list[Any] = []
    for _ in range(MOST_SYNCS):
        phone.device("sync", "--now")
        found = json.loads(knowledge(phone, "list", "--json"))
        if any(each["version"] == version for each in found):
            break
    return [(each["name"], each["version"], each["records"]) for each in found]


def knowledge(phone: Terminal, command: str, *arguments: str) -> str:
    whole = ["knowledge", command, "--home", str(phone.home)]
    return phone._run("device.interfaces.cli", whole, arguments, 0)
