"""Several processes over one PostgreSQL: phones need not notice which of them they meet."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select, update
from typer.testing import CliRunner

from cloud.cli import app
from cloud.storage.tables import aggregates, leases, rounds, uploads
from privacy.budget import DEMO
from protocol.rounds import RoundDescriptor
from protocol.session import Closed, SessionFailed, UploadCommitted, UploadRefused
from tests.cloud.postgres import PostgresServer
from tests.cloud.serving import Balancer, Call, Serving, moved_to, serving, usage_round, value
from tests.cloud.world import Phone, usage_answers

PHONES = DEMO.terms("usage").n_min
CHUNK = 4_096
FAST = ["--tick-seconds", "0.1"]
LEASE_SECONDS = "4"

pytestmark = pytest.mark.postgres


@pytest.fixture
def database(state: Path, postgres: PostgresServer) -> Iterator[Engine]:
    """The published cloud of `state`, moved to PostgreSQL."""
    url = postgres.migrated()
    engine = moved_to(state, url)
    yield engine
    engine.dispose()
    postgres.drop(url)


def _close_round(database: Engine, number: int) -> None:
    """Let the usage round's time be over."""
    here = (rounds.c.task == "usage") & (rounds.c.round == number)
    with database.begin() as connection:
        connection.execute(update(rounds).where(here).values(closes=0.0))


def _status(database: Engine, number: int) -> str:
    here = (rounds.c.task == "usage") & (rounds.c.round == number)
    return str(value(database, select(rounds.c.status).where(here)))


