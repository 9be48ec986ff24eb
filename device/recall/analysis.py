"""Text to index terms: the language room's content tokens, folded a little further."""

from __future__ import annotations

import re

from device.language.tokens import content_of
from device.language.words import HAN, STOP_CHARACTERS

__all__ = ["terms"]

_IRREGULAR = """
go goes went gone, buy bought, make made, take took taken, get got gotten, give gave given, see
saw seen, eat ate eaten, run ran, meet met, tell told, say said, think thought, feel felt, find
found, leave left, lose lost, win won, write wrote written, begin began begun, bring brought,
build built, catch caught, choose chose chosen, come came, draw drew drawn, drink drank drunk,
drive drove driven, fall fell fallen, fly flew flown, forget forgot forgotten, grow grew grown,
hear heard, hold held, keep kept, know knew known, learn learnt, lead led, lend lent, pay paid,
ride rode ridden, ring rang rung, sell sold, send sent, shoot shot, show shown, sing sang sung,
sit sat, sleep slept, speak spoke spoken, spend spent, stand stood, steal stole stolen, swim swam
swum, teach taught, understand understood, wake woke woken, wear wore worn, break broke broken,
become became, child children kid kids, man men, woman women, person people, wife wives, foot
feet, tooth teeth, mouse mice, life lives, photo photos photograph picture pic, mom mother mum,
dad father
"""
"""Forms that no ending tells, and everyday words for one thing: the first stands for its group."""

MIN_FOLDED_LETTERS = 3
"""Letters that stay when a silent final e is cut: `moved` and `move` meet, `she` stays."""
_FORMS = {form: group.split()[0] for group in _IRREGULAR.split(",") for form in group.split()[1:]}
_LATIN = re.compile(r"[a-z]+")
_RUN = re.compile(f"[{HAN}]{{2,}}")


def terms(text: str) -> list[str]:
    """Index terms in reading order, repeats kept: stemmed words, numbers, and of Chinese both the
    pairs and the single content characters, so that 晨跑 and 跑步 meet in 跑."""
    single = [c for run in _RUN.findall(text) for c in run if c not in STOP_CHARACTERS]
    base = _LATIN.sub(lambda word: _FORMS.get(word[0], word[0]), text.lower())
    return [*(_fold(token) for token in content_of(base)), *single]


def _fold(token: str) -> str:
    if token.endswith("e") and len(token) > MIN_FOLDED_LETTERS:
        return token[:-1]
    return token
