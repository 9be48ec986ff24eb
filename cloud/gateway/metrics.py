"""What the gateway and the tick count, in a registry of their own. No label names a device."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

__all__ = ["Metrics"]

BATCH_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
CALL_BUCKETS_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10)
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
        self.ticking = Gauge(
            "reverie_ticking", "1 while this process holds the lease of the tick", registry=registry
        )
        self.tick_failures = Counter(
            "reverie_tick_failures", "Ticks that ended in an error", registry=registry
        )
        self.rounds = Counter(
            "reverie_rounds_ended", "Rounds ended", ["task", "status"], registry=registry
        )
        self.alarms = Gauge(
            "reverie_alarms", "Alarms that stand now, by kind", ["kind"], registry=registry
        )
        self.releases = Counter(
            "reverie_releases", "Candidates decided", ["model", "status"], registry=registry
        )
        self.acks = Histogram(
            "reverie_ack_seconds",
            "From an upload's last byte to its durable acknowledgement or refusal",
            buckets=CALL_BUCKETS_SECONDS,
            registry=registry,
        )
        self.calls = Histogram(
            "reverie_actor_call_seconds",
            "From an actor's mailbox to its answer; writes of the inbox are intake, commit",
            ["actor", "method"],
            buckets=CALL_BUCKETS_SECONDS,
            registry=registry,
        )
        self.waiting = Gauge(
            "reverie_actor_calls_waiting",
            "Calls without an answer yet",
            ["actor"],
            registry=registry,
        )
        self.helper_seconds = Histogram(
            "reverie_helper_seconds",
            "What the helper takes over one batch",
            buckets=TICK_BUCKETS_SECONDS,
            registry=registry,
        )
        self.leader = Gauge(
            "reverie_tick_leader", "1 while this process holds the tick's lease", registry=registry
        )
        self.admin_logins = Counter(
            "reverie_admin_logins", "Operator tokens tried", ["outcome"], registry=registry
        )
        self.steered = Counter(
            "reverie_steered", "What operators did", ["act", "outcome"], registry=registry
        )
        self._add_facts(registry)
        ProcessCollector(registry=registry)

    def alarmed(self, kinds: Sequence[str]) -> None:
        """The alarms that stand now, by kind."""
        self.alarms.clear()
        for kind in kinds:
            self.alarms.labels(kind=kind).inc()

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

    def _add_facts(self, registry: CollectorRegistry) -> None:
        """What every gateway reads from the database alike."""
        self.database_up = Gauge(
            "reverie_database_up", "1 when the database answered just now", registry=registry
        )
        self.devices = Gauge("reverie_devices", "Enrolled phones", ["state"], registry=registry)
        self.round_fill = Gauge(
            "reverie_round_fill", "Reports of an open round over n_min", ["task"], registry=registry
        )
        self.round_left = Gauge(
            "reverie_round_seconds_left", "Until an open round closes", ["task"], registry=registry
        )
        self.newest_version = Gauge(
            "reverie_newest_version",
            "Newest version by status",
            ["model", "status"],
            registry=registry,
        )
        self.lease_left = Gauge(
            "reverie_tick_lease_seconds_left",
            "Until the tick's lease runs out; below 0 nobody ticks",
            registry=registry,
        )

    def exposition(self) -> bytes:
        """The Prometheus text format."""
        return generate_latest(self._registry)
