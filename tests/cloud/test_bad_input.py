"""Every kind of bad input on a real socket: a typed refusal, counted, and nothing else disturbed.

A healthy phone is halfway through its upload while the hostile act happens; see `House.undisturbed`
for what is held to be undisturbed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.cloud.hostile import house
from tests.cloud.hostile_acts import Case
from tests.cloud.hostile_cases import GROUPS
from tests.cloud.postgres import PostgresServer
from tests.cloud.serving import moved_to

AS_TEXT = ("NUL", "64 bits", "80 bits", "any text", "other scripts", "largest", "field", "path")
"""Parts of the names of cases whose values might reach the database."""


@pytest.fixture
def on_postgres(state: Path, postgres: PostgresServer) -> Iterator[Path]:
    """The same cloud with its database on PostgreSQL."""
    url = postgres.migrated()
    moved_to(state, url).dispose()
    yield state
    postgres.drop(url)


async def _refused(state: Path, cases: Sequence[Case], caplog: pytest.LogCaptureFixture) -> None:
    async with house(state) as home:
        for case in cases:
            before = home.refusals()
            with capture_logs() as lines:
                async with home.undisturbed():
                    assert await case.act(home) == case.told, case.name
            counted = {code: n - before.get(code, 0.0) for code, n in home.refusals().items()}
            assert {code: n for code, n in counted.items() if n} == {case.code: 1.0}, case.name
            loud = [line for line in lines if line["log_level"] not in ("debug", "info")]
            assert loud == [], case.name
    # What libraries write goes round structlog.
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("group", GROUPS)
async def test_a_typed_refusal_counted_once_and_nobody_disturbed(
    state: Path, group: str, caplog: pytest.LogCaptureFixture
) -> None:
    await _refused(state, GROUPS[group], caplog)


@pytest.mark.postgres
async def test_the_same_over_postgresql(
    on_postgres: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cases = [case for group in GROUPS.values() for case in group]
    chosen = [case for case in cases if any(part in case.name for part in AS_TEXT)]
    assert len(chosen) > len(AS_TEXT)
    await _refused(on_postgres, chosen, caplog)
