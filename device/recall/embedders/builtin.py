"""The built-in embedder: hashed n-grams, Chinese and English, no model file, numpy alone."""

from __future__ import annotations

from collections.abc import Sequence

from device.recall.embedders.embedder import Floats
from protocol.models import EMBEDDING, FEATURE_VERSION
from protocol.models.embedding import embed_many

__all__ = ["BUILTIN", "BuiltinEmbedder"]

BUILTIN = f"reverie-hashed-{EMBEDDING}-v{FEATURE_VERSION}"


class BuiltinEmbedder:
    """The default; about 60 µs a turn."""

    name = BUILTIN
    dimension = EMBEDDING
    leaves_phone = ""

    async def embed_many(self, texts: Sequence[str]) -> Floats:
        """See `Embedder`."""
        return embed_many(texts)

    async def close(self) -> None:
        """Nothing is held."""
