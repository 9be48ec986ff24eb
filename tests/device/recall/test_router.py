"""The router's two stages and its floor."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from cloud.training.corpora.router import router_lines
from device.memory.records import Layer
from device.recall import Router, probe
from device.recall.floors import FLOOR, Floors
from device.recall.probes import probe_set
from device.recall.rules import coarse
from device.settings import Settings, load_settings, save_settings
from protocol.models import ROUTER, SPECS, Weights, initial_weights
from protocol.params import Parameters

NOW = datetime(2026, 5, 13, 9, tzinfo=UTC).timestamp()
PLAIN = "我养的花"
"""No rule is sure about it."""


def weights_giving(working: float, structured: float, raw: float) -> Weights:
    """Weights whose outputs are these, whatever the query: only the last bias speaks."""
    weights = {name: np.zeros(shape, np.float32) for name, shape in ROUTER.shapes.items()}
    wanted = np.asarray([working, structured, raw])
    weights["b3"] = np.log(wanted / (1 - wanted)).astype(np.float32)
    return weights


def router_of(weights: Weights) -> Router:
    return Router(Parameters.of(weights, ROUTER, version=1))


@pytest.mark.parametrize(
    ("query", "layer"),
    [
        ("我叫什么名字", Layer.WORKING),
        ("what is my name?", Layer.WORKING),
        ("我的地址是什么", Layer.WORKING),
        ("昨天我做了什么", Layer.STRUCTURED),
        ("what did I do last week", Layer.STRUCTURED),
        ("下下周三下午有什么安排", Layer.STRUCTURED),
        ("did Melanie and Caroline talk about the charity race", Layer.RAW),
        ("我现在住哪儿", Layer.WORKING),
        ("what's my wife's name", Layer.WORKING),
        ("刚才说到哪儿了", Layer.WORKING),
        ("do I prefer an aisle seat", Layer.STRUCTURED),
        ("牙医约在什么时候", Layer.STRUCTURED),
        ("上次说的那个餐厅", Layer.RAW),
        ("why did I leave that job", Layer.RAW),
        ("What did Caroline research?", Layer.RAW),
        (
            "how exactly did I describe the little restaurant with the courtyard and the old tree "
            "where the owner plays chess",
            Layer.RAW,
        ),
    ],
)
def test_rules_are_sure(query: str, layer: Layer) -> None:
    route = router_of(weights_giving(0.5, 0.5, 0.5)).route(query, NOW)
    assert route.decided_by == "rule"
    assert route.layers == (layer,)


def test_without_a_model_every_layer_is_searched_in_full() -> None:
    route = Router(None).route(PLAIN, NOW)
    assert route.decided_by == "fallback"
    assert dict(route.weights) == dict.fromkeys(Layer, 1.0)


def test_the_model_decides_and_layers_under_the_floor_are_left_out() -> None:
    route = router_of(weights_giving(0.05, 0.6, 0.3)).route(PLAIN, NOW)
    assert route.decided_by == "model"
    assert route.layers == (Layer.STRUCTURED, Layer.RAW)
    assert route.weights[Layer.STRUCTURED] == pytest.approx(0.6, abs=0.02)
    assert route.weights[Layer.WORKING] < FLOOR


def test_a_model_that_gives_every_layer_up_is_not_followed() -> None:
    route = router_of(weights_giving(0.02, 0.02, 0.02)).route(PLAIN, NOW)
    assert route.decided_by == "fallback"


@pytest.mark.parametrize("model", sorted(SPECS))
def test_probes_are_balanced_in_language_and_label(model: str) -> None:
    probes = probe_set(model)
    assert probes.labels.sum(axis=1).tolist() == [1.0] * len(probes.labels)
    counts = probes.labels.sum(axis=0)
    assert counts.min() == counts.max()
    assert probes.languages.count("zh") == probes.languages.count("en") >= 20
    assert len(probes.features) >= 40


def test_probe_is_the_accuracy_and_own_examples_count() -> None:
    always_raw = weights_giving(0.1, 0.1, 0.9)
    assert probe("router", always_raw).accuracy == pytest.approx(1 / 3)
    size, inputs = len(probe_set("router").labels), SPECS["router"].layers[0]
    own = (
        np.zeros((size, inputs), np.float32),
        np.tile(np.array([0, 0, 1], np.float32), (size, 1)),
    )
    assert probe("router", always_raw, own).accuracy == pytest.approx(2 / 3)
    none = (np.zeros((0, inputs), np.float32), np.zeros((0, 3), np.float32))
    assert probe("router", always_raw, none).accuracy == pytest.approx(1 / 3)
    rng = np.random.Generator(np.random.Philox(key=1))
    untrained = probe("dedup", initial_weights(SPECS["dedup"], rng))
    assert 0.0 <= untrained.accuracy <= 1.0
    surer = weights_giving(0.1, 0.1, 0.99)
    assert probe("router", surer, own).accuracy == probe("router", always_raw, own).accuracy
    assert probe("router", surer, own).loss != probe("router", always_raw, own).loss
    with pytest.raises(KeyError):
        probe("unknown", always_raw)


def test_when_of_someone_else_goes_to_structured_and_raw() -> None:
    route = router_of(weights_giving(0.5, 0.5, 0.5)).route("When did Caroline paint?", NOW)
    assert route.decided_by == "rule"
    assert route.layers == (Layer.STRUCTURED, Layer.RAW)


def test_another_model_or_floor_answers_for_itself() -> None:
    first, second = (
        Parameters.of(weights_giving(*given), ROUTER, version=1)
        for given in ((0.9, 0.3, 0.3), (0.3, 0.9, 0.3))
    )
    low, high = (Floors(floor, floor, floor) for floor in (0.1, 0.6))
    for _ in range(2):
        assert Router(first, floors=high).route(PLAIN, NOW).layers == (Layer.WORKING,)
        assert Router(second, floors=high).route(PLAIN, NOW).layers == (Layer.STRUCTURED,)
        assert Router(second, floors=low).route(PLAIN, NOW).layers == tuple(Layer)


def test_the_floor_is_a_setting() -> None:
    parameters = Parameters.of(weights_giving(0.05, 0.6, 0.3), ROUTER, version=1)

    def layers(chosen: float | None) -> tuple[Layer, ...]:
        settings = Settings(layer_floor=chosen)
        floors = Floors.in_force(settings.layer_floor, {})
        return Router(parameters, floors=floors).route(PLAIN, NOW).layers

    assert layers(0.5) == (Layer.STRUCTURED,)
    assert layers(0.01) == tuple(Layer)
    assert Settings().layer_floor is None
    assert layers(None) == (Layer.STRUCTURED, Layer.RAW)


POLICY = {"floor_working": 0.04, "floor_structured": 0.35, "floor_raw": 0.2}


def test_each_layer_has_the_floor_of_its_release() -> None:
    parameters = Parameters.of(weights_giving(0.05, 0.3, 0.3), ROUTER, version=1)
    floors = Floors.in_force(None, POLICY)
    assert floors == Floors(working=0.04, structured=0.35, raw=0.2, source="release")
    route = Router(parameters, floors=floors).route(PLAIN, NOW)
    assert route.layers == (Layer.WORKING, Layer.RAW)


def test_what_the_owner_chose_wins_over_the_release_even_where_it_is_the_default() -> None:
    assert Floors.in_force(FLOOR, POLICY) == Floors(FLOOR, FLOOR, FLOOR, "settings")
    assert Floors.in_force(None, {}) == Floors(FLOOR, FLOOR, FLOOR, "default")


def test_a_release_that_gives_every_layer_up_is_not_followed() -> None:
    parameters = Parameters.of(weights_giving(0.03, 0.3, 0.15), ROUTER, version=1)
    route = Router(parameters, floors=Floors.in_force(None, POLICY)).route(PLAIN, NOW)
    assert (route.decided_by, route.layers) == ("fallback", tuple(Layer))


def test_a_chosen_floor_is_kept_in_the_settings_file(tmp_path: Path) -> None:
    """Also where it is what nobody chose: from then on no release moves it."""
    save_settings(tmp_path, Settings(layer_floor=FLOOR))
    assert load_settings(tmp_path).layer_floor == FLOOR
    save_settings(tmp_path, Settings())
    assert load_settings(tmp_path).layer_floor is None


def test_rules_decide_about_seventy_percent_of_queries_and_seldom_wrong() -> None:
    at = datetime.fromtimestamp(NOW, UTC)
    corpus = [line for line in router_lines() if line.origin != "template"]
    lines = [(line.texts[0], set(line.labels)) for line in corpus] + probe_queries()
    decided = [(coarse(text, at), labels) for text, labels in lines]
    sure = [({layer.value for layer in layers}, labels) for layers, labels in decided if layers]
    assert 0.5 <= len(sure) / len(decided) <= 0.85
    assert np.mean([bool(layers & labels) for layers, labels in sure]) >= 0.92


def probe_queries() -> list[tuple[str, set[str]]]:
    text = resources.files("device.recall").joinpath("probes.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines()]
    return [(row[3], {row[1]}) for row in rows if row[0] == "router"]
