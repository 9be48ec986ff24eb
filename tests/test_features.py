"""Every feature of the source articles that is said to work names a test that shows it."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROWS = {
    f"{section}: {row}": entry["tests"]
    for section, rows in tomllib.loads((TESTS / "features.toml").read_text("utf-8")).items()
    for row, entry in rows.items()
}


@cache
def functions(file: str) -> set[str]:
    """Names of the test functions in a file."""
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


@pytest.mark.parametrize("row", ROWS)
def test_a_feature_has_the_tests_it_names(row: str) -> None:
    assert ROWS[row]
    for named in ROWS[row]:
        file, _, function = named.partition("::")
        assert function in functions(file), f"{named} is gone"
