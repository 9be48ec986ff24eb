"""What an operator may set, with units. The composition root reads it; actors get plain values."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from cloud.storage.places import places_of
from cloud.storage.retention import KEPT_SECONDS
from privacy import BUDGETS
from protocol.rounds import SHARED_TASKS

__all__ = ["DAY", "HOUR", "CloudConfig"]

HOUR = 3600.0
DAY = 24 * HOUR
DEFAULT_PORT = 8770
DEFAULT_HELPER_PORT = 8771


class CloudConfig(BaseModel):
    """One cloud.

    `seed` makes every random choice reproducible and therefore nothing private: only a simulated
    world sets it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: Path
    role: Literal["all", "gateway"] = Field(
        "all", description="gateway: serves phones and never ticks; an `all` of its cloud does"
    )
    intake_shards: int = Field(
        1, ge=1, le=64, description="actors that store reports; more help on PostgreSQL only"
    )
    budget: Literal["production", "demo"] = "production"
    database: SecretStr | None = Field(
        None, description="SQLAlchemy URL; else what the state folder names, or SQLite in it"
    )
    blob_store: str | None = Field(
        None, description="folder or s3://bucket/prefix; else what the state folder names"
    )
    aggregation: Literal["two-server", "local"] = Field(
        "two-server", description="local: no helper; phones randomise single answers, no updates"
    )
    helper_url: str | None = Field(None, description="None embeds a helper in this process")
    helper_token_file: Path | None = Field(
        None, description="what the helper's operator handed over; needed with helper_url"
    )
    new_helper: bool = Field(False, description="trust another helper than the one pinned")
    open_enrolment: bool = False
    token_lifetime: float = Field(7 * DAY, gt=0, description="seconds")
    revisit: float | None = Field(
        None, ge=0, description="seconds until a phone is asked back; None: by the rounds' cadence"
    )
    retention: float = Field(
        KEPT_SECONDS, gt=0, description="seconds a summed report's row still names its phone"
    )
    helper_timeout: float = Field(120.0, gt=0, description="seconds one batch may take")
    publish: Literal["auto", "by-hand"] = Field(
        "auto", description="by-hand: what passed the gate waits for an operator's approval"
    )
    corpus: Path | None = Field(
        None, description="JSONL of labelled lines by contributors, trained on beside the built-in"
    )
    seed: int | None = None

    @property
    def database_url(self) -> str:
        """Where the state of record is."""
        if self.database is not None:
            return self.database.get_secret_value()
        named = places_of(self.state).database_url
        return named or f"sqlite:///{self.state.absolute() / 'cloud.db'}"

    @property
    def blobs_url(self) -> str:
        """Where the immutable artefacts are: a folder, or s3://bucket/prefix."""
        return self.blob_store or places_of(self.state).blobs_url or str(self.blobs)

    @property
    def revisit_after(self) -> float:
        """Seconds until a phone is asked back: twice a round, and at least once a day.

        Opening a connection costs a phone more bytes than most of what it carries.
        """
        if self.revisit is not None:
            return self.revisit
        budget = BUDGETS[self.budget]
        cadences = [budget.local.cadence]
        if self.aggregation == "two-server":
            cadences = [budget.terms(task).cadence for task in SHARED_TASKS]
        return min(DAY, min(cadences) / 2)

    @property
    def blobs(self) -> Path:
        """The folder of immutable artefacts, where no other place was named."""
        return self.state.absolute() / "blobs"

    @property
    def signing_key(self) -> Path:
        """The Ed25519 key that signs rounds and releases."""
        return self.state.absolute() / "signing.key"

    @property
    def keys(self) -> Path:
        """The folder of the keys that sign what phones may install, a file for each role."""
        return self.state.absolute() / "keys"

    @property
    def helper_state(self) -> Path:
        """The embedded helper's own folder: its key and its database, apart from the leader's."""
        return self.state.absolute() / "helper"
