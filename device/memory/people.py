"""Who is meant: the user is one id, and a relation and its name are one person.

"My sister is called Ann" makes "dinner with my sister" and "lunch with Ann" speak of the same one.
Resolved when an event is written, from what is known by then; what was said stays as it was said,
and when the name is forgotten it leaves every event it was added to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from device.language.words import RELATIONS_EN, RELATIONS_ZH
from device.memory.records import Item

__all__ = ["USER", "names_told", "relation_of", "with_names", "without_names"]

USER = "user"
"""The one id behind I, me, my, myself, 我, 本人."""
NAME_SUFFIX = ".name"


def relation_of(word: str) -> str:
    """The relation that a word names (``sister`` for 妹妹 and for "sister"), or an empty string."""
    return RELATIONS_ZH.get(word) or RELATIONS_EN.get(word.lower(), "")


def with_names(people: Iterable[str], facts: Iterable[Item]) -> tuple[str, ...]:
    """`people` with the name added to each relation, and the relation to each name.

    `facts` are the user's current entities; those with an action like ``sister.name`` are used.
    """
    names = {
        fact.action.removesuffix(NAME_SUFFIX): fact.object
        for fact in facts
        if fact.action.endswith(NAME_SUFFIX)
    }
    relations = {name: relation for relation, name in sorted(names.items())}
    found: list[str] = []
    for person in people:
        found.append(person)
        other = names.get(relation_of(person)) or relations.get(person)
        if other:
            found.append(other)
    return tuple(dict.fromkeys(found))


def names_told(facts: Iterable[Item]) -> frozenset[str]:
    """Names and relations that `with_names` may have added because of these items."""
    told = [fact for fact in facts if fact.action.endswith(NAME_SUFFIX)]
    relations = (fact.action.removesuffix(NAME_SUFFIX) for fact in told)
    return frozenset([*(fact.object for fact in told), *relations])


def without_names(item: Item, names: Collection[str]) -> Item:
    """The item without those of `names` that were added to it: its own words do not hold them."""
    said = item.text.casefold()
    kept = tuple(p for p in item.people if p not in names or p.casefold() in said)
    return item if kept == item.people else replace(item, people=kept)
