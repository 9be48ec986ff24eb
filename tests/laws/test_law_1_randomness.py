"""Law 1: noise comes from the bits a mechanism is given, and from nowhere else.

Read off the code itself: what can be reached by import from the gate, the helper or a mechanism
takes no randomness and no time from the machine.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOORS = (
    "privacy.gate",
    "privacy.ledger",
    "privacy.estimation",
    "privacy.secagg.helper",
    "privacy.secagg.leader",
    "privacy.mechanisms",
)
"""Where randomised bytes are made, summed and read."""

BANNED_MODULES = {"random", "secrets", "uuid", "time", "datetime", "os", "numpy.random"}
SEEDED = {"Generator", "Philox", "SeedSequence"}
"""What the auditor may take of numpy.random: streams that are nothing without a given seed."""
READS = {"datetime", "os", "os.urandom"}
"""What the auditor may name besides: it shows dates, reads files, and hands a gate under test the
source that phones have. Law 6 keeps it from calling any of them."""


def dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def imports(tree: ast.AST) -> Iterator[str]:
    """Every module named in an import, and every name taken from one, dotted."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def takings(source: str) -> Iterator[str]:
    """Sources of randomness or time that a module imports or touches."""
    tree = ast.parse(source)
    for name in imports(tree):
        if name in BANNED_MODULES or name.startswith("numpy.random."):
            yield name
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            name = dotted(node)
            if name.startswith(("np.random.", "numpy.random.")) or name == "os.urandom":
                yield name


def path_of(module: str) -> Path | None:
    plain = ROOT.joinpath(*module.split("."))
    for path in (plain.with_suffix(".py"), plain / "__init__.py"):
        if path.is_file():
            return path
    return None


def reachable(doors: tuple[str, ...]) -> dict[str, Path]:
    """Modules of privacy/ that importing the doors may run, lazily imported ones included."""
    found: dict[str, Path] = {}
    waiting = list(doors)
    while waiting:
        module = waiting.pop()
        path = path_of(module)
        if path is None or module in found or not module.startswith("privacy"):
            continue
        found[module] = path
        waiting.extend(imports(ast.parse(path.read_text(encoding="utf-8"))))
        if "." in module:
            waiting.append(module.rpartition(".")[0])
    return found


def all_modules() -> list[Path]:
    return sorted(path.relative_to(ROOT) for path in (ROOT / "privacy").rglob("*.py"))


def test_nothing_a_door_reaches_takes_randomness_or_time() -> None:
    modules = reachable(DOORS)
    assert {"privacy.gate", "privacy.secagg.mask", "privacy.mechanisms.exact"} <= set(modules)
    taken = {
        module: sorted(set(takings(path.read_text(encoding="utf-8"))))
        for module, path in modules.items()
    }
    assert {module: names for module, names in taken.items() if names} == {}


def test_no_door_reaches_the_auditor() -> None:
    assert [
        module for module in reachable(DOORS) if module.startswith(("privacy.audit", "privacy.cli"))
    ] == []


@pytest.mark.parametrize("path", all_modules(), ids=str)
def test_the_rest_of_the_room_draws_only_from_seeds_it_was_given(path: Path) -> None:
    """The auditor's own tests need streams too: of numpy's, only those with a given key."""
    taken = set(takings((ROOT / path).read_text(encoding="utf-8")))
    allowed = {f"{numpy}.random.{name}" for numpy in ("np", "numpy") for name in SEEDED} | READS
    if path.parts[1].startswith("cli"):
        allowed |= {"time"}
    assert sorted(taken - allowed) == []


def bit_users(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """Functions that draw bits, each with whether it was handed them (or its object was)."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        draws = [
            call
            for call in ast.walk(node)
            if isinstance(call, ast.Call) and dotted(call.func) in ("draw", "bits", "self._bits")
        ]
        if draws:
            given = {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
            own = any(dotted(part) == "self._bits" for part in ast.walk(node))
            yield node.name, "bits" in given or own


def test_whoever_draws_bits_was_handed_them() -> None:
    users = {
        f"{module}.{name}": given
        for module, path in reachable(DOORS).items()
        if module != "privacy.bits"
        for name, given in bit_users(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert len(users) >= 5
    assert [name for name, given in users.items() if not given] == []


def test_the_reader_sees_what_it_looks_for() -> None:
    source = (
        "import os, random\nfrom time import time\nfrom numpy.random import default_rng\n"
        "import numpy as np\nx = os.urandom(4)\ny = np.random.normal()\n"
    )
    assert set(takings(source)) == {
        "os", "random", "time", "numpy.random", "numpy.random.default_rng", "os.urandom",
        "np.random.normal",
    }  # fmt: skip
    careless = ast.parse("def noise(n):\n    return draw(BITS, n)\n")
    assert list(bit_users(careless)) == [("noise", False)]
