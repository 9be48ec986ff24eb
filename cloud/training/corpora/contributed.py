"""An operator's own labelled corpus: what people who agreed to it said, and what it should mean.

One JSON object a line::

    {"contributor": "ana", "texts": ["when is my dentist?"], "labels": ["structured"],
     "language": "en"}

One text is a question for the router, labelled with memory layers; two are a pair for dedup, with
one label. `contributor` is any name for the person, the unit of privacy: all lines under one name
come and go together. The names are compared and dropped; no error repeats a name or a text.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from cloud.training.corpora.corpus import Examples, Line, encode_lines, joined
from protocol.models.spec import SPECS

__all__ = [
    "MAX_CONTRIBUTORS",
    "MAX_FILE",
    "MAX_LINE",
    "MAX_LINES",
    "MAX_TEXT",
    "CorpusRefused",
    "contributed_examples",
    "read_contributed",
    "read_line",
    "with_contributed",
]

MAX_FILE = 64 << 20
"""Bytes of a corpus file."""
MAX_LINE = 16 << 10
"""Bytes of one of its lines."""
MAX_LINES = 100_000
MAX_TEXT = 2_000
"""Characters of one text."""
MAX_CONTRIBUTORS = 10_000
"""A step's divisor is a constant for a batch of the built-in corpus: with many more units beside
it the sum of their gradients would become too long a step."""
_MAX_NAME = 128
_ORIGIN = "contributed"
_CACHED_FILES = 2


class CorpusRefused(Exception):
    """The corpus file cannot be used; the message is one line that says where and why."""


class _Contribution(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    contributor: Annotated[str, StringConstraints(min_length=1, max_length=_MAX_NAME)]
    texts: Annotated[
        list[Annotated[str, StringConstraints(min_length=1, max_length=MAX_TEXT, pattern=r"\S")]],
        Field(min_length=1, max_length=2),
    ]
    labels: Annotated[list[str], Field(min_length=1, max_length=3)]
    language: Literal["zh", "en"]


def contributed_examples(path: str | Path, model: str) -> Examples | None:
    """The file's examples of "router" or "dedup", units its contributors; None when it has none.

    Raises CorpusRefused.
    """
    lines = [line for line in read_contributed(path) if len(line.texts) == _texts_of(model)]
    return encode_lines(SPECS[model], lines) if lines else None


def with_contributed(train: Examples, path: str | Path, model: str) -> Examples:
    """`train` and the file's examples of that model. Raises CorpusRefused."""
    own = contributed_examples(path, model)
    return train if own is None else joined(train, own)


def read_contributed(path: str | Path) -> tuple[Line, ...]:
    """Every line of the file in a canonical order; read again only when the file changes.

    Raises:
        CorpusRefused: not readable, over a limit, or a line that is not as described above.
    """
    file = Path(path)
    try:
        known = file.stat()
        if not file.is_file():
            raise CorpusRefused(f"the corpus {file} is not a file")
        if known.st_size > MAX_FILE:
            raise CorpusRefused(f"the corpus {file} has more than {MAX_FILE} bytes: split it")
        return _parsed(file, known.st_mtime_ns, known.st_size)
    except OSError as error:
        raise CorpusRefused(f"the corpus {file} cannot be read ({error.strerror})") from None


@lru_cache(maxsize=_CACHED_FILES)
def _parsed(file: Path, _changed: int, _size: int) -> tuple[Line, ...]:
    lines: list[Line] = []
    with file.open("rb") as stream:
        number = 0
        while raw := stream.readline(MAX_LINE + 1):
            number += 1
            if number > MAX_LINES:
                raise CorpusRefused(f"the corpus {file} has more than {MAX_LINES} lines: split it")
            if len(raw) > MAX_LINE:
                raise CorpusRefused(f"{file}, line {number}: longer than {MAX_LINE} bytes")
            if raw.strip():
                lines.append(read_line(raw, f"{file}, line {number}"))
    people = Counter(line.unit for line in lines)
    if len(people) > MAX_CONTRIBUTORS:
        raise CorpusRefused(f"the corpus {file} has more than {MAX_CONTRIBUTORS} contributors")
    # The order in the file must not matter: it may tell who came when.
    return tuple(sorted(lines, key=lambda line: (line.unit, line.texts, line.labels)))


def read_line(raw: bytes, where: str) -> Line:
    """One line of such a file; `where` begins the message of a CorpusRefused."""
    try:
        said = _Contribution.model_validate(json.loads(raw.decode("utf-8")))
    except (UnicodeDecodeError, RecursionError):
        raise CorpusRefused(f"{where}: not UTF-8 text, or nested too deeply") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"] if part in _Contribution.model_fields)
        raise CorpusRefused(f"{where}: {field or 'the object'}: {first['type']}") from None
    except ValueError:
        raise CorpusRefused(f"{where}: not a JSON object") from None
    model = "router" if len(said.texts) == 1 else "dedup"
    known = SPECS[model].outputs
    if not set(said.labels) <= set(known) or len(set(said.labels)) != len(said.labels):
        raise CorpusRefused(f"{where}: labels of a {model} line are {', '.join(known)}, each once")
    if model == "dedup" and len(said.labels) != 1:
        raise CorpusRefused(f"{where}: a pair has one label")
    return Line(tuple(said.texts), tuple(said.labels), said.language, _ORIGIN, said.contributor)


def _texts_of(model: str) -> int:
    return 1 if model == "router" else 2
