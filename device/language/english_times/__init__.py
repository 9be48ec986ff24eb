"""English time expressions: words, a small grammar over them, and calendar arithmetic.

lexer → tokens; numbers, calendar, relative, periods, holidays, clock → items (a date, an hour);
compose → items that stand together; ranges and bounds → spans; engine → expressions of a text.
"""

from device.language.english_times.engine import Found, find_english, pieces

__all__ = ["Found", "find_english", "pieces"]
