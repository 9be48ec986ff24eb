"""YAML read with the care a file from somebody else needs: plain data, and where each part stood.

No tags, no anchors (a few lines of aliases can stand for gigabytes), no key twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml  # type: ignore[import-untyped]

__all__ = ["Document", "YamlUnreadable", "read_document"]

_MAX_DEPTH = 12
_Path = tuple[str, ...]


class YamlUnreadable(Exception):
    """The text is no YAML we take; the message begins with the line."""


@dataclass(frozen=True)
class Document:
    """A mapping of plain values, and the line of every key."""

    value: dict[str, Any]
    lines: dict[_Path, int] = field(default_factory=dict)

    def line_of(self, path: Sequence[Any]) -> int:
        """The line (from 1) of what is at `path`, or of the nearest thing around it; 0: none."""
        names = tuple(str(part) for part in path)
        for end in range(len(names), 0, -1):
            if names[:end] in self.lines:
                return self.lines[names[:end]]
        return 0


def read_document(text: str) -> Document:
    """One YAML document that is a mapping; an empty one is an empty mapping.

    Raises:
        YamlUnreadable: a syntax error, an anchor, a tag, a key twice, or no mapping.
    """
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise YamlUnreadable(f"line {_line(event)}: anchors and aliases are not allowed")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if root is None:
            return Document({})
        if not isinstance(root, yaml.MappingNode):
            raise YamlUnreadable("line 1: give fields, one a line: `phones: 50`")
        lines: dict[_Path, int] = {}
        _note(root, (), lines)
        return Document(yaml.safe_load(text), lines)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        problem = getattr(error, "problem", None) or "not YAML"
        raise YamlUnreadable(f"line {line}: {problem}") from None
    except ValueError as error:
        raise YamlUnreadable(f"line 1: {error}") from None
    except RecursionError:
        raise YamlUnreadable("line 1: nested too deeply") from None


def _note(node: Any, path: _Path, lines: dict[_Path, int]) -> None:
    if len(path) > _MAX_DEPTH:
        raise YamlUnreadable(f"line {_line(node)}: nested too deeply")
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise YamlUnreadable(f"line {_line(key)}: a field's name must be a word")
            where = (*path, key.value)
            if where in lines:
                raise YamlUnreadable(f"line {_line(key)}: {key.value} stands here a second time")
            lines[where] = _line(key)
            _note(value, where, lines)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            where = (*path, str(index))
            lines[where] = _line(value)
            _note(value, where, lines)


def _line(place: Any) -> int:
    return int(place.start_mark.line) + 1
