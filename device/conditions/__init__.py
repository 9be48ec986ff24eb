"""Idle, charging, unmetered: read from Termux, over adb, from Linux, or from a script."""

from device.conditions.adb import ADB_VARIABLE, AdbConditions, SerialInvalid
from device.conditions.detect import detect
from device.conditions.findings import Finding
from device.conditions.linux import LinuxConditions
from device.conditions.scripted import Interval, ScriptedConditions, ScriptUnreadable
from device.conditions.source import AnnouncingSource, Conditions, ConditionSource
from device.conditions.termux import TermuxConditions

__all__ = [
    "ADB_VARIABLE",
    "AdbConditions",
    "AnnouncingSource",
    "ConditionSource",
    "Conditions",
    "Finding",
    "Interval",
    "LinuxConditions",
    "ScriptUnreadable",
    "ScriptedConditions",
    "SerialInvalid",
    "TermuxConditions",
    "detect",
]
