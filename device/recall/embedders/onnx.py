"""An embedding model in an ONNX file, run by onnxruntime on the phone itself."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from device.recall.embedders.embedder import EmbedderError, Floats, unit_rows
from device.recall.embedders.wordpiece import WordPiece

__all__ = ["OnnxEmbedder"]

MAX_TOKENS = 256
"""Of one text; what is longer is cut, as the models themselves do at 256 or 512."""
BATCH = 16
TOKENIZERS = ("tokenizer.json", "vocab.txt")
NAME_BYTES = 8
READ_BYTES = 1 << 20
INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})


class OnnxEmbedder:
    """Mean of the last hidden states, or the model's own sentence vector.

    The model takes `input_ids` and, where it has them, `attention_mask` and `token_type_ids`
    (int64); its first output of rank 3 is averaged over the tokens, one of rank 2 is taken as is.
    """

    leaves_phone = ""

    def __init__(self, model: Path, tokenizer: Path | None = None) -> None:
        """`tokenizer`: vocab.txt or tokenizer.json; None: the one beside the model.

        Raises:
            EmbedderError: a file is missing or of another kind, or onnxruntime is not installed.
        """
        self._tokens = WordPiece.read(tokenizer or _beside(model))
        self._session = _session(model)
        self._inputs = [entry.name for entry in self._session.get_inputs()]
        unknown = set(self._inputs) - INPUTS
        if unknown or "input_ids" not in self._inputs:
            raise EmbedderError(f"{model} takes other inputs than a sentence model's input_ids")
        self.name = f"onnx-{_fingerprint(model)}"
        self.dimension = self._run([""]).shape[1]

    async def embed_many(self, texts: Sequence[str]) -> Floats:
        """See `Embedder`. Runs in a thread of its own: onnxruntime lets Python go on."""
        parts = [
            await asyncio.to_thread(self._run, texts[start : start + BATCH])
            for start in range(0, len(texts), BATCH)
        ]
        return np.concatenate(parts) if parts else np.empty((0, self.dimension), np.float32)

    async def close(self) -> None:
        """The session goes with the embedder."""

    def _run(self, texts: Sequence[str]) -> Floats:
        encoded = [self._tokens.encode(text, MAX_TOKENS) for text in texts]
        width = max(map(len, encoded))
        numbers = np.full((len(texts), width), self._tokens.padding, np.int64)
        mask = np.zeros((len(texts), width), np.int64)
        for row, tokens in enumerate(encoded):
            numbers[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        feeds = {"input_ids": numbers, "attention_mask": mask, "token_type_ids": 0 * mask}
        try:
            outputs = self._session.run(None, {name: feeds[name] for name in self._inputs})
        except Exception as error:  # onnxruntime has no common error of its own
            raise EmbedderError(f"the model cannot be run: {type(error).__name__}") from None
        return unit_rows(_pooled(outputs[0], mask))


def _pooled(output: NDArray[Any], mask: NDArray[np.int64]) -> Floats:
    hidden = np.asarray(output, np.float32)
    if hidden.ndim == 2:
        return hidden
    if hidden.ndim != 3:
        raise EmbedderError("the model's first output is no vector a text or a token")
    weights = mask[:, :, np.newaxis].astype(np.float32)
    mean: Floats = (hidden * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0)
    return mean


def _beside(model: Path) -> Path:
    for name in TOKENIZERS:
        if (model.parent / name).is_file():
            return model.parent / name
    raise EmbedderError(f"no tokenizer.json or vocab.txt beside {model}: put one there")


def _session(model: Path) -> Any:
    try:
        onnxruntime: Any = importlib.import_module("onnxruntime")
    except ImportError:
        raise EmbedderError(
            "an ONNX embedder needs onnxruntime: install `reverie[onnx]`, or leave the embedder "
            "at builtin"
        ) from None
    if not model.is_file():
        raise EmbedderError(f"no model at {model}: give the path of an ONNX file")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False  # it never gives memory back
    try:
        return onnxruntime.InferenceSession(
            str(model), sess_options=options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime has no common error of its own
        raise EmbedderError(f"{model} is no ONNX model: {type(error).__name__}") from None


def _fingerprint(model: Path) -> str:
    """Of the file's bytes: another model under the same name is another embedder."""
    digest = hashlib.blake2b(digest_size=NAME_BYTES)
    with model.open("rb") as file:
        while part := file.read(READ_BYTES):
            digest.update(part)
    return digest.hexdigest()
