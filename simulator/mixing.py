"""Who tells which stories, so that no phone's data is a fair sample of the fleet's.

Each person draws shares of the corpus's kinds (a language and a topic) from a symmetric Dirichlet
distribution, and tells stories drawn by them: the usual way to make clients non-IID (Hsu et al.,
2019, there over labels). A small `alpha` gives people of nearly one kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simulator.corpus import Line, Question, Story
from simulator.randomness import generator

__all__ = ["Taste", "mixed_story", "taste_of"]

Kind = tuple[str, str]
"""A language and a topic."""

_PART = (0.5, 1.0)
"""Share of a story's sessions that one person tells of it."""


@dataclass(frozen=True)
class Taste:
    """One person's shares of the kinds of dialogue."""

    kinds: tuple[Kind, ...]
    shares: tuple[float, ...]


def taste_of(stories: Sequence[Story], phone: int, *, seed: int, alpha: float) -> Taste:
    """Drawn from Dirichlet(`alpha`, …, `alpha`) over the kinds that occur in `stories`."""
    kinds = tuple(sorted({_kind(story) for story in stories}))
    shares = generator(seed, "taste", phone).dirichlet(np.full(len(kinds), alpha))
    if not np.isfinite(shares).all():  # every gamma draw underflowed: one kind has it all
        shares = np.eye(len(kinds))[phone % len(kinds)]
    return Taste(kinds, tuple(float(share) for share in shares))


def mixed_story(
    stories: Sequence[Story], phone: int, *, seed: int, alpha: float, dialogues: int
) -> Story:
    """What the owner of phone number `phone` tells: parts of up to `dialogues` stories, woven
    together by how far each has come, in the language of most of them."""
    taste = taste_of(stories, phone, seed=seed, alpha=alpha)
    rng = generator(seed, "mix", phone)
    left = {kind: [s for s in stories if _kind(s) == kind] for kind in taste.kinds}
    chosen: list[Story] = []
    for _ in range(min(dialogues, len(stories))):
        shares = np.array(
            [share if left[k] else 0.0 for k, share in zip(taste.kinds, taste.shares, strict=True)]
        )
        if not shares.sum():  # what this person likes is used up
            break
        kind = taste.kinds[int(rng.choice(len(shares), p=shares / shares.sum()))]
        chosen.append(left[kind].pop(int(rng.integers(len(left[kind])))))
    return _woven([_part(story, rng) for story in chosen])


def _kind(story: Story) -> Kind:
    return story.language, story.topic


def _part(story: Story, rng: np.random.Generator) -> Story:
    """A contiguous part of a story, whose names no other story's can meet."""
    sessions = story.sessions()
    length = max(1, round(len(sessions) * float(rng.uniform(*_PART))))
    first = int(rng.integers(len(sessions) - length + 1))
    lines = [line for session in sessions[first : first + length] for line in session]
    return replace(
        story,
        lines=tuple(_renamed(line, story.person) for line in lines),
        questions=tuple(
            Question(q.query, tuple(f"{story.person}/{line}" for line in q.evidence), q.kind)
            for q in story.questions
        ),
    )


def _renamed(line: Line, person: str) -> Line:
    return replace(
        line,
        id=f"{person}/{line.id}",
        session=f"{person}/{line.session}",
        same_as=f"{person}/{line.same_as}" if line.same_as else "",
    )


def _woven(parts: Sequence[Story]) -> Story:
    if len(parts) == 1:
        return parts[0]
    placed = [
        ((index + 0.5) / len(sessions), number, session)
        for number, sessions in enumerate(part.sessions() for part in parts)
        for index, session in enumerate(sessions)
    ]
    placed.sort(key=lambda each: each[:2])
    languages = Counter(part.language for part in parts)
    most = max(languages.values())
    return Story(
        person=" + ".join(part.person for part in parts),
        language=min(name for name, count in languages.items() if count == most),
        lines=tuple(line for _, _, session in placed for line in session),
        questions=tuple(question for part in parts for question in part.questions),
        topic=parts[0].topic,
    )
