"""Chinese time expressions: rules that make pieces, pieces that make expressions.

numbers and calendar read words; lunar and eras hold facts; dates, lunar_dates, relative, counted,
clock, holidays and halves are rules (a date, a part of the day, a clock time); compose joins what
stands together and makes ranges; bounds opens them; engine → expressions of a text.
"""

from device.language.chinese_times.engine import Found, find_chinese

__all__ = ["Found", "find_chinese"]
