"""Where the encoder runs: in this process, or in a child with limits on what it may take.

The bases and targets are the cloud's own files, so that the library in this process is safe enough
for a command line; a service that takes documents from elsewhere uses the child, whose crash or
hunger is one failed call.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from cloud.documents import xdelta
from cloud.documents.xdelta import DeltaFailed, EncoderMissing, Xdelta, find_library

__all__ = ["DeltaEncoder", "child_encoder", "local_encoder"]

DeltaEncoder = Callable[[bytes, bytes, int], bytes]
"""(base, target, most) → a VCDIFF of at most ``most`` bytes; DeltaFailed when there is none."""

MEMORY = 1 << 30
"""Bytes of address space of a child: an encoder at level 9 takes about ten times its input."""
SECONDS = 30
"""Processor seconds of a child."""


def local_encoder(library: Path | None = None) -> DeltaEncoder:
    """The encoder in this process; EncoderMissing when no package brings it."""
    return Xdelta(library or find_library()).encode


def child_encoder(
    library: Path | None = None, *, memory: int = MEMORY, seconds: int = SECONDS
) -> DeltaEncoder:
    """The encoder in a fresh process a call, under limits (POSIX only).

    Args:
        memory: bytes of its address space. seconds: of processor; twice that on the clock.
    """
    if sys.platform == "win32":
        raise EncoderMissing("a child with limits needs POSIX: use the encoder in this process")
    path = library or find_library()
    # -I and -S: neither the environment nor installed packages have a say in the child.
    command = [sys.executable, "-I", "-S", xdelta.__file__, str(path), str(memory), str(seconds)]

    def encode(base: bytes, target: bytes, most: int) -> bytes:
        if not base or not target or max(len(base), len(target)) > xdelta.MAX_INPUT:
            raise DeltaFailed(f"base and target have 1 to {xdelta.MAX_INPUT} bytes")
        try:
            child = subprocess.run(  # noqa: S603  (a fixed program, no shell)
                command,
                input=xdelta.child_input(base, target, most),
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=2 * seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise DeltaFailed(f"no delta within {2 * seconds} s") from None
        if child.returncode == xdelta.TOO_LARGE:
            raise DeltaFailed(f"more than {most} bytes")
        if child.returncode != xdelta.OK or len(child.stdout) > most:
            raise DeltaFailed(f"the encoder's process ended with {child.returncode}")
        return child.stdout

    return encode
