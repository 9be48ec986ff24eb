"""Text to vectors, behind one interface.

embedder.py   the interface
builtin.py    hashed n-grams: the default, nothing to install
onnx.py       an ONNX file given by its path (wordpiece.py cuts the text)
endpoint.py   an OpenAI-compatible service: the texts leave the phone, and `status` says so
choice.py     which of them the settings ask for
"""

from device.recall.embedders.builtin import BUILTIN, BuiltinEmbedder
from device.recall.embedders.embedder import Embedder, EmbedderError

__all__ = ["BUILTIN", "BuiltinEmbedder", "Embedder", "EmbedderError"]
