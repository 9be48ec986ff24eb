"""What a turn claims before any dream has consolidated it: events with their time.

Two things said about one event within a day must be seen to disagree although the phone has not
been idle since.
"""

from __future__ import annotations

from datetime import tzinfo

from device.language import DraftKind, extract
from device.memory.records import Item, ItemKind
from device.recall.candidates import Candidate

__all__ = ["claims_of"]


def claims_of(candidate: Candidate, zone: tzinfo) -> list[Item]:
    """The events that a raw turn tells, as items that bear the turn's id; times are read in
    `zone`. A tenth of a millisecond or two: for the few hits that are judged."""
    hit = candidate.hit
    return [
        Item(
            id=hit.id,
            kind=ItemKind.EVENT,
            text=draft.text,
            created=hit.at,
            updated=hit.at,
            turns=hit.turns,
            subject=draft.subject,
            object=draft.object,
            place=draft.place,
            people=draft.people,
            starts=draft.starts,
            ends=draft.ends,
            time_text=draft.time_text,
        )
        for draft in extract(hit.text, candidate.speaker, hit.at, zone)
        if draft.kind is DraftKind.EVENT
    ]
