"""Changes to what was said that need more than one sentence to be understood.

`language.extract` reads a sentence by itself. Here stand the turns that only make sense beside an
event already known: "could you push it to Friday?", "make it Friday", “那就周五吧”, “不是杭州，是上海”.
They are looked for only where `extract` found no change, and they count only when an event they may
be about is on the desk.
"""

# ruff: noqa: E501 - a rule reads best on one line

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, tzinfo

from device.language import (
    Draft,
    DraftKind,
    TimeExpression,
    content_tokens,
    extract,
    find_times,
    is_user,
    worth_remembering,
)
from device.language.entities import find_place
from device.language.kept import kept
from device.language.modality import is_supposed
from device.memory.people import USER
from device.memory.records import Turn

__all__ = ["CHANGES", "amend", "reminds"]

CHANGES = frozenset({DraftKind.CANCEL, DraftKind.MOVE, DraftKind.CORRECT, DraftKind.DONE})
MAX_CHARACTERS = 90
"""An amendment is short; a longer turn that happens to hold such words tells something else."""
MAX_TARGET_WORDS = 3
"""Telling words beside "instead" and the new time; with more it is another plan."""
VAGUE_GRAINS = frozenset({"second", "days", "after"})
_ASKED_EN = re.compile(
    r"^\s*(?:(?:hey|hi|ok(?:ay)?|oh|so|and|also)[,\s]+)*(?:can|could|would|will|shall) (?:you|we|i) (?:please |maybe |just )?",
    re.IGNORECASE,
)
_ASKED_ZH = re.compile(
    r"^(?:请|麻烦|能不能|可不可以|可以|能)?(?:你|您)?(?:帮我|替我|给我)?(?:能不能|可不可以|可以|能)?(?=把|将|取消|改|推|挪|延|提前)"
)
_ASKS = re.compile(r"(?:[?？]+|(?:可以|行|好)?(?:吗|么|呢|不)[?？。]*)\s*$")
_REMINDS = re.compile(r"提醒|喊我|叫我|闹钟|\bremind|\balarm\b|\bago\b", re.IGNORECASE)
"""Beside these an amount of time says when to be reminded, or when something was."""
_INSTEAD = re.compile(
    r"^\s*(?:ok(?:ay)?,?\s+|actually,?\s+|hmm,?\s+|right,?\s+)?(?:let'?s (?:do|make it|go with|say|move (?:it|that) to)|make (?:it|that)|(?:it|that)'?s (?:now|been moved to)|how about|better)\b|\binstead\W*$|\b(?:is|are) now (?:on|at|for|this|next)\b"
    r"|^(?:那就|那|就|还是|要不)?(?:定在|定到|约在|放在|换成|改)(?!变|进|善)|^(?:还是|那就|就)[^，。]{1,12}吧?$",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(
    r"^(?:啊|哦|嗯)?[，,]?(?:不对[，,。!！]?)?不是(?P<a>[^，,。]{1,15})[，,]\s*(?:而)?是(?P<b>[^，,。]{1,20})"
    r"|^(?:no[,.]?\s+|wait[,.]?\s+|sorry[,.]?\s+)?not\s+(?:on |at |in )?(?P<c>[^,.;]{1,25})[,;]\s*(?:but\s+|it'?s\s+)?(?:on |at |in )?(?P<d>[^,.;]{1,30})",
    re.IGNORECASE,
)
_WRONG = re.compile(
    r"^(?:啊|哦|嗯|等等|呃)?[，,]?(?:不对|更正|纠正|(?:我)?(?:说|搞|记|弄)错了?|口误)(?:一下)?[，,。!！：:\s]*(?:应该)?(?:是|在|去)?(?P<zh>[^，,。；!！]{1,24})"
    r"|^(?:no|oops|wait|sorry|correction|actually|my mistake|i was wrong)\b[,:.!\s—-]*(?:no[,\s]+)?(?:sorry[,\s]+)?"
    r"(?:i mean(?:t)?\s+|(?:it|that)(?:'s| is| was| should be| will be)\s+)?(?:actually\s+)?(?P<en>[^,.;!]{2,50})|^i meant? (?P<meant>[^,.;!]{2,50})",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(r"(?:不是|而非|\bnot(?: on| at| the)?|\binstead of)\s*$", re.IGNORECASE)
_PLACE_EN = re.compile(r"[A-Z][\w'’-]+(?: [A-Z][\w'’-]+){0,2}")
_DROPPED = re.compile(
    r"\b(?:never ?mind|forget|skip|drop|ditch)(?: about)?\s+(?P<what>(?!out\b|off\b|by\b|to\b|what\b|how\b|when\b|that i\b)[^,.;!?]{3,40})",
    re.IGNORECASE,
)
_CANCEL = re.compile(
    r"\b(?:i|we)(?:'m| am|'re| are)? (?:won't|will not|not) (?:be )?(?:going|making it|coming|attending|able to make)\b(?: to)?|\b(?:i|we) (?:won't|can't|cannot) make (?:it|that)\b"
    r"|\b(?:isn't|not) happening(?: any ?more)?\b|\bfell through\b"
    r"|不(?:看|做|弄|去|来|办|学|练|吃|聚|打|跑|交|投|飞|旅游|出差|参加|体检|面试)(?:成|了)(?:吧)?[。!！]?$|[去来]不(?:了|成)了?",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:i've|i have|we've|we have) (?:already |just )?(?:been to|seen|done|sorted|taken care of|handed in|submitted|paid|picked up|finished)\b"
    r"|\b(?:took care of|all (?:done|sorted|set) with|checked off|that'?s (?:done|sorted|taken care of))\b"
    r"|(?:看|办|做|弄|交|考|开|搬|修|取|买|写|吃|谈|面|体检|复查)完[^，。了]{0,8}了|已经[^，。]{0,6}[过完好][^，。]{0,8}了|(?:已经|都)(?:办|做|弄|交|搞|处理)[好完定]",
    re.IGNORECASE,
)
_WORDS_OF_CHANGE = (_INSTEAD, _NOT_BUT, _WRONG, _DROPPED, _CANCEL, _DONE)


def amend(turn: Turn, drafts: Sequence[Draft], tz: tzinfo) -> Draft | None:
    """The change a short turn makes to something said before; None when it makes none, or when
    one of `drafts` already is one."""
    text = turn.text.strip()
    if len(text) > MAX_CHARACTERS or any(_says_what(draft) for draft in drafts):
        return None
    if not _amends(turn.text) and all(draft.kind is not DraftKind.CORRECT for draft in drafts):
        return None
    if is_supposed(text) or not worth_remembering(text, turn.speaker, turn.kind):
        return None
    base = Draft(DraftKind.MOVE, text, USER if is_user(turn.speaker) else turn.speaker)
    reference = datetime.fromtimestamp(turn.at, tz)
    return (
        _asked(turn, tz)
        or _rescheduled(base, reference)
        or _dated(drafts, reference)
        or _corrected(base, reference)
        or _ended(base, reference)
    )


@kept
def _amends(text: str) -> bool:
    """Whether the words of a change stand in a turn at all, whoever says it and whenever."""
    asked = _unasked(text) != text
    return asked or any(pattern.search(text.strip()) for pattern in _WORDS_OF_CHANGE)


def reminds(text: str) -> bool:
    """Whether an amount of time in `text` says when to be reminded rather than what to put off."""
    return bool(_REMINDS.search(text))


def _says_what(draft: Draft) -> bool:
    """It is a change, and one that says what changes; a bare correction may be read better here."""
    corrected = draft.starts is not None or draft.kind is not DraftKind.CORRECT
    return draft.kind in CHANGES and corrected


def _asked(turn: Turn, tz: tzinfo) -> Draft | None:
    """A change asked for politely: "could you move it to Friday?" means "move it to Friday"."""
    plain = _unasked(turn.text)
    if plain == turn.text:
        return None
    plain = _ASKS.sub("", plain).strip(" ，,")
    if not plain:
        return None
    said = extract(plain, turn.speaker, turn.at, tz, turn.kind)
    changes = [draft for draft in said if draft.kind in CHANGES]
    return changes[0] if changes else amend(replace(turn, text=plain), said, tz)


def _unasked(text: str) -> str:
    return _ASKED_ZH.sub("", _ASKED_EN.sub("", text))


def _rescheduled(base: Draft, reference: datetime) -> Draft | None:
    """ "Let's do Friday instead", “那就周五吧”."""
    if _INSTEAD.search(base.text) is None:
        return None
    times = _times(base.text, reference)
    if not times:
        return None
    target = _without(_INSTEAD.sub(" ", base.text), times)
    if len(content_tokens(target)) > MAX_TARGET_WORDS:
        return None
    return _at(replace(base, planned=True, target=target), times[0])


def _corrected(base: Draft, reference: datetime) -> Draft | None:
    """ "Not Wednesday, Thursday", "no, it was in Boston", “不是杭州，是上海”."""
    base = replace(base, kind=DraftKind.CORRECT)
    match = _NOT_BUT.search(base.text)
    if match is not None:
        wrong, right = match["a"] or match["c"], match["b"] or match["d"]
        times = _times(right, reference)
        if times:
            return _at(base, times[0])
        named = match["b"] or _PLACE_EN.fullmatch(right.strip())
        return replace(base, target=wrong, place=right.strip()) if named else None
    match = _WRONG.search(base.text)
    if match is None:
        return None
    right = next(filter(None, match.groupdict().values())).strip()
    times = _times(right, reference)
    if times:
        return None if content_tokens(_without(right, times)) else _at(base, times[0])
    place = find_place(f"在{right}" if match["zh"] else right)
    alone = place and not content_tokens(right.replace(place, " "))
    return replace(base, place=place) if alone else None


def _ended(base: Draft, reference: datetime) -> Draft | None:
    """ "Never mind the dentist", “牙医不看了”, “体检做完了”."""
    dropped = _DROPPED.search(base.text)
    if dropped is not None and content_tokens(dropped["what"]):
        return replace(base, kind=DraftKind.CANCEL, target=dropped["what"])
    for kind, pattern in ((DraftKind.CANCEL, _CANCEL), (DraftKind.DONE, _DONE)):
        if pattern.search(base.text):
            times = _times(base.text, reference)
            ended = replace(base, kind=kind, target=_without(base.text, times))
            return _at(ended, times[0]) if times else ended
    return None


def _dated(drafts: Sequence[Draft], reference: datetime) -> Draft | None:
    """A correction that was left without its new time: the first one it does not take back."""
    for draft in drafts:
        if draft.kind is DraftKind.CORRECT:
            times = _times(draft.text, reference)
            right = [t for t in times if not _TAKEN_BACK.search(draft.text[: t.position])]
            if right:
                return _at(replace(draft, target=_without(draft.text, times)), right[0])
    return None


def _times(text: str, reference: datetime) -> list[TimeExpression]:
    return [time for time in find_times(text, reference) if time.grain not in VAGUE_GRAINS]


def _without(text: str, times: Sequence[TimeExpression]) -> str:
    for time in times:
        text = text.replace(time.text, " ")
    return text


def _at(draft: Draft, time: TimeExpression) -> Draft:
    return replace(draft, starts=time.start, ends=time.end, time_text=time.text)
