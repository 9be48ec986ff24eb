"""Language of a phone's memory: Chinese and English, by rules, with nothing to download."""

from device.language.anaphora import resolve
from device.language.attributes import (
    Attribute,
    attribute_asked,
    attribute_label,
    find_attributes,
    is_user,
)
from device.language.events import Draft, DraftKind, extract
from device.language.intents import (
    Intent,
    intent_of,
    is_person,
    is_question,
    worth_remembering,
)
from device.language.sentiment import sentiment
from device.language.spans import Prefer
from device.language.times import TimeExpression, find_times
from device.language.tokens import content_tokens, language_of, tokens

__all__ = [
    "Attribute",
    "Draft",
    "DraftKind",
    "Intent",
    "Prefer",
    "TimeExpression",
    "attribute_asked",
    "attribute_label",
    "content_tokens",
    "extract",
    "find_attributes",
    "find_times",
    "intent_of",
    "is_person",
    "is_question",
    "is_user",
    "language_of",
    "resolve",
    "sentiment",
    "tokens",
    "worth_remembering",
]
