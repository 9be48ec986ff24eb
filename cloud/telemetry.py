"""Traces for whoever asks for them, through OpenTelemetry's own environment variables.

Nothing is recorded unless the extra `telemetry` is installed and OTEL_EXPORTER_OTLP_ENDPOINT,
OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_TRACES_EXPORTER=otlp is set: a span is then one look at
a context variable. One span a session, a request, a batch, a tick and its steps; none a message.
Attributes are counts, routes, models and outcomes, never anything of a phone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol

__all__ = ["TelemetryMissing", "exported", "recorded_by", "span", "wanted"]

SERVICE: Final = "reverie-cloud"
_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_EXPORTER: Final = "OTEL_TRACES_EXPORTER"
_DISABLED: Final = "OTEL_SDK_DISABLED"

_TRACER: ContextVar[Any] = ContextVar("reverie_tracer", default=None)


class TelemetryMissing(Exception):
    """Traces are asked for and the packages are not there; the message says what to do."""


class Span(Protocol):
    """What may be told of a span while it lasts."""

    def set_attribute(self, key: str, value: str | int | float | bool) -> object:
        """One fact."""
        ...


class _Off:
    """No span: entered and left as one."""

    __slots__ = ()

    def __enter__(self) -> _Off:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def set_attribute(self, key: str, value: object) -> None:
        """Nothing is recorded."""


_OFF: Final = _Off()


def span(
    name: str, *, root: bool = False, **attributes: str | int | float | bool
) -> AbstractContextManager[Span]:
    """A span around a block, within the one that is current.

    ``root``: within none, as a batch that holds what many sessions sent.
    """
    tracer = _TRACER.get()
    if tracer is None:
        return _OFF
    return _recorded(tracer, name, root, attributes)


@contextmanager
def recorded_by(tracer: Any) -> Iterator[None]:
    """Record the spans of this context, and of tasks begun in it, with an OpenTelemetry tracer."""
    before = _TRACER.set(tracer)
    try:
        yield
    finally:
        _TRACER.reset(before)


def wanted(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether the environment asks for traces."""
    if environment.get(_DISABLED, "").lower() == "true":
        return False
    exporter = environment.get(_EXPORTER, "")
    if exporter in ("none", "otlp"):
        return exporter == "otlp"
    return any(environment.get(name) for name in _ENDPOINTS)


@contextmanager
def exported(version: str) -> Iterator[None]:
    """Record and export over OTLP/HTTP while the block runs, if the environment asks for it.

    Raises:
        TelemetryMissing: it does, and the packages are missing.
    """
    if not wanted():
        yield
        return
    provider = _provider(version)
    try:
        with recorded_by(provider.get_tracer(SERVICE, version)):
            yield
    finally:
        provider.shutdown()  # what is still in the queue is sent


def _provider(version: str) -> Any:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise TelemetryMissing(
            "OTEL_* asks for traces: pip install 'reverie[telemetry]', or unset it"
        ) from None
    named = {"service.name": os.environ.get("OTEL_SERVICE_NAME", SERVICE)}
    resource = Resource.create(named | {"service.version": version})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


@contextmanager
def _recorded(tracer: Any, name: str, root: bool, attributes: Mapping[str, Any]) -> Iterator[Span]:
    from opentelemetry.context import Context
    from opentelemetry.trace import Status, StatusCode

    started = tracer.start_as_current_span(
        name,
        context=Context() if root else None,
        attributes=dict(attributes),
        # A message may quote what a phone sent: the kind of an error is enough.
        record_exception=False,
        set_status_on_exception=False,
    )
    with started as current:
        try:
            yield current
        except Exception as error:
            current.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise
