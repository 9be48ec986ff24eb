"""Randomness: every bit is given to a release, and none comes from anywhere else."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import privacy
from privacy.audit.mechanisms.fleet import START, MemoryAnchor, MemoryLog, audit_round
from privacy.audit.mechanisms.verdict import Context, Findings
from privacy.bits import BitSource
from privacy.budget import DEMO
from privacy.gate import Gate, PrivateReport
from privacy.ledger import Ledger
from privacy.secagg.helper import Helper, MemoryHelperStore
from privacy.streams import USAGE_DIMENSION

__all__ = ["check_rng", "foreign_randomness"]

_FOREIGN_MODULES = frozenset({"random", "secrets", "time", "uuid"})
_FOREIGN_NAMES = frozenset({"urandom", "generate", "getrandbits", "default_rng", "RandomState"})
_NOT_MECHANISMS = ("audit", "cli")
"""Rooms that release nothing: the auditor itself and the commands."""

_GATES = 3


def check_rng(context: Context, findings: Findings) -> None:
    """Fresh bits give fresh reports; equal bits give equal ones; no other source is in the code."""
    key = Helper(context.bits("key")(32), MemoryHelperStore(), context.bits("x"), DEMO).public_key
    for task, dimension in (("usage", USAGE_DIMENSION), ("router", 64)):
        fresh = [_release(key, task, dimension, os.urandom) for _ in range(_GATES)]
        for name in ("report_id", "share", "sealed_seed", "sha256"):
            values = {getattr(report, name) for report in fresh}
            findings.expect(
                len(values) == _GATES, f"{task}: two phones with the same input share one {name}"
            )
        again = [_release(key, task, dimension, context.bits("again")) for _ in range(2)]
        findings.expect(
            again[0].sha256 == again[1].sha256,
            f"{task}: a report depends on more than its input and the bits given",
        )
    findings.method("fresh gates with randomness of the operating system; replay with equal bits")
    sources = list(_sources())
    for path in sources:
        for line, name in foreign_randomness(path.read_text(encoding="utf-8")):
            findings.expect(False, f"{path.name}:{line} uses {name}: randomness must be given")
    findings.method("no other source of randomness in the syntax tree")
    findings.remark(f"{len(sources)} source files scanned")


def foreign_randomness(source: str) -> list[tuple[int, str]]:
    """(line, name) of everything in Python ``source`` that could draw bits of its own."""
    return [
        (line, name)
        for node in ast.walk(ast.parse(source))
        for line, name in _names(node)
        if _is_foreign(name)
    ]


def _names(node: ast.AST) -> list[tuple[int, str]]:
    """What a node imports or reaches for, and where."""
    match node:
        case ast.Import():
            return [(node.lineno, alias.name) for alias in node.names]
        case ast.ImportFrom():
            return [(node.lineno, f"{node.module}.{alias.name}") for alias in node.names]
        case ast.Attribute():
            return [(node.lineno, node.attr)]
        case _:
            return []


def _is_foreign(name: str) -> bool:
    parts = name.split(".")
    return (parts[0] in _FOREIGN_MODULES) or not _FOREIGN_NAMES.isdisjoint(parts)


def _sources() -> Iterator[Path]:
    root = Path(privacy.__file__).parent
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).parts[0].removesuffix(".py") not in _NOT_MECHANISMS:
            yield path


def _release(key: bytes, task: str, dimension: int, bits: BitSource) -> PrivateReport:
    ledger = Ledger(MemoryLog(), DEMO, anchor=MemoryAnchor())
    gate = Gate(ledger, bits)
    round_ = audit_round(DEMO, task, dimension, key)
    return gate.release(round_, np.zeros(dimension), START, lambda _report: None)
