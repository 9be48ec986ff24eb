"""Words for matching: latin words lightly stemmed, Chinese as characters and overlapping pairs.

No dictionary is loaded: bigrams find a two-character Chinese word wherever it stands, and a
dictionary segmenter costs more RAM than a whole phone process may use.
"""

from __future__ import annotations

import re
from functools import lru_cache

from device.language.kept import kept
from device.language.words import ENGLISH_STOP_WORDS, HAN, STOP_CHARACTERS

__all__ = ["content_of", "content_tokens", "language_of", "split_sentences", "stem", "tokens"]

_RUN = re.compile(rf"[a-z0-9]+(?:['’][a-z]+)?|[{HAN}]+", re.ASCII)
_HAN_RUN = re.compile(f"[{HAN}]")
_LATIN_RUN = re.compile(r"[A-Za-z]")
_SENTENCE_END = re.compile(
    r"(?<=[。！？!?；;\n])\s*"
    r"|(?<=\.)(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bMrs\.)(?<!\bProf\.)\s+(?![a-z])"
)
"""After a closing mark; the point of "Dr." or "a.m." closes nothing."""
_CACHED_WORDS = 2_048
"""Stems remembered: people say the same words again and again."""
MIN_STEM_LETTERS = 3
"""Letters that must remain after a suffix is cut, so that `king` stays `king`."""


@lru_cache(maxsize=_CACHED_WORDS)
def stem(word: str) -> str:
    """Cut the commonest English endings; never below three letters.

    Weaker than Porter's on purpose: a name must still look like itself.
    """
    for suffix, ending in (("'s", ""), ("’s", ""), ("ies", "y"), ("sses", "ss")):
        if word.endswith(suffix) and len(word) - len(suffix) >= MIN_STEM_LETTERS - 1:
            return word[: -len(suffix)] + ending
    if word.endswith(("ss", "us", "is")):
        return word
    for suffix in ("ing", "ed", "s"):
        kept = word.removesuffix(suffix)
        if kept != word and len(kept) >= MIN_STEM_LETTERS and any(v in "aeiouy" for v in kept):
            return _undouble(kept) if suffix != "s" else kept
    return word


def _undouble(word: str) -> str:
    doubled = len(word) > MIN_STEM_LETTERS and word[-1] == word[-2] and word[-1] not in "lsz"
    return word[:-1] if doubled else word


def tokens(text: str) -> list[str]:
    """Every token in reading order, repeats kept.

    A Chinese run of n characters gives its n characters and its n−1 pairs; latin words and numbers
    are lower-cased and stemmed.
    """
    found: list[str] = []
    for run in _RUN.findall(text.lower()):
        if not run[0].isascii():
            found.extend(run)
            found.extend(run[i : i + 2] for i in range(len(run) - 1))
        else:
            found.append(stem(run))
    return found


def content_tokens(text: str) -> list[str]:
    """Tokens that carry meaning: no stop words, and of Chinese only pairs with a content character
    (or a run's single character)."""
    return list(content_of(text))


@kept
def content_of(text: str) -> tuple[str, ...]:
    """As `content_tokens`, and kept."""
    found: list[str] = []
    for run in _RUN.findall(text.lower()):
        if run[0].isascii():
            if run not in ENGLISH_STOP_WORDS:
                found.append(stem(run))
        elif len(run) == 1:
            found.extend(c for c in run if c not in STOP_CHARACTERS)
        else:
            light = [character in STOP_CHARACTERS for character in run]
            places = range(len(run) - 1)
            found += [run[i : i + 2] for i in places if not (light[i] and light[i + 1])]
    return tuple(found)


def language_of(text: str) -> str:
    """`zh`, `en`, `mixed` or `none`: by which scripts the text is written in.

    A latin word or two inside Chinese (a brand, a name) does not make a text mixed.
    """
    if text.isascii():
        return "en" if _LATIN_RUN.search(text) else "none"
    han = len(_HAN_RUN.findall(text))
    latin = len(_LATIN_RUN.findall(text))
    if han == 0:
        return "en" if latin else "none"
    if latin > 2 * han:
        return "mixed"
    return "zh"


def split_sentences(text: str) -> list[str]:
    """Sentences with their closing mark, blank ones dropped."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part and part.strip()]
