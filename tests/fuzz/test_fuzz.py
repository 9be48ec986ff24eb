"""Mutated bytes on every parser of bytes from outside: typed errors, bounded time and memory.

By default a few thousand frames of a fixed seed. For a long run, with a table of what was measured:

    REVERIE_FUZZ=1000000 REVERIE_FUZZ_SEED=7 python -m pytest tests/fuzz -q -o timeout=0 -k long_run
"""

from __future__ import annotations

import os
import sys

import pytest

from tests.fuzz.harness import FuzzFailure, Parser, Result, fuzz, measure, table
from tests.fuzz.mutate import Mutator
from tests.fuzz.parsers import PARSERS, shares

FRAMES = int(os.environ.get("REVERIE_FUZZ", "0"))
SEED = int(os.environ.get("REVERIE_FUZZ_SEED", "1"))
QUICK = 12_000
"""Frames of the default run over all parsers: about ten seconds on one core."""


@pytest.mark.parametrize("parser", PARSERS, ids=lambda parser: parser.name)
def test_mutated_frames_give_a_value_or_a_typed_error(parser: Parser) -> None:
    for seed in parser.seeds:
        try:
            parser.parse(seed)
        except parser.refuses:
            continue
    result = fuzz(parser, SEED, shares(QUICK)[parser.name])
    assert result.frames > 0


@pytest.mark.skipif(not FRAMES, reason="a long run: REVERIE_FUZZ=<frames>")
def test_a_long_run_is_within_time_and_memory(capsys: pytest.CaptureFixture[str]) -> None:
    results: list[Result] = []
    faults: list[str] = []
    counts = shares(FRAMES)
    for parser in PARSERS:
        try:
            results.append(measure(parser, SEED, counts[parser.name]))
        except FuzzFailure as failure:
            faults.append(str(failure))
            continue
        with capsys.disabled():
            sys.stdout.write(f"\n{table(results[-1:], SEED).splitlines()[-1]}")
            sys.stdout.flush()
    with capsys.disabled():
        sys.stdout.write(f"\n\n{table(results, SEED)}\n")
    faults += [f"{each.name}: {what}" for each in results for what in (*each.slow, *each.large)]
    assert faults == []
    assert sum(result.frames for result in results) >= FRAMES


def test_every_parser_has_a_seed_that_it_takes() -> None:
    for parser in PARSERS:
        taken = 0
        for seed in parser.seeds:
            try:
                parser.parse(seed)
            except parser.refuses:
                continue
            taken += 1
        assert taken > 0, parser.name


def test_names_are_unique_because_a_failure_is_found_again_by_name() -> None:
    assert len({parser.name for parser in PARSERS}) == len(PARSERS)


def _trips(data: bytes) -> object:
    """A parser with a fault of each kind this room looks for."""
    if data[:1] == b"\xff":
        raise KeyError("untyped")
    if len(data) > 40:
        raise ValueError("typed")
    return bytes(4 << 20) if data[1:2] == b"\xff" else data


FAULTY = Parser("faulty", _trips, (ValueError,), [bytes(20)])


def test_an_untyped_error_is_named_with_what_makes_it_again() -> None:
    with pytest.raises(
        FuzzFailure, match=r"faulty raised KeyError .*seed 3, frame (\d+)"
    ) as caught:
        fuzz(FAULTY, 3, 5_000)
    index = int(str(caught.value).split("frame ")[1].split(",")[0])
    frame = Mutator(3, "faulty", FAULTY.seeds, "bytes").frame(index)
    with pytest.raises(KeyError):
        _trips(frame)


def test_memory_over_the_limit_is_reported() -> None:
    tame = Parser("faulty", lambda data: _trips(b"\x00" + data[1:]), (ValueError,), [bytes(20)])
    result = measure(tame, 3, 2_000, allocations_every=1)
    assert result.large
    assert result.peak >= 4 << 20
    assert 0 < result.accepted < result.frames
