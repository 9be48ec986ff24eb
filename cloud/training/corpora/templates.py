"""Templates: ``{slot}`` takes a value from a list, ``(a|b|)`` one of its alternatives."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from importlib.resources import files
from typing import TypeVar

import numpy as np

__all__ = [
    "LANGUAGES",
    "Slots",
    "choose",
    "draw",
    "fill",
    "generator_for",
    "held_out",
    "read_lines",
    "read_slots",
    "split_label",
]

LANGUAGES = ("zh", "en")
HOLD_OUT_EVERY = 5
"""One template in five is kept from training, so that held-out wording is wording never seen."""
HOLD_OUT_OFFSET = 3

T = TypeVar("T")
Slots = Mapping[str, tuple[str, ...]]

_SLOT = re.compile(r"\{(\w+)\}")
_CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")


def read_lines(name: str) -> list[str]:
    """The non-empty lines of a file of ``data/``."""
    text = (files("cloud.training.corpora") / "data" / name).read_text(encoding="utf-8")
    return [line.strip() for line in text.splitlines() if line.strip()]


def read_slots(language: str, source: str = "slots") -> dict[str, tuple[str, ...]]:
    """Slot name → its values, of one of the slot files."""
    slots: dict[str, tuple[str, ...]] = {}
    for line in read_lines(f"{source}.{language}.txt"):
        name, values = line.split(":", 1)
        slots[name] = tuple(value.strip() for value in values.split("|"))
    return slots


def generator_for(*names: str) -> np.random.Generator:
    """The random generator that belongs to these names, the same on every machine."""
    digest = sha256("\x1f".join(names).encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))


def choose(options: Sequence[T], rng: np.random.Generator) -> T:
    """One of `options`, uniformly."""
    return options[int(rng.integers(len(options)))]


def draw(slots: Slots, rng: np.random.Generator) -> dict[str, str]:
    """One value for every slot."""
    # One call for all: the generator gives what a call for each would have given.
    places = rng.integers([len(values) for values in slots.values()]).tolist()
    return {
        name: values[place] for (name, values), place in zip(slots.items(), places, strict=True)
    }


def fill(template: str, values: Mapping[str, str], rng: np.random.Generator) -> str:
    """The template with its alternatives chosen and its slots set to `values`."""
    chosen = _CHOICE.sub(lambda match: choose(match[1].split("|"), rng), template)
    return _SLOT.sub(lambda match: values[match[1]], chosen)


def held_out(position: int) -> bool:
    """Whether the template (or family) at this place of its section is held out."""
    return position % HOLD_OUT_EVERY == HOLD_OUT_OFFSET


def split_label(line: str, fields: int) -> list[str]:
    """The ``|``-separated fields of a hand-written line."""
    parts = [part.strip() for part in line.split("|")]
    if len(parts) != fields:
        raise ValueError(f"a hand-written line needs {fields} fields: {parts[0]}|{parts[1]}|…")
    return parts
