"""Law 6: time, randomness, storage and network are given, never taken.

Read off the code itself: outside the composition roots no module asks the machine for them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("protocol", "privacy", "device", "cloud", "simulator")

TAKEN = {
    "time.time",
    "time.monotonic",
    "datetime.now",
    "datetime.datetime.now",
    "datetime.today",
    "date.today",
    "os.urandom",
    "secrets.token_bytes",
    "secrets.randbits",
    "secrets.randbelow",
    "uuid.uuid4",
    "np.random.default_rng",
    "np.random.seed",
    "np.random.normal",
    "numpy.random.default_rng",
}

ROOTS = {
    # Where a real phone, a real cloud and the auditor's view are put together.
    "cloud/admin/commands.py",
    "cloud/admin/looking.py",
    "cloud/cli.py",
    "cloud/doctor/commands.py",
    "cloud/documents/commands.py",
    "cloud/releases/commands.py",
    "cloud/releases/steer_commands.py",
    "cloud/serve.py",
    "cloud/training/seeds.py",
    "device/actors/clock.py",
    "device/interfaces/home.py",
    "simulator/cli.py",
    "simulator/world.py",
    # The watchman of this very law: it names what it catches.
    "simulator/sentries.py",
}


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def takings(source: str) -> Iterator[str]:
    """What a module takes from the machine."""
    for node in ast.walk(ast.parse(source)):
        # A reference hands the function on (a default, an argument); only a call takes.
        if isinstance(node, ast.Call) and dotted(node.func) in TAKEN:
            yield dotted(node.func)
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names]
            if "random" in names and isinstance(node, ast.Import):
                yield "import random"


def modules() -> list[Path]:
    return sorted(
        path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py")
    )


@pytest.mark.parametrize("path", modules(), ids=str)
def test_a_module_takes_nothing_from_the_machine(path: Path) -> None:
    if path.as_posix() in ROOTS:
        pytest.skip("a composition root")
    assert list(takings((ROOT / path).read_text(encoding="utf-8"))) == []


def test_the_reader_sees_what_it_looks_for() -> None:
    source = "import random, os, time\nx = os.urandom(4)\ny = time.time()\n"
    assert sorted(takings(source)) == ["import random", "os.urandom", "time.time"]
