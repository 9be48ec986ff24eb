"""The example store over a real sealed log: bounded, durable, nothing of the words."""

from __future__ import annotations

import hashlib

import msgpack
import numpy as np
import pytest

from device.learning import DEDUP_LABELS, ExampleInvalid, ExampleStore, layer_label
from device.learning import examples as module
from device.memory.records import Layer
from device.vault import Keyring, MemoryStorage, SealedLog, StaticProtector
from protocol.models import DEDUP, FEATURE_VERSION, ROUTER, dedup_features, router_features


def bits(count: int) -> bytes:
    return bytes(next(_counter) % 251 for _ in range(count))


_counter = iter(range(10**9))


@pytest.fixture
def storage() -> MemoryStorage:
    return MemoryStorage()


def open_log(storage: MemoryStorage) -> SealedLog:
    keyring = Keyring.open(storage, StaticProtector(b"k" * 32), bits)
    return SealedLog.open(storage, "examples", keyring, clock_now=lambda: 0.0)


def test_examples_come_back_after_a_restart(storage: MemoryStorage) -> None:
    log = open_log(storage)
    store = ExampleStore(log)
    features = router_features("what is my name")
    store.add_router(features, layer_label([Layer.WORKING]))
    store.add_dedup(dedup_features("a cat", "a dog"), "independent")
    log.close()
    again = ExampleStore(open_log(storage))
    inputs, labels = again.training_set("router")
    np.testing.assert_allclose(inputs[0], features, atol=1e-3)
    assert labels.tolist() == [[1.0, 0.0, 0.0]]
    inputs, labels = again.training_set("dedup")
    assert inputs.shape == (1, DEDUP.layers[0])
    assert DEDUP_LABELS[int(labels[0].argmax())] == "independent"
    assert again.training_set("router")[0].shape == (1, ROUTER.layers[0])


def test_only_the_newest_stay(storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ERASE_BATCH", 3)
    log = open_log(storage)
    store = ExampleStore(log, limit=5)
    for number in range(12):
        features = np.full(ROUTER.layers[0], number, np.float32)
        store.add_router(features, np.asarray([0, 0, 1], np.float32))
    assert store.training_set("router")[0][:, 0].tolist() == [7.0, 8.0, 9.0, 10.0, 11.0]
    assert len(log) <= 5 + 3
    log.close()
    reopened = open_log(storage)
    assert ExampleStore(reopened, limit=5).training_set("router")[0][:, 0].tolist() == [
        7,
        8,
        9,
        10,
        11,
    ]
    assert len(reopened) == 5


def test_examples_of_another_feature_version_are_erased(
    storage: MemoryStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = open_log(storage)
    ExampleStore(log).add_dedup(dedup_features("a", "b"), "duplicate")
    log.close()
    monkeypatch.setattr(module, "FEATURE_VERSION", FEATURE_VERSION + 1)
    reopened = open_log(storage)
    assert len(ExampleStore(reopened).training_set("dedup")[0]) == 0
    assert len(reopened) == 0


def test_forget_all_leaves_nothing(storage: MemoryStorage) -> None:
    log = open_log(storage)
    store = ExampleStore(log)
    store.add_dedup(dedup_features("a", "b"), "merge")
    assert store.forget_all() == 1
    assert len(log) == 0
    assert len(store.training_set("dedup")[0]) == 0


def test_wrong_shapes_labels_and_values_are_refused(storage: MemoryStorage) -> None:
    store = ExampleStore(open_log(storage))
    good = router_features("x")
    with pytest.raises(ExampleInvalid, match="sizes"):
        store.add_router(good[:5], layer_label([]))
    with pytest.raises(ExampleInvalid, match="one of duplicate, merge, independent"):
        store.add_dedup(dedup_features("a", "b"), "same")
    with pytest.raises(ExampleInvalid, match="no number"):
        store.add_router(np.full(ROUTER.layers[0], np.nan, np.float32), layer_label([]))
    assert len(store.training_set("router")[0]) == 0


def test_examples_go_with_the_turns_texts_and_words_they_were_made_from(
    storage: MemoryStorage,
) -> None:
    log = open_log(storage)
    store = ExampleStore(log)
    label = layer_label([Layer.RAW])
    for query, turn in (("where is the key", "raw:1"), ("where is the mat", "raw:2")):
        store.add_router(router_features(query), label, query=query, turns=[turn])
    pair = ("Elm Road 7", "7 Elm Road")
    store.add_dedup(dedup_features(*pair), "duplicate", texts=pair)
    log.close()
    again = ExampleStore(open_log(storage))
    assert again.forget(turns=["raw:9"], texts=["elm road"], words="elm road oak") == 0
    assert again.forget(texts=["elm road 7!"]) == 1
    assert again.forget(turns=["raw:1"]) == 1
    assert again.forget(words="the mat") == 1
    assert again.forget(words="") == 0
    assert len(again.training_set("router")[0]) == 0
    # Feedback on an answer from before the forgetting brings nothing back.
    again.add_router(router_features("key"), label, query="key", turns=["raw:1"])
    assert len(again.training_set("router")[0]) == 0


def test_examples_with_whole_digests_are_kept_and_go_with_their_turn(
    storage: MemoryStorage,
) -> None:
    """An earlier version wrote eight bytes of each digest and did not say how many."""
    log = open_log(storage)
    half = np.zeros(ROUTER.layers[0], "<f2").tobytes()
    digests = [hashlib.blake2b(b"turn:raw:%d" % n, digest_size=8).digest() for n in (1, 2)]
    target = np.ones(ROUTER.layers[-1], "<f2").tobytes()
    log.append(msgpack.packb(["router", FEATURE_VERSION, half, target, b"".join(digests)]))
    store = ExampleStore(log)
    assert store.count("router") == 1
    assert store.forget(turns=["raw:3"]) == 0
    assert store.forget(turns=["raw:2"]) == 1


def test_examples_that_do_not_know_what_they_were_made_from_are_dropped(
    storage: MemoryStorage,
) -> None:
    log = open_log(storage)
    ExampleStore(log).add_router(router_features("where is it"), layer_label([Layer.RAW]))
    (_, payload) = next(iter(log.read()))
    log.append(msgpack.packb(msgpack.unpackb(payload)[:4]))
    log.close()
    reopened = open_log(storage)
    assert len(ExampleStore(reopened).training_set("router")[0]) == 1
    assert len(reopened) == 1
