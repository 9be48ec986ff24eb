"""What does not fit in something that was read, for one line a person can act on."""

from __future__ import annotations

from pydantic import ValidationError

__all__ = ["first_fault"]

SHOWN_CHARACTERS = 80
"""Of where it is: a name may be anything that stood in the file."""


def first_fault(error: ValidationError) -> tuple[str, str]:
    """(where, what is wrong) of the first fault; never the value itself."""
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])[:SHOWN_CHARACTERS]
    return where, first["msg"].removeprefix("Value error, ")
