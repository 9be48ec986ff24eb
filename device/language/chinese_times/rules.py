"""What a rule is: a pattern, what it makes of a match, and what rules it out at once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from device.language.spans import Piece, Prefer, Reference

__all__ = ["Build", "Rule", "rule"]

Build = Callable[[re.Match[str], Reference, Prefer], Piece | None]
"""Makes a piece of a match, said on an aware day or moment; None when it says no time after all."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`pattern` is only tried on a text with one of the characters `triggers`, and, where a cheap
    test is worth it, one that `needs` is found in."""

    triggers: frozenset[str]
    pattern: re.Pattern[str]
    build: Build
    needs: re.Pattern[str] | None = None


def rule(triggers: str, pattern: str, build: Build, needs: str | None = None) -> Rule:
    """A rule from its patterns as written."""
    return Rule(
        frozenset(triggers), re.compile(pattern), build, re.compile(needs) if needs else None
    )
