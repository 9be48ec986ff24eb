"""Python's garbage collector in a process that serves.

A session is a few dozen objects that die with it, most of them by counting references alone. With
the collector's own thresholds every tenth session has it look at the youngest, and every so often
at all there is: the libraries, the models and ten thousand idle sessions, a tenth of a second at
once in which nobody is answered.
"""

from __future__ import annotations

import gc
from typing import Final

__all__ = ["settle"]

NEW_OBJECTS: Final = 10_000
"""New containers before the youngest are looked at: a few hundred sessions."""


def settle() -> None:
    """Call once everything is loaded: what is alive now stays, and need not be looked at again."""
    gc.collect()
    gc.freeze()
    _, *older = gc.get_threshold()
    gc.set_threshold(NEW_OBJECTS, *older)
