"""The gate: worse nowhere beyond chance, better over all, and no way down in small steps."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import insert, update

from cloud.actors.evaluator import Evaluator
from cloud.actors.publisher import Publisher
from cloud.storage.tables import releases
from cloud.training.corpora import load_corpus
from cloud.training.dpsgd import example_losses, network_of, weights_of
from cloud.training.gate import LEVEL, MOST_FALL, Comparison, Rival, compare, objection, worst
from cloud.training.releases import Shelf
from cloud.training.scoring import SETS, Answers, Board, Scores, answer
from cloud.training.seeds import generator
from protocol.models.forward import initial_weights
from protocol.models.spec import ROUTER, SPECS, Weights
from protocol.params import Parameters, encode_full, sha256_of
from tests.cloud.world import database_in

NOW = 1_000_000.0

# --- the comparison alone ---


def board_of(n: int = 600, unit: int = 1) -> Board:
    """A board of three sets in two languages without inputs: only its slices and units count."""
    rows = np.arange(n)
    origin, english = rows % 3, (rows // 3) % 2 == 1
    slices = {"all": np.ones(n, dtype=bool), "all/en": english, "all/zh": ~english}
    slices |= {name: origin == at for at, name in enumerate(SETS)}
    return Board(np.zeros((n, 1), np.float32), np.zeros((n, 1), np.float32), rows // unit, slices)


def answers(hits: np.ndarray[Any, Any], loss: float = 1.0) -> Answers:
    return Answers(hits, hits, np.full(len(hits), loss))


def rival(version: int, given: Answers, board: Board) -> Rival:
    return Rival(version, given, Scores.of(given, board))


def good(board: Board, share: float = 0.8) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).random(len(board.x)) < share


def turned(hits: np.ndarray[Any, Any], count: int, to: bool, seed: int = 2) -> Any:
    """`hits` with so many more or fewer rows right."""
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(hits != to))[:count]
    changed = hits.copy()
    changed[rows] = to
    return changed


@given(lost=st.integers(0, 12), won=st.integers(0, 12))
def test_of_single_examples_it_is_mcnemars_exact_test(lost: int, won: int) -> None:
    n = 24
    board = Board(
        np.zeros((n, 1), np.float32),
        np.zeros((n, 1), np.float32),
        np.arange(n),
        {"all": np.ones(n, dtype=bool)},
    )
    before, after = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
    before[:lost] = True
    after[n - won :] = won > 0
    (found,) = compare(answers(after), [Rival(1, answers(before), None)], board)  # type: ignore[arg-type]
    both = lost + won
    exact = sum(math.comb(both, k) for k in range(lost, both + 1)) / 2**both
    assert found.chance == pytest.approx(exact)
    assert (found.lost, found.won) == (lost, won)


def test_examples_of_one_template_count_as_one() -> None:
    """Ten examples lost are rare by chance; one template lost is not."""
    hits = np.ones(600, dtype=bool)
    fallen = hits.copy()
    fallen[:10] = False
    for unit, chance in ((1, 2.0**-10), (10, 0.5)):
        board = board_of(unit=unit)
        found = compare(answers(fallen), [rival(1, answers(hits), board)], board)[0]
        assert found.chance == pytest.approx(chance)


def test_slices_that_cannot_tell_take_nothing_from_those_that_can() -> None:
    one = Comparison("all", 1, 100, 0.9, 0.8, 6, 0, 6, 2.0**-6)
    silent = [replace(one, name=f"s{n}", units=2, chance=0.25) for n in range(40)]
    assert worst([one, *silent], LEVEL) == one
    loud = [replace(one, name=f"s{n}", units=9, chance=0.5) for n in range(40)]
    assert worst([one, *loud], LEVEL) is None


def test_equals_are_seldom_called_worse() -> None:
    """Candidates that differ on a tenth of the rows, either way alike: at most the level."""
    board, rng = board_of(), np.random.default_rng(5)
    hits = good(board)
    known = rival(1, answers(hits), board)
    rejected = 0
    for _ in range(200):
        flips = rng.choice(600, 60, replace=False)
        new, old = hits.copy(), hits.copy()
        new[flips], old[flips] = True, False
        new[flips[rng.random(60) < 0.5]] = False
        old[flips] = ~new[flips]
        known = rival(1, answers(old), board)
        rejected += worst(compare(answers(new), [known], board), LEVEL) is not None
    assert rejected <= 200 * LEVEL * 2


def test_better_passes_and_a_small_fall_with_a_smaller_loss_does() -> None:
    board = board_of()
    hits = good(board)
    known = rival(3, answers(hits), board)
    assert objection(answers(turned(hits, 5, True), 2.0), known, [], board) == ""
    fallen = turned(hits, 2, False)
    assert objection(answers(fallen, 0.9), known, [], board) == ""
    assert "the loss 1.0000 is not under" in objection(answers(fallen, 1.0), known, [], board)
    assert "ties" in objection(answers(hits, 1.0), known, [], board)
    assert objection(answers(hits, 0.999), known, [], board) == ""


def test_a_slice_that_falls_is_named_though_the_whole_gains() -> None:
    board = board_of()
    hits = good(board)
    new = hits.copy()
    probes = np.flatnonzero(board.slices["probes"] & hits)[:14]
    new[probes] = False
    gain = np.flatnonzero(~board.slices["probes"] & ~hits)[:60]
    new[gain] = True
    said = objection(answers(new, 0.5), rival(4, answers(hits), board), [], board)
    assert said.startswith("worse on probes: accuracy 0.")
    assert "is under the published 0." in said
    assert "(200 examples, 14 lost, 0 won, p " in said


def descend(board: Board, guarded: bool) -> list[float]:
    """Twenty candidates in a row, each a little worse and a little surer than what is out."""
    out = [rival(1, answers(good(board), 1.0), board)]
    for step in range(20):
        last = out[-1]
        hits = turned(last.answers.hits, 3, False, seed=step)
        candidate = answers(hits, 0.99 * float(last.answers.loss[0]))
        known = out if guarded else out[-1:]
        if not objection(candidate, out[-1], known[:-1], board):
            out.append(rival(step + 2, candidate, board))
    return [one.scores.accuracy for one in out]


def test_small_falls_do_not_add_up() -> None:
    """Each alone is within chance, and would pass against its predecessor alone."""
    board = board_of()
    alone = descend(board, guarded=False)
    assert len(alone) == 21, "the ladder down exists: every rung of it passes"
    assert alone[-1] < alone[0] - 0.08
    guarded = descend(board, guarded=True)
    assert len(guarded) < 5
    assert guarded[-1] >= guarded[0] - MOST_FALL


def test_small_falls_of_one_slice_do_not_add_up_while_the_whole_rises() -> None:
    board = board_of()
    out = [rival(1, answers(good(board)), board)]
    for step in range(20):
        hits = out[-1].answers.hits.copy()
        hits[np.flatnonzero(hits & board.slices["probes"])[:2]] = False
        hits[np.flatnonzero(~hits & ~board.slices["probes"])[:4]] = True
        reason = objection(answers(hits), out[-1], out[:-1], board)
        if reason:
            assert reason.startswith("worse on probes")
            assert "is under the best so far, version 1's" in reason
            break
        out.append(rival(step + 2, answers(hits), board))
    else:
        pytest.fail("nothing stopped it")
    assert out[-1].scores.accuracy_probes > out[0].scores.accuracy_probes - 0.1


# --- real parameters, through the actor ---


def fitted(start: Weights, x: Any, y: Any, steps: int) -> Weights:
    """Plain gradient steps on all rows."""
    import torch

    torch.set_num_threads(1)
    network = network_of(ROUTER, start)
    adam = torch.optim.Adam(network.parameters(), lr=0.01)
    inputs, targets = torch.tensor(x), torch.tensor(y)
    for _ in range(steps):
        adam.zero_grad()
        example_losses(ROUTER, network(inputs), targets).mean().backward()
        adam.step()
    return weights_of(network, ROUTER)


@pytest.fixture(scope="module")
def steps() -> dict[str, Weights]:
    """A router, a better one, and one that sends Chinese working-layer questions astray."""
    train = load_corpus("router").train
    start = fitted(initial_weights(ROUTER, generator(3)), train.x, train.y, 25)
    better = fitted(start, train.x, train.y, 25)
    astray = train.y.copy()
    working = (np.array(train.languages) == "zh") & (train.y[:, 0] > 0)
    astray[working] = (0.0, 0.0, 1.0)
    return {"start": start, "better": better, "astray": fitted(better, train.x, astray, 60)}


class Gate:
    """The database and the actors of one test."""

    def __init__(self, folder: Path) -> None:
        (folder / "signing.key").write_bytes(os.urandom(32))
        self.url, self.blobs = database_in(folder), folder / "blobs"
        self.evaluator = Evaluator(self.url, self.blobs)
        self.publisher = Publisher(self.url, self.blobs, folder / "signing.key")
        self.shelf = Shelf(self.url, self.blobs)

    def submit(self, made: Weights | Parameters, version: int, **values: Any) -> int:
        parameters = made if isinstance(made, Parameters) else Parameters.of(made, ROUTER, version)
        row = {"model": parameters.model, "version": version, "parent": version - 1, "metrics": {}}
        row |= {"parameters": self.shelf.blobs.put(encode_full(parameters)), "created": NOW}
        row |= {"sha256": sha256_of(parameters), "status": "candidate", "epsilon": 1.0}
        with self.shelf.database.write() as connection:
            done = connection.execute(insert(releases).values(delta=1e-6, **(row | values)))
        assert done.inserted_primary_key is not None
        return int(done.inserted_primary_key[0])

    def judge(self, made: Weights | Parameters, version: int, **values: Any) -> str:
        """Why it was turned down; "" when it passed and is published."""
        candidate = self.submit(made, version, **values)
        verdict = self.evaluator.evaluate(candidate, NOW)
        assert self.evaluator.evaluate(candidate, NOW + 1) == verdict
        published = self.publisher.publish(candidate, NOW)
        assert (published == version) is verdict["passed"]
        return str(verdict["reason"])

    def close(self) -> None:
        for part in (self.evaluator, self.publisher, self.shelf):
            part.close()


@pytest.fixture
def gate(tmp_path: Path) -> Any:
    made = Gate(tmp_path)
    yield made
    made.close()


def test_what_is_worse_for_some_questions_only_is_turned_down_by_their_name(
    gate: Gate, steps: dict[str, Weights]
) -> None:
    assert gate.judge(steps["start"], 1) == ""
    assert gate.judge(steps["better"], 2) == ""
    said = gate.judge(steps["astray"], 3)
    assert said.startswith("worse on ")
    assert "zh/working: accuracy 0." in said
    assert "is under the published 0." in said
    assert gate.judge(steps["start"], 4) != "", "what was good enough once is not any more"


def test_the_same_answers_given_more_aptly_pass_and_the_way_back_does_not(
    gate: Gate, steps: dict[str, Weights]
) -> None:
    """Outputs twice as sure: the strongest stays the strongest, only the loss differs."""
    made = Parameters.of(steps["start"], ROUTER, 1)
    half = {name: (made.arrays[name] // 2).astype(np.int8) for name in ("w3", "b3")}
    twice = {name: (array * 2).astype(np.int8) for name, array in half.items()}
    board = Board.of(load_corpus("router"), ROUTER)
    both = [Parameters("router", 0, made.arrays | last, made.scales) for last in (half, twice)]
    losses = [Scores.of(answer(one, ROUTER, board), board).loss for one in both]
    worse, better = (both[at] for at in np.argsort(losses)[::-1])
    assert gate.judge(worse, 1) == ""
    assert gate.judge(better, 2) == ""
    assert gate.shelf.get(1).metrics["accuracy"] == gate.shelf.get(2).metrics["accuracy"]
    assert "ties with the published" in gate.judge(worse, 3)


def test_an_early_verdict_is_given_anew_when_another_version_came_between(
    gate: Gate, steps: dict[str, Weights]
) -> None:
    assert gate.judge(steps["start"], 1) == ""
    early = gate.submit(steps["better"], 2)
    assert gate.evaluator.evaluate(early, NOW)["passed"]
    late = gate.submit(steps["better"], 3, parent=1)
    assert gate.evaluator.evaluate(late, NOW)["passed"]
    assert gate.publisher.publish(early, NOW) == 2
    assert gate.publisher.publish(late, NOW) is None, "it was judged against version 1"
    assert gate.evaluator.evaluate(late, NOW)["reason"] == "the parameters did not change"


def test_what_grew_from_a_withdrawn_version_is_turned_down(
    gate: Gate, steps: dict[str, Weights]
) -> None:
    assert gate.judge(steps["start"], 1) == ""
    gate.submit(steps["start"], 2, status="withdrawn")
    said = gate.judge(steps["better"], 3, parent=2)
    assert said == "version 2, which it was trained from, was withdrawn"
    assert gate.judge(steps["better"], 4, parent=1) == ""


def test_a_verdict_says_what_was_measured_and_beside_what(
    gate: Gate, steps: dict[str, Weights]
) -> None:
    gate.judge(steps["start"], 1)
    gate.judge(steps["better"], 2)
    metrics = gate.shelf.get(2).metrics
    assert metrics["against"] == 1.0
    assert 0.0 < metrics["accuracy_probes"] < 1.0
    with gate.shelf.database.read() as connection:
        card = connection.execute(releases.select().where(releases.c.id == 2)).one().card
    found = card["evaluation"]
    assert (found["passed"], found["against"]) == (True, 1)
    whole = found["metrics"]["accuracy_probes"]["value"]
    assert found["slices"]["probes"]["accuracy"] == whole == round(metrics["accuracy_probes"], 4)
    assert found["metrics"]["accuracy"]["before"] < found["metrics"]["accuracy"]["value"]
    corpus = card["data"]["corpus"]
    assert set(corpus) == {"train", *SETS}
    assert corpus["probes"]["examples"] == found["slices"]["probes"]["examples"] >= 120


def test_a_candidate_published_meanwhile_keeps_what_it_has(
    gate: Gate, steps: dict[str, Weights]
) -> None:
    candidate = gate.submit(steps["start"], 1)
    with gate.shelf.database.write() as connection:
        connection.execute(update(releases).values(status="published"))
    assert gate.evaluator.evaluate(candidate, NOW)["accuracy"] == 0.0
    assert gate.shelf.get(candidate).status == "published"


@pytest.mark.parametrize("model", ["router", "dedup"])
def test_a_board_has_every_language_and_label_in_every_set(model: str) -> None:
    board = Board.of(load_corpus(model), SPECS[model])
    labels = SPECS[model].outputs
    names = {
        f"{start}{tongue}{label}"
        for start in ("all", *SETS)
        for tongue in ("", "/en", "/zh")
        for label in ("", *(f"/{name}" for name in labels))
    }
    assert set(board.slices) == names
    assert board.slices["all"].all()
    assert sum(int(board.slices[name].sum()) for name in SETS) == len(board.x)
    for one, other in ((0, 1), (1, 2)):
        units = [set(board.units[board.slices[SETS[at]]].tolist()) for at in (one, other)]
        assert not units[0] & units[1], "a template belongs to one set"


@pytest.mark.parametrize("model", ["router", "dedup"])
def test_the_probes_are_no_ones_training_data(model: str) -> None:
    from cloud.training.corpora import dedup_lines, router_lines

    lines = list(router_lines() if model == "router" else dedup_lines())
    probes = [line for line in lines if line.origin == "probe"]
    others = {line.texts for line in lines if line.origin != "probe"}
    assert len(probes) >= 120
    assert len({line.texts for line in probes}) == len(probes)
    assert not {line.texts for line in probes} & others
    for tongue in ("zh", "en"):
        for label in SPECS[model].outputs:
            assert sum(label in one.labels for one in probes if one.language == tongue) >= 20
