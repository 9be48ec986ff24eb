"""Every constant of what an agent learns, a named field with its unit (articles 000, 001, 003).

Where the articles disagree the tighter bound holds (FEATURES, last section).
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["AgentPolicy"]


class AgentPolicy(BaseModel):
    """What a phone's owner may tune of its agent's memory; table ``[agent]`` of device.toml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # Facts (000: confidence decides trust and injection; 001: utility decides eviction)
    fact_confidence: float = Field(default=0.7, ge=0.0, le=1.0)
    """Confidence of a new fact."""
    fact_confirmed: float = Field(default=0.05, ge=0.0, le=1.0)
    """Confidence gained when an action based on a fact works."""
    fact_refuted: float = Field(default=0.15, ge=0.0, le=1.0)
    """Confidence lost when it fails."""
    fact_confidence_cap: float = Field(default=0.99, ge=0.0, le=1.0)
    fact_pending_below: float = Field(default=0.5, ge=0.0, le=1.0)
    """Below this confidence a fact waits to be verified."""
    fact_dropped_below: float = Field(default=0.3, ge=0.0, le=1.0)
    fact_close: float = Field(default=0.1, ge=0.0, le=1.0)
    """Two contradicting facts nearer than this in confidence both stay."""
    fact_verify_days: float = Field(default=7.0, gt=0.0)
    """Unverified for longer, a fact is to be checked before it is used."""
    fact_archive_days: float = Field(default=90.0, gt=0.0)
    """Unused for longer, a fact is kept but no more injected."""
    fact_refutations: int = Field(default=3, ge=1)
    """So many refutations drop a fact whatever its confidence."""
    facts_per_app: int = Field(default=12, ge=1)
    facts_per_app_floor: int = Field(default=3, ge=0)
    """Facts of one app that the global limit never takes."""
    facts_in_all: int = Field(default=40, ge=1)
    utility_confirmed: float = 2.0
    utility_refuted: float = 3.0
    freshness_days: float = Field(default=30.0, gt=0.0)
    """Days over which a fact's freshness falls from 1 to 0."""

    # Injection
    facts_injected: int = Field(default=15, ge=0)
    block_tokens: int = Field(default=1_500, ge=0)
    block_characters: int = Field(default=2_000, ge=0)
    view_characters: int = Field(default=20_000, ge=0)
    """The whole memory as a person views it."""
    truncations_until_cleanup: int = Field(default=3, ge=1)
    """After so many cut blocks in a row a clean-up is asked for."""

    # The write chain
    facts_distilled: int = Field(default=5, ge=1)
    """Facts a distiller may offer a time; none is a right answer."""
    facts_written: int = Field(default=3, ge=1)
    """Facts written a time."""
    merge_cooldown_seconds: float = Field(default=300.0, ge=0.0)
    """One app is not written to again within it."""
    distillations_a_day: int = Field(default=3, ge=1)
    """Of one app and task type."""
    trajectories_a_task: int = Field(default=30, ge=1)
    runs: int = Field(default=50, ge=1)
    run_days: float = Field(default=7.0, gt=0.0)
    run_megabytes: float = Field(default=100.0, gt=0.0)

    # Skills
    skill_steps_least: int = Field(default=2, ge=1)
    skill_steps_most: int = Field(default=5, ge=1)
    skill_merge_above: float = Field(default=0.8, ge=0.0, le=1.0)
    """Steps more alike than this: one skill."""
    skill_alike_above: float = Field(default=0.5, ge=0.0, le=1.0)
    """Steps more alike than this: both kept, one found."""
    skills_in_all: int = Field(default=20, ge=1)
    skills_compressed_above: int = Field(default=500, ge=1)
    """000's limit, for whoever raises `skills_in_all`."""
    skills_found: int = Field(default=3, ge=1)
    weight_app: float = Field(default=0.5, ge=0.0)
    weight_page: float = Field(default=0.3, ge=0.0)
    weight_task: float = Field(default=0.2, ge=0.0)
    skill_unused_days: float = Field(default=30.0, gt=0.0)
    skills_distilled: bool = False
    """Skills from runs may be kept: off, for people write them better (001). Whoever proposes one
    has to carry it out once more before it is added."""

    # Session patterns
    pattern_days: float = Field(default=30.0, gt=0.0)
    """Not seen for longer, a pattern is gone."""
    pattern_evidence: int = Field(default=5, ge=1)
    """Confirmations needed before a habit is told."""
    pattern_share: float = Field(default=0.8, ge=0.5, le=1.0)
    """Share of them that must agree."""
