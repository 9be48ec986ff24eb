"""The phone's install is small: a clean environment gets neither torch nor ray, and works."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "ray", "opacus", "sqlalchemy", "aiohttp", "scipy", "dp-accounting")


@pytest.mark.install
def test_a_clean_base_install_remembers_without_torch_or_ray(tmp_path: Path) -> None:
    env = tmp_path / "venv"
    venv.create(env, with_pip=True)
    python, home = env / "bin" / "python", tmp_path / "phone"
    pip: list[str | Path] = [python, "-m", "pip", "--disable-pip-version-check"]
    run([*pip, "install", "-q", "-c", ROOT / "constraints.txt", ROOT])
    listed = json.loads(run([*pip, "list", "--format", "json"]))
    names = {package["name"].lower().replace("_", "-") for package in listed}
    assert names.isdisjoint(HEAVY), sorted(names & set(HEAVY))

    device: list[str | Path] = [env / "bin" / "reverie-device"]
    run([*device, "init", "--home", home])
    run([*device, "record", "--home", home, "I moved to 12 Elm Road"])
    answer = json.loads(run([*device, "recall", "--home", home, "--json", "Elm Road"]))
    assert answer["hits"][0]["text"] == "I moved to 12 Elm Road"
    run([env / "bin" / "reverie-audit", "ledger", home])


def run(command: list[str | Path]) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=Path(sys.prefix),
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
