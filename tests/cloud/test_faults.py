"""Outages are told from faults of ours, in one line that holds nothing of what was on its way."""

from __future__ import annotations

import asyncio
import builtins
import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import aiohttp
import pytest
import sqlalchemy.exc
from aiohttp import web
from sqlalchemy import insert
from sqlalchemy.exc import SQLAlchemyError

from cloud.actors.runtime import ActorGone
from cloud.faults import outage
from cloud.gateway.app import Root, make_app
from cloud.loops import loop_name, run
from cloud.service import Cloud
from cloud.storage import BlobsUnavailable, Database, DatabaseUnavailable
from cloud.storage.tables import tokens
from tests.cloud.postgres import PostgresServer
from tests.cloud.world import START

SECRET = "not-to-be-told"


def test_what_is_an_outage() -> None:
    for error in (DatabaseUnavailable("x"), BlobsUnavailable("x"), ActorGone("x")):
        assert outage(error) == "x"
    assert "too slowly" in outage(sqlalchemy.exc.TimeoutError())
    for fault in (ValueError("x"), KeyError("x"), OSError("x"), SQLAlchemyError("x")):
        assert outage(fault) == ""


def _errors_of(database: Database) -> Iterator[SQLAlchemyError]:
    row = {"sha256": SECRET, "created": 0.0, "expires": 0.0}
    for _ in range(2):
        try:
            with database.write() as connection:
                connection.execute(insert(tokens), row)
        except SQLAlchemyError as error:
            yield error


def test_a_broken_rule_is_no_outage_and_tells_no_value(each_database: str) -> None:
    database = Database(each_database)
    (error,) = _errors_of(database)
    database.close()
    assert outage(error) == ""
    assert "[parameters" not in str(error)
    assert "hide_parameters" in str(error)


@pytest.mark.postgres
def test_a_lost_connection_is_an_outage(postgres: PostgresServer) -> None:
    url = postgres.migrated()
    database = Database(url)
    row = {"sha256": SECRET, "created": 0.0, "expires": 0.0}
    with contextlib.ExitStack() as transaction:
        connection = transaction.enter_context(database.write())
        postgres.disconnect()
        with pytest.raises(SQLAlchemyError) as lost:
            connection.execute(insert(tokens), row)
        transaction.pop_all()  # there is nothing left to roll back
    assert "database" in outage(lost.value)
    assert SECRET not in str(lost.value)
    # The next one finds a new connection.
    with database.write() as connection:
        connection.execute(insert(tokens), row)
    database.close()
    postgres.drop(url)


async def test_a_page_that_needs_what_does_not_answer(cloud: Cloud) -> None:
    errors: list[Exception] = [BlobsUnavailable("the bucket is away"), ValueError("ours")]

    async def broken() -> bytes:
        raise errors.pop(0)

    app = make_app(cloud.endpoint(), Root(b"", "demo", False), lambda: START, broken)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    async with aiohttp.ClientSession(url) as http:
        async with http.get("/v1/transparency") as answer:
            assert answer.status == 503
            assert 60 <= int(answer.headers["Retry-After"]) <= 76
            assert "bucket" not in await answer.text()
        async with http.get("/v1/transparency") as answer:
            assert answer.status == 500
    await runner.cleanup()


async def _loop() -> str:
    await asyncio.sleep(0)
    return loop_name()


def test_uvloop_where_it_is_installed() -> None:
    pytest.importorskip("uvloop")
    assert run(_loop()) == "uvloop"


def test_asyncio_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "uvloop":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.delitem(sys.modules, "uvloop", raising=False)
    monkeypatch.setattr(builtins, "__import__", refuse)
    assert run(_loop()) == "asyncio"
