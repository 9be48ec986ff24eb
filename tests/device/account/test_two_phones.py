"""Two real phones, the cloud's real mailbox: they exchange, disagree, erase, grow and shrink."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cloud.actors.mailbox import Mailbox as CloudMailbox
from device.account.errors import AccountError
from device.memory import Apply, Change, ChangeKind, ForgetItems
from device.memory.records import EventState, Item, ItemKind
from device.phone import Phone
from tests.device.account.posts import CloudBox, holds
from tests.device.conftest import OpenPhone

CANARY = "zanzibar-canary-7731"
START = 1_780_000_000.0


class Clock:
    def __init__(self) -> None:
        self.at = START

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float, until: object = None) -> None:
        self.at += seconds


def item(number: int, text: str, **fields: object) -> Item:
    made = {"kind": ItemKind.EVENT, "created": START, "updated": START, "turns": ()} | fields
    return Item(id=f"mem:{number}", text=text, **made)  # type: ignore[arg-type]


class Household:
    """Phones under one account, and the cloud between them."""

    def __init__(self, cloud: CloudMailbox, open_phone: OpenPhone) -> None:
        self.cloud = cloud
        self.clock = Clock()
        self.boxes: dict[str, CloudBox] = {}
        self._open = open_phone

    async def phone(self) -> Phone:
        return await self._open(clock=self.clock)

    def box(self, phone: Phone) -> CloudBox:
        device = phone.account.device
        return self.boxes.setdefault(device, CloudBox(self.cloud, device))

    async def pair(self, old: Phone, new: Phone, name: str) -> tuple[str, str]:
        """Let `new` in by a code; the fingerprints both show."""
        shown = await old.account.offer(self.box(old))
        assert await old.account.look_for_device(self.box(old)) is None
        await new.account.ask_in(self.box(new), shown.code.lower(), name)
        assert await new.account.look_for_answer(self.box(new)) is None
        met = await old.account.look_for_device(self.box(old))
        joined = await new.account.look_for_answer(self.box(new))
        assert met is not None
        assert joined is not None
        assert met.name == name
        return joined.fingerprint, met.fingerprint

    async def settle(self, *phones: Phone) -> None:
        """Everybody exchanges until nobody has anything to say."""
        for _ in range(6):
            for phone in phones:
                await phone.account.exchange(self.box(phone))


@pytest.fixture
def household(tmp_path: Path, open_phone: OpenPhone) -> Household:
    return Household(CloudMailbox(f"sqlite:///{tmp_path}/cloud.db"), open_phone)


async def texts(phone: Phone) -> list[str]:
    return sorted(i.text for i in await phone.items() if not i.replaced_by)


async def edit(phone: Phone, changed: Item) -> None:
    await phone._structured.ask(Apply([Change(ChangeKind.UPDATE, changed)]))


async def test_a_household(household: Household) -> None:
    phone, tablet = await household.phone(), await household.phone()
    await phone.account.create("phone")
    await phone.record(f"I have a dentist appointment tomorrow at 9, {CANARY}.", speaker="user")
    await phone.record("I like green tea.", speaker="user")
    await phone.consolidate()
    mine, theirs = await household.pair(phone, tablet, "tablet")
    assert mine == theirs
    assert len(mine) == 14
    await household.settle(phone, tablet)

    # What was said on the phone is recalled on the tablet, and says where it comes from.
    assert await texts(tablet) == await texts(phone)
    answer = await tablet.recall("When is the dentist appointment?")
    assert CANARY in answer.hits[0].text
    assert answer.hits[0].turns == (f"device:{phone.account.device}/0",)
    assert answer.hits[0].source == f"device {phone.account.device[:8]}"
    shown = await tablet.show(answer.hits[0].id)
    assert (shown.elsewhere, shown.gone) == (answer.hits[0].turns, ())
    assert not await tablet.turns()  # raw logs stay home

    # Both edit one item while apart; both versions stay, the later one is shown.
    dentist = next(i for i in await phone.items() if CANARY in i.text)
    copy = next(i for i in await tablet.items() if CANARY in i.text)
    await edit(phone, replace(dentist, place="Elm Road", updated=household.clock.at))
    household.clock.at += 60
    await edit(tablet, replace(copy, place="Oak Lane", updated=household.clock.at))
    await household.settle(phone, tablet)
    for each in (phone, tablet):
        newest = next(i for i in await each.items() if CANARY in i.text and not i.replaced_by)
        assert newest.place == "Oak Lane"
        older = (await each.show(newest.id)).older
        assert [i.place for i in older] == ["Elm Road"]

    # A cancelled event is cancelled everywhere, whatever its words became meanwhile.
    copy = next(i for i in await tablet.items() if CANARY in i.text and not i.replaced_by)
    copy = replace(copy, state=EventState.CANCELLED, updated=household.clock.at)
    await edit(tablet, replace(copy, place="Oak Lane 4"))
    await household.settle(tablet, phone)
    dentist = next(i for i in await phone.items() if CANARY in i.text and not i.replaced_by)
    assert dentist.state is EventState.CANCELLED
    assert not (await phone.show(dentist.id)).older  # the edit settled which version holds

    # A third device gets everything; one taken out gets nothing more.
    watch = await household.phone()
    mine, theirs = await household.pair(tablet, watch, "watch")
    assert mine == theirs
    await household.settle(phone, tablet, watch)
    assert await texts(watch) == await texts(phone)
    await phone.account.remove(watch.account.device)
    await phone.record("My locker code is 5512.", speaker="user")
    await phone.consolidate()
    await household.settle(phone, tablet)
    with pytest.raises(AccountError, match="not_member"):
        await watch.account.exchange(household.box(watch))
    assert [d.name for d in tablet.account.view().devices if d.this] == ["tablet"]
    assert len(tablet.account.view().devices) == 2
    assert tablet.account.view().epoch == 2
    assert await texts(tablet) == await texts(phone)

    # An erase on one device is an erase on every device, of every version.
    gone = await tablet.forget_items([copy.id])
    assert gone.items >= 1
    await household.settle(tablet, phone)
    for each in (phone, tablet):
        assert not [i for i in await each.items() if CANARY in i.text]
        assert not [t for t in await each.turns() if CANARY in t.text]
        assert not [p for _, p in each._logs["account"].read() if CANARY.encode() in p]
    assert any(CANARY in i.text for i in await watch.items())  # it left before

    # Nothing readable ever reached the cloud.
    seen = [data for box in household.boxes.values() for data in box.seen]
    assert len(seen) > 10
    assert not holds(seen, CANARY)
    assert not holds(seen, "dentist")
    assert not holds(seen, "tablet")


async def test_fading_is_each_device_s_own(household: Household) -> None:
    phone, tablet = await household.phone(), await household.phone()
    await phone.account.create("phone")
    await phone._structured.ask(Apply([Change(ChangeKind.CREATE, item(1, "a walk by the lake"))]))
    await household.pair(phone, tablet, "tablet")
    await household.settle(phone, tablet)
    held = next(iter(await tablet.items()))
    await tablet._structured.ask(ForgetItems([held.id]))  # as the dream does
    await household.settle(tablet, phone)
    assert await texts(phone) == ["a walk by the lake"]
    # Not even an edit elsewhere brings it back here; an erase there is known here all the same.
    await edit(phone, replace((await phone.items())[0], place="north shore"))
    await household.settle(phone, tablet)
    assert await texts(tablet) == []
    kept = [payload for _, payload in tablet.account._store._log.read()]
    assert not holds(kept, "north shore")  # what faded here is not kept in another place
    await phone.forget_items(["mem:1"])
    await household.settle(phone, tablet)
    assert all(entry.erased for entry in tablet.account._store.entries.values())
