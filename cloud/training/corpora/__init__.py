"""The labelled central corpora: questions with the layers that answer them, and pairs of memories.

Public by construction: every template, slot value and hand-written line was made up for the
project, so nothing of any user is in them. `data/` holds the lines, the code only fills them in,
always in the same way.
"""

from cloud.training.corpora.corpus import Corpus, Examples, Line, joined, load_corpus
from cloud.training.corpora.dedup import dedup_lines
from cloud.training.corpora.router import router_lines

__all__ = [
    "Corpus",
    "Examples",
    "Line",
    "dedup_lines",
    "joined",
    "load_corpus",
    "router_lines",
]
