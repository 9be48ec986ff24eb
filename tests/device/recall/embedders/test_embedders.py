"""One interface, three embedders: names that tell them apart, unit rows, clear refusals."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from device.endpoint import EndpointError
from device.recall.embedders import BUILTIN, BuiltinEmbedder, EmbedderError
from device.recall.embedders.choice import choose_embedder
from device.recall.embedders.endpoint import EndpointEmbedder
from device.recall.embedders.onnx import OnnxEmbedder
from device.settings import Settings
from protocol.models import FEATURE_VERSION, embed

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea", "chess", "violin", "杭", "州"]
DIMENSION = 5


def tiny_model(folder: Path, *, seed: int = 1, pooled: bool = False, mask: bool = True) -> Path:
    """A table look-up (and a mean over the tokens, if `pooled`) as an ONNX file."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    make, integers, floats = onnx.helper, onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    rng = np.random.Generator(np.random.Philox(key=seed))
    table = rng.normal(size=(len(WORDS), DIMENSION)).astype(np.float32)
    names = ["input_ids", *(["attention_mask", "token_type_ids"] if mask else [])]
    inputs = [make.make_tensor_value_info(name, integers, ["n", "t"]) for name in names]
    nodes = [make.make_node("Gather", ["table", "input_ids"], ["hidden"])]
    output, shape = "hidden", ["n", "t", DIMENSION]
    if pooled:
        nodes.append(make.make_node("ReduceMean", ["hidden"], ["mean"], axes=[1], keepdims=0))
        output, shape = "mean", ["n", DIMENSION]
    graph = make.make_graph(
        nodes,
        "tiny",
        inputs,
        [make.make_tensor_value_info(output, floats, shape)],
        [onnx.numpy_helper.from_array(table, "table")],
    )
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 13)], ir_version=8)
    path = folder / f"tiny-{seed}.onnx"
    path.write_bytes(model.SerializeToString())
    (folder / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    np.save(folder / f"table-{seed}.npy", table)
    return path


async def test_the_builtin_embedder_is_the_features_own() -> None:
    embedder = BuiltinEmbedder()
    vectors = await embedder.embed_many(["下周去杭州", "a cup of tea", ""])
    assert vectors.shape == (3, embedder.dimension)
    np.testing.assert_array_equal(vectors[0], embed("下周去杭州"))
    assert not vectors[2].any()
    assert str(FEATURE_VERSION) in BUILTIN == embedder.name
    assert embedder.leaves_phone == ""


async def test_an_onnx_model_is_averaged_over_its_real_tokens(tmp_path: Path) -> None:
    path = tiny_model(tmp_path)
    table = np.load(tmp_path / "table-1.npy")
    embedder = OnnxEmbedder(path)
    assert embedder.dimension == DIMENSION
    vectors = await embedder.embed_many(["tea 杭州 tea", "chess"])
    for row, numbers in zip(vectors, ([2, 4, 7, 8, 4, 3], [2, 5, 3]), strict=True):
        mean = table[numbers].mean(axis=0)
        np.testing.assert_allclose(row, mean / np.linalg.norm(mean), rtol=1e-5)
    assert (await embedder.embed_many([])).shape == (0, DIMENSION)
    assert embedder.leaves_phone == ""


async def test_a_model_that_averages_itself_is_taken_as_it_is(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(tiny_model(tmp_path, pooled=True, mask=False))
    vectors = await embedder.embed_many(["tea", "tea chess"] * 20)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(vectors[0], vectors[38], rtol=1e-5)


def test_another_file_is_another_embedder(tmp_path: Path) -> None:
    one, two = (OnnxEmbedder(tiny_model(tmp_path, seed=seed)) for seed in (1, 2))
    assert one.name != two.name
    assert one.name == OnnxEmbedder(tmp_path / "tiny-1.onnx").name


def test_what_an_onnx_embedder_lacks_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    with pytest.raises(EmbedderError, match=r"tokenizer\.json or vocab\.txt"):
        OnnxEmbedder(tmp_path / "model.onnx")
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS), encoding="utf-8")
    with pytest.raises(EmbedderError, match="no model at"):
        OnnxEmbedder(tmp_path / "model.onnx")
    (tmp_path / "model.onnx").write_bytes(b"not a model")
    with pytest.raises(EmbedderError, match="no ONNX model"):
        OnnxEmbedder(tmp_path / "model.onnx")
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(EmbedderError, match=r"install `reverie\[onnx\]`"):
        OnnxEmbedder(tmp_path / "model.onnx")


