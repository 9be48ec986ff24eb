"""Every table of the cloud, and the two of the helper, as SQLAlchemy Core tables.

The database is the state of record; actors are caches of it and may be restarted at any time.
Times are unix seconds UTC. The helper's tables live under their own metadata because the helper
is meant for a second operator and must never share a database with the leader.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Column,
    Float,
    Index,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from cloud.storage.columns import EmptyBytes, Whole

__all__ = [
    "CLOUD",
    "HELPER",
    "aggregates",
    "alarms",
    "devices",
    "events",
    "helper_batches",
    "helper_reports",
    "leases",
    "operators",
    "pins",
    "releases",
    "rounds",
    "tokens",
    "uploads",
]


CLOUD = MetaData(info={"migrations": "cloud"})
HELPER = MetaData(info={"migrations": "helper"})

#: Single-use enrolment tokens; only the hash is kept, so a stolen database enrols nobody.
tokens = Table(
    "tokens",
    CLOUD,
    Column("sha256", String(64), primary_key=True),
    Column("created", Float, nullable=False),
    Column("expires", Float, nullable=False),
    Column("device_id", String(32)),  # set when used; makes a repeated enrolment harmless
    Column("used", Float),
)

#: device_id is the hex of the first 16 bytes of sha256(public_key).
devices = Table(
    "devices",
    CLOUD,
    Column("device_id", String(32), primary_key=True),
    Column("public_key", LargeBinary(32), nullable=False),
    Column("enrolled", Float, nullable=False),
    Column("revoked", Float),
)

#: What this cloud is and whom it trusts: "cloud" -> its public key, "budget" -> a name, "helper"
#: -> sealing key + signing key of the helper it first worked with (see pins.py).
pins = Table(
    "pins",
    CLOUD,
    Column("name", String(16), primary_key=True),
    Column("value", LargeBinary, nullable=False),
    Column("pinned", Float, nullable=False),
)

#: Reports as they came. `body` is emptied once the round is summed: nothing of what a phone said
#: outlives it, only that it reported. `receipt` is what the phone was given for it; `counted` is 1
#: when the report is in its round's sum.
uploads = Table(
    "uploads",
    CLOUD,
    Column("upload_id", LargeBinary(16), primary_key=True),
    Column("device_id", String(32), nullable=False),
    Column("task", String(16), nullable=False),
    Column("round", Whole, nullable=False),
    Column("report_id", LargeBinary(16), nullable=False),
    Column("sha256", LargeBinary(32), nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("received", Float, nullable=False),
    Column("receipt", LargeBinary, nullable=False, default=b"", server_default=EmptyBytes()),
    Column("counted", Whole, nullable=False, default=0, server_default=text("0")),
    UniqueConstraint("device_id", "task", "round", name="one_report_per_device_and_round"),
    UniqueConstraint("task", "round", "report_id", name="one_report_id_per_round"),
)

#: status: open -> closing -> closed | expired (too few) | refused (by the helper, or implausible).
#: A local_usage round names its `histogram` and `epsilon`: dimension is its bins, scale and clip 1
#: (one answer), sigma 0 (the phones randomise their answers, and nobody adds noise to the sum).
#: `query_key` is the first one the helper gave for the round, asked for when it is to be summed.
rounds = Table(
    "rounds",
    CLOUD,
    Column("task", String(16), primary_key=True),
    Column("round", Whole, primary_key=True),
    Column("status", String(16), nullable=False),
    Column("reason", Text, nullable=False, default=""),
    Column("dimension", Whole, nullable=False),
    Column("scale", Whole, nullable=False),
    Column("clip", Float, nullable=False),
    Column("sigma", Float, nullable=False),
    Column("n_min", Whole, nullable=False),
    Column("base_version", Whole, nullable=False),
    Column("opens", Float, nullable=False),
    Column("closes", Float, nullable=False),
    Column("budget", String(16), nullable=False),
    Column("descriptor", LargeBinary, nullable=False),
    Column("reports", Whole, nullable=False, default=0),  # taken into the batch
    Column("ended", Float),
    Column("histogram", String(32), nullable=False, default="", server_default=text("''")),
    Column("epsilon", Float, nullable=False, default=0.0, server_default=text("0")),
    Column("query_key", LargeBinary, nullable=False, default=b"", server_default=EmptyBytes()),
)

#: One per closed round. `total` is int64 little-endian [dimension] in lattice units (divide by
#: n * scale for the mean in real units); sigma: std of one coordinate of the total, real units.
#: estimates: usage, local_usage -> {"histograms": [{histogram, bin, estimate, low, high}]};
#: router/dedup -> {"noise_std": float, "norm": float}. `certificate` is the helper's signed word on
#: the batch, `helper_key` the Ed25519 key it was checked against; both empty for local rounds.
aggregates = Table(
    "aggregates",
    CLOUD,
    Column("id", Whole, primary_key=True, autoincrement=True),
    Column("task", String(16), nullable=False),
    Column("round", Whole, nullable=False),
    Column("base_version", Whole, nullable=False),
    Column("n", Whole, nullable=False),
    Column("scale", Whole, nullable=False),
    Column("clip", Float, nullable=False),
    Column("sigma", Float, nullable=False),
    Column("total", LargeBinary, nullable=False),
    Column("estimates", JSON, nullable=False),
    Column("created", Float, nullable=False),
    Column("certificate", LargeBinary, nullable=False, default=b"", server_default=EmptyBytes()),
    Column("helper_key", LargeBinary, nullable=False, default=b"", server_default=EmptyBytes()),
    UniqueConstraint("task", "round", name="one_aggregate_per_round"),
)

#: Candidates and releases. status: candidate -> staged -> published, or rejected, or withdrawn from
#: either of the last two. `id` is the candidate id.
#: `parameters` is the blob key of encode_full(parameters); manifest is set when published.
#: `aggregate` is the aggregates.id it was trained from (NULL for the bootstrap): unique, so a
#: training step that runs twice makes one candidate. `optimiser` is the blob key of the federated
#: optimiser's state after that step, `policy` the retrieval policy phones adopt with the model,
#: `card` the model card, written when it is published. `approved` is when an operator let it go
#: out, where the cloud waits for that.
releases = Table(
    "releases",
    CLOUD,
    Column("id", Whole, primary_key=True, autoincrement=True),
    Column("model", String(16), nullable=False),
    Column("version", Whole, nullable=False),
    Column("parent", Whole, nullable=False),  # 0 = none
    Column("status", String(16), nullable=False),
    Column("reason", Text, nullable=False, default=""),
    Column("aggregate", Whole, unique=True),
    Column("parameters", String(64), nullable=False),
    Column("sha256", LargeBinary(32), nullable=False),  # of the canonical int8 content
    Column("manifest", LargeBinary),
    Column("metrics", JSON, nullable=False),
    Column("epsilon", Float, nullable=False),
    Column("delta", Float, nullable=False),
    Column("created", Float, nullable=False),
    Column("published", Float),
    Column("optimiser", String(64)),
    Column("policy", JSON),
    Column("card", JSON),
    Column("approved", Float),
    UniqueConstraint("model", "version", name="one_release_per_version"),
)
Index("releases_by_status", releases.c.model, releases.c.status)

#: What happened, for operators and reports; `key` makes a repeated step write one line.
events = Table(
    "events",
    CLOUD,
    Column("id", Whole, primary_key=True, autoincrement=True),
    Column("key", String(128), nullable=False, unique=True),
    Column("at", Float, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("detail", JSON, nullable=False),
)

#: What the operator should look at: raised once, `seen` as long as it holds, cleared when it does
#: no longer. `key` names the kind and what it is about.
alarms = Table(
    "alarms",
    CLOUD,
    Column("key", String(128), primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("raised", Float, nullable=False),
    Column("seen", Float, nullable=False),
    Column("cleared", Float),
    Column("detail", JSON, nullable=False),
)

#: Who may look at the service (role "viewer") or steer it ("operator"). Only the token's hash is
#: kept; `revoked` ends it at once, on every gateway.
operators = Table(
    "operators",
    CLOUD,
    Column("name", String(64), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("created", Float, nullable=False),
    Column("expires", Float, nullable=False),
    Column("revoked", Float),
)

#: Who does what only one process may do at a time, until when. `epoch` grows with every change of
#: holder: work begun under an older one is not finished.
leases = Table(
    "leases",
    CLOUD,
    Column("name", String(32), primary_key=True),
    Column("holder", String(64), nullable=False),
    Column("epoch", Whole, nullable=False),
    Column("until", Float, nullable=False),
)

#: The helper's memory of what it answered: a batch and its reply, and every report id ever summed.
helper_batches = Table(
    "helper_batches",
    HELPER,
    Column("batch_id", LargeBinary, primary_key=True),
    Column("reply", LargeBinary, nullable=False),
)
helper_reports = Table(
    "helper_reports",
    HELPER,
    Column("report_id", LargeBinary, primary_key=True),
    Column("batch_id", LargeBinary, nullable=False),
)
