"""What the checks look at, all of it given: a test gives its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from device.conditions import ConditionSource, Finding
from device.conditions.findings import State
from device.interfaces.doctor.words import words
from device.interfaces.words import language
from device.settings import Settings
from device.vault import KeyProtector

__all__ = ["Patient"]


@dataclass(frozen=True, slots=True)
class Patient:
    """A phone that lives in `home`, and the machine under it."""

    home: Path
    settings: Settings
    now: float
    """Unix seconds by this machine's clock."""
    environ: Mapping[str, str]
    conditions: ConditionSource
    protector: KeyProtector | None
    """None: its secret is not at hand (`no_key` says why)."""
    no_key: str = ""
    statvfs: Callable[[Path], os.statvfs_result] = os.statvfs

    def finding(self, name: str, state: State, code: str, **values: object) -> Finding:
        """A finding with the words of `code`, in the language of the environment."""
        said, do = words(code, language(self.environ), **values)
        # An error's own line may name the folder, and the folder its owner.
        return Finding(name, state, said.replace(str(self.home), "…"), do)
