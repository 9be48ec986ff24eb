"""Text to index terms: the language room's content tokens, folded a little further."""

from __future__ import annotations

import re

from device.language import content_tokens
from device.language.words import HAN, STOP_CHARACTERS

__all__ = ["terms"]

MIN_FOLDED_LETTERS = 3
"""Letters that stay when a silent final e is cut: `moved` and `move` meet, `she` stays."""
_RUN = re.compile(f"[{HAN}]{{2,}}")


def terms(text: str) -> list[str]:
    """Index terms in reading order, repeats kept: stemmed words, numbers, and of Chinese both the
    pairs and the single content characters, so that 晨跑 and 跑步 meet in 跑."""
    single = [c for run in _RUN.findall(text) for c in run if c not in STOP_CHARACTERS]
    return [_fold(token) for token in content_tokens(text)] + single


def _fold(token: str) -> str:
    if token.endswith("e") and len(token) > MIN_FOLDED_LETTERS:
        return token[:-1]
    return token
