"""Traces: what has a span, whose child it is, and that nothing of a phone is in it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from cloud.gateway.batcher import Batcher
from cloud.service import Cloud
from cloud.telemetry import TelemetryMissing, exported, recorded_by, span, wanted
from tests.cloud.gateway_world import World
from tests.cloud.world import START

SECRET = "canary"


class Recorder:
    """Spans kept in memory."""

    def __init__(self) -> None:
        self._kept = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.tracer = provider.get_tracer("test")

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._kept.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        return [one for one in self.spans if one.name == name]


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    recorder = Recorder()
    with recorded_by(recorder.tracer):
        yield recorder


class Doubler:
    """An actor."""

    async def ask(self, method: str, *args: Any) -> Any:
        if method == "fail":
            raise OSError(SECRET)
        return [2 * item for item in args[0]]

    def tell(self, method: str, *args: Any) -> None:
        raise NotImplementedError


async def test_a_tick_and_each_of_its_steps(cloud: Cloud) -> None:
    recorder = Recorder()
    with recorded_by(recorder.tracer):
        await cloud.tick(START + 1)
    (tick,) = recorder.named("tick")
    steps = [one for one in recorder.spans if one is not tick]
    assert {"sign_listing", "close_rounds", "learn", "open_rounds"} <= {one.name for one in steps}
    assert tick.context is not None
    assert {one.parent.span_id for one in steps if one.parent} == {tick.context.span_id}


async def test_a_batch_is_nobodys_child() -> None:
    recorder = Recorder()
    batcher: Batcher[int, int] = Batcher(Doubler(), "twice")
    with recorded_by(recorder.tracer):
        with span("session"):
            found = await asyncio.gather(*(batcher.submit(number) for number in range(5)))
        await batcher.close()
    assert found == [0, 2, 4, 6, 8]
    (batch,) = recorder.named("batch")
    assert batch.parent is None
    assert dict(batch.attributes or {}) == {"method": "twice", "items": 5}


async def test_a_session_of_many_messages_makes_no_span_each(tmp_path: Path) -> None:
    recorder = Recorder()
    world = World(tmp_path)
    with recorded_by(recorder.tracer):
        phone = world.phone()
        for _ in range(3):
            await phone.call()
        await world.core.close()
    assert {one.name for one in recorder.spans} == {"batch"}
    told = repr([dict(one.attributes or {}) for one in recorder.spans])
    assert phone.device_id not in told
    world.close()


async def test_an_error_is_told_by_its_kind_alone() -> None:
    recorder = Recorder()
    with recorded_by(recorder.tracer), pytest.raises(OSError, match=SECRET), span("x"):
        await Doubler().ask("fail")
    (failed,) = recorder.spans
    assert failed.status.status_code is StatusCode.ERROR
    assert failed.status.description == "OSError"
    assert failed.events == ()


def test_attributes_may_follow(recorder: Recorder) -> None:
    with span("outer", kind="a") as outer, span("inner"):
        outer.set_attribute("status", 200)
    inner, done = recorder.spans
    assert dict(done.attributes or {}) == {"kind": "a", "status": 200}
    assert inner.parent is not None
    assert done.context is not None
    assert inner.parent.span_id == done.context.span_id


def test_off_is_one_shared_span_that_keeps_nothing() -> None:
    with span("a", kind="b") as first, span("c") as second:
        first.set_attribute("status", 200)
    assert first is second


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, True),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, True),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, False),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "otlp"}, False),
    ],
)
def test_the_standard_environment_decides(environment: dict[str, str], expected: bool) -> None:
    assert wanted(environment) is expected


def test_missing_packages_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "otlp")
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(TelemetryMissing, match="reverie\\[telemetry\\]"), exported("1"):
        pytest.fail("it runs without what was asked for")


def test_without_the_environment_nothing_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_TRACES_EXPORTER", raising=False)
    monkeypatch.setitem(__import__("sys").modules, "opentelemetry.sdk.trace", None)
    with exported("1"), span("a") as first, span("b") as second:
        assert first is second
