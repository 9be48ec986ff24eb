"""Publishing documents: the library, the xdelta3 encoder behind a bound, the smallest form."""

from cloud.documents.encoder import DeltaEncoder, child_encoder, local_encoder
from cloud.documents.library import Library, Published
from cloud.documents.planner import DocumentBlob, delta_blob, whole_blob
from cloud.documents.xdelta import DeltaFailed, EncoderMissing, find_library

__all__ = [
    "DeltaEncoder",
    "DeltaFailed",
    "DocumentBlob",
    "EncoderMissing",
    "Library",
    "Published",
    "child_encoder",
    "delta_blob",
    "find_library",
    "local_encoder",
    "whole_blob",
]
