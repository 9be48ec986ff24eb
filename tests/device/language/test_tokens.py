"""Tokens and triggers worked out in one pass against their definitions."""

import re

from hypothesis import given
from hypothesis import strategies as st

from device.language.attribute_rules import TRIGGERS
from device.language.attributes import _TRIGGERED
from device.language.tokens import content_tokens, stem
from device.language.words import ENGLISH_STOP_WORDS, HAN, STOP_CHARACTERS

RUN = re.compile(rf"[a-z0-9]+(?:['’][a-z]+)?|[{HAN}]+", re.ASCII)
TEXT = st.text(st.sampled_from("我的了们去爬山ab's ed.ing the 2号"), max_size=30)


@given(TEXT)
def test_content_tokens_are_stems_and_pairs_with_a_content_character(text: str) -> None:
    expected: list[str] = []
    for run in RUN.findall(text.lower()):
        if run[0].isascii():
            expected += [] if run in ENGLISH_STOP_WORDS else [stem(run)]
        elif len(run) == 1:
            expected += [] if run in STOP_CHARACTERS else [run]
        else:
            pairs = [run[i : i + 2] for i in range(len(run) - 1)]
            expected += [p for p in pairs if any(c not in STOP_CHARACTERS for c in p)]
    assert content_tokens(text) == expected


@given(TEXT | st.sampled_from([word for words in TRIGGERS.values() for word in words]))
def test_a_key_opens_when_one_of_its_words_stands_in_the_text(text: str) -> None:
    opened = {key for key, words in TRIGGERS.items() if any(word in text for word in words)}
    assert {key for word, key in _TRIGGERED if word in text} == opened
