"""Which embedder the settings ask for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from device.endpoint import Endpoint
from device.recall.embedders.embedder import Embedder, EmbedderError
from device.recall.embedders.endpoint import EndpointEmbedder
from device.recall.embedders.onnx import OnnxEmbedder
from device.settings import Settings

__all__ = ["choose_embedder"]


def choose_embedder(settings: Settings, environment: Mapping[str, str]) -> Embedder | None:
    """The embedder beside the built-in one, or None when that is enough (the default).

    Raises:
        EmbedderError: what it needs is missing.
        EndpointError: the service's address cannot be used.
    """
    match settings.embedder:
        case "onnx":
            if not settings.embedder_model:
                raise EmbedderError("embedder_model names no ONNX file: set it to a path")
            tokenizer = settings.embedder_tokenizer
            return OnnxEmbedder(
                Path(settings.embedder_model).expanduser(),
                Path(tokenizer).expanduser() if tokenizer else None,
            )
        case "endpoint":
            if not settings.embedder_url:
                raise EmbedderError("embedder_url names no service: set it to its address")
            key = environment.get(settings.embedder_key_variable, "")
            return EndpointEmbedder(
                Endpoint(settings.embedder_url, model=settings.embedder_model, key=key)
            )
        case _:
            return None
