"""Values between a daemon and the commands, as checked JSON; packed bytes travel as base64."""

from __future__ import annotations

import types
from functools import cached_property
from typing import Any

from pydantic import ConfigDict, TypeAdapter

__all__ = ["Wire"]

PACKED = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")


class Wire:
    """One kind of value. It travels in a list of one: pydantic gives a dataclass that stands alone
    no configuration, and bytes would then have to be UTF-8."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        """Built at first use: a command makes a few of the fifty calls there are."""
        alone: Any = types.GenericAlias(tuple, (self._kind,))
        return TypeAdapter(alone, config=PACKED)

    def pack(self, value: Any) -> bytes:
        """The value as JSON."""
        return self._adapter.dump_json((value,))[1:-1]

    def unpack(self, parsed: Any) -> Any:
        """The value of what `json.loads` gave. Raises `pydantic.ValidationError`."""
        return self._adapter.validate_python((parsed,))[0]
