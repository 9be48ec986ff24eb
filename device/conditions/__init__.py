"""Idle, charging, unmetered: read from Termux, from Linux, or from a script."""

from device.conditions.detect import detect
from device.conditions.linux import LinuxConditions
from device.conditions.scripted import Interval, ScriptedConditions, ScriptUnreadable
from device.conditions.source import AnnouncingSource, Conditions, ConditionSource
from device.conditions.termux import TermuxConditions

__all__ = [
    "AnnouncingSource",
    "ConditionSource",
    "Conditions",
    "Interval",
    "LinuxConditions",
    "ScriptUnreadable",
    "ScriptedConditions",
    "TermuxConditions",
    "detect",
]