def test_phones_need_not_notice_which_gateway_they_meet(
    state: Path, database: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(state, ["--role", "all", *FAST], ["--role", "gateway"]) as (one, two):
        public = one.said["public_key"]
        assert two.said["public_key"] == public
        assert (two.said["token"], two.said["helper_key"]) == ("", "")
        balancer = Balancer([one.address, two.address])
        phones = [Phone(number) for number in range(PHONES)]

        # Enrolled at one, proven at the other, an upload begun at one and resumed at the other.
        first = phones[0]
        enrolling = Call(balancer.url, first)
        number = usage_round(enrolling.plan(), public).round
        enrolling.leave()
        monkeypatch.setattr("protocol.session_transfers.MAX_CHUNK", CHUNK)
        begun = Call(balancer.url, first)
        body = first.report(usage_round(begun.plan(), public), usage_answers())
        begun.session.upload(b"u" * 16, body)
        begun.send()
        begun.session.receive(begun.wire.recv(decode=False))
        begun.send(1)
        begun.session.receive(begun.wire.recv(decode=False))
        begun.vanish()
        resumed = Call(balancer.url, first)
        resumed.plan()
        resumed.session.upload(b"u" * 16, body)
        acknowledged = resumed.until(UploadCommitted)
        assert isinstance(acknowledged, UploadCommitted)
        resumed.leave()
        assert one.metric("reverie_resumed_bytes_total") == CHUNK
        assert [each.metric("reverie_sessions_total") for each in (one, two)] == [2, 1]

        # Its acknowledgement lost, it hears the same from the other; and counts once.
        again = Call(balancer.url, first)
        again.plan()
        again.session.upload(b"u" * 16, body)
        assert again.until(UploadCommitted) == acknowledged
        again.leave()

        # Everyone else, in turn at one and the other.
        for index, phone in enumerate(phones[1:], 1):
            call = Call(balancer.url, phone)
            report = phone.report(usage_round(call.plan(), public), usage_answers())
            call.session.upload(index.to_bytes(16, "big"), report)
            assert isinstance(call.until(UploadCommitted), UploadCommitted)
            call.leave()

        # A phone on both at once: the same report is one report, another one is refused.
        both = [Call(each.url, first) for each in (one, two)]
        for call in both:
            call.plan()
            call.session.upload(b"u" * 16, body)
        assert {call.until(UploadCommitted) for call in both} == {acknowledged}
        for call in both:
            call.session.upload(b"v" * 16, body)
            refused = call.until(UploadRefused)
            assert isinstance(refused, UploadRefused)
            assert refused.code == "duplicate_report"
            call.leave()
        assert value(database, select(func.count()).select_from(uploads)) == PHONES

        # The gateway shows the next round as soon as the other process has opened it.
        _close_round(database, number)
        while _status(database, number) != "closed":
            pass
        here = (aggregates.c.task == "usage") & (aggregates.c.round == number)
        assert value(database, select(aggregates.c.n).where(here)) == PHONES
        shown = number
        while shown == number:
            call = Call(two.url, phones[1])
            shown = max((each.round for each in _usage(call, public)), default=number)
            call.leave()
        assert shown == number + 1

        # Shut out by a command, it is shut out everywhere.
        line = CliRunner().invoke(app, ["revoke", first.device_id, "--state", str(state)])
        assert line.exit_code == 0
        for each in (one, two):
            assert Call(each.url, first).until() == Closed("revoked")
        balancer.close()


def _usage(call: Call, public: str) -> list[RoundDescriptor]:
    try:
        return [usage_round(call.plan(), public)]
    except ValueError:  # none is open just now
        return []


def _holder(database: Engine, running: list[Serving]) -> Serving:
    """The process that holds the lease of the tick."""
    while True:
        held = value(database, select(leases.c.holder)) or ""
        for process in running:
            if f"/{process.pid}/" in held:
                return process


def _ticks(database: Engine) -> None:
    """Wait until somebody ticks: the round whose time is over is followed by another."""
    newest = select(func.max(rounds.c.round)).where(rounds.c.task == "usage")
    number = int(value(database, newest))
    _close_round(database, number)
    while int(value(database, newest)) == number:
        pass


def test_another_process_goes_on_where_the_ticking_one_was_killed(
    state: Path, database: Engine
) -> None:
    with serving(state, FAST, FAST) as running:
        dead = _holder(database, running)
        _ticks(database)
        epoch = value(database, select(leases.c.epoch))
        dead.end(signal.SIGKILL)
        (alive,) = [each for each in running if each is not dead]
        assert _holder(database, [alive]) is alive
        assert value(database, select(leases.c.epoch)) == epoch + 1
        _ticks(database)
        # Told to stop, it gives the lease back: whoever comes next need not wait.
        assert alive.end(signal.SIGTERM)[0] == 0
        assert value(database, select(leases.c.holder)) == ""


def test_a_process_that_was_frozen_does_not_go_on_ticking(state: Path, database: Engine) -> None:
    options = [*FAST, "--lease-seconds", LEASE_SECONDS]
    with serving(state, options, options) as running:
        frozen = _holder(database, running)
        _ticks(database)
        epoch = value(database, select(leases.c.epoch))
        frozen.signal(signal.SIGSTOP)
        (alive,) = [each for each in running if each is not frozen]
        assert _holder(database, [alive]) is alive
        assert value(database, select(leases.c.epoch)) == epoch + 1
        frozen.signal(signal.SIGCONT)
        frozen.until_ready()  # it serves phones all the same
        _ticks(database)
        code, errors = frozen.end(signal.SIGTERM)
        assert code == 0
        said = [json.loads(line)["event"] for line in errors.splitlines()]
        assert {"tick_lease_lost", "tick_given_up"} & set(said)
        # Its going away took nothing from the other.
        assert _holder(database, [alive]) is alive
        assert value(database, select(leases.c.epoch)) == epoch + 1


def test_a_database_that_is_stopped_and_started(state: Path) -> None:
    server = PostgresServer()
    url = server.migrated()
    moved_to(state, url).dispose()
    try:
        with serving(state, FAST) as (process,):
            public = process.said["public_key"]
            process.until_ready()
            phone = Phone(1)
            call = Call(process.url, phone)
            body = phone.report(usage_round(call.plan(), public), usage_answers())
            call.session.upload(b"u" * 16, body)
            acknowledged = call.until(UploadCommitted)
            assert isinstance(acknowledged, UploadCommitted)
            call.leave()

            server.halt()
            process.until_ready(503, "the database")
            refused = Call(process.url, phone).until(SessionFailed)
            assert isinstance(refused, Closed)
            assert refused.reason == "busy"
            assert refused.retry_after >= 60

            server.resume()
            process.until_ready()
            back = Call(process.url, phone)
            back.plan()
            back.session.upload(b"u" * 16, body)
            assert back.until(UploadCommitted) == acknowledged
            back.leave()
            code, errors = process.end(signal.SIGTERM)
        assert code == 0
        assert "Traceback" not in errors
        said = [json.loads(line) for line in errors.splitlines()]
        failed = [line["reason"] for line in said if line["event"] == "refresh_failed"]
        assert len(failed) >= 1
        assert all("database" in reason for reason in failed)
        assert "refresh_works_again" in {line["event"] for line in said}
    finally:
        server.stop()
