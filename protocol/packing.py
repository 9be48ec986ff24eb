"""Bounded msgpack: the only place where this room parses a self-describing format.

The size cap comes first, then msgpack's own length limits, then what msgpack lets through:
duplicate keys (last one wins silently), keys that are not text, and deep nesting.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeVar

import msgpack
from pydantic import BaseModel, ValidationError

from protocol.errors import FrameTooLarge, MalformedFrame

__all__ = ["KIB", "pack", "unpack_map", "validated"]

KIB = 1024

MAX_DEPTH = 3
"""Containers inside containers, the outer map included: a map of lists of pairs."""
MAX_ITEMS = 64
"""Entries of one map or array: no message has more fields or list entries."""
MAX_TEXT = 1024
"""Bytes of one text: ids, tokens and reasons are all short."""

_TEXT = frozenset({str})
_Model = TypeVar("_Model", bound=BaseModel)


def pack(fields: Mapping[str, Any]) -> bytes:
    """The msgpack bytes of a map, keys in the order given."""
    packed: bytes = msgpack.packb(fields, use_bin_type=True)
    return packed


def unpack_map(data: bytes, *, max_size: int) -> dict[str, Any]:
    """Parse one msgpack map; arrays become tuples.

    Raises FrameTooLarge over ``max_size`` bytes and MalformedFrame for anything else that is not
    one shallow map with distinct text keys.
    """
    if len(data) > max_size:
        raise FrameTooLarge(f"{len(data)} bytes, at most {max_size} are allowed")
    try:
        value = msgpack.unpackb(
            data,
            raw=False,
            use_list=False,
            strict_map_key=True,
            object_pairs_hook=_distinct,
            max_str_len=MAX_TEXT,
            max_bin_len=max_size,
            max_array_len=MAX_ITEMS,
            max_map_len=MAX_ITEMS,
            max_ext_len=0,
        )
    # ValueError covers bad formats, lengths, UTF-8, trailing bytes and msgpack's own stack limit.
    except (ValueError, TypeError, OverflowError, msgpack.UnpackException) as error:
        raise MalformedFrame(f"not a bounded msgpack map ({type(error).__name__})") from None
    if not isinstance(value, dict):
        raise MalformedFrame("the frame is not a map")
    _check_depth(value, MAX_DEPTH)
    return value


def validated(model: type[_Model], fields: Mapping[str, Any]) -> _Model:
    """`fields` as a strict pydantic model, or MalformedFrame naming the first bad field."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False, include_context=False)[0]
        name = first["loc"][0] if first["loc"] else ""
        # An unknown key is the peer's text: it is not repeated.
        where = name if name in model.model_fields else "a field"
        raise MalformedFrame(f"{model.__name__}: {where} is wrong ({first['type']})") from None


def _distinct(pairs: Sequence[tuple[Any, object]]) -> dict[str, object]:
    fields: dict[str, object] = dict(pairs)
    if len(fields) == len(pairs) and _TEXT.issuperset(map(type, fields)):
        return fields
    fields.clear()
    for key, value in pairs:
        if not isinstance(key, str):
            raise MalformedFrame("a map key is not text")
        if key in fields:
            raise MalformedFrame("a map key appears twice")
        fields[key] = value
    return fields


def _check_depth(container: Collection[object], left: int) -> None:
    if left == 0:
        raise MalformedFrame(f"nested deeper than {MAX_DEPTH} containers")
    for inner in container.values() if isinstance(container, dict) else container:
        # By exact type: these are what msgpack makes, and most values are neither.
        if type(inner) is dict or type(inner) is tuple:
            _check_depth(inner, left - 1)
