"""The owner of a virtual phone: talks, asks, and says what helped."""

from __future__ import annotations

from collections import Counter
from typing import Final

from device.actors import Clock
from device.actors.errors import ActorError, DomainError
from device.memory.records import Turn
from device.phone import Phone
from simulator.people import Ask, Compare, Deed, Do, Person, Say

__all__ = ["Owner"]

_RECALL_HITS: Final = 10


class Owner:
    """One person's deeds, each done once, on whatever life the phone is in."""

    __slots__ = (
        "_clock",
        "_deeds",
        "_patient",
        "_turns",
        "answered",
        "by_layer",
        "decided_by",
        "records",
        "refused",
        "runs",
        "tried",
        "useful",
    )

    def __init__(self, person: Person, clock: Clock, *, patient: bool) -> None:
        """`clock`: true time. `patient`: a deed that the phone refuses is given up, not an error:
        its disk may be full."""
        self._deeds = [*reversed(person.deeds)]
        """What is left to do, the next thing last."""
        self._clock, self._patient = clock, patient
        self._turns: dict[str, Turn] = {}
        """What the phone acknowledged, by line of the story."""
        self.records = self.answered = self.useful = self.refused = self.runs = 0
        self.tried = 0
        """Turns said, whether or not the phone acknowledged them."""
        self.by_layer: Counter[str] = Counter()
        self.decided_by: Counter[str] = Counter()

    async def use(self, phone: Phone) -> None:
        """Do what is left to do, each thing at its time or, when the phone was down, at once."""
        while self._deeds:
            await self._clock.sleep(max(0.0, self._deeds[-1].at - self._clock.now()))
            deed = self._deeds.pop()
            try:
                await self._do(phone, deed)
            except (DomainError, ActorError):
                if not self._patient:
                    raise
                self.refused += 1

    async def _do(self, phone: Phone, deed: Deed) -> None:
        match deed:
            case Say():
                await self._say(phone, deed)
            case Ask():
                await self._ask(phone, deed)
            case Compare():
                first, second = self._turns.get(deed.first), self._turns.get(deed.second)
                if first is not None and second is not None:
                    await phone.feedback_pair(first.text, second.text, deed.verdict)
            case Do():
                block = await phone.agent.inject([deed.run.app], deed.run.goal)
                await phone.agent.record_run(deed.run, deed.confirmation, block.facts)
                self.runs += 1

    async def _say(self, phone: Phone, deed: Say) -> None:
        self.tried += 1
        turn = await phone.record(
            deed.text, speaker=deed.speaker, session=deed.session, source="conversation"
        )
        self._turns[deed.line] = turn
        self.records += 1

    async def _ask(self, phone: Phone, deed: Ask) -> None:
        answer = await phone.recall(deed.query, k=_RECALL_HITS)
        wanted = {self._turns[line].id for line in deed.evidence if line in self._turns}
        helped = [hit.id for hit in answer.hits if wanted.intersection((hit.id, *hit.turns))]
        self.answered += 1
        self.useful += bool(helped)
        self.by_layer[answer.hits[0].layer.value if answer.hits else "none"] += 1
        self.decided_by[answer.decided_by] += 1
        await phone.feedback(answer, helped)
