"""Evidence recall of the whole product path on public conversations, and what the router is for."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path

import numpy as np

from cloud.training.config import TRAINING
from cloud.training.corpora import load_corpus
from cloud.training.dpsgd import train_private
from cloud.training.seeds import generator
from device.memory import RecordMany
from device.memory.dreaming import consolidate_pending
from device.memory.records import Answer, Layer
from device.recall import Route, Router
from device.recall.relevance import WEIGHTS
from protocol.models import ROUTER, initial_weights
from protocol.params import Parameters
from tests.benchmarks.recall_data import Conversation, locomo, memorybank
from tests.benchmarks.recall_fitting import NAMES, candidates_of, fitted_recall, relevance_auc
from tests.benchmarks.recall_peers import ENCODER, Bm25s, Dense, installed
from tests.benchmarks.row import Row
from tests.device.recall.rig import Rig, open_rig

__all__ = ["evidence_rows"]

SHOWN = 10
TARGET = 0.65
PUBLISHED_BM25 = 0.588
"""LoCoMo evidence recall@10, categories 1–4, all ten conversations, plain BM25."""
RULE_SHARE = 0.7
"""002: rules decide about this share of queries."""
KEY = 17
ROUTED, EVERYTHING = "routed", "all layers, weight 1"
LANGUAGES = {"cn": "zh", "en": "en"}


class Fixed(Router):
    """A router that always sends to the same layers."""

    def __init__(self, to: Collection[Layer]) -> None:
        super().__init__(None)
        self._weights_of_all = {layer: 1.0 if layer in to else 0.0 for layer in Layer}

    def route(self, query: str, now: float) -> Route:
        """The same for every query."""
        return Route(self._weights_of_all, "fallback")


@dataclass(slots=True)
class Tally:
    """What one way of recalling gave: recalls by kind of question, milliseconds, work."""

    recalls: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    milliseconds: list[float] = field(default_factory=list)
    layers: list[int] = field(default_factory=list)
    by_rule: list[bool] = field(default_factory=list)

    def add(self, kind: str, recall: float) -> None:
        self.recalls[kind].append(recall)

    def mean(self, kinds: Sequence[str] = ()) -> float:
        """Mean recall over questions of these kinds, or of all."""
        chosen = kinds or sorted(self.recalls)
        return float(np.mean([value for kind in chosen for value in self.recalls[kind]]))


def evidence_rows(shared: Path) -> Iterator[Row]:
    """LoCoMo and MemoryBank against BM25 and MiniLM, the router's ablation, fits held out."""
    dense = Dense() if installed(ENCODER, "sentence_transformers") else None
    router = trained_router()
    conversations = locomo(shared / "locomo")
    ours = asyncio.run(
        _recall_all(conversations, {ROUTED: router, EVERYTHING: Fixed(tuple(Layer))})
    )
    peers = _peers(conversations, dense)
    yield from _compared("LoCoMo, categories 1–5", ours[ROUTED], peers, TARGET)
    yield _row(
        "LoCoMo evidence recall@10, categories 1–4", ours[ROUTED].mean(["1", "2", "3", "4"]),
        bound=PUBLISHED_BM25, target=PUBLISHED_BM25,
    )  # fmt: skip
    yield from _held_out(conversations, peers, dense)
    yield from _ablation(conversations, ours)
    for language, name in LANGUAGES.items():
        users = memorybank(shared / "memorybank", language)
        tallies = asyncio.run(_recall_all(users, {ROUTED: router}))
        yield from _compared(f"MemoryBank {name}", tallies[ROUTED], _peers(users, dense), TARGET)


def trained_router() -> Router:
    """The router of the first release, trained as the cloud trains it."""
    config, examples = TRAINING[ROUTER.name], load_corpus(ROUTER.name).train
    weights = train_private(
        ROUTER,
        initial_weights(ROUTER, generator(KEY)),
        examples,
        np.ones(len(examples), np.float32),
        config,
        steps=config.steps,
        learning_rate=config.learning_rate,
        key=KEY,
    )
    return Router(Parameters.of(weights, ROUTER, version=1))


async def _recall_all(
    conversations: Sequence[Conversation], routers: Mapping[str, Router], *, rounds: int = 2
) -> dict[str, Tally]:
    """Every question asked of a phone that has recorded and consolidated its conversation."""
    tallies = {name: Tally() for name in routers}
    for conversation in conversations:
        async with open_rig(clarifying_rounds=rounds) as rig:
            turns = await rig.raw.ask(RecordMany(list(conversation.turns)))
            places = {turn.id: place for place, turn in enumerate(turns)}
            rig.clock.at = conversation.asked_at
            await consolidate_pending(rig.raw, rig.structured, rig.working, tz=UTC)
            await rig.recaller.catch_up()
            for name, router in routers.items():
                rig.router = router
                await _ask(rig, conversation, places, tallies[name])
    return tallies


async def _ask(
    rig: Rig, conversation: Conversation, places: Mapping[str, int], tally: Tally
) -> None:
    for question in conversation.questions:
        start = time.perf_counter()
        answer = await rig.recaller.recall(question.text, SHOWN)
        tally.milliseconds.append(1e3 * (time.perf_counter() - start))
        found = question.evidence & set(_shown(answer, places))
        tally.add(question.kind, len(found) / len(question.evidence))
        searched = sum(weight >= 0.1 for weight in answer.weights.values())
        # A clarifying round is one more search of the raw layer.
        tally.layers.append(searched + answer.rounds - 1)
        tally.by_rule.append(answer.decided_by == "rule")


