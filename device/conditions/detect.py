"""Which kind of machine this is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from device.conditions.adb import ADB_VARIABLE, AdbConditions
from device.conditions.linux import LinuxConditions
from device.conditions.scripted import ScriptedConditions
from device.conditions.source import ConditionSource
from device.conditions.termux import TermuxConditions

__all__ = ["SCRIPT_VARIABLE", "detect"]

SCRIPT_VARIABLE = "REVERIE_CONDITIONS"
"""Names a JSON script that stands in for the machine's own conditions."""
TERMUX_VARIABLE = "TERMUX_VERSION"
"""Exported by the Termux app in every shell and job it starts."""


def detect(
    now: Callable[[], float] = time.time, environ: Mapping[str, str] = os.environ
) -> ConditionSource:
    """A script when one is named, the phone behind adb when one is, Termux's API inside Termux,
    else Linux.

    Raises `ScriptUnreadable`, `SerialInvalid`: what was named cannot be used.
    """
    script = environ.get(SCRIPT_VARIABLE)
    if script:
        return ScriptedConditions.from_json(Path(script), now)
    if serial := environ.get(ADB_VARIABLE):
        return AdbConditions(serial, now=now)
    if environ.get(TERMUX_VARIABLE):
        return TermuxConditions(now=now, environ=environ)
    return LinuxConditions(now=now, environ=environ)
