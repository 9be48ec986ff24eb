"""Where a memory comes from, in words: "from what you said 3 days ago" (002, provenance)."""

from __future__ import annotations

from device.language import is_user
from device.memory.records import Hit, Published

__all__ = ["origin_line"]

MINUTE, HOUR, DAY = 60.0, 3_600.0, 86_400.0
_SIZES = ((DAY, "day", "天"), (HOUR, "hour", "小时"), (MINUTE, "minute", "分钟"))


def origin_line(hit: Hit, now: float, language: str = "en") -> str:
    """Who said it and how long before `now` (unix seconds), in `language` (`zh`, else English).

    The source (an export's line, an agent's name) follows in brackets when it is known. What nobody
    told the phone says so: it names the public document it stands in.
    """
    if hit.public is not None:
        line = _published(hit.public, language)
    else:
        line = _chinese(hit, now) if language == "zh" else _english(hit, now)
    return f"{line} ({hit.source})" if hit.source else line


def _published(public: Published, language: str) -> str:
    if language == "zh":
        return f"公开资料：来自文档 {public.document} 第 {public.version} 版（{public.record}）"
    return (
        f"public: from the document {public.document}, version {public.version} ({public.record})"
    )


def _english(hit: Hit, now: float) -> str:
    who = "you" if not hit.speaker or is_user(hit.speaker) else hit.speaker
    span = _span(hit.at, now)
    if span is None:
        return f"from what {who} said just now"
    count, (_, name, _) = span
    return f"from what {who} said {count} {name}{'s' if count > 1 else ''} ago"


def _chinese(hit: Hit, now: float) -> str:
    who = "你" if not hit.speaker or is_user(hit.speaker) else hit.speaker
    span = _span(hit.at, now)
    when = "刚才" if span is None else f"{span[0]}{span[1][2]}前"
    return f"根据{who}{when}说的"


def _span(at: float, now: float) -> tuple[int, tuple[float, str, str]] | None:
    """The largest whole unit that fits, or None under a minute."""
    for size in _SIZES:
        if now - at >= size[0]:
            return int((now - at) // size[0]), size
    return None
