"""Questions labelled with the memory layers that answer them.

working: one stable value about the user or people near, or the conversation in progress.
structured: events, plans, dates, preferences, states. raw: wording, reasons, feelings, stories,
details nobody reduces to fields. Two labels where one layer alone would leave half unanswered.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cloud.training.corpora.corpus import Line
from cloud.training.corpora.templates import (
    LANGUAGES,
    Slots,
    choose,
    draw,
    fill,
    generator_for,
    held_out,
    read_lines,
    read_slots,
    split_label,
)

__all__ = ["router_lines"]

SAMPLES_PER_TEMPLATE = 24
SAMPLES_PER_PHRASE = 6
SAMPLES_PER_HELD_OUT = 8
SAMPLES_PER_HELD_OUT_PHRASE = 3

_FRAMES = ("frames",)
_OPENERS = {
    "zh": ("", "", "", "那个，", "帮我看看，", "哎，", "对了，", "我想问，"),
    "en": ("", "", "", "hey, ", "quick one: ", "um, ", "can you tell me, ", "ok so "),
}
_CLOSERS = {
    "zh": ("", "", "？", "来着", "呢", "，谢谢"),
    "en": ("", "", "?", "?", " please", " again"),
}


def router_lines() -> Iterator[Line]:
    """Every labelled question: from templates first, then those written by hand."""
    for language in LANGUAGES:
        slots = read_slots(language)
        for labels, position, template in _sections(f"router.{language}.txt"):
            counts = (SAMPLES_PER_TEMPLATE, SAMPLES_PER_HELD_OUT)
            yield from _samples(language, labels, held_out(position), (template,), slots, counts)
        phrases = list(_sections(f"phrases.{language}.txt"))
        frames = tuple(line for labels, _, line in phrases if labels == _FRAMES)
        for labels, position, phrase in phrases:
            if labels != _FRAMES:
                framed = tuple(frame.replace("{o}", phrase) for frame in frames)
                counts = (SAMPLES_PER_PHRASE, SAMPLES_PER_HELD_OUT_PHRASE)
                yield from _samples(language, labels, held_out(position), framed, slots, counts)
    for name, origin in (("handwritten", "handwritten"), ("probes", "probe")):
        for line in read_lines(f"router.{name}.txt"):
            tongue, layers, text = split_label(line, 3)
            yield Line((text,), tuple(layers.split()), tongue, origin, text)


def _sections(name: str) -> Iterator[tuple[tuple[str, ...], int, str]]:
    """Labels, place within the section, and line."""
    labels: tuple[str, ...] = ()
    position = 0
    for line in read_lines(name):
        if line.startswith("["):
            labels, position = tuple(line.strip("[]").split()), 0
        else:
            yield labels, position, line
            position += 1


def _samples(
    language: str,
    labels: tuple[str, ...],
    out: bool,
    templates: tuple[str, ...],
    slots: Slots,
    counts: tuple[int, int],
) -> Iterator[Line]:
    """Different questions of `templates`: counts[0] to train on, or counts[1] held out."""
    rng = generator_for("router", language, templates[0])
    seen: set[str] = set()
    for _ in range(counts[out]):
        text = _spoken(fill(choose(templates, rng), draw(slots, rng), rng), language, rng)
        if text not in seen:
            seen.add(text)
            origin = "template-held-out" if out else "template"
            yield Line((text,), labels, language, origin, templates[0])


def _spoken(text: str, language: str, rng: np.random.Generator) -> str:
    said = choose(_OPENERS[language], rng) + text
    if not said.endswith(("？", "?", "来着")):
        said += choose(_CLOSERS[language], rng)
    return said[0].upper() + said[1:] if language == "en" and rng.random() < 0.5 else said