class Canned:
    """A service that answers what a test wants."""

    host = "models.example"
    model = "small"

    def __init__(self, **answer: Any) -> None:
        self.answer = answer
        self.asked: list[tuple[str, Mapping[str, object]]] = []
        self.closed = False

    async def post_json(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        self.asked.append((path, body))
        if self.answer:
            return self.answer
        texts = body["input"]
        assert isinstance(texts, list)
        data = [{"index": n, "embedding": [float(len(t)), 3.0]} for n, t in enumerate(texts)]
        return {"data": data[::-1]}

    async def close(self) -> None:
        self.closed = True


async def test_an_endpoint_is_asked_as_openai_defines_it_and_answers_in_any_order() -> None:
    service = Canned()
    embedder = EndpointEmbedder(service)
    vectors = await embedder.embed_many(["four", "", *["x" * 4] * 40])
    np.testing.assert_allclose(vectors[0], [0.8, 0.6], rtol=1e-6)
    np.testing.assert_allclose(vectors[1], np.array([1.0, 3.0]) / np.sqrt(10), rtol=1e-6)
    assert vectors.shape == (42, 2)
    path, body = service.asked[0]
    assert (path, body["model"]) == ("embeddings", "small")
    assert [len(body["input"]) for _, body in service.asked] == [32, 10]  # type: ignore[arg-type]
    assert embedder.leaves_phone == "models.example"
    assert embedder.name == "endpoint-models.example-small"
    await embedder.close()
    assert service.closed


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        [{"index": 0, "embedding": []}],
        [{"index": 1, "embedding": [1.0, 2.0]}],
        [{"index": 0, "embedding": ["a", 2.0]}],
        [{"index": 0, "embedding": [float("nan"), 2.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}],
    ],
)
async def test_an_answer_that_is_no_vector_a_text_is_refused(data: object) -> None:
    with pytest.raises(EmbedderError) as refused:
        await EndpointEmbedder(Canned(data=data, model="x")).embed_many(["secret words"])
    assert "secret" not in str(refused.value)


async def test_a_service_may_not_change_the_length_of_its_vectors() -> None:
    embedder = EndpointEmbedder(Canned(data=[{"index": 0, "embedding": [1.0, 2.0]}]))
    await embedder.embed_many(["a"])
    embedder._service = Canned(data=[{"index": 0, "embedding": [1.0, 2.0, 3.0]}])
    with pytest.raises(EmbedderError, match="changed the length"):
        await embedder.embed_many(["a"])


def test_the_settings_choose_and_the_default_sends_nothing_anywhere(tmp_path: Path) -> None:
    assert choose_embedder(Settings(), {}) is None
    with pytest.raises(EmbedderError, match="embedder_model"):
        choose_embedder(Settings(embedder="onnx"), {})
    with pytest.raises(EmbedderError, match="embedder_url"):
        choose_embedder(Settings(embedder="endpoint"), {})
    with pytest.raises(EndpointError, match="https"):
        choose_embedder(Settings(embedder="endpoint", embedder_url="http://far.example/v1"), {})
    pytest.importorskip("httpx")
    chosen = choose_embedder(
        Settings(embedder="endpoint", embedder_url="https://far.example/v1", embedder_model="m"),
        {"REVERIE_EMBEDDER_KEY": "k"},
    )
    assert chosen is not None
    assert chosen.leaves_phone == "far.example"
    path = tiny_model(tmp_path)
    local = choose_embedder(Settings(embedder="onnx", embedder_model=str(path)), {})
    assert local is not None
    assert local.leaves_phone == ""
