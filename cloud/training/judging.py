"""Candidates held against the published versions: what the evaluator decides by, and what the
trainer asks before it decides how far to go."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from cloud.training.corpora import load_corpus
from cloud.training.gate import Rival, objection
from cloud.training.releases import Release, Shelf
from cloud.training.scoring import Answers, Board, Scores, answer
from protocol.models.spec import SPECS
from protocol.params import Parameters

__all__ = ["REMEMBERED", "Judge"]

REMEMBERED = 64
"""Published versions, newest ones, whose best a candidate must not fall behind."""


class Judge:
    """Knows how the published versions of every model answer.

    Args:
        shelf: where their parameters are.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._rivals: dict[str, dict[bytes, Rival]] = {}

    def board(self, model: str) -> Board:
        """The examples that a model's versions are judged on."""
        return _board(model)

    def answers(self, model: str, parameters: Parameters) -> Answers:
        """What phones with these parameters answer."""
        return answer(parameters, SPECS[model], _board(model))

    def known(self, release: Release) -> Rival:
        """A published version's answers: once worked out, they stay what they are."""
        known = self._rivals.get(release.model, {}).get(release.sha256)
        if known is not None and known.version == release.version:
            return known
        answers = self.answers(release.model, self._shelf.parameters_of(release))
        return Rival(release.version, answers, Scores.of(answers, _board(release.model)))

    def objection(self, answers: Answers, published: Sequence[Release]) -> str:
        """Why a candidate with these answers may not follow `published` (newest first, at least
        one); empty when it may."""
        model = published[0].model
        # Answered again, not read back: all must be judged on the corpus of today.
        rivals = [self.known(release) for release in published[:REMEMBERED]]
        hashes = (release.sha256 for release in published)
        self._rivals[model] = dict(zip(hashes, rivals, strict=False))
        return objection(answers, rivals[0], rivals[1:], _board(model))


@cache
def _board(model: str) -> Board:
    return Board.of(load_corpus(model), SPECS[model])
