"""Who holds a lease: a name for this process, and whether the process of a name has ended.

A process that crashed on this machine need not be waited for: the kernel knows that it is gone.
Of processes elsewhere, in another container, or before a reboot nothing is known.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

__all__ = ["has_ended", "this_process"]

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PROCESSES = Path("/proc/self/ns/pid")
_ENDED = frozenset({"Z", "X"})
_STATE, _STARTED = 0, 19
"""Places in /proc/<pid>/stat after the name: the state, and the ticks from boot to the start."""


def this_process(bits: Callable[[int], bytes] = os.urandom) -> str:
    """A name that no other process has had: where it runs, its id, and when it was started.

    ``bits``: n -> n random bytes, instead of a place where that is unknown.
    """
    return f"{_namespace() or bits(8).hex()}/{os.getpid()}/{_started(os.getpid())}"


def has_ended(holder: str) -> bool:
    """Whether the process of that name is known to be gone."""
    parts = holder.split("/")
    if len(parts) != 3 or not parts[1].isdecimal() or parts[0] != _namespace():
        return False
    return _started(int(parts[1])) != parts[2]


def _namespace() -> str:
    """This boot of this machine, and the space its process ids are of; "" where that is unknown."""
    try:
        where = _BOOT_ID.read_text() + str(_PROCESSES.readlink())
    except OSError:
        return ""
    return sha256(where.encode()).hexdigest()[:16]


def _started(pid: int) -> str:
    """When a running process was started; "" when there is none of that id."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    fields = stat.rpartition(")")[2].split()
    return "" if fields[_STATE] in _ENDED else fields[_STARTED]