def _shown(answer: Answer, places: Mapping[str, int]) -> list[int]:
    """The first turns that the hits stand on, best first."""
    turns = dict.fromkeys(turn for hit in answer.hits for turn in hit.turns if turn in places)
    return [places[turn] for turn in list(turns)[:SHOWN]]


def _peers(conversations: Sequence[Conversation], dense: Dense | None) -> dict[str, Tally]:
    """The peers on the same turns, the speaker's name given to them too."""
    tallies: dict[str, Tally] = {}
    for conversation in conversations:
        texts = [f"{turn.speaker}: {turn.text}" for turn in conversation.turns]
        asked = [question.text for question in conversation.questions]
        ranked: dict[str, list[list[int]]] = {}
        if installed("bm25s"):
            index = Bm25s(texts)
            ranked["bm25s"] = [index.search(text, SHOWN) for text in asked]
        if dense is not None:
            cosines = dense.encode(asked) @ dense.encode(texts).T
            ranked["all-MiniLM-L6-v2"] = np.argsort(-cosines, axis=1)[:, :SHOWN].tolist()
        for name, answers in ranked.items():
            tally = tallies.setdefault(name, Tally())
            for question, answer in zip(conversation.questions, answers, strict=True):
                found = question.evidence & set(answer)
                tally.add(question.kind, len(found) / len(question.evidence))
    return tallies


def _compared(name: str, ours: Tally, peers: Mapping[str, Tally], target: float) -> Iterator[Row]:
    count = sum(map(len, ours.recalls.values()))
    for peer, tally in peers.items():
        yield _row(
            f"{name}: evidence recall@10 ({count} questions)",
            ours.mean(),
            peer=peer,
            peer_value=tally.mean(),
            target=max(target, tally.mean()),
        )


def _held_out(
    conversations: Sequence[Conversation], peers: Mapping[str, Tally], dense: Dense | None
) -> Iterator[Row]:
    """Against overfitting: weights never see the conversations that they are tried on."""
    found = [candidates_of(conversation) for conversation in conversations]
    half = len(found) // 2
    halves = [
        [c for part in found[:half] for c in part],
        [c for part in found[half:] for c in part],
    ]
    bm25 = peers["bm25s"].mean() if "bm25s" in peers else None
    for name, folds in (("one conversation left out", found), ("fitted on 3, tried on 3", halves)):
        yield _row(
            f"LoCoMo raw ranking, {name}", fitted_recall(folds),
            peer="bm25s" if bm25 is not None else "", peer_value=bm25, target=TARGET,
        )  # fmt: skip
    if dense is None:
        return
    flat = [c for part in found for c in part]
    weights = np.asarray([WEIGHTS[name] for name in NAMES])
    crossed = [c.scores * np.maximum(1.0 + c.features @ weights, 0.0) for c in flat]
    cosines = []
    for conversation, part in zip(conversations, found, strict=True):
        turns = dense.encode([f"{turn.speaker}: {turn.text}" for turn in conversation.turns])
        asked = dense.encode([question.text for question in conversation.questions])
        cosines += [turns[list(c.places)] @ asked[n] for n, c in enumerate(part)]
    rival = relevance_auc(flat, [np.asarray(c, np.float64) for c in cosines])
    yield Row(
        "cross-scorer: an evidence turn above another candidate",
        relevance_auc(flat, crossed),
        "AUC",
        peer="MiniLM cosine",
        peer_value=rival,
        target=rival,
        better="high",
    )


def _ablation(conversations: Sequence[Conversation], ours: Mapping[str, Tally]) -> Iterator[Row]:
    """What the router adds: nothing lost, and work and time saved."""
    routed, every = ours[ROUTED], ours[EVERYTHING]
    yield _row(
        "router: evidence recall@10, routed", routed.mean(),
        peer=EVERYTHING, peer_value=every.mean(), target=every.mean() - 0.005,
    )  # fmt: skip
    for name, unit, value, peer in (
        ("router: searches a recall", "searches", routed.layers, every.layers),
        ("router: time of a recall", "ms", routed.milliseconds, every.milliseconds),
    ):
        mine, theirs = float(np.mean(value)), float(np.mean(peer))
        yield Row(name, mine, unit, peer=EVERYTHING, peer_value=theirs, target=theirs)
    yield Row(
        "router: share of queries decided by rules", float(np.mean(routed.by_rule)), "share",
        target=RULE_SHARE, better="high",
    )  # fmt: skip
    alone = {f"{layer.value} layer alone": Fixed((layer,)) for layer in Layer}
    for name, tally in asyncio.run(_recall_all(conversations, alone, rounds=0)).items():
        yield _row(
            f"router: evidence recall@10, {name}", tally.mean(),
            peer=ROUTED, peer_value=routed.mean(),
        )  # fmt: skip


def _row(
    name: str,
    value: float,
    *,
    peer: str = "",
    peer_value: float | None = None,
    bound: float | None = None,
    target: float | None = None,
) -> Row:
    return Row(
        name, value, "share", peer=peer, peer_value=peer_value, bound=bound, target=target,
        better="high",
    )  # fmt: skip
