"""xdelta3's encoder, called in the shared library that two Python packages build.

The package ``xdelta3`` (0.0.5, Apache-2.0) raises SystemError on every call since Python 3.10 and
cannot be imported since 3.12, but its extension module exports the C functions, and they work. So
do those in ``pyxdelta`` (0.2.3, MIT, the C code Apache-2.0), whose own API knows only files. The
library is found without importing either.

Only the standard library is imported here: this file is also the program of the resource-limited
child (cloud/documents/encoder.py), which runs without the project on its path.
"""

from __future__ import annotations

import ctypes
import errno
import importlib.util
import struct
import sys
from collections.abc import Callable
from functools import cached_property
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

__all__ = ["DeltaFailed", "EncoderMissing", "Xdelta", "find_library"]

MODULES = ("_xdelta3", "pyxdelta")
"""Extension modules that export the functions, the better known first."""
MAX_INPUT = 64 << 20
"""Bytes of a base or a target; xdelta3's own windows end at the same size."""
LEVEL = 9
_LEVEL_SHIFT = 20
"""Compression level 1–9 in the flags. No flag asks for Adler-32: hashes are checked elsewhere."""
_SIZES = struct.Struct("<QQQ")
"""Before the child's input: sizes of base and target, most bytes of output."""
OK, TOO_LARGE, FAILED = 0, 3, 4
"""How the child ends."""


class EncoderMissing(Exception):
    """No library with xdelta3's functions is installed."""


class DeltaFailed(Exception):
    """xdelta3 made no delta within the bound given."""


def find_library() -> Path:
    """The shared library to load; EncoderMissing names what to install."""
    for module in MODULES:
        # find_spec of a top-level module looks for its file and runs nothing.
        spec = importlib.util.find_spec(module)
        if spec is not None and spec.origin and spec.origin.endswith(tuple(EXTENSION_SUFFIXES)):
            return Path(spec.origin)
    raise EncoderMissing(
        "deltas of documents need xdelta3's encoder: pip install 'xdelta3==0.0.5' (needs a C "
        "compiler), or 'pyxdelta==0.2.3' (has binary wheels)"
    )


class Xdelta:
    """The two functions of one library. The C code holds no state; calls release the GIL.

    Args:
        library: what ``find_library`` found.
    """

    def __init__(self, library: Path) -> None:
        self.library = library

    def encode(self, base: bytes, target: bytes, most: int) -> bytes:
        """A VCDIFF of at most ``most`` bytes from ``base`` to ``target``.

        Raises DeltaFailed when none is that small, or when an input is empty or beyond 64 MiB.
        """
        if not base or not target or max(len(base), len(target)) > MAX_INPUT:
            raise DeltaFailed(f"base and target have 1 to {MAX_INPUT} bytes")
        flags = LEVEL << _LEVEL_SHIFT
        return self._call(self._functions.xd3_encode_memory, target, base, most, flags)

    def decode(self, delta: bytes, base: bytes, most: int) -> bytes:
        """What xdelta3 itself makes of a delta we trust: to check other decoders against.

        It allocates what the delta declares, up to 64 MiB a window, before it looks at ``most``.
        """
        if not delta:
            raise DeltaFailed("an empty delta")
        return self._call(self._functions.xd3_decode_memory, delta, base, most, 0)

    @cached_property
    def _functions(self) -> ctypes.CDLL:
        try:
            functions = ctypes.CDLL(str(self.library))
            for function in (functions.xd3_encode_memory, functions.xd3_decode_memory):
                function.restype = ctypes.c_int
                function.argtypes = [
                    *(ctypes.c_char_p, ctypes.c_size_t),  # input
                    *(ctypes.c_char_p, ctypes.c_size_t),  # source
                    *(ctypes.c_char_p, ctypes.POINTER(ctypes.c_size_t), ctypes.c_size_t),  # output
                    ctypes.c_int,  # flags
                ]
        except (OSError, AttributeError):
            raise EncoderMissing(
                f"{self.library.name} does not export xdelta3's functions: reinstall its package"
            ) from None
        return functions

    @staticmethod
    def _call(
        function: Callable[..., int],
        data: bytes,
        source: bytes,
        most: int,
        flags: int,
    ) -> bytes:
        buffer = ctypes.create_string_buffer(max(most, 1))
        used = ctypes.c_size_t(0)
        result = function(
            *(data, len(data)),
            # Without a source there is a null pointer, not an empty one.
            *(source or None, len(source)),
            *(buffer, ctypes.byref(used), most),
            flags,
        )
        if result == errno.ENOSPC:
            raise DeltaFailed(f"more than {most} bytes")
        if result != 0 or used.value > most:
            raise DeltaFailed(f"xdelta3 ended with {result}")
        return ctypes.string_at(buffer, used.value)


def limit_child(memory: int, seconds: int) -> None:
    """Bound this process: bytes of address space, seconds of processor, no files, no core."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def child_input(base: bytes, target: bytes, most: int) -> bytes:
    """What the child reads: sizes | base | target."""
    return _SIZES.pack(len(base), len(target), most) + base + target


def main(library: str, memory: str, seconds: str) -> int:
    """The child: reads base and target, writes the delta."""
    xdelta = Xdelta(Path(library))
    limit_child(int(memory), int(seconds))
    data = sys.stdin.buffer.read()
    base_size, target_size, most = _SIZES.unpack_from(data)
    base = data[_SIZES.size : _SIZES.size + base_size]
    target = data[_SIZES.size + base_size :]
    if len(target) != target_size:
        return FAILED
    try:
        delta = xdelta.encode(base, target, most)
    except DeltaFailed:
        return TOO_LARGE
    except (EncoderMissing, MemoryError):
        return FAILED
    sys.stdout.buffer.write(delta)
    return OK


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
