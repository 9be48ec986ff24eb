"""Real labelled examples for the learning loop: whose they are, and which persons stay unseen.

Router: questions of LoCoMo and MemoryBank, labelled as a phone's feedback labels them: the real
memory records and consolidates the conversation, recalls with every layer open, and the layers of
the hits that stand on an evidence turn are those that helped. A question that nothing answered
gives no feedback and no example. Dedup: pairs of LCQMC, PAWS-X and xiaobu; the same meaning is
"duplicate", another one "independent". None of them knows "merge": what rewrites a fact. STS-B's
scale does (3: alike, but important information differs or is missing), so its pairs give phones
their merges, 4 and more their duplicates, under 2 their independent pairs; between 2 and 3 nobody
could say, and they stay out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from device.learning import layer_label
from device.memory import RecordMany
from device.memory.dreaming import consolidate_pending
from device.memory.records import Layer
from protocol.models import DEDUP, dedup_features, router_features
from tests.benchmarks.pair_sets import Pair, read_pairs
from tests.benchmarks.recall_data import Conversation, locomo, memorybank
from tests.benchmarks.recall_evidence import Fixed
from tests.device.recall.rig import open_rig

__all__ = ["GRADED", "RealSet", "pair_examples", "query_examples", "split_owners"]

SHOWN = 10
PAIR_SETS = ("lcqmc", "pawsx", "xiaobu")
GRADED = "stsb"
SAME_FROM, ALIKE_FROM, OTHER_UNDER = 4.0, 3.0, 2.0
PAIR_OWNERS = 40
"""Owners that a set's pairs go to. Pairs that share a text, directly or through others, go to the
same one: a text must not be trained on by one owner and tested with another."""
TEST_SHARE = 1 / 3
"""Owners of each source that no phone trains on, at least one."""

Array = NDArray[np.float32]


@dataclass(frozen=True)
class RealSet:
    """x float32[n, inputs], y float32[n, outputs]; who each row belongs to and where it is from.

    owners: a person, conversation or block of pairs. sources: the data set. kinds: what makes one
    phone's use unlike another's: the category of a question, or a data set's label.
    """

    x: Array
    y: Array
    owners: NDArray[np.str_]
    sources: NDArray[np.str_]
    kinds: NDArray[np.str_]
    languages: tuple[str, ...]
    personal: bool
    """Whether owners are persons, so that a phone holds the rows of one of them only."""

    def __len__(self) -> int:
        return len(self.x)

    def only(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> RealSet:
        """The set of these rows, in order."""
        places = np.arange(len(self))[rows]
        return RealSet(
            self.x[places],
            self.y[places],
            self.owners[places],
            self.sources[places],
            self.kinds[places],
            tuple(self.languages[place] for place in places),
            self.personal,
        )


def split_owners(real: RealSet, seed: int) -> tuple[RealSet, RealSet]:
    """(phones', test): of every source, a third of the owners is never trained on."""
    rng = np.random.default_rng([seed, 1])
    unseen: list[str] = []
    for source in sorted(set(real.sources.tolist())):
        owners = sorted(set(real.owners[real.sources == source].tolist()))
        count = max(1, round(TEST_SHARE * len(owners)))
        unseen += rng.choice(owners, count, replace=False).tolist()
    tested = np.isin(real.owners, unseen)
    return real.only(~tested), real.only(tested)


def query_examples(shared: Path) -> RealSet:
    """Every question that the phone's memory could answer, and the layers that answered it."""
    return asyncio.run(_asked(shared))


async def _asked(shared: Path) -> RealSet:
    sources = (
        ("locomo", "en", locomo(shared / "locomo")),
        ("memorybank en", "en", memorybank(shared / "memorybank", "en")),
        ("memorybank zh", "zh", memorybank(shared / "memorybank", "cn")),
    )
    rows = [
        (router_features(text), label, conversation.name, source, f"{source} {kind}", language)
        for source, language, conversations in sources
        for conversation in conversations
        for text, kind, label in await _labelled(conversation)
    ]
    return _real(rows, personal=True)


async def _labelled(conversation: Conversation) -> list[tuple[str, str, Array]]:
    """(question, kind, label) of what a phone with this conversation in its memory answers."""
    labelled = []
    async with open_rig() as rig:
        turns = await rig.raw.ask(RecordMany(list(conversation.turns)))
        places = {turn.id: place for place, turn in enumerate(turns)}
        rig.clock.at = conversation.asked_at
        await consolidate_pending(rig.raw, rig.structured, rig.working, tz=UTC)
        await rig.recaller.catch_up()
        # Every layer open: a router's own choice would hide what the others hold.
        rig.router = Fixed(tuple(Layer))
        for question in conversation.questions:
            answer = await rig.recaller.recall(question.text, SHOWN)
            helped = {
                hit.layer
                for hit in answer.hits
                if isinstance(hit.layer, Layer)
                and question.evidence & {places.get(turn, -1) for turn in hit.turns}
            }
            if helped:
                labelled.append((question.text, question.kind, layer_label(helped)))
    return labelled


def pair_examples(shared: Path) -> RealSet:
    """Every pair of the four Chinese sets with its class."""
    one_hot = np.eye(len(DEDUP.outputs), dtype=np.float32)
    rows = []
    for name in (*PAIR_SETS, GRADED):
        pairs = read_pairs(shared / "pairs" / f"{name}_zh.tsv")
        for pair, group in zip(pairs, _groups(pairs), strict=True):
            verdict = _graded(pair.label) if name == GRADED else _VERDICTS[pair.label]
            if verdict:
                label = one_hot[DEDUP.outputs.index(verdict)]
                owner = f"{name} {group % PAIR_OWNERS}"
                kind = f"{name} {verdict}"
                rows.append((dedup_features(pair.a, pair.b), label, owner, name, kind, "zh"))
    return _real(rows, personal=False)


_VERDICTS = {1.0: "duplicate", 0.0: "independent"}


def _graded(grade: float) -> str:
    if grade >= SAME_FROM:
        return "duplicate"
    if grade >= ALIKE_FROM:
        return "merge"
    return "independent" if grade < OTHER_UNDER else ""


def _groups(pairs: Sequence[Pair]) -> list[int]:
    """A number for every pair, the same for pairs that share a text, by whatever way."""
    parents: dict[str, str] = {}

    def root(text: str) -> str:
        while parents.setdefault(text, text) != text:
            parents[text] = text = parents[parents[text]]
        return text

    for pair in pairs:
        parents[root(pair.a)] = root(pair.b)
    numbers: dict[str, int] = {}
    return [numbers.setdefault(root(pair.a), len(numbers)) for pair in pairs]


def _real(rows: Sequence[tuple[Array, Array, str, str, str, str]], *, personal: bool) -> RealSet:
    x, y, owners, sources, kinds, languages = zip(*rows, strict=True)
    return RealSet(
        # The phone keeps its examples as float16 (device/learning/examples.py).
        np.stack(x).astype(np.float16).astype(np.float32),
        np.stack(y),
        np.array(owners),
        np.array(sources),
        np.array(kinds),
        tuple(languages),
        personal,
    )
