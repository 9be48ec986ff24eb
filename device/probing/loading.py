"""Reads the files of probes; everything in them that does not fit is refused with its place."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from pydantic import Field, ValidationError

from device.actors import DomainError
from device.faults import first_fault
from device.probing.schema import Dialogue, Probe
from device.probing.steps import Part

__all__ = ["Suite", "SuiteInvalid", "load_suite"]

FOLDER = "suite"


class SuiteInvalid(DomainError):
    """A file of probes does not fit the schema; the message says which and where."""


class _File(Part):
    path: str = Field(pattern=r"^[a-z-]+$")
    dialogue: tuple[Dialogue, ...] = Field(min_length=1)


class Suite(Part):
    """Every dialogue with its probes."""

    dialogues: tuple[Dialogue, ...]

    def __len__(self) -> int:
        return sum(len(dialogue.probes) for dialogue in self.dialogues)

    def __iter__(self) -> Iterator[tuple[Dialogue, Probe]]:  # type: ignore[override]
        """Each probe with its dialogue."""
        return ((d, p) for d in self.dialogues for p in d.probes)

    @property
    def paths(self) -> list[str]:
        """The paths it walks, sorted."""
        return sorted({probe.path for _, probe in self})

    def only(self, *, language: str | None = None, path: str | None = None) -> Suite:
        """The part in one language, or along one path."""
        kept = []
        for dialogue in self.dialogues:
            if language and dialogue.language != language:
                continue
            probes = tuple(p for p in dialogue.probes if not path or p.path == path)
            if probes:
                kept.append(dialogue.model_copy(update={"probes": probes}))
        return Suite(dialogues=tuple(kept))


def load_suite(folder: Traversable | None = None) -> Suite:
    """The probes that ship with the phone, or those of a folder.

    Raises:
        SuiteInvalid: a file is no TOML, does not fit, or repeats an id.
    """
    place = folder or resources.files(__package__).joinpath(FOLDER)
    files = sorted((f for f in place.iterdir() if f.name.endswith(".toml")), key=lambda f: f.name)
    dialogues = [dialogue for file in files for dialogue in _read(file)]
    _check_unique(dialogues)
    return Suite(dialogues=tuple(dialogues))


def _read(file: Traversable) -> list[Dialogue]:
    try:
        fields = tomllib.loads(file.read_text(encoding="utf-8"))
        read = _File.model_validate(_with_path(fields))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SuiteInvalid(f"{file.name}: {error}") from None
    except ValidationError as error:
        where, said = first_fault(error)
        raise SuiteInvalid(f"{file.name}: {where}: {said}") from None
    return list(read.dialogue)


def _with_path(fields: dict[str, Any]) -> dict[str, Any]:
    """Write the file's path into the probes that name none."""
    for dialogue in fields.get("dialogue", ()):
        for probe in dialogue.get("probes", ()):
            probe.setdefault("path", fields.get("path", ""))
    return fields


def _check_unique(dialogues: Iterable[Dialogue]) -> None:
    seen: set[str] = set()
    for dialogue in dialogues:
        for name in (dialogue.id, *(f"{dialogue.id}/{probe.id}" for probe in dialogue.probes)):
            if name in seen:
                raise SuiteInvalid(f"{name} is there twice")
            seen.add(name)
