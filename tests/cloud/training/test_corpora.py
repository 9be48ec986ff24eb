"""The corpora are reproducible, labelled, and their held-out sets were never trained on."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256

import numpy as np
import pytest

from cloud.training.config import TRAINING
from cloud.training.corpora import Line, dedup_lines, load_corpus, router_lines
from cloud.training.dpsgd import spent_epsilon, train_private
from cloud.training.scoring import score
from cloud.training.seeds import generator
from protocol.models.forward import initial_weights
from protocol.models.spec import SPECS
from protocol.params import Parameters

SOURCES: dict[str, Callable[[], Iterator[Line]]] = {"router": router_lines, "dedup": dedup_lines}
DIGEST = """
import sys
from hashlib import sha256
from cloud.training.corpora import dedup_lines, router_lines
print(sha256(repr([list(router_lines()), list(dedup_lines())]).encode()).hexdigest())
"""


@pytest.mark.parametrize("model", SOURCES)
def test_thousands_of_labelled_lines_in_both_languages(model: str) -> None:
    lines = list(SOURCES[model]())
    trained = [line for line in lines if line.origin == "template"]
    assert len(trained) >= 3000
    assert len(set(trained)) / len(trained) > 0.75
    for line in lines:
        assert line.labels
        assert set(line.labels) <= set(SPECS[model].outputs)
        assert all(text.strip() for text in line.texts)
        assert "{" not in "".join(line.texts)
    share = Counter(line.language for line in trained)["zh"] / len(trained)
    assert 0.4 < share < 0.6


@pytest.mark.parametrize("model", SOURCES)
def test_held_out_lines_are_not_trained_on(model: str) -> None:
    lines = list(SOURCES[model]())
    trained = {line.texts for line in lines if line.origin == "template"}
    trained |= {line.texts[::-1] for line in lines if line.origin == "template"}
    held_out = [line for line in lines if line.origin != "template"]
    assert not [line for line in held_out if line.texts in trained]
    written = [line for line in lines if line.origin == "handwritten"]
    assert len(written) >= 80
    assert {line.language for line in written} == {"zh", "en"}


@pytest.mark.parametrize("model", SOURCES)
def test_every_label_is_in_every_set(model: str) -> None:
    corpus = load_corpus(model)
    for examples in (corpus.train, corpus.templates, corpus.written):
        assert (examples.y.sum(axis=0) > 0).all()
        assert len(examples) == len(examples.x) == len(examples.y)


def test_another_process_builds_the_same_corpora() -> None:
    ours = sha256(repr([list(router_lines()), list(dedup_lines())]).encode()).hexdigest()
    theirs = subprocess.run(
        [sys.executable, "-c", DIGEST],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "77"},
        cwd=".",
    )
    assert theirs.stdout.strip() == ours


def test_an_exchange_of_roles_never_changes_nothing() -> None:
    """Someone who taught themselves would make a pair of equal texts "independent"."""
    for line in dedup_lines():
        if line.labels == ("independent",):
            assert line.texts[0] != line.texts[1]


@pytest.mark.parametrize(("model", "accuracy"), [("router", 0.77), ("dedup", 0.74)])
def test_a_first_release_answers_unseen_wording(model: str, accuracy: float) -> None:
    """Held-out accuracy of what the noise of DP-SGD and the grid leave; chance is .33 to .40."""
    spec, config, corpus = SPECS[model], TRAINING[model], load_corpus(model)
    seed = 7
    weights = train_private(
        spec,
        initial_weights(spec, generator(seed)),
        corpus.train,
        np.ones(len(corpus.train), dtype=np.float32),
        config,
        steps=config.steps,
        learning_rate=config.learning_rate,
        key=seed,
    )
    scores = score(Parameters.of(weights, spec, 1), spec, corpus)
    assert scores.accuracy > accuracy, f"seed {seed}: {scores}"
    assert spent_epsilon(config, config.steps) <= 8.0


@pytest.mark.parametrize("model", SOURCES)
def test_the_divisor_of_a_batch_fits_the_corpus(model: str) -> None:
    config = TRAINING[model]
    assert config.expected_batch == pytest.approx(
        config.sampling_rate * len(load_corpus(model).train), rel=0.15
    )
