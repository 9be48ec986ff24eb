"""Of this app, its Python, its packages; and what the chosen services need."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, requires, version

from device.conditions import Finding
from device.interfaces.doctor.patient import Patient
from protocol.messages import VERSIONS

__all__ = ["services", "versions"]

APP = "reverie"
_NEEDED = re.compile(r"([A-Za-z0-9._-]+)>=([0-9.]+)")
"""A requirement of the base: the extras carry a marker and do not match whole."""


async def versions(patient: Patient) -> Sequence[Finding]:
    """Installed against the least that will do."""
    protocol = ", ".join(str(each) for each in VERSIONS)
    said = {
        "app": _installed(APP) or "?",
        "protocol": protocol,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }
    wanting: list[str] = []
    there: list[str] = []
    for name, least in _base():
        found = _installed(name)
        good = bool(found) and _numbers(found) >= _numbers(least)
        (there if good else wanting).append(f"{name} {found or '—'}")
    packages = (
        patient.finding("packages", "fault", "packages old", names=", ".join(wanting))
        if wanting
        else patient.finding("packages", "ok", "packages fine", names=", ".join(there))
    )
    return [patient.finding("versions", "ok", "versions", **said), packages]


async def services(patient: Patient) -> Sequence[Finding]:
    """The model services the owner chose: whether the key each needs is there."""
    chosen = patient.settings
    wanted = [
        (what, variable)
        for what, how, variable in (
            ("embedder", chosen.embedder, chosen.embedder_key_variable),
            ("extractor", chosen.extractor, chosen.extractor_key_variable),
            ("distiller", chosen.distiller, chosen.distiller_key_variable),
        )
        if how == "endpoint" and not patient.environ.get(variable)
    ]
    return [
        patient.finding("services", "warning", "service keyless", what=what, variable=variable)
        for what, variable in wanted
    ]


def _base() -> Iterator[tuple[str, str]]:
    try:
        needed = requires(APP) or []
    except PackageNotFoundError:  # run from a source tree
        return
    for each in needed:
        if match := _NEEDED.fullmatch(each.strip()):
            yield match[1], match[2]


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _numbers(text: str) -> tuple[int, ...]:
    """The leading numbers of a version, for a comparison."""
    return tuple(int(part) for part in re.findall(r"\d+", text.split("+")[0])[:3])
