"""Plays a suite on phones in RAM, one dialogue after the other, and says what failed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing
from dataclasses import dataclass

from device.actors import checkpoint
from device.probing.checks import wrong
from device.probing.loading import Suite
from device.probing.schema import Dialogue, Probe
from device.probing.stage import Stage, stage
from device.sync.adoption import Models

__all__ = ["Report", "Result", "play", "play_dialogue", "run"]


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one probe; `reason` is empty when it passed."""

    id: str
    kind: str
    language: str
    path: str
    reason: str
    known: str = ""
    """Why it is known to fail, where it is."""

    @property
    def passed(self) -> bool:
        """Whether all it expects was so."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class Report:
    """What came of a suite."""

    results: tuple[Result, ...]

    @property
    def total(self) -> int:
        """Probes asked."""
        return len(self.results)

    @property
    def failed(self) -> tuple[Result, ...]:
        """Those that did not pass, known or not."""
        return tuple(result for result in self.results if not result.passed)

    @property
    def passed(self) -> int:
        """Probes that passed."""
        return self.total - len(self.failed)

    def as_json(self) -> dict[str, object]:
        """``{total, passed, failed: [{id, kind, language, path, reason}]}``."""
        failed = [
            {"id": r.id, "kind": r.kind, "language": r.language, "path": r.path, "reason": r.reason}
            for r in self.failed
        ]
        return {"total": self.total, "passed": self.passed, "failed": failed}


async def play(suite: Suite, models: Models) -> AsyncGenerator[Result, None]:
    """Ask every probe of a phone with these parameters; the loop runs between any two.

    Close it (`contextlib.aclosing`) when leaving early: a phone in RAM is open meanwhile.
    """
    for dialogue in suite.dialogues:
        async with stage(dialogue, models) as played:
            async for result in _results(played, dialogue):
                yield result


async def play_dialogue(dialogue: Dialogue, models: Models) -> tuple[list[Result], set[str]]:
    """What came of one dialogue's probes, and the names of the models that were looked into."""
    async with stage(dialogue, models) as played:
        return [result async for result in _results(played, dialogue)], played.read


async def run(suite: Suite, models: Models) -> Report:
    """The whole suite at once."""
    async with aclosing(play(suite, models)) as results:
        return Report(tuple([result async for result in results]))


async def _results(played: Stage, dialogue: Dialogue) -> AsyncIterator[Result]:
    for probe in _by_time(dialogue):
        yield _result(dialogue, probe, await _ask(played, dialogue, probe))
        await checkpoint()


async def _ask(played: Stage, dialogue: Dialogue, probe: Probe) -> str:
    """Why `probe` fails now. A phone that breaks at it fails it too, and the suite goes on."""
    try:
        await played.play_until(dialogue.asked_at(probe))
        return await wrong(played, dialogue, probe)
    except Exception as error:
        return f"the phone broke: {type(error).__name__}: {error}"


def _by_time(dialogue: Dialogue) -> Iterable[Probe]:
    return sorted(dialogue.probes, key=dialogue.asked_at)


def _result(dialogue: Dialogue, probe: Probe, reason: str) -> Result:
    name = f"{dialogue.id}/{probe.id}"
    return Result(name, probe.kind, dialogue.language, probe.path, reason, probe.known)
