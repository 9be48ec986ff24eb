"""How a process leaves: uploads end, everyone hears goodbye, nothing waits for long."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus

from cloud.gateway.readiness import Readiness
from protocol.session import Closed, Enrolled, UploadCommitted
from tests.cloud.serving import Call, serving, usage_round
from tests.cloud.world import Phone, usage_answers

CHUNK = 1_024


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Phones send a report in pieces, so that it can be half sent."""
    monkeypatch.setattr("protocol.session_transfers.MAX_CHUNK", CHUNK)


def _uploading(call: Call, public_key: str) -> bytes:
    """Begin a report and stop after its first pieces; gives its id."""
    body = call.phone.report(usage_round(call.plan(), public_key), usage_answers())
    upload_id = b"u" * 16
    call.session.upload(upload_id, body)
    call.send()  # the announcement
    call.session.receive(call.wire.recv(decode=False))  # what it may send
    call.send(1)
    call.session.receive(call.wire.recv(decode=False))  # how far it has got
    return upload_id


def test_a_process_that_is_told_to_stop_lets_uploads_end(state: Path) -> None:
    with serving(state, ["--drain-seconds", "600"]) as (process,):
        public = process.said["public_key"]
        process.until_ready()
        idle = [Call(process.url, Phone(number)) for number in range(1, 4)]
        for call in idle:
            call.until(Enrolled)
        planned = Call(process.url, Phone(4))
        planned.plan()
        busy = Call(process.url, Phone(9))
        body = busy.phone.report(usage_round(busy.plan(), public), usage_answers())
        busy.session.upload(b"u" * 16, body)
        frames = busy.session.frames_to_send()  # the announcement
        busy.wire.send(frames[0])
        busy.session.receive(busy.wire.recv(decode=False))
        pieces = busy.session.frames_to_send()
        busy.wire.send(pieces[0])
        busy.session.receive(busy.wire.recv(decode=False))
        process.signal(signal.SIGTERM)
        process.until_ready(503, "draining")
        # The idle ones hear goodbye, each a time of its own.
        ends = [call.until(mute=True) for call in idle]
        waits = {end.retry_after for end in ends if isinstance(end, Closed)}
        assert len(waits) == len(idle)
        assert all(30 <= wait <= 37.5 for wait in waits)
        assert isinstance(planned.until(mute=True), Closed)
        # Nobody comes in.
        with pytest.raises(InvalidStatus) as refused:
            Call(process.url, Phone(5))
        assert refused.value.response.status_code == 503
        assert 30 <= int(refused.value.response.headers["Retry-After"]) <= 38
        # Who was sending may finish, and hears goodbye with the acknowledgement.
        for piece in pieces[1:]:
            busy.wire.send(piece)
        acknowledged = busy.until(UploadCommitted)
        assert isinstance(acknowledged, UploadCommitted)
        assert isinstance(busy.until(), Closed)
        code, errors = process.end(signal.SIGCONT)  # no further signal is needed
    assert code == 0
    assert "Traceback" not in errors
    said = [json.loads(line) for line in errors.splitlines()]
    (stopping,) = [line for line in said if line["event"] == "cloud_stopping"]
    assert stopping["sessions_cut_off"] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once(state: Path, number: signal.Signals) -> None:
    with serving(state, ["--drain-seconds", "600"]) as (process,):
        call = Call(process.url, Phone(1))
        _uploading(call, process.said["public_key"])
        process.signal(signal.SIGTERM)
        process.until_ready(503, "draining")
        code, _ = process.end(number)
    assert code == -number


def test_an_upload_that_takes_too_long_is_cut_off(state: Path) -> None:
    with serving(state, ["--drain-seconds", "0"]) as (process,):
        call = Call(process.url, Phone(1))
        _uploading(call, process.said["public_key"])
        code, errors = process.end(signal.SIGTERM)
        end = call.until(mute=True)
    assert code == 0
    assert isinstance(end, Closed)
    assert end.retry_after >= 30
    assert '"sessions_cut_off": 1' in errors


def test_health_and_version(state: Path) -> None:
    with serving(state, []) as (process,):
        process.until_ready()
        while process.metric("reverie_ticking") != 1:
            pass
        status, _, body = process.get("/healthz")
        assert (status, json.loads(body)) == (200, {"status": "ok"})
        status, _, body = process.get("/version")
        assert status == 200
        assert json.loads(body)["protocol"] == [1, 2]
        assert json.loads(body)["version"]


def test_readiness() -> None:
    ready = Readiness(stale_after=10.0, at=100.0)
    assert ready.objection(110.0) == ""
    assert ready.objection(111.0) == "what phones are shown is 11 s old"
    ready.refreshed(111.0)
    assert ready.objection(111.0) == ""
    ready.failed("the database does not answer")
    assert ready.objection(111.0) == "the database does not answer"
    ready.refreshed(112.0, "the clock is off")
    assert ready.objection(112.0) == "the clock is off"
    ready.refreshed(113.0)
    assert ready.objection(113.0) == ""
    ready.draining = True
    assert ready.objection(113.0) == "draining"
