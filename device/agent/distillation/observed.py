"""Facts that can be read off a run by rule: where a control is, and what follows what.

Only the words of controls are used, never typed text; sentences have two fixed forms a language, so
that two runs that saw the same thing say the same thing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from device.agent.records import Outcome, Result, Run, Step

__all__ = ["control_of", "observed", "rival", "subject_of"]

TAPPING = frozenset({"click", "tap", "long_press", "check", "select"})
MOST_WORDS = 12
"""Longer names are content, not controls."""
_VERB = re.compile(
    r"^(?:then\s+|now\s+|next,?\s+)?(?:please\s+)?"
    r"(?:click|tap|press|select|choose|touch|hit|check|open|go|long[- ]press)"
    r"(?:ing|ed)?(?:\s+(?:on|onto|to|at|over))?(?:\s+the|\s+a|\s+an)?\s+",
    re.IGNORECASE,
)
_VERB_ZH = re.compile(
    r"^(?:请|然后|再)?(?:点击|点按|点开|点|轻触|按下|按|选择|勾选|打开|长按)(?:一下)?"
)
_PLACE = re.compile(
    r"\s+((?:(?:located|placed|present|shown)\s+)?(?:at|in|on|to|near|from|under|below|above)\s+the\s+"
    r"(?:very\s+)?(?:top|bottom|left|right|upper|lower|middle|center|centre|corner|side|menu|header|"
    r"navigation|tool\s?bar|keyboard|screen|drawer|sidebar|side\s?bar)\b.*)$",
    re.IGNORECASE,
)
_PLACE_ZH = re.compile(
    r"^(.{0,16}?(?:顶部|底部|左上角|右上角|左下角|右下角|左侧|右侧|中间|键盘|菜单))(?:里|中|上)?的(.+)$"
)
_CONTROL = re.compile(
    r"\b(?:icon|button|tab|menu|option|bar|field|box|dots?|toggle|switch|checkbox|link|filter|"
    r"settings?|arrow|section|page|drawer|sign|symbol)\b"
    r"|图标|按钮|标签|菜单|选项|栏|输入框|开关|复选框|链接|设置|箭头|页",
    re.IGNORECASE,
)
_WIDE = re.compile(r"[\u4e00-\u9fff]")
_IS = re.compile(
    r"^The (?P<thing>.+?) is (?P<place>(?:at|in|on|to|near|from|under|below|above) .+)\.$"
)
_IS_ZH = re.compile(r"^(?P<thing>.+)在(?P<place>.+)。$")


def observed(run: Run) -> Sequence[str]:
    """Sentences about the app of a successful run, most telling first, each once."""
    if run.outcome is not Outcome.SUCCESS:
        return ()
    taps = [step for step in run.steps if step.action in TAPPING and step.result != Result.FAILED]
    named = [(name, place) for name, place in map(_named, taps) if name]
    placements = [_placement(name, place) for name, place in named if place]
    successions = [
        _succession(a, b) for (a, _), (b, _) in pairwise(named) if a.casefold() != b.casefold()
    ]
    return tuple(dict.fromkeys([*successions, *placements]))


def rival(a: str, b: str) -> bool:
    """Whether two sentences place one control at two places."""
    mine, other = subject_of(a), subject_of(b)
    return bool(mine[0]) and mine[0] == other[0] and mine[1] != other[1]


def subject_of(sentence: str) -> tuple[str, str]:
    """(control, place) of a placement sentence, both in small letters; empty for another one."""
    found = _IS.match(sentence) or _IS_ZH.match(sentence)
    return (found["thing"].casefold(), found["place"].casefold()) if found else ("", "")


def control_of(step: Step) -> str:
    """The control that a step's target names, without verb and place; empty for content."""
    return _named(step)[0] if step.action in TAPPING else ""


def _named(step: Step) -> tuple[str, str]:
    """(control, place) that a step's target names; empty where it names content or nothing."""
    words = step.target.strip().rstrip(".。")
    if _WIDE.search(words):
        bare = _VERB_ZH.sub("", words)
        placed = _PLACE_ZH.match(bare)
        place, name = placed.groups() if placed else ("", bare)
    else:
        bare = _VERB.sub("", words)
        placed = _PLACE.search(bare)
        place = placed[1] if placed else ""
        name = bare[: placed.start()] if placed else bare
    name = name.strip()
    if not _CONTROL.search(name) or len(name.split()) > MOST_WORDS:
        return "", ""
    return name, place.strip()


def _placement(name: str, place: str) -> str:
    return f"{name}在{place}。" if _WIDE.search(name) else f"The {name} is {place}."


def _succession(first: str, then: str) -> str:
    if _WIDE.search(first):
        return f"点{first}之后出现{then}。"
    return f"Tapping the {first} leads to the {then}."
