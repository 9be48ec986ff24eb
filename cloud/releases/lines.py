"""One line for each candidate and release, as `releases` shows them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, select

from cloud.releases.tables import rollouts
from cloud.storage import Database
from cloud.storage.tables import releases

__all__ = ["COLUMNS", "reasons", "release_lines", "waiting_for"]

Line = dict[str, Any]

COLUMNS = (
    "model",
    "version",
    "status",
    "waiting",
    "accuracy",
    "probes",
    "epsilon",
    "created",
)
"""What a table of 100 characters holds; why something was turned down does not fit beside it."""
_FIELDS = ("model", "version", "parent", "status", "reason", "metrics", "epsilon", "delta")
_TIMES = ("created", "published", "approved")


def release_lines(database: Database, *, cards: bool = False) -> list[Line]:
    """Every candidate and release, by model and version.

    `percent` of the phones may take it. `waiting` says for what a candidate that passed waits:
    "approval" (in a cloud that publishes by hand), "its turn" while another is on its way, "the
    tick"; None for all others. `card` only where asked for: a few kilobytes each.
    """
    with database.read() as connection:
        rows = connection.execute(select(releases).order_by(releases.c.model, releases.c.version))
        found = rows.all()
        reached = _reached(connection)
    staged = {row.model for row in found if row.status == "staged"}
    return [_line(row, reached, staged, cards) for row in found]


def waiting_for(row: Mapping[str, Any], staged: Container[str]) -> str | None:
    """For what a candidate that passed waits; None when it is none. `staged`: the models of which
    a release is on its way."""
    if row["status"] != "candidate" or row["metrics"].get("passed") != 1.0:
        return None
    if row["model"] in staged:
        return "its turn"
    return "approval" if row["approved"] is None else "the tick"


def reasons(lines: Iterable[Line]) -> list[str]:
    """Why versions were turned down or taken back, a sentence each."""
    return [
        f"{line['model']} {line['version']} {line['status']}: {line['reason']}"
        for line in lines
        if line["reason"]
    ]


def _line(
    row: Row[Any], reached: Mapping[tuple[str, int], int], staged: set[str], cards: bool
) -> Line:
    values = {name: getattr(row, name) for name in (*_FIELDS, *_TIMES)}
    shown = row.status in ("staged", "published")
    return (
        values
        | {
            "accuracy": row.metrics.get("accuracy"),
            "probes": row.metrics.get("accuracy_probes"),
            "percent": reached.get((row.model, row.version), 100) if shown else 0,
            "policy": row.policy or {},
            "waiting": waiting_for(values, staged),
        }
        | ({"card": row.card} if cards else {})
    )


def _reached(connection: Connection) -> Mapping[tuple[str, int], int]:
    rows: Sequence[Row[Any]] = connection.execute(select(rollouts)).all()
    return {(row.model, row.version): row.percent for row in rows}
