"""Why a condition of a Termux phone is unknown, and what its owner can do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from device.conditions.findings import Finding
from device.conditions.source import FREE_FLOOR
from device.conditions.termux_api import Reply
from device.conditions.termux_shapes import app_age, battery_words, wifi_words
from device.conditions.termux_words import advice, plain
from device.conditions.tools import Said

__all__ = ["JOB", "Seen", "Sight", "findings_of", "reasons_of"]

JOB = 7301
"""The job's number with Termux:API, as deploy/termux/install.sh registers it."""
MB = 10**6
BATTERY, WIFI = "termux-battery-status", "termux-wifi-connectioninfo"

Condition = Literal["idle", "charging", "unmetered"]


@dataclass(frozen=True, slots=True)
class Sight:
    """One condition, and how it came to be known, or why it is not."""

    holds: bool | None
    why: str
    """A key of `termux_words`; empty when the raw reading says it all."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One look at the phone."""

    battery: Reply
    wifi: Reply
    idle: Sight
    charging: Sight
    unmetered: Sight
    thermal: int | None
    """Android's thermal status, 0 … 6."""
    hot: bool | None
    free: int | None
    """Bytes."""
    app_known: bool
    """Termux has named the version of a Termux:API app in the environment."""


def reasons_of(seen: Seen, language: str) -> tuple[str, ...]:
    """A line for each condition that is unknown, and for heat and a full disk."""
    lines = []
    for name, said, do in _unknown(seen, language):
        condition = plain(name, language)
        lines.append(plain("unknown", language, condition=condition, said=said, do=do))
    for code, hinders in (("hot", seen.hot is True), ("full", _full(seen))):
        if hinders:
            said, do = advice(code, language)
            lines.append(plain("hindered", language, said=said, do=do))
    return tuple(lines)


def findings_of(seen: Seen, jobs: Said, language: str) -> list[Finding]:
    """Every look as a finding: termux-api, the three conditions, heat, space, the job."""
    unknown = {name: (said, do) for name, said, do in _unknown(seen, language)}
    raw: dict[Condition, str] = {
        "idle": "",
        "charging": battery_words(seen.battery.value),
        "unmetered": wifi_words(seen.wifi.value),
    }
    found = [_api(seen, language)]
    for name, sight in _sights(seen):
        if name in unknown:
            found.append(Finding(name, "unknown", *unknown[name]))
            continue
        how = plain(sight.why, language) if sight.why else ""
        words = "; ".join(part for part in (how, raw[name]) if part)
        said = plain("yes" if sight.holds else "no", language, raw=words)
        found.append(Finding(name, "ok", said))
    return [*found, _heat(seen, language), _space(seen, language), _job(seen, jobs, language)]


def _sights(seen: Seen) -> tuple[tuple[Condition, Sight], ...]:
    return (("idle", seen.idle), ("charging", seen.charging), ("unmetered", seen.unmetered))


def _unknown(seen: Seen, language: str) -> Iterator[tuple[Condition, str, str]]:
    """(condition, what was seen, what to do) of each that is unknown."""
    for name, sight in _sights(seen):
        if sight.holds is not None:
            continue
        reply, tool = (seen.battery, BATTERY) if name == "charging" else (seen.wifi, WIFI)
        raw = (battery_words if name == "charging" else wifi_words)(reply.value)
        code = _code(sight.why, seen)
        permission = reply.permission or "?"
        said, do = advice(code, language, tool=tool, permission=permission, raw=raw)
        yield name, said, do


def _code(why: str, seen: Seen) -> str:
    return "no app" if why == "late" and not seen.app_known else why


def _api(seen: Seen, language: str) -> Finding:
    """Whether the app answers at all, and its age by the shape of the battery's answer."""
    if seen.battery.trouble:
        code = _code(seen.battery.trouble, seen)
        permission = seen.battery.permission or "?"
        said, do = advice(code, language, tool=BATTERY, permission=permission)
        return Finding("termux-api", "fault", said, do)
    age = app_age(seen.battery.value)
    if age == "0.51":
        return Finding("termux-api", "warning", *advice("old app for jobs", language))
    if age != "0.53 or newer":
        return Finding("termux-api", "warning", *advice("old app", language, age=age or "?"))
    return Finding("termux-api", "ok", plain("api fine", language, age=age))


def _heat(seen: Seen, language: str) -> Finding:
    if seen.hot:
        return Finding("thermal", "warning", *advice("hot", language))
    if seen.thermal is None:
        return Finding("thermal", "ok", plain("thermal untold", language))
    return Finding("thermal", "ok", plain("thermal", language, status=seen.thermal))


def _full(seen: Seen) -> bool:
    return seen.free is not None and seen.free < FREE_FLOOR


def _space(seen: Seen, language: str) -> Finding:
    if seen.free is None:
        return Finding("storage", "unknown", plain("free untold", language))
    if _full(seen):
        return Finding("storage", "fault", *advice("full", language))
    return Finding("storage", "ok", plain("free", language, mb=seen.free // MB))


def _job(seen: Seen, jobs: Said, language: str) -> Finding:
    """Whether Android holds our job, with its idle gate."""
    if jobs.text is None or not jobs.text.strip():
        code = _code(jobs.trouble or "empty", seen)
        tool = "termux-job-scheduler"
        return Finding("job", "unknown", *advice(_job_code(code), language, tool=tool))
    ours = [part for part in jobs.text.split("Pending Job ") if part.startswith(f"{JOB}:")]
    if not ours:
        return Finding("job", "warning", *advice("job missing", language, job=JOB))
    if "(while idle)" not in ours[0]:
        return Finding("job", "warning", *advice("job without idle", language, job=JOB))
    return Finding("job", "ok", plain("job fine", language, job=JOB))


def _job_code(code: str) -> str:
    return "garbage" if code == "unreadable" else code
