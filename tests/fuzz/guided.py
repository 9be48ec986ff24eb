"""The same parsers under atheris (libFuzzer), which follows the branches that its inputs reach.

atheris has no place among the project's dependencies; where it is installed:

    python -m tests.fuzz.guided [--seconds 60] [--corpus FOLDER] [--seed 1] [parser name, …]

Each parser runs in a process of its own, as libFuzzer never returns. Inputs that reached something
new are kept in the corpus folder, and serve the next run. A finding ends its parser's run: its
bytes are written beside the corpus, and belong into tests/fuzz/test_regressions.py.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["main"]

LONGEST = 4096
"""Bytes of an input: every limit but the frame's own is reached below."""
MEMORY_MB = 2048
SLOWEST_SECONDS = 1
"""libFuzzer counts whole seconds, under instrumentation; the finer limit is harness.MAX_SECONDS."""
INSTRUMENTED = ("protocol", "privacy", "device.interfaces", "cloud.helper_client")
_DONE = re.compile(rb"Done (\d+) runs|stat::number_of_executed_units:\s*(\d+)")
_COVERED = re.compile(rb"cov: (\d+)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parsers one after another; the number of findings."""
    options = _options(arguments)
    if importlib.util.find_spec("atheris") is None:
        sys.stderr.write("atheris is not installed: pip install atheris\n")
        return 2
    if options.child:
        _fuzz_in_this_process(options)
    room = importlib.import_module("tests.fuzz.parsers")
    folder = Path(options.corpus or tempfile.mkdtemp(prefix="guided-"))
    findings = executions = 0
    for parser in _named(room, options.parsers) if options.parsers else room.WIRE:
        found, ran, covered = _run(parser, folder, options.seconds, options.seed)
        findings += found
        executions += ran
        verdict = "FOUND SOMETHING" if found else "clean"
        sys.stdout.write(f"{parser.name:40}{ran:>12,} runs {covered:>6} branches  {verdict}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{executions:,} executions, {findings} findings; corpus in {folder}\n")
    return findings


def _run(parser: Any, folder: Path, seconds: int, seed: int) -> tuple[int, int, int]:
    """One child: findings (0 or 1), executions, branches reached."""
    kept = folder / re.sub(r"\W+", "-", parser.name)
    kept.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(parser.seeds):
        (kept / f"seed-{number}").write_bytes(data)
    command = [
        sys.executable, "-m", "tests.fuzz.guided", "--child", parser.name,
        "--corpus", str(kept), "--seconds", str(seconds), "--seed", str(seed),
    ]  # fmt: skip
    ended = subprocess.run(command, capture_output=True, check=False)
    (folder / f"{kept.name}.log").write_bytes(ended.stdout + ended.stderr)
    counts = [int(a or b) for a, b in _DONE.findall(ended.stderr)]
    covered = [int(each) for each in _COVERED.findall(ended.stderr)]
    return int(ended.returncode != 0), max(counts, default=0), max(covered, default=0)


def _fuzz_in_this_process(options: argparse.Namespace) -> None:
    """Never returns."""
    atheris: Any = importlib.import_module("atheris")
    # Branches are seen in what is imported from here on.
    with atheris.instrument_imports(include=list(INSTRUMENTED)):
        room = importlib.import_module("tests.fuzz.parsers")
    parser = _named(room, [options.child])[0]
    kept = Path(options.corpus)

    def one(data: bytes) -> None:
        try:
            parser.parse(data)
        except parser.refuses:
            return

    atheris.Setup(
        [
            sys.argv[0],
            f"-max_total_time={options.seconds}",
            f"-max_len={LONGEST}",
            f"-seed={options.seed}",
            f"-rss_limit_mb={MEMORY_MB}",
            f"-timeout={SLOWEST_SECONDS}",
            f"-artifact_prefix={kept.parent / kept.name}-finding-",
            "-print_final_stats=1",
            str(kept),
        ],
        one,
    )
    atheris.Fuzz()


def _named(room: ModuleType, names: Iterable[str]) -> list[Any]:
    by_name = {parser.name: parser for parser in room.PARSERS}
    unknown = sorted(set(names) - set(by_name))
    if unknown:
        raise SystemExit(f"no parser {unknown[0]!r}; there are: {'; '.join(by_name)}")
    return [by_name[name] for name in names]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parsers", nargs="*", help="their names; by default the wire's")
    parser.add_argument("--seconds", type=int, default=60, help="for each parser")
    parser.add_argument("--corpus", default="", help="folder; by default a new one")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
