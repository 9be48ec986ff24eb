"""Features of a query for the memory router: a hashed embedding and hand-made ones.

Article 002's list for the fine stage: length, anaphora, time, preference and sentiment words,
and what the coarse rules look at (attribute words, entities).
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from protocol.models import lexicon
from protocol.models.embedding import embed_query
from protocol.models.kept import kept_up_to
from protocol.models.sizes import QUERY_EMBEDDING, QUERY_FEATURES
from protocol.models.tokens import MAX_TEXT, tokens

__all__ = ["QUERY_FEATURE_NAMES", "router_features"]

_LONG_QUERY = 40.0
"""Units (CJK characters or words) at which the length feature is full."""
_MANY_ENTITIES = 4.0
_CACHED_QUERIES = 256
"""A question is routed when it is asked, and learnt from when its answer helped."""
_CAPITALISED = re.compile(r"(?<=[\w,] )[A-Z][a-z]+|[《“「『][^》”」』]+[》”」』]|\d+")

_MARKS = (
    ("anaphora", lexicon.ANAPHORA),
    ("time", lexicon.TIME),
    ("preference", lexicon.PREFERENCE),
    ("sentiment", lexicon.SENTIMENT),
    ("attribute", lexicon.ATTRIBUTE),
    ("past", lexicon.PAST),
    ("future", lexicon.FUTURE),
    ("last_time", lexicon.LAST_TIME),
    ("when_asked", lexicon.WHEN_ASKED),
    ("where_asked", lexicon.WHERE_ASKED),
    ("person_asked", lexicon.PERSON_ASKED),
    ("change", lexicon.CHANGE),
    ("self", lexicon.SELF),
    ("wording", lexicon.WORDING),
    ("told", lexicon.TOLD),
    ("narrative", lexicon.NARRATIVE),
    ("reason", lexicon.REASON),
    ("course", lexicon.COURSE),
    ("now", lexicon.NOW),
    ("unfinished", lexicon.UNFINISHED),
    ("conversation", lexicon.CONVERSATION),
    ("plan", lexicon.PLAN),
    ("quantity", lexicon.QUANTITY),
    ("habit", lexicon.HABIT),
    ("own", lexicon.OWN),
    ("about", lexicon.ABOUT),
    ("family", lexicon.FAMILY),
    ("yes_no", lexicon.YES_NO),
    ("command", lexicon.COMMAND),
)

QUERY_FEATURE_NAMES: tuple[str, ...] = (
    "length",
    "entities",
    "cjk_share",
    *(name for name, _ in _MARKS),
)
"""Names of the hand-made features, in order after the embedding."""


def router_features(query: str) -> NDArray[np.float32]:
    """float32[QUERY_FEATURES] of a query.

    Its hashed n-grams (L2 norm QUERY_NORM), then QUERY_FEATURE_NAMES, each in 0–1.
    """
    return featured_queries(query).copy()


@kept_up_to(_CACHED_QUERIES, longest=MAX_TEXT)
def featured_queries(query: str) -> NDArray[np.float32]:
    """As `router_features`, the newest answers kept; not to be changed by who gets them."""
    cut = tokens(query)
    length = cut.cjk + len(cut.words)
    entities = sum(1 for _ in _CAPITALISED.finditer(query[:MAX_TEXT]))
    features = np.zeros(QUERY_FEATURES, dtype=np.float32)
    features[:QUERY_EMBEDDING] = embed_query(query)
    features[QUERY_EMBEDDING:] = (
        min(length / _LONG_QUERY, 1.0),
        min(entities / _MANY_ENTITIES, 1.0),
        cut.cjk / length if length else 0.0,
        *(1.0 if pattern.search(cut.text) else 0.0 for _, pattern in _MARKS),
    )
    return features
