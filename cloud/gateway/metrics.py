"""What the gateway and the tick count, in a registry of their own. No label names a device."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

__all__ = ["Metrics"]

BATCH_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
TICK_BUCKETS_SECONDS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)


class Metrics:
    """One cloud's counters."""

    def __init__(self) -> None:
        registry = CollectorRegistry()
        self._registry = registry
        self.started = Gauge(
            "reverie_start_time_seconds", "Unix time of the service's start", registry=registry
        )
        self.sessions = Counter("reverie_sessions", "Device sessions opened", registry=registry)
        self.open_sessions = Gauge(
            "reverie_open_sessions", "Device sessions open now", registry=registry
        )
        self.enrolments = Counter("reverie_enrolments", "Devices enrolled", registry=registry)
        self.plans = Counter("reverie_plans", "Plans sent to proven devices", registry=registry)
        self.reports = Counter(
            "reverie_reports", "Reports acknowledged after their commit", registry=registry
        )
        self.report_bytes = Counter(
            "reverie_report_bytes", "Bytes of acknowledged reports", registry=registry
        )
        self.letters = Counter(
            "reverie_letters", "Account letters taken after their commit", registry=registry
        )
        self.resumed_bytes = Counter(
            "reverie_resumed_bytes",
            "Bytes of uploads that did not travel twice",
            registry=registry,
        )
        self.superseded = Counter(
            "reverie_sessions_superseded",
            "Sessions ended by a newer one of the same device",
            registry=registry,
        )
        self.fetches = Counter(
            "reverie_release_fetches", "Release blobs sent", ["model"], registry=registry
        )
        self.refusals = Counter("reverie_refusals", "Refusals by code", ["code"], registry=registry)
        self.batches = Histogram(
            "reverie_intake_batch_reports",
            "Reports per group commit",
            buckets=BATCH_BUCKETS,
            registry=registry,
        )
        self.ticks = Histogram(
            "reverie_tick_seconds",
            "Wall time of one tick",
            buckets=TICK_BUCKETS_SECONDS,
            registry=registry,
        )
        self.tick_failures = Counter(
            "reverie_tick_failures", "Ticks that ended in an error", registry=registry
        )
        self.rounds = Counter(
            "reverie_rounds_ended", "Rounds ended", ["task", "status"], registry=registry
        )
        self.releases = Counter(
            "reverie_releases", "Candidates decided", ["model", "status"], registry=registry
        )

    def uploaded(self, kind: str, size: int) -> None:
        """A body of ``size`` bytes was committed."""
        if kind == "report":
            self.reports.inc()
            self.report_bytes.inc(size)
        else:
            self.letters.inc()

    def fetched(self, name: str) -> None:
        """A blob was sent; documents are one label together, for their names are many."""
        self.fetches.labels(model=name.partition("/")[0]).inc()

    def value(self, name: str, **labels: str) -> float:
        """One sample by its exposed name (counters end in ``_total``); 0 when never counted."""
        return self._registry.get_sample_value(name, labels) or 0.0

    def exposition(self) -> bytes:
        """The Prometheus text format."""
        return generate_latest(self._registry)
