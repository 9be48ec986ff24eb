"""The Chinese lunar calendar, 1900–2099, and the 24 solar terms.

The calendar is a table of facts (which months are long, which month is doubled, when the year
begins), checked against an independent implementation in the tests. The terms are computed: each
begins on the day, in China's time, when the Sun reaches a multiple of 15° of apparent longitude
(low-precision formula of Meeus, *Astronomical Algorithms*, chapter 25: 0.01°, a quarter of an
hour; a term that close to midnight may come out a day off).
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from math import radians, sin

__all__ = ["FIRST_YEAR", "LAST_YEAR", "TERMS", "last_day", "term_day", "to_solar"]

FIRST_YEAR, LAST_YEAR = 1900, 2099
"""Lunar years of the table."""
LONG_MONTH, SHORT_MONTH = 30, 29
_MONTHS = 13
_EARLIEST_NEW_YEAR = (1, 20)
_CHINA = timezone(timedelta(hours=8))
_J2000 = datetime(2000, 1, 1, 12, tzinfo=UTC)
_TERM_DEGREES = 15.0
_DEGREES_A_DAY = 360 / 365.2422

TERMS = (
    "春分", "清明", "谷雨", "立夏", "小满", "芒种", "夏至", "小暑", "大暑", "立秋", "处暑", "白露",
    "秋分", "寒露", "霜降", "立冬", "小雪", "大雪", "冬至", "小寒", "大寒", "立春", "雨水", "惊蛰",
)  # fmt: skip
"""The solar terms, in order of the Sun's longitude from 0°."""

_YEARS = (
    "1716d2 3c0752 260ea5 12b64a 36064b 1e0a9b 0a9556 30056a 1a0b59 045752 2a0752 14db25 3a0b25 "
    "220a4b 0cb4ab 3202ad 1c056b 064b69 2c0da9 18fd92 3e0e92 260d25 10ba4d 360a56 2002b6 0895b5 "
    "3006d4 1a0ea9 065e92 2a0e92 14cd26 38052b 220a57 0cb2b6 320b5a 1e06d4 086ec9 2c0749 16f693 "
    "3c0a93 26052b 0eca5b 340aad 20056a 0a9b55 300ba4 1a0b49 045a93 2a0a95 12f52d 380536 220aad "
    "0eb5aa 3205b2 1c0da5 087d4a 2e0d4a 170a95 3a0a97 260556 10cab5 340ad5 2006d2 0a8ea5 300ea5 "
    "1a064a 026c97 280a9b 14f55a 38056a 220b69 0eb752 340b52 1c0b25 06964b 2c0a4b 1714ab 3a02ad "
    "24056d 10cb69 360da9 200d92 0a9d25 300d25 1b5a4d 3e0a56 2802b6 12c5b5 3806d5 220ea9 0ebe92 "
    "340e92 1e0d26 066a56 2a0a57 1714d6 3c035a 2406d5 10b6c9 360749 200693 08952b 2e052b 180a5b "
    "04555a 28056a 12fb55 3a0ba4 240b49 0cba93 320a95 1c052d 068aad 2a0ab5 1735aa 3c05d2 260da5 "
    "10dd4a 360d4a 200c95 0a952e 2e0556 180ab5 0455b2 2a06d2 12cea5 380725 22064b 0cac97 300cab "
    "1c055a 066ad6 2c0b69 177752 3c0b52 260b25 10da4b 340a4b 1e04ab 08a55b 2e05ad 180b6a 045b52 "
    "2a0d92 14fd25 380d25 220a55 0cb4ad 3204b6 1a05b5 066daa 2c0ec9 191e92 3c0e92 260d26 10ca56 "
    "340a57 1e0556 0886d5 2e0755 1a0749 026e93 280693 12f52b 38052b 200a5b 0cb55a 32056a 1c0b65 "
    "06974a 2c0b4a 171a95 3c0a95 24052d 0ecaad 340ab5 2005aa 088ba5 2e0da5 1a0d4a 047c95 280c96 "
    "12f94e 380556 220ab5 0cb5b2 3206d2 1c0ea5 088e4a 2a068b 150c97 3a04ab 24055b 0ecad6 340b6a "
    "200752 0a9725 2e0b45 180a8b 02549b"
)
"""A year in hexadecimal: bits 0–12 its months in order (1 = 30 days), bits 13–16 the number of the
doubled month (0 = none), bits 17–22 the days from 20 January to its new year."""
_YEAR_WIDTH = 7
"""Characters of the table a year takes, the blank included."""


def _year(year: int) -> tuple[date, int, list[int]]:
    """(new year's day, number of the doubled month or 0, lengths of the months in order)."""
    place = (year - FIRST_YEAR) * _YEAR_WIDTH
    packed = int(_YEARS[place : place + _YEAR_WIDTH], 16)
    leap = packed >> _MONTHS & 15
    count = _MONTHS if leap else _MONTHS - 1
    lengths = [LONG_MONTH if packed >> index & 1 else SHORT_MONTH for index in range(count)]
    new_year = date(year, *_EARLIEST_NEW_YEAR) + timedelta(days=packed >> (_MONTHS + 4))
    return new_year, leap, lengths


def to_solar(year: int, month: int, day: int, *, leap: bool = False) -> date | None:
    """The solar day of a lunar date; None when the calendar has no such day or it is off the table.

    `leap` asks for the second of a doubled month.
    """
    if not (FIRST_YEAR <= year <= LAST_YEAR and 1 <= month < _MONTHS):
        return None
    new_year, doubled, lengths = _year(year)
    if leap and doubled != month:
        return None
    index = month - 1 + (leap or 0 < doubled < month)
    if not 1 <= day <= lengths[index]:
        return None
    return new_year + timedelta(days=sum(lengths[:index]) + day - 1)


def last_day(year: int) -> date | None:
    """New Year's Eve (除夕), the last day of a lunar year; None off the table."""
    if not FIRST_YEAR <= year <= LAST_YEAR:
        return None
    new_year, _, lengths = _year(year)
    return new_year + timedelta(days=sum(lengths) - 1)


def term_day(year: int, term: str) -> date:
    """The day in China on which a solar term of `TERMS` begins, of a solar year."""
    index = TERMS.index(term)
    equinox = datetime(year, 3, 20, 12, tzinfo=UTC)
    from_equinox = index if index < TERMS.index("小寒") else index - len(TERMS)
    moment = equinox + timedelta(days=from_equinox * _TERM_DEGREES / _DEGREES_A_DAY)
    for _ in range(3):
        ahead = (index * _TERM_DEGREES - _sun_longitude(moment) + 180) % 360 - 180
        moment += timedelta(days=ahead / _DEGREES_A_DAY)
    return moment.astimezone(_CHINA).date()


def _sun_longitude(moment: datetime) -> float:
    """Apparent longitude of the Sun in degrees."""
    centuries = (moment - _J2000) / timedelta(days=36525)
    anomaly = radians(357.52911 + 35999.05029 * centuries)
    centre = (
        (1.914602 - 0.004817 * centuries) * sin(anomaly)
        + (0.019993 - 0.000101 * centuries) * sin(2 * anomaly)
        + 0.000289 * sin(3 * anomaly)
    )
    true = 280.46646 + 36000.76983 * centuries + centre
    node = radians(125.04 - 1934.136 * centuries)
    return (true - 0.00569 - 0.00478 * sin(node)) % 360
