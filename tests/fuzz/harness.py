"""Parsers under fuzz, the run over one of them, and what it measured.

A parser of bytes from outside gives a value or one of its typed errors, whatever the bytes, within
a time and an amount of memory that do not depend on what the bytes promise.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tests.fuzz.mutate import Form, Mutator

__all__ = ["MAX_SECONDS", "FuzzFailure", "Parser", "Result", "fuzz", "measure", "table"]

MAX_SECONDS = 0.050
"""Processor time of one call at most: a gateway's loop serves everybody. No parser waits for
anything, so that the machine's other work need not count."""
MAX_PEAK = 2 << 20
"""Bytes of Python's memory that one call may hold at its peak, unless a parser states another."""
TRIES = 5
"""A slow call is made again this often, and its best time counts: caches, collector, interrupts."""
_SHOWN = 96
"""Bytes of a failing frame that are shown."""


class FuzzFailure(AssertionError):
    """A frame that broke its parser's promise, with what makes it again."""


@dataclass(frozen=True)
class Parser:
    """``parse`` takes bytes from outside; ``refuses`` is all it may raise about them.

    ``weight`` is its share of a run's frames, ``peak`` the bytes one call may hold.
    """

    name: str
    parse: Callable[[bytes], object]
    refuses: tuple[type[Exception], ...]
    seeds: Sequence[bytes]
    form: Form = "bytes"
    weight: float = 1.0
    peak: int = MAX_PEAK


@dataclass
class Result:
    """What a run over one parser saw. Times in seconds, memory in bytes."""

    name: str
    frames: int = 0
    accepted: int = 0
    seconds: float = 0.0
    worst: float = 0.0
    peak: int = 0
    slow: list[str] = field(default_factory=list)
    large: list[str] = field(default_factory=list)


def fuzz(parser: Parser, seed: int, count: int) -> Result:
    """Give ``count`` mutated frames to the parser.

    Raises:
        FuzzFailure: it raised what it must not; names seed and frame.
    """
    result = Result(parser.name)
    mutator = Mutator(seed, parser.name, parser.seeds, parser.form)
    for index in range(count):
        result.frames += 1
        result.accepted += _accepts(parser, mutator.frame(index), seed, index)
    return result


def measure(parser: Parser, seed: int, count: int, *, allocations_every: int = 5) -> Result:
    """As `fuzz`, with the time of every call, and the peak memory of every n-th frame's."""
    result = Result(parser.name)
    mutator = Mutator(seed, parser.name, parser.seeds, parser.form)
    for data in parser.seeds:
        # Validators are built at first use, once a process: not the frame's doing.
        _accepts(parser, data, seed, -1)
    for index in range(count):
        frame = mutator.frame(index)
        began = time.thread_time()
        accepted = _accepts(parser, frame, seed, index)
        took = time.thread_time() - began
        result.frames += 1
        result.accepted += accepted
        result.seconds += took
        if took > max(result.worst, MAX_SECONDS / 10):
            took = min(took, _best_time(parser, frame, seed, index))
        result.worst = max(result.worst, took)
        if took > MAX_SECONDS:
            result.slow.append(f"frame {index}: {1000 * took:.0f} ms")
        if index % allocations_every == 0:
            peak = _peak(parser, frame, seed, index)
            result.peak = max(result.peak, peak)
            if peak > parser.peak + len(frame):
                result.large.append(f"frame {index} ({len(frame)} B): {peak >> 10} KiB")
    return result


def table(results: Iterable[Result], seed: int) -> str:
    """The results as lines of text."""
    rows = sorted(results, key=lambda result: -result.worst)
    total = sum(result.frames for result in rows)
    lines = [
        f"seed {seed}: {total:,} mutated frames over {len(rows)} parsers",
        f"{'parser':34}{'frames':>9}{'accepted':>10}{'us/call':>9}{'worst ms':>10}{'peak KiB':>10}",
    ]
    for result in rows:
        mean = 1e6 * result.seconds / max(1, result.frames)
        lines.append(
            f"{result.name:34}{result.frames:>9,}{result.accepted:>10,}{mean:>9.0f}"
            f"{1000 * result.worst:>10.2f}{result.peak / 1024:>10.0f}"
        )
    return "\n".join(lines)


def _accepts(parser: Parser, frame: bytes, seed: int, index: int) -> bool:
    try:
        parser.parse(frame)
    except parser.refuses:
        return False
    except Exception as error:
        shown = frame[:_SHOWN].hex() + ("…" if len(frame) > _SHOWN else "")
        raise FuzzFailure(
            f"{parser.name} raised {type(error).__name__} ({error}); seed {seed}, frame {index}, "
            f"{len(frame)} bytes: {shown}"
        ) from error
    return True


def _best_time(parser: Parser, frame: bytes, seed: int, index: int) -> float:
    best = float("inf")
    for _ in range(TRIES):
        began = time.thread_time()
        _accepts(parser, frame, seed, index)
        best = min(best, time.thread_time() - began)
    return best


def _peak(parser: Parser, frame: bytes, seed: int, index: int) -> int:
    tracemalloc.start()
    try:
        _accepts(parser, frame, seed, index)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
