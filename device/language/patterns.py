"""Patterns that cost little where they cannot match.

A rule has a Chinese and an English side; each runs only on text with its own script. The English
side further names `hints`, of which one must stand in the text: looking for a short literal costs a
fiftieth of an attempt at every word border.
"""

from __future__ import annotations

import re

__all__ = ["Bilingual"]

_LATIN = re.compile(r"[A-Za-z]")


class Bilingual:
    """One rule in two languages.

    Args:
        zh: pattern for text with other than ASCII characters; empty: none.
        en: pattern, without regard to case, for text with Latin letters; empty: none.
        hints: lower-case literals joined by `|`; every match of `en` holds at least one. Empty:
            `en` is always tried.
    """

    __slots__ = ("_en", "_hints", "_zh")

    def __init__(self, zh: str = "", en: str = "", hints: str = "") -> None:
        self._zh = re.compile(zh) if zh else None
        self._en = re.compile(en, re.IGNORECASE) if en else None
        self._hints = tuple(hints.split("|")) if hints else ()

    def search(self, text: str) -> re.Match[str] | None:
        """The first match of the Chinese side, else of the English one."""
        if not text.isascii():
            if self._zh is not None:
                found = self._zh.search(text)
                if found is not None:
                    return found
            if not _LATIN.search(text):
                return None
        if self._en is None or not self._hinted(text):
            return None
        return self._en.search(text)

    def finditer(self, text: str) -> list[re.Match[str]]:
        """All matches, the Chinese side's first."""
        found: list[re.Match[str]] = []
        if self._zh is not None and not text.isascii():
            found += self._zh.finditer(text)
        if self._en is not None and _LATIN.search(text) and self._hinted(text):
            found += self._en.finditer(text)
        return found

    def without_hints(self) -> Bilingual:
        """The same rule, always tried: what hints must not change."""
        zh = self._zh.pattern if self._zh is not None else ""
        return Bilingual(zh, self._en.pattern if self._en is not None else "")

    def _hinted(self, text: str) -> bool:
        if not self._hints:
            return True
        lowered = text.lower()
        for hint in self._hints:  # noqa: SIM110 - a generator costs as much as the look itself
            if hint in lowered:
                return True
        return False
