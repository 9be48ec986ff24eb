"""Answers that say a thing once: near-duplicate hits are folded into the better ranked one.

Nothing is lost by a wrong fold: the memories stay apart, only one line of one answer carries the
provenance of both. That is why the model may decide here, while merging what is stored needs far
more proof (`device.memory.judgement`). With no model, only equal words fold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from device.language.kept import kept
from device.language.tokens import content_of
from device.memory.judgement import Judgement, Verdict
from device.memory.wording import letters_of
from device.recall.candidates import Candidate
from protocol.models import Weights

__all__ = ["Judge", "Said", "fold", "judge_with"]


@dataclass(frozen=True, slots=True)
class Said:
    """A text with what comparing it needs, worked out once for all its comparisons."""

    text: str
    letters: str
    """Its letters and digits alone, case folded."""
    words: frozenset[str]
    """Its content words."""

    @classmethod
    def of(cls, text: str) -> Said:
        """Take `text` apart."""
        return _said(text)


@kept
def _said(text: str) -> Said:
    return Said(text, letters_of(text), frozenset(content_of(text)))


Judge = Callable[[Said, Said], bool]
"""Whether two texts say the same."""

CERTAIN = 0.95
"""Probability of "duplicate" from which the model's word is taken."""
SHARED_WORDS = 0.5
"""Jaccard share of content words below which a pair is not worth asking the model about."""


def judge_with(weights: Weights | None) -> Judge:
    """The dedup model's judgement, or exact equality of words where there is no model."""
    if weights is None:
        return _same_letters
    judgement = Judgement(weights)

    def judge(a: Said, b: Said) -> bool:
        if a.letters == b.letters:
            return True
        if _shared(a, b) < SHARED_WORDS:
            return False
        certain = judgement.chances(a.text, b.text)[Verdict.DUPLICATE] >= CERTAIN
        return certain or judgement.may_merge(a.text, b.text)

    return judge


def fold(candidates: Iterable[Candidate], judge: Judge, k: int) -> list[Candidate]:
    """The first `k` candidates that differ, each with the turns of those folded into it."""
    kept: list[Candidate] = []
    texts: list[Said] = []
    for candidate in candidates:
        said = Said.of(candidate.hit.text)
        twin = next((place for place, held in enumerate(texts) if judge(held, said)), None)
        if twin is not None:
            kept[twin] = _with_turns(kept[twin], candidate.hit.turns)
        elif len(kept) < k:
            kept.append(candidate)
            texts.append(said)
    return kept


def _with_turns(candidate: Candidate, turns: tuple[str, ...]) -> Candidate:
    both = tuple(dict.fromkeys((*candidate.hit.turns, *turns)))
    if both == candidate.hit.turns:
        return candidate
    return replace(candidate, hit=replace(candidate.hit, turns=both))


def _same_letters(a: Said, b: Said) -> bool:
    return a.letters == b.letters


def _shared(a: Said, b: Said) -> float:
    if a.words.isdisjoint(b.words):
        return 0.0  # as nearly every pair: a recall compares forty
    shared = len(a.words & b.words)
    return shared / (len(a.words) + len(b.words) - shared)
