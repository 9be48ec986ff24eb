"""One text as its comparison with another needs it, worked out once for all its comparisons."""

from __future__ import annotations

import re
from itertools import pairwise

from protocol.models import lexicon
from protocol.models.concepts import CONTENT, concepts, weight_of
from protocol.models.kept import kept_up_to
from protocol.models.tokens import MAX_TEXT, tokens

__all__ = ["KINDS", "MANNERS", "View", "view_of"]

_ORDER_LIMIT = 256
"""Units compared in order; longer texts are compared on their beginning."""
_CACHED_VIEWS = 256
MANNERS = (
    ("change", lexicon.CHANGE),
    ("update", lexicon.UPDATE),
    ("limit", lexicon.LIMIT),
    ("done", lexicon.DONE),
)
"""Kinds of words that tell a rewrite from a repetition when one text alone has them."""
KINDS = {"numbers": "#", "times": "@t.", "people": "@p.", "questions": "@q."}
"""Kind of concept → how its names begin."""

_ENDS = " .!?,;。！？，；…"
_TITLE = re.compile(r"[《“\"]([^》”\"]+)[》”\"]")
_NEGATION = re.compile(
    r"[不没无未非勿莫甭]|别(?=[再去说吃买让忘动来给])|\b(?:no|not|never|none|nothing)\b"
    r"|\b(?:without|neither|nor|cannot|\w+n't)\b"
)
_NO_NEGATION = re.compile(
    r"(\w)[不没]\1|有没有|不错|不过|不同|不好意思|不少|不久|不一样|不仅|不但|不管|不论|不然|没关系|差不多"
    r"|无线|无聊|无锡|无论|未来|未婚|非常|非洲|对不起|要不|只不过|了不起|不客气"
)
"""Words with a negation inside that deny nothing."""


class View:
    """What is compared of one text. Weights are whole numbers, see `weight_of`."""

    __slots__ = (
        "bag",
        "bigrams",
        "cjk_share",
        "clauses",
        "content",
        "content_weight",
        "content_weights",
        "kinds",
        "latin",
        "manners",
        "negations",
        "pair_weight",
        "pairs",
        "text",
        "titles",
        "trigrams",
        "units",
        "weight",
        "weights",
        "words",
    )

    def __init__(self, text: str) -> None:
        cut = tokens(text)
        self.text = cut.text
        self.units = cut.units[:_ORDER_LIMIT]
        self.bag = frozenset(self.units)
        self.bigrams = frozenset(pairwise(self.units))
        self.trigrams = frozenset(zip(self.units, self.units[1:], self.units[2:], strict=False))
        self.words = concepts(cut)[:_ORDER_LIMIT]
        self.weights = [weight_of(word) for word in self.words]
        self.weight = sum(self.weights)
        weighed = list(zip(self.words, self.weights, strict=True))
        self.content = [word for word, weight in weighed if weight >= CONTENT]
        self.content_weights = {word: weight for word, weight in weighed if weight >= CONTENT}
        self.content_weight = sum(self.content_weights.values())
        self.pairs = {
            (first, second): light + heavy for (first, light), (second, heavy) in pairwise(weighed)
        }
        self.pair_weight = sum(self.pairs.values())
        named = [word for word in self.words if word[0] in "#@"]
        self.kinds = {
            kind: frozenset([word for word in named if word.startswith(mark)])
            for kind, mark in KINDS.items()
        }
        self.latin = frozenset(cut.words)
        self.titles = frozenset(_TITLE.findall(cut.text))
        self.negations = negations_in(cut.text)
        self.manners = [len(pattern.findall(cut.text)) for _, pattern in MANNERS]
        self.clauses = len(lexicon.CLAUSE.findall(cut.text.rstrip(_ENDS)))
        self.cjk_share = cut.cjk / (cut.cjk + len(cut.words)) if cut.units else 0.0


@kept_up_to(_CACHED_VIEWS, longest=MAX_TEXT)
def view_of(text: str) -> View:
    """The view of `text`; nobody changes one, so the cache is invisible."""
    return View(text)


def negations_in(text: str) -> int:
    """How often case-folded `text` denies something: 是不是, 不错 and the like are no denial."""
    return len(_NEGATION.findall(_NO_NEGATION.sub(" ", text)))
