"""The README's story in two terminals, with real processes and a real socket."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simulator.sample import DIALOGUES, QUESTIONS
from tests.cloud.processes import running_process

MOST_SYNCS = 60


class Terminal:
    """Runs `reverie-device` and `reverie-audit` for one phone's folder."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def device(self, command: str, *arguments: str, code: int = 0) -> str:
        return self._run(
            "device.interfaces.cli", [command, "--home", str(self.home)], arguments, code
        )

    def device_json(self, command: str, *arguments: str) -> Any:
        return json.loads(self.device(command, "--json", *arguments))

    def audit(self, *arguments: str, code: int = 0) -> str:
        return self._run("privacy.cli", ["ledger", str(self.home)], arguments, code)

    def _run(self, module: str, command: list[str], rest: tuple[str, ...], code: int) -> str:
        program = f"from {module} import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", program, *command, *rest],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        said = done.stdout + done.stderr
        assert done.returncode == code, said
        assert "Traceback" not in said
        return done.stdout if code == 0 else said


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal(tmp_path / "phone")


def test_init_import_recall_sync_status_audit(terminal: Terminal, tmp_path: Path) -> None:
    state = str(tmp_path / "cloud")
    serve = ("serve", "--state", state, "--port", "0", "--open-enrolment", "--budget", "demo")
    with running_process(*serve) as cloud:
        terminal.device("init", "--cloud", str(cloud.said["url"]), "--timezone", "Asia/Shanghai")
        assert terminal.device_json("import", str(DIALOGUES))["imported"] == 390
        assert terminal.device_json("import", str(DIALOGUES)) == {"imported": 0, "known": 390}

        answer = terminal.device_json("recall", "林晓住在哪里？")
        assert answer["hits"]
        assert {"id", "source", "at"} <= set(answer["hits"][0])

        # The first models train while the cloud already answers, so their rounds open later.
        acked = 0
        for _ in range(MOST_SYNCS):
            acked += terminal.device_json("sync", "--now")["uploads_acked"]
            if acked == 3:
                break
        assert acked == 3
        status = terminal.device_json("status")
        assert status["device_id"]
        assert status["budget"]["reports"] == 3
        assert "NOT PRIVATE" in terminal.audit()

        terminal.device("dream", "--now")
        assert json.loads(terminal.device("list", "--json"))
        code, errors = cloud.end()
        assert code == 0, errors
    said = terminal.device("sync", "--now", code=1)
    assert "reverie-cloud serve" in said
    assert terminal.device_json("status")["memory"]["turns"] == 390


def test_most_questions_about_the_sample_find_their_turn(terminal: Terminal) -> None:
    """A sanity floor for what the README shows, not a benchmark."""
    terminal.device("init")
    terminal.device("import", str(DIALOGUES))
    turns = {
        row["text"]: row["id"] for row in map(json.loads, DIALOGUES.read_text("utf-8").splitlines())
    }
    questions = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()][::9]
    found = 0
    for question in questions:
        answer = terminal.device_json("recall", "-k", "10", question["query"])
        hits = {turns.get(hit["text"]) for hit in answer["hits"]}
        found += bool(hits & set(question["evidence"]))
    assert found >= len(questions) * 0.5, f"{found} of {len(questions)}"


def test_what_a_user_can_get_wrong_is_one_clear_line(terminal: Terminal, tmp_path: Path) -> None:
    assert "reverie-device init" in terminal.device("status", code=1)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        assert "reverie-cloud serve" in terminal.device("init", "--cloud", url, code=1)
    assert not terminal.home.exists()
    assert "no address" in terminal.device("init", "--cloud", "nonsense", code=1)

    terminal.device("init")
    assert "already" in terminal.device("init", code=1)
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"at": "2026-01-01T10:00:00Z", "speaker": "u", "text": "kept?"}\n{broken\n')
    assert "line 2" in terminal.device("import", str(bad), code=1)
    assert "missing.jsonl" in terminal.device("import", str(tmp_path / "missing.jsonl"), code=1)

    terminal.device("record", "I moved to 12 Elm Road")
    (key,) = terminal.home.glob("*.key")
    kept = key.read_bytes()
    key.write_bytes(bytes(32))
    terminal.device("recall", "Elm Road", code=1)
    key.write_bytes(kept)
    assert terminal.device_json("recall", "Elm Road")["hits"]


def test_commands_are_served_while_the_daemon_owns_the_phone(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.device("init")
    script = tmp_path / "conditions.json"
    script.write_text('{"intervals": [{"start": 0, "end": 9e9}]}')
    daemon = subprocess.Popen(
        [
            *(sys.executable, "-u", "-c", "from device.interfaces.cli import main; main()"),
            *("run", "--home", str(terminal.home), "--conditions", str(script)),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert daemon.stdout is not None
        assert "watches over" in daemon.stdout.readline()
        terminal.device("record", "I prefer the aisle seat")
        assert terminal.device_json("recall", "aisle seat")["hits"]
        terminal.device("dream", "--now")
        assert terminal.device_json("status")["memory"]["items"] == 1
        daemon.send_signal(signal.SIGTERM)
        said = daemon.communicate(timeout=30)[0]
        assert daemon.returncode == 0
        assert "nothing is lost" in said
    finally:
        daemon.kill()
        daemon.communicate()
    assert terminal.device_json("recall", "aisle seat")["hits"]


def test_brackets_in_names_and_memories_are_shown_as_they_are(tmp_path: Path) -> None:
    """What looks like markup is somebody's path or words, never an instruction or a traceback."""
    terminal = Terminal(tmp_path / "home [" / "b]")
    odd = "[/red] remember [bold]this"
    assert "[/b]" in terminal.device("status", code=1)
    terminal.device("init")
    terminal.device("record", odd)
    assert terminal.device_json("recall", "remember this")["hits"][0]["text"] == odd
    assert "[/red]" in terminal.device("recall", "remember this")
    chat = tmp_path / "chat[i].txt"
    chat.write_text("neither of the formats")
    assert "chat[i].txt" in terminal.device("import", str(chat), code=1)
