"""The phone's settings: one model, one file (`device.toml`), every constant a named field.

Defaults are the source articles' own (FEATURES.md) or AOSP FederatedCompute's policy.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from device.actors import DomainError
from device.agent.policy import AgentPolicy
from device.faults import first_fault

__all__ = ["Settings", "SettingsInvalid", "load_settings", "save_settings", "settings_from"]

FILE = "device.toml"


class SettingsInvalid(DomainError):
    """The settings file is missing or wrong; the message says where and what to do."""


class Settings(BaseModel):
    """Everything a phone's owner may tune."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cloud_url: str = ""
    """Where the cloud answers; empty: the phone works alone and never syncs."""
    cloud_key: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    """The cloud's Ed25519 public key in hex, pinned when the phone was set up."""
    root_sha256: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    """SHA-256 in hex of the root file from which this phone trusts releases, pinned when it was set
    up; empty: the first that the cloud shows once it has proven its key."""
    helper_key: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    """The helper's X25519 public key in hex, had from whoever runs it and not from the cloud;
    empty: the first helper this phone's ledger ever charged for is the only one it reports to."""
    token: str = ""
    """Single-use enrolment token; of no use to anyone once the phone is enrolled."""
    budget: Literal["production", "demo"] = "production"
    """Whose floors and caps the phone enforces, whatever the cloud asks for."""
    timezone: str = "UTC"
    """IANA zone in which "tomorrow" is meant."""
    settle_seconds: float = Field(default=60.0, ge=0.0)
    """How long idle, charging and unmetered must hold before a dream starts."""
    poll_seconds: float = Field(default=60.0, gt=0.0)
    """How often conditions are read while no dream runs."""
    merge_interval_seconds: float = Field(default=300.0, gt=0.0)
    """How often new turns become structured memories inside one long window (002: 5 min)."""
    forget_interval_seconds: float = Field(default=6 * 3600.0, gt=0.0)
    """How often what has faded is archived or deleted."""
    base_decay: float = Field(default=0.98, gt=0.0, le=1.0)
    """What is left of a memory's retention after one more day unread (002)."""
    archive_below: float = Field(default=0.03, ge=0.0, le=1.0)
    """Retention under which a memory leaves the working set for the cold archive (002)."""
    delete_below: float = Field(default=0.0003, ge=0.0, le=1.0)
    """…and under which it is deleted (002); not above `archive_below`."""
    explore_turns: int = Field(default=20, ge=0)
    """For so many turns a new phone says what it would still like to know (002, cold start)."""
    sync_interval_seconds: float = Field(default=12 * 3600.0, gt=0.0)
    """Rest between two syncs; two a day keep the radio and the byte budget small."""
    min_battery: float = Field(default=0.30, ge=0.0, le=1.0)
    """Below this charge the window stays shut even while charging."""
    memory_limit_mb: float = Field(default=50.0, gt=0.0)
    """Private memory over a bare Python from which the phone cleans up (002: 50 MB)."""
    working_turns: int = Field(default=32, ge=1)
    """Turns the working layer's ring holds."""
    layer_floor: float | None = Field(default=None, gt=0.0, le=1.0)
    """A layer whose routed weight is under this is not searched; None: the floors that came with
    the router in use, else 0.1 (002)."""
    clarifying_rounds: int = Field(default=2, ge=0)
    """Clarifying retrievals one recall makes at most."""
    embedder: Literal["builtin", "onnx", "endpoint"] = "builtin"
    """Whose vectors recall compares beside words. An endpoint is sent what was said: off unless
    chosen, and `status` names the host."""
    embedder_model: str = ""
    """Path of the ONNX file, or what the endpoint calls its model."""
    embedder_tokenizer: str = ""
    """Path of the ONNX model's vocab.txt or tokenizer.json; empty: the one beside the model."""
    embedder_url: str = ""
    """Base address of an OpenAI-compatible service, such as https://models.example/v1."""
    embedder_key_variable: str = "REVERIE_EMBEDDER_KEY"
    """Environment variable that holds the service's key."""
    embedder_seconds: float = Field(default=1.0, gt=0.0)
    """How long a query waits for its vector before it goes on with words alone."""
    extractor: Literal["builtin", "endpoint"] = "builtin"
    """Who reads dialogue for what is worth remembering: the built-in rules, or a model service. A
    service is sent what was said: off unless chosen, and `status` names the host."""
    extractor_url: str = ""
    """Base address of an OpenAI-compatible service."""
    extractor_model: str = ""
    """What the service calls its model."""
    extractor_key_variable: str = "REVERIE_EXTRACTOR_KEY"
    """Environment variable that holds the service's key."""
    extractor_seconds: float = Field(default=30.0, gt=0.0)
    """How long one request may take, its retries included; then the rules' result stands."""
    segment_records: int = Field(default=1000, ge=1)
    """A sealed segment closes at this many records (002)."""
    segment_age_seconds: float = Field(default=24 * 3600.0, gt=0.0)
    """…or at this age (002)."""

    distiller: Literal["none", "model", "endpoint"] = "none"
    """Who judges what an agent learnt: nobody, the built-in dedup model, or a model service. A
    service is sent tasks without their typed text: off unless chosen, and `status` names it."""
    distiller_url: str = ""
    """Base address of an OpenAI-compatible service."""
    distiller_model: str = ""
    """What the service calls its model."""
    distiller_key_variable: str = "REVERIE_DISTILLER_KEY"
    """Environment variable that holds the service's key."""
    agent: AgentPolicy = AgentPolicy()
    """What an agent learns and is given; table ``[agent]``."""

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            raise ValueError(f"{name!r} is no IANA time zone, such as Asia/Shanghai") from None
        return name

    @model_validator(mode="after")
    def _archived_before_deleted(self) -> Settings:
        if self.delete_below > self.archive_below:
            raise ValueError("delete_below may not be above archive_below")
        return self

    @property
    def zone(self) -> ZoneInfo:
        """The time zone itself."""
        return ZoneInfo(self.timezone)


def load_settings(folder: Path) -> Settings:
    """Read `device.toml` in the phone's folder.

    Raises:
        SettingsInvalid: no such file, no TOML, or a field that does not fit.
    """
    path = folder / FILE
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsInvalid(
            f"{folder} holds no phone yet: run `reverie-device init` first"
        ) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsInvalid(f"{path} cannot be read: {error}") from None
    return settings_from(fields, where=f"{path}: ")


def settings_from(fields: Mapping[str, Any], *, where: str = "") -> Settings:
    """The settings of these fields, defaults for the rest; `where` begins the error's line.

    Raises:
        SettingsInvalid: the first field that does not fit.
    """
    try:
        return Settings.model_validate(fields)
    except ValidationError as error:
        field, said = first_fault(error)
        raise SettingsInvalid(f"{where}{field}: {said}" if field else f"{where}{said}") from None


def save_settings(folder: Path, settings: Settings) -> None:
    """Write what differs from the defaults, readable only by the owner."""
    chosen = settings.model_dump(exclude_defaults=True)
    tables = {name: chosen.pop(name) for name, value in list(chosen.items()) if _is_table(value)}
    lines = _lines(chosen)
    for name, table in sorted(tables.items()):
        lines += ["", f"[{name}]", *_lines(table)]
    path = folder / FILE
    path.touch(mode=0o600)
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _lines(fields: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_toml(value)}" for name, value in sorted(fields.items())]


def _toml(value: str | float | int) -> str:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)
