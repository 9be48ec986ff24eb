"""The closed word classes of English time expressions, all in lower case."""

from __future__ import annotations

__all__ = [
    "CARDINALS",
    "FUNCTION_WORDS",
    "MONTHS",
    "NAME_LIKE_MONTHS",
    "NEXT",
    "ORDINALS",
    "PREPOSITIONS",
    "PREVIOUS",
    "RANGE_WORDS",
    "SEASONS",
    "THIS",
    "UNITS",
    "VERB_LIKE_MONTHS",
    "WEEKDAYS",
    "WORD_LIKE_WEEKDAYS",
    "word_set",
]


def word_set(words: str) -> frozenset[str]:
    """The words of a line."""
    return frozenset(words.split())


def _numbered(rows: str, first: int) -> dict[str, int]:
    """Words of each row, all with the row's number."""
    return {
        word: number
        for number, row in enumerate(rows.split(";"), start=first)
        for word in row.split()
    }


MONTHS = _numbered(
    "january jan;february feb;march mar;april apr;may;june jun;july jul;august aug;"
    "september sept sep;october oct;november nov;december dec",
    1,
)
VERB_LIKE_MONTHS = frozenset({"may", "march", "mar", "dec"})
"""Alone these are verbs or nothing: a preposition or a number must stand beside them."""
NAME_LIKE_MONTHS = frozenset({"april", "june", "august", "jan", "may"})
"""Also names of people."""
WEEKDAYS = _numbered(
    "monday mon mondays;tuesday tues tue tuesdays;wednesday wednes weds wed wednesdays;"
    "thursday thurs thur thu thursdays;friday fri fridays;saturday sat saturdays;"
    "sunday sun sundays",
    0,
)
WORD_LIKE_WEEKDAYS = frozenset({"sat", "sun", "wed", "mon"})
CARDINALS = _numbered(
    "zero;one;two;three;four;five;six;seven;eight;nine;ten;eleven;twelve;thirteen;fourteen;"
    "fifteen;sixteen;seventeen;eighteen;nineteen;twenty",
    0,
) | {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
ORDINALS = _numbered(
    "first;second;third;fourth;fifth;sixth;seventh;eighth;ninth;tenth;eleventh;twelfth;"
    "thirteenth;fourteenth;fifteenth;sixteenth;seventeenth;eighteenth;nineteenth;twentieth",
    1,
) | {"thirtieth": 30}
UNITS = {
    word: unit
    for unit, words in (
        ("second", "second seconds sec secs s"),
        ("minute", "minute minutes min mins m"),
        ("hour", "hour hours hr hrs h"),
        ("day", "day days d"),
        ("week", "week weeks wk wks w"),
        ("weekend", "weekend weekends"),
        ("fortnight", "fortnight fortnights"),
        ("month", "month months"),
        ("quarter", "quarter quarters"),
        ("year", "year years yr yrs y"),
        ("decade", "decade decades"),
        ("century", "century centuries"),
    )
    for word in words.split()
}
SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
"""First month of each meteorological season of the northern hemisphere."""
THIS = frozenset({"this", "current", "that", "same"})
NEXT = frozenset({"next", "following", "coming", "upcoming"})
PREVIOUS = frozenset({"last", "previous", "past", "preceding", "prior"})
PREPOSITIONS = word_set(
    "in on at of since until till til by before after from to during through between for "
    "around about over within throughout into per every each and or not than early mid late "
    "as via circa"
)
RANGE_WORDS = frozenset({"to", "until", "till", "til", "through", "thru", "-", "–", "—", "~"})
"""Between the two ends of a range. "and" does so only after "between"."""
FUNCTION_WORDS = PREPOSITIONS | word_set(
    "the a an is are was were be been will would can could should shall may might must has "
    "have had do does did i you he she it we they who that this these those which what when "
    "where why how my your his her our their if then so but because while with without please "
    "onwards onward on later earlier sharp tomorrow today tonight yesterday now ok okay only "
    "too also again just"
)
"""Words that may follow a time without making it a count of something."""
