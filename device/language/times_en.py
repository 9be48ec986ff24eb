"""The English time rules: patterns, and what each makes of its match."""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

from device.language.english import DAY, MONTH, NUMBER, ORDINAL, UNIT, WEEKDAY, YEAR
from device.language.english_clock import (
    clock_rule,
    half_rule,
    named_clock_rule,
    now_rule,
    part_rule,
    spoken_clock_rule,
)
from device.language.english_dates import (
    ago_rule,
    day_of_month_rule,
    decade_rule,
    in_amount_rule,
    iso_rule,
    month_and_day_rule,
    month_rule,
    nth_weekday_rule,
    period_rule,
    quarter_rule,
    relative_day_rule,
    season_rule,
    slashed_rule,
    weekday_and_number_rule,
    weekday_rule,
    window_rule,
    year_first_rule,
    year_rule,
)
from device.language.english_holidays import FIXED, FLOATING, holiday_rule
from device.language.spans import Piece, Prefer

__all__ = ["RULES"]

Rule = tuple[re.Pattern[str], Callable[[re.Match[str], datetime, Prefer], Piece | None]]

_SHIFT = r"(?P<shift>last|past|previous|this|current|next|following|coming|upcoming)"
_EDGES = r"(?:(?P<part>(?:the\s)?(?:early|mid|late|beginning|start|middle|end)(?:\s(?:of|in))?(?:\sthe)?)[\s-]+)?"
_AP = r"(?P<ap>[ap]\.?\s?m\b\.?)"
_HOUR_WORDS = r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"

