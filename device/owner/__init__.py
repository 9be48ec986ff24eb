"""What a phone's owner sees of the memory, erases from it, takes out and brings back.

seeing.py     one memory with its history; where an answer comes from
matching.py   everything that holds certain words
erasing.py    what a forgetting would take, and the forgetting in every layer
keeping.py    plain copies out of the memory, and back into it
exploring.py  what a new phone would still like to know
glance.py     the phone at one glance
spending.py   what privacy has cost, charge by charge
knowledge.py  the public documents: see them, drop one, take it again
"""

from device.owner.erasing import Doomed, Eraser, ForgetPlan, Forgotten
from device.owner.exploring import UNKNOWN, question_for, sentence_for, still_unknown
from device.owner.keeping import Copied, Keeper, TakenBack
from device.owner.records import UnknownMemory
from device.owner.seeing import Reason, Seer, Shown, Why
from device.owner.spending import Spent, spending

__all__ = [
    "UNKNOWN",
    "Copied",
    "Doomed",
    "Eraser",
    "ForgetPlan",
    "Forgotten",
    "Keeper",
    "Reason",
    "Seer",
    "Shown",
    "Spent",
    "TakenBack",
    "UnknownMemory",
    "Why",
    "question_for",
    "sentence_for",
    "spending",
    "still_unknown",
]
