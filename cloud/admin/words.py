"""The pages' words in English and Chinese, side by side in `pages/words.tsv`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final, Literal, get_args

__all__ = ["LANGUAGES", "Language", "Words", "preferred", "table"]

Language = Literal["en", "zh"]
LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)


class Words:
    """What the pages say in one language."""

    def __init__(self, language: Language) -> None:
        self.language: Language = language
        self._said = table()[language]

    @property
    def other(self) -> Language:
        """The language to switch to."""
        return "zh" if self.language == "en" else "en"

    def __call__(self, key: str, /, **values: object) -> str:
        """The sentence under `key`, its blanks filled. KeyError when there is none."""
        return self._said[key].format(**values)

    def name(self, kind: str, key: str) -> str:
        """What a thing of that kind is called; its own name when it has no word."""
        return self._said.get(f"{kind}.{key}", key)


def preferred(accepted: str) -> Language:
    """The first language of an Accept-Language header that the pages speak; English for none.

    Browsers write them in the order preferred, so their weights need no reading.
    """
    for said in accepted[:256].lower().split(","):
        for language in LANGUAGES:
            if said.strip().partition(";")[0].partition("-")[0] == language:
                return language
    return "en"


@cache
def table() -> Mapping[Language, Mapping[str, str]]:
    """Language → key → sentence."""
    source = resources.files("cloud.admin").joinpath("pages", "words.tsv").read_text("utf-8")
    rows = [line.split("\t") for line in source.splitlines()]
    return {
        language: {row[0]: row[column] for row in rows}
        for column, language in enumerate(LANGUAGES, start=1)
    }