RULES: tuple[Rule, ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), build)
    for pattern, build in (
        (r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)", iso_rule),
        (r"(?<![\d/.-])(\d{1,2})[/-](\d{1,2})(?:[/-](\d{4}|\d{2}))?(?![\d/-])(?!\s?%)", slashed_rule),
        (r"(?<![\d/.-])(\d{1,2})\.(\d{1,2})\.(\d{4}|\d{2})(?![\d/.-])", slashed_rule),
        (rf"\b(?:the\s)?(?P<day>{DAY})[\s-]*(?:of\s|day\sof\s)?[\s-]*(?P<month>{MONTH})\b\.?(?:[\s,-]*(?:of\s)?(?P<year>{YEAR}|['’]\d{{2}}|(?<=-)\d{{2}}\b))?", month_and_day_rule),
        (rf"(?<!\d)(?P<year>{YEAR})[\s/-](?:(?P<month>{MONTH})[/-](?P<day>{DAY})|(?P<day2>{DAY})[/-](?P<month2>{MONTH}))\b", year_first_rule),
        (rf"\b(?P<day>{DAY})/(?P<month>{MONTH})/(?P<year>{YEAR})\b", month_and_day_rule),
        (rf"\b(?P<month>{MONTH})\b/(?P<day>{DAY})(?:/(?P<year>{YEAR}))?\b", month_and_day_rule),
        (rf"\b(?P<day>{WEEKDAY})\.?\s+(?:the\s)?(?P<n>{DAY})\b(?![:/]|\s?[ap]\.?m|\s*(?:{MONTH})|\s+(?:{UNIT}|people))", weekday_and_number_rule),
        (rf"\b(?P<month>{MONTH})\.?[\s,-]*(?:the\s)?(?P<day>{DAY})\b(?![:/]\d|\s?[ap]\.?m\b)(?:(?:[\s,-]+(?:of\s)?)(?P<year>{YEAR}|['’]\d{{2}}|(?<=-)\d{{2}}\b))?", month_and_day_rule),
        (rf"\b{_EDGES}(?:(?P<shift>last|this|next)\s)?(?P<month>{MONTH})\b\.?(?:[\s,-]*(?:of\s)?(?P<year>{YEAR}))?", month_rule),
        (rf"\bthe\s(?P<day>{ORDINAL})\b(?!\s+(?:time|one|day(?!\s+of)|week|month|year|place|{WEEKDAY}))(?:\s(?:day\s)?of\s(?:the\s)?(?P<shift>last|this|next)\smonth)?", day_of_month_rule),
        (r"\b(?:(?:the\s+)?day\s+(?:before\s+yesterday|after\s+tomorrow)|the\s+day\s+before|the\s+(?:previous|next|following)\s+day|next\s+day|last\s+day|yesterday|today|tomorrow|tmrw?)\b", relative_day_rule),
        (rf"\b(?:{_SHIFT}\s+)?(?P<day>{WEEKDAY})s?\b\.?(?:\s*(?:(?P<after>next\s+week|of\s+next\s+week)|(?P<before>last\s+week|of\s+last\s+week)))?", weekday_rule),
        (rf"\b(?P<n>last|{ORDINAL})\s+(?P<day>{WEEKDAY})\s+(?:of|in)\s+(?:(?:the\s)?(?P<shift>last|this|next)\s+month|(?P<month>{MONTH})(?:\s*,?\s*(?P<year>{YEAR}))?)", nth_weekday_rule),
        (rf"\b{_EDGES}(?:{_SHIFT}|the)\s+(?P<unit>week|weekend|month|quarter|year|decade)\b(?!\s+(?:before|after))", period_rule),
        (rf"\b(?P<n>{NUMBER})\s*(?P<unit>{UNIT})\s+(?P<side>ago|earlier|back|later|from\s+(?:now|today)|hence)\b", ago_rule),
        (rf"\b(?:in|within)\s+(?:the\s+next\s+)?(?P<n>{NUMBER})\s*(?:more\s+)?(?P<unit>{UNIT})\b(?!\s+of)", in_amount_rule),
        (rf"\b(?:the\s+)?(?P<side>last|past|previous|next|coming|following)\s+(?P<n>{NUMBER})\s*(?P<unit>{UNIT})\b", window_rule),
        (rf"\b{_EDGES}(?:in|of|since|during|year|from|until|by|the\s+year)?\s*(?<![\d$€£.,/-])(?P<year>{YEAR})\b(?![\d/%-]|\s?(?:people|dollars|yuan|km|s\b))", year_rule),
        (r"\b(?:the\s+)?(\d{4}|['’]?\d0)['’]?\s?s\b", decade_rule),
        (rf"\b(?:q(?P<q>[1-4])|(?:the\s+)?(?P<name>first|second|third|fourth|1st|2nd|3rd|4th)\s+quarter)(?:\s+(?:of\s+)?(?:this\syear|(?P<year>{YEAR})))?\b", quarter_rule),
        (rf"\b(?:(?P<shift>last|this|next)\s+|the\s+)?(?P<season>spring|summer|fall|autumn|winter)\b(?:\s+(?:of\s+)?(?P<year>{YEAR}))?", season_rule),
        (rf"\b(?:(?P<shift>last|this|next|following)\s+)?(?P<name>{'|'.join(n.replace(chr(39), '[’' + chr(39) + ']') for n in sorted([*FIXED, *FLOATING, 'easter', 'black friday'], key=lambda n: (-len(n), n)))})\b(?:\s*,?\s*(?:(?:of|in)\s+)?(?:(?P<year>{YEAR})|(?P<of>last|this|next)\s+year))?", holiday_rule),
        (r"\b(?:in\s+the\s+|at\s+)?(?:(?P<this>this|last)\s+)?(?P<part>morning|afternoon|evening|night|midday|lunchtime|tonight|dawn)\b", part_rule),
        (rf"(?<![\d:.])(?P<h>\d{{1,2}})(?::(?P<m>\d{{2}})(?::(?P<s>\d{{2}}))?)?\s*{_AP}", clock_rule),
        (r"(?<![\d:.])(?P<h>\d{1,2}):(?P<m>\d{2})(?::(?P<s>\d{2}))?(?P<ap>(?!))?(?![\d:])", clock_rule),
        (rf"\b(?P<past>(?:half|(?:a\s)?quarter|\d{{1,2}}(?:\sminutes)?|five|ten|twenty)\s+(?:past|to))\s+(?P<h>\d{{1,2}}|{_HOUR_WORDS})\b", spoken_clock_rule),
        (rf"\bhalf\s+(?P<h>{_HOUR_WORDS})\b", half_rule),
        (rf"\b(?P<past>(?!))?(?P<h>\d{{1,2}}|{_HOUR_WORDS})\s*o['’]?\s?clock\b", spoken_clock_rule),
        (rf"(?<=\bat\s)(?P<past>(?!))?(?P<h>\d{{1,2}}|{_HOUR_WORDS})\b(?!\s*(?:%|{UNIT}|people|am|pm|a\.m|p\.m|:|\.\d|least|most))", spoken_clock_rule),
        (r"\b(?:noon|midnight)\b", named_clock_rule),
        (r"\b(?:right\s+now|now|at\s+the\s+moment|currently)\b", now_rule),
    )
)  # fmt: skip
