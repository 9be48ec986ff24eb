"""The labelled sets of `sets/` and how an answer to each is scored.

Each set has an open half, which the rules were written against, and a blind half of the same size
and kinds, written before them and only ever counted.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path

from device.language import Draft, extract, find_attributes, intent_of, resolve, sentiment

__all__ = [
    "AT",
    "SETS",
    "ZONE",
    "Case",
    "accuracy",
    "cases",
    "drafts",
    "extraction_fields",
    "feels",
    "intends",
    "refers",
    "states",
    "worth",
]

SETS = Path(__file__).parent / "sets"
ZONE = timezone(timedelta(hours=8))
AT = datetime(2026, 5, 13, 12, 0, tzinfo=ZONE).timestamp()
"""A Wednesday noon, when everything in the sets is said."""

Case = list[str]
UNCHECKED, EMPTY = "-", "0"


def cases(name: str) -> list[Case]:
    """The rows of one half of a set, such as `worth_open`."""
    lines = (SETS / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def accuracy(rows: list[Case], right: Callable[[Case], bool]) -> float:
    """Share of the rows answered right."""
    return sum(right(row) for row in rows) / len(rows)


def drafts(text: str) -> list[Draft]:
    """What the built-in extractor makes of a sentence of the user's."""
    return extract(text, "user", AT, ZONE)


def worth(row: Case) -> bool:
    """Whether a sentence is kept exactly when it is worth keeping."""
    return bool(drafts(row[2])) == (row[0] == "1")


def states(row: Case) -> bool:
    """Whether exactly the attribute of the row is stated, with one of its values."""
    text, key, value = row
    found = {a.key: a.value for a in find_attributes(text)}
    if key == "none":
        return not found
    return any(found.get(k) in value.split("|") for k in key.split("|"))


def extraction_fields(row: Case) -> dict[str, bool]:
    """Field → right, for the fields a row checks."""
    text, kind, place, people, action, thing = row
    found = drafts(text)
    if kind == "none":
        return {"kind": not found}
    draft = next((d for d in found if d.kind == kind), None)
    if draft is None:
        return {"kind": False} | {
            name: False
            for name, wanted in zip(
                ("place", "people", "action", "object"), (place, people, action, thing), strict=True
            )
            if wanted != UNCHECKED
        }
    right = {"kind": True}
    if place != UNCHECKED:
        right["place"] = _either(place, draft.place)
    if people != UNCHECKED:
        right["people"] = _either(people, ",".join(draft.people))
    if action != UNCHECKED:
        right["action"] = any(draft.action.startswith(stem) for stem in action.split("|"))
    if thing != UNCHECKED:
        right["object"] = any(part in draft.object for part in thing.split("|"))
    return right


def _either(wanted: str, got: str) -> bool:
    return got == "" if wanted == EMPTY else got in wanted.split("|")


def refers(row: Case) -> bool:
    """Whether a change is found to be about the statement the row says."""
    earlier, change, wanted = row
    found = resolve(change, earlier.split("|"))
    return (0 if found is None else found + 1) == int(wanted)


def feels(row: Case) -> bool:
    """Whether a sentence is found as good, bad or neither as its label says."""
    value = sentiment(row[1])
    return (value > 0) - (value < 0) == int(row[0])


def intends(row: Case) -> bool:
    """Whether a turn's intent is found."""
    return intent_of(row[1]) == row[0]
