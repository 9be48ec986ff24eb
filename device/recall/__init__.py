"""Recall: which layers a query goes to, what they find, whether it is enough.

router.py       rules, then the model: a weight a layer (floors.py: which layers it leaves out)
recall.py       the whole recall of one query, answered with provenance
rules.py        the router's coarse stage
evaluation.py   relevance, sufficiency, conflict: is a clarifying retrieval needed
relevance.py    the cross-scorer: one memory read beside one query
clarifying.py   the clarifying retrievals, bounded
focus.py        what a query is about, without its asking words
origin.py       where a memory comes from, in words
layers.py       each layer's index, kept abreast of its memory actor
index.py        one layer's ranking (lexical.py, vectors.py, columns.py), in RAM only
few.py          the same of a handful of memories, without arrays (bm25.py: their words)
public.py       the public layer: documents that everybody has (public_store.py, sealed)
public_precedence.py  own memory before public knowledge
probes.py       labelled probes, tried before a release is adopted
"""

from device.recall.folding import Judge, fold, judge_with
from device.recall.origin import origin_line
from device.recall.probes import Score, probe
from device.recall.recall import Recaller
from device.recall.router import Route, Router

__all__ = [
    "Judge",
    "Recaller",
    "Route",
    "Router",
    "Score",
    "fold",
    "judge_with",
    "origin_line",
    "probe",
]
