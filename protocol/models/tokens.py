"""Text normalised and cut the same way for every feature."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from protocol.models.kept import kept_up_to

__all__ = ["MAX_TEXT", "Tokens", "tokens"]

MAX_TEXT = 2_000
"""Characters of a text that are looked at: bounds the cost of one feature vector."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_PIECE = re.compile(rf"([{_CJK}]+)|([^\W_{_CJK}]+(?:['’][^\W\d_{_CJK}]+)*)")
_CACHED_TEXTS = 1_024
"""Texts whose cut is kept: deduplication compares one text with many."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text cut into runs of CJK characters and words of other scripts, each in order."""

    text: str
    """NFKC, case-folded, cut to MAX_TEXT characters."""
    runs: tuple[str, ...]
    words: tuple[str, ...]
    units: tuple[str, ...]
    """Single CJK characters and words as they come: the smallest pieces that carry meaning."""
    pieces: tuple[tuple[str, bool], ...]
    """Runs and words as they come; True marks a run of CJK characters."""

    @property
    def cjk(self) -> int:
        """Number of CJK characters."""
        return sum(map(len, self.runs))


@kept_up_to(_CACHED_TEXTS, longest=MAX_TEXT)
def tokens(text: str) -> Tokens:
    """Cut ``text``; equal texts give equal cuts, so the cache is invisible."""
    folded = text[:MAX_TEXT]
    if not folded.isascii():
        folded = unicodedata.normalize("NFKC", folded)[:MAX_TEXT]
    folded = folded.casefold()
    runs: list[str] = []
    words: list[str] = []
    units: list[str] = []
    pieces: list[tuple[str, bool]] = []
    for run, word in _PIECE.findall(folded):
        if run:
            runs.append(run)
            pieces.append((run, True))
            units.extend(run)
        else:
            plain = word.replace("’", "'")
            words.append(plain)
            pieces.append((plain, False))
            units.append(plain)
    return Tokens(folded, tuple(runs), tuple(words), tuple(units), tuple(pieces))
