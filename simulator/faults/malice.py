"""Phones that speak the real protocol and lie (`malicious_phone`).

One lives beside an honest phone, at the same gateway, enrolled with a token of its own. It knows
what that phone sends, has all the time there is, and keeps no rule:

| kind          | what it does                                                                  |
|---------------|-------------------------------------------------------------------------------|
| replay        | hands in a report of its neighbour's once more, as its own, under a new id    |
| other_name    | says it is its neighbour, and signs with its own key                          |
| other_round   | hands in a report for a round that never was                                  |
| closed_round  | hands in a report for a round that is over                                    |
| poison        | hands in a model update of a hundred times the norm                           |
| unproven      | hands in counts whose proof does not hold                                     |
| malformed     | hands in shares and seals of wrong lengths, and bodies that are no reports    |
| other_bytes   | announces one body and sends another                                          |
| garbage       | sends bytes that are no message                                               |
| oversized     | sends a frame larger than any may be                                          |
| used_token    | enrols another key with a token that was used                                 |
| chunk_storm   | begins uploads it never ends, and sends them in hundreds of crumbs            |
| flood         | opens sessions by the dozen and leaves them standing                          |

`Lie` is what the world knows of an upload of its: whatever the cloud holds or counts of these, the
fleet's invariants see.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from device.actors import Clock
from privacy.secagg.mask import SEALED_SEED_BYTES
from protocol.identity import DeviceKey
from protocol.messages import UPLOAD_ID_SIZE, Plan, UploadBegin, UploadChunk
from protocol.rounds import MODEL_TASKS, RoundDescriptor, open_descriptor
from protocol.update import Report, encode_report
from protocol.wire import MAX_FRAME
from simulator.faults.dice import Dice
from simulator.faults.forging import poisoned, unproven
from simulator.faults.lies import Lie
from simulator.faults.plan import MALICE
from simulator.faults.talk import COMMITTED, Talk
from simulator.laws import FORGED, Tally
from simulator.network import Gateway
from simulator.randomness import KeyedBits, stream_key

__all__ = ["Liar", "liars_token"]

_NAME: Final = "malicious_phone"
_REST: Final = (900.0, 5_400.0)
"""Seconds between two acts."""
_SESSIONS: Final = 24
_CRUMBS: Final = 120
_CRUMB: Final = 16
"""Bytes."""
_NEVER_WAS: Final = 1_000_000
"""A round that no world reaches."""

Act = Callable[[Talk, Plan], Awaitable[None]]


def liars_token(seed: int, phone: int) -> str:
    """The enrolment token of the liar beside phone number `phone`."""
    return stream_key(seed, "liar's token", phone).hex()


class Liar:
    """One malicious phone.

    Args:
        number, seed: of its neighbour, and the world.
        gateway: the neighbour's.
        dice: the neighbour's luck: acts are counted there, by kind.
        clock: true time; cloudless: whether nothing can be reached now.
        cloud_key: opens round descriptors.
        neighbour: the neighbour's device id, "" before it has one.
        loot: bodies that the neighbour knows to have arrived, by upload id.
    """

    def __init__(
        self,
        number: int,
        seed: int,
        *,
        gateway: Gateway,
        dice: Dice,
        clock: Clock,
        cloudless: Callable[[], bool],
        cloud_key: bytes,
        neighbour: Callable[[], str],
        loot: Callable[[], Mapping[bytes, bytes]],
    ) -> None:
        self.lies: list[Lie] = []
        self.tally = Tally()
        self._name = f"the liar beside phone {number}"
        self._gateway, self._dice, self._clock = gateway, dice, clock
        self._cloudless, self._cloud_key = cloudless, cloud_key
        self._neighbour, self._loot = neighbour, loot
        self._bits = KeyedBits(seed, "liar", number)
        self._key = DeviceKey.generate(self._bits)
        self._token, self._device_id = liars_token(seed, number), ""
        self._acts: dict[str, Act] = {
            "replay": self._replay,
            "other_name": self._other_name,
            "other_round": self._other_round,
            "closed_round": self._closed_round,
            "poison": self._poison,
            "unproven": self._unproven,
            "malformed": self._malformed,
            "other_bytes": self._other_bytes,
            "garbage": self._garbage,
            "oversized": self._oversized,
            "used_token": self._used_token,
            "chunk_storm": self._chunk_storm,
            "flood": self._flood,
        }

    async def run(self) -> None:
        """Lie again and again, until the plan says that it is enough."""
        stream, ends = self._dice.of(_NAME), self._dice.stops(_NAME)
        while True:
            order = [MALICE[place] for place in stream.permutation(len(MALICE))]
            for kind in order:
                await self._clock.sleep(float(stream.uniform(*_REST)))
                if self._dice.elapsed() >= ends:
                    return
                if not self._cloudless():
                    await self._act(kind)

    async def _act(self, kind: str) -> None:
        talk = self._talk()
        if not self._device_id:
            self._device_id = await talk.enrol(self._token, self._key)
            talk = self._talk()
        plan = await talk.prove(self._device_id, self._key) if self._device_id else None
        if plan is not None:
            await self._acts[kind](talk, plan)

    def _talk(self) -> Talk:
        return Talk(self._gateway.open_session(self._clock.now()), self._bits)

    def _did(self, kind: str, said: str, *, fooled: bool = False) -> None:
        """Count an act, and whether the gateway fell for it at once."""
        self._dice.happened(_NAME, f"{kind}: {said or 'no answer'}")
        self._dice.fired[f"{_NAME}: {kind}"] += 1
        self.tally.check(FORGED, not fooled, self._name, f"{kind} was taken: {said}")

    async def _hand_in(
        self, kind: str, talk: Talk, body: bytes, task: str, number: int, *, refused: bool = True
    ) -> None:
        """`refused`: the gateway can tell; else only helper and leader together can."""
        upload_id = self._bits(UPLOAD_ID_SIZE)
        self.lies.append(Lie(upload_id, task, number, refused))
        said = await talk.upload(upload_id, body)
        self._did(kind, said, fooled=refused and said == COMMITTED)

    def _round(self, plan: Plan, tasks: tuple[str, ...]) -> RoundDescriptor | None:
        for blob in plan.rounds:
            found = open_descriptor(blob, self._cloud_key)
            if isinstance(found, RoundDescriptor) and found.task in tasks:
                return found
        return None

    async def _replay(self, talk: Talk, plan: Plan) -> None:
        del plan
        for body in self._loot().values():
            await self._hand_in("replay", talk, body, "", 0)

    async def _other_name(self, talk: Talk, plan: Plan) -> None:
        del plan
        if name := self._neighbour():
            talk = self._talk()
            fooled = await talk.prove(name, self._key) is not None
            self._did("other_name", talk.ended, fooled=fooled)

    async def _in_another_round(self, kind: str, talk: Talk, plan: Plan, later: int) -> None:
        found = self._round(plan, MODEL_TASKS)
        if found is None or found.round + later < 1:
            return
        moved = found.model_copy(update={"round": found.round + later})
        body = encode_report(poisoned(moved, self._bits))
        await self._hand_in(kind, talk, body, moved.task, moved.round)

    async def _other_round(self, talk: Talk, plan: Plan) -> None:
        await self._in_another_round("other_round", talk, plan, _NEVER_WAS)

    async def _closed_round(self, talk: Talk, plan: Plan) -> None:
        await self._in_another_round("closed_round", talk, plan, -1)

    async def _poison(self, talk: Talk, plan: Plan) -> None:
        if found := self._round(plan, MODEL_TASKS):
            body = encode_report(poisoned(found, self._bits))
            await self._hand_in("poison", talk, body, found.task, found.round, refused=False)

    async def _unproven(self, talk: Talk, plan: Plan) -> None:
        if found := self._round(plan, ("usage",)):
            body = encode_report(unproven(found, self._bits))
            await self._hand_in("unproven", talk, body, found.task, found.round, refused=False)

    async def _malformed(self, talk: Talk, plan: Plan) -> None:
        found = self._round(plan, (*MODEL_TASKS, "usage"))
        if found is None:
            return
        whole = (
            poisoned(found, self._bits) if found.task != "usage" else unproven(found, self._bits)
        )
        wrong = [
            encode_report(_with(whole, share=whole.share[:-4])),
            encode_report(_with(whole, share=whole.share + bytes(4))),
            encode_report(_with(whole, sealed_seed=bytes(SEALED_SEED_BYTES - 1))),
            encode_report(whole)[:-1],
            b"RVR1" + encode_report(whole)[4:],
            self._bits(len(whole.share)),
        ]
        for body in wrong:
            await self._hand_in("malformed", talk, body, found.task, found.round)

    async def _other_bytes(self, talk: Talk, plan: Plan) -> None:
        del plan
        upload_id, body = self._bits(UPLOAD_ID_SIZE), self._bits(512)
        self.lies.append(Lie(upload_id, "", 0, True))
        begin = UploadBegin(upload_id=upload_id, kind="report", size=512, sha256=self._bits(32))
        await talk.say(begin, UploadChunk(upload_id=upload_id, offset=0, data=body))
        self._did("other_bytes", talk.ended, fooled=not talk.ended)

    async def _garbage(self, talk: Talk, plan: Plan) -> None:
        del plan
        await talk.say(self._bits(200))
        self._did("garbage", talk.ended, fooled=not talk.ended)

    async def _oversized(self, talk: Talk, plan: Plan) -> None:
        del plan
        await talk.say(bytes(MAX_FRAME + 1))
        self._did("oversized", talk.ended, fooled=not talk.ended)

    async def _used_token(self, talk: Talk, plan: Plan) -> None:
        del plan
        talk = self._talk()
        given = await talk.enrol(self._token, DeviceKey.generate(self._bits))
        self._did("used_token", talk.ended, fooled=bool(given))

    async def _chunk_storm(self, talk: Talk, plan: Plan) -> None:
        del plan
        upload_id, size = self._bits(UPLOAD_ID_SIZE), _CRUMBS * _CRUMB
        self.lies.append(Lie(upload_id, "", 0, True))
        begin = UploadBegin(upload_id=upload_id, kind="report", size=size, sha256=self._bits(32))
        crumbs = [
            UploadChunk(upload_id=upload_id, offset=place * _CRUMB, data=self._bits(_CRUMB))
            for place in range(_CRUMBS)
        ]
        await talk.say(begin, *crumbs[:-1], crumbs[0])  # the last one comes out of order
        self._did("chunk_storm", talk.ended, fooled=not talk.ended)

    async def _flood(self, talk: Talk, plan: Plan) -> None:
        del talk, plan
        opened = [self._talk() for _ in range(_SESSIONS)]
        proven = sum([await one.prove(self._device_id, self._key) is not None for one in opened])
        self._did("flood", f"{proven} of {_SESSIONS} sessions were open")


def _with(report: Report, *, share: bytes = b"", sealed_seed: bytes = b"") -> Report:
    return Report(
        report.task,
        report.round,
        report.report_id,
        share or report.share,
        sealed_seed or report.sealed_seed,
    )
