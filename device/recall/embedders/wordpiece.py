"""WordPiece as BERT cuts text, read from a `vocab.txt` or a WordPiece `tokenizer.json`.

The `tokenizers` package has no wheel for Termux, and the models a phone can carry (MiniLM, BGE,
GTE, E5 and their Chinese sisters) are cut this way; their own rules are short: clean, split Chinese
characters apart, lower-case and strip accents where the model is uncased, split at punctuation,
then take the longest known piece again and again (Devlin et al., "BERT", 2019, appendix; the
reference is `tokenization.py` of google-research/bert). Byte-pair and unigram (SentencePiece)
tokenizers are refused with one clear line.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from device.recall.embedders.embedder import EmbedderError

__all__ = ["WordPiece"]

LONGEST_WORD = 100
"""Characters of a word over which it is unknown as a whole."""
UNKNOWN, BEGIN, END, PADDING = "[UNK]", "[CLS]", "[SEP]", "[PAD]"
_CJK = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_ASCII_SIGNS = ((33, 47), (58, 64), (91, 96), (123, 126))
"""Signs that BERT counts as punctuation though Unicode does not count all of them."""


class WordPiece:
    """Text to token numbers, framed by [CLS] and [SEP]."""

    def __init__(
        self,
        vocabulary: dict[str, int],
        *,
        lower: bool = True,
        strip_accents: bool | None = None,
        prefix: str = "##",
    ) -> None:
        """`strip_accents` None: as `lower`, which is what BERT does."""
        missing = [token for token in (UNKNOWN, BEGIN, END, PADDING) if token not in vocabulary]
        if missing:
            raise EmbedderError(f"this vocabulary lacks {', '.join(missing)}: it is not BERT's")
        self._vocabulary = vocabulary
        self._lower = lower
        self._strip = lower if strip_accents is None else strip_accents
        self._prefix = prefix
        self.padding = vocabulary[PADDING]

    @classmethod
    def read(cls, path: Path) -> WordPiece:
        """From a `vocab.txt` (uncased, as the sentence models are) or a `tokenizer.json`.

        Raises:
            EmbedderError: no such file, or a tokenizer of another kind.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise EmbedderError(
                f"no tokenizer at {path} ({type(error).__name__}): give the path of the model's "
                "vocab.txt or tokenizer.json"
            ) from None
        if path.suffix != ".json":
            return cls({token: number for number, token in enumerate(text.splitlines())})
        return cls._from_json(path, text)

    @classmethod
    def _from_json(cls, path: Path, text: str) -> WordPiece:
        try:
            parts: dict[str, Any] = json.loads(text)
            model, normaliser = parts["model"], parts.get("normalizer") or {}
            kind = model["type"]
            rules = normaliser.get("type", "")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise EmbedderError(f"{path} is no tokenizer.json") from None
        if kind != "WordPiece" or rules != "BertNormalizer":
            raise EmbedderError(
                f"{path} holds a {kind} tokenizer; only BERT's WordPiece can be read here: choose "
                "a model with a vocab.txt, or serve this one from an endpoint"
            )
        return cls(
            model["vocab"],
            lower=bool(normaliser.get("lowercase", True)),
            strip_accents=normaliser.get("strip_accents"),
            prefix=model.get("continuing_subword_prefix", "##"),
        )

    def encode(self, text: str, limit: int) -> list[int]:
        """At most `limit` token numbers, [CLS] and [SEP] included."""
        numbers = [self._vocabulary[BEGIN]]
        for word in self._words(text):
            numbers += self._pieces(word)
            if len(numbers) >= limit:
                break
        return [*numbers[: limit - 1], self._vocabulary[END]]

    def _words(self, text: str) -> Iterator[str]:
        spaced = "".join(_spaced(character) for character in text)
        for word in spaced.split():
            yield from _split_at_signs(self._normal(word))

    def _normal(self, word: str) -> str:
        if self._strip:
            word = "".join(c for c in unicodedata.normalize("NFD", word) if _category(c) != "Mn")
        return word.lower() if self._lower else word

    def _pieces(self, word: str) -> list[int]:
        """The longest known piece, then the longest known continuation, and so on."""
        unknown = [self._vocabulary[UNKNOWN]]
        if len(word) > LONGEST_WORD:
            return unknown
        found: list[int] = []
        start = 0
        while start < len(word):
            head = self._prefix if start else ""
            for end in range(len(word), start, -1):
                number = self._vocabulary.get(head + word[start:end])
                if number is not None:
                    found.append(number)
                    start = end
                    break
            else:
                return unknown
        return found


def _spaced(character: str) -> str:
    """Control characters go, white space is a space, a Chinese character stands alone."""
    if character in "\t\n\r":
        return " "
    category = _category(character)
    if character in "\0\ufffd" or category in ("Cc", "Cf", "Cn", "Co"):
        return ""
    if category == "Zs":
        return " "
    code = ord(character)
    return f" {character} " if any(low <= code <= high for low, high in _CJK) else character


def _split_at_signs(word: str) -> Iterator[str]:
    run = ""
    for character in word:
        if not _is_sign(character):
            run += character
            continue
        if run:
            yield run
        run = ""
        yield character
    if run:
        yield run


def _is_sign(character: str) -> bool:
    code = ord(character)
    return any(low <= code <= high for low, high in _ASCII_SIGNS) or _category(
        character
    ).startswith("P")


def _category(character: str) -> str:
    return unicodedata.category(character)
