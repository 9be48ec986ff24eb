"""An embedding model behind an OpenAI-compatible service: the texts leave the phone.

Off unless the owner chooses it, and `status` names the host. Whoever asks bounds how long they
wait: a query goes on with words alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from device.recall.embedders.embedder import EmbedderError, Floats, unit_rows

__all__ = ["EndpointEmbedder", "Service"]

PATH = "embeddings"
BATCH = 32
MAX_DIMENSION = 4096


class Service(Protocol):
    """What is needed of `device.endpoint.Endpoint`."""

    model: str
    host: str

    async def post_json(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        """POST a JSON body; the answer's JSON object."""

    async def close(self) -> None:
        """Let go of the connections."""


class EndpointEmbedder:
    """``POST /embeddings`` with ``{"model", "input"}``, as OpenAI's API defines it."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.name = f"endpoint-{service.host}-{service.model}"
        self.dimension = 0

    @property
    def leaves_phone(self) -> str:
        """The host that every text is sent to."""
        return self._service.host

    async def embed_many(self, texts: Sequence[str]) -> Floats:
        """See `Embedder`. Raises what the service raises too (`DomainError`)."""
        parts = [
            await self._embed(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)
        ]
        return np.concatenate(parts) if parts else np.empty((0, self.dimension), np.float32)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._service.close()

    async def _embed(self, texts: Sequence[str]) -> Floats:
        # An empty input is refused by the services; a space embeds to something harmless.
        body = {"model": self._service.model, "input": [text or " " for text in texts]}
        vectors = _vectors(await self._service.post_json(PATH, body), len(texts))
        if self.dimension not in (0, vectors.shape[1]):
            raise EmbedderError("the service changed the length of its vectors: check its model")
        self.dimension = vectors.shape[1]
        return unit_rows(vectors)


def _vectors(answer: Mapping[str, Any], wanted: int) -> Floats:
    """The vectors of an answer in the order asked, whatever order it has."""
    try:
        entries = sorted(answer["data"], key=lambda entry: int(entry["index"]))
        places = [int(entry["index"]) for entry in entries]
        vectors = np.array([entry["embedding"] for entry in entries], np.float32)
    except (KeyError, TypeError, ValueError):
        raise EmbedderError("the service's answer holds no embeddings") from None
    if places != list(range(wanted)) or vectors.ndim != 2:
        raise EmbedderError("the service did not answer with one vector a text")
    if not 0 < vectors.shape[1] <= MAX_DIMENSION or not np.isfinite(vectors).all():
        raise EmbedderError("the service answered with vectors that cannot be used")
    return vectors
