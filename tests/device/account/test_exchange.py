"""Whole exchanges over a mailbox that loses, repeats and shuffles: every device ends the same."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from device.account.errors import MailboxFull, NumberSpent
from device.account.exchange import REPLY_SECONDS
from device.account.sealing import BUCKETS
from device.memory.records import EventState
from device.vault import SealedLog
from protocol.mail import MAX_LETTER, LetterKind, read_letter
from tests.device.account.household import HOUR, Device, Household, household
from tests.device.account.posts import RoughPost, holds

NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""An example takes long: the failing one is shown as it was found."""
WORDS = st.sampled_from(["tea", "a walk", "call Ann", "dentist"])
WHO = st.integers(0, 2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("make"), WHO, WORDS),
        st.tuples(st.just("edit"), WHO, st.integers(0, 3), WORDS),
        st.tuples(st.just("turn"), WHO, st.integers(0, 3), st.sampled_from(list(EventState))),
        st.tuples(st.just("erase"), WHO, st.integers(0, 3)),
        st.tuples(st.just("exchange"), WHO),
        st.tuples(st.just("exchange"), WHO),
    ),
    max_size=18,
)


@given(STEPS, st.integers(0, 999), st.sampled_from([0.0, 0.4]), st.booleans())
@settings(max_examples=25, deadline=None, phases=NO_SHRINKING)
def test_three_devices_converge(steps: list[tuple], seed: int, lose: float, shuffle: bool) -> None:  # type: ignore[type-arg]
    async def play() -> None:
        post = RoughPost(seed)
        async with household(post) as home:
            devices = await home.family(3)
            await home.settle(devices, 2)
            post._lose, post._repeat, post.shuffle = lose, 0.3, shuffle
            for what, who, *rest in steps:
                home.time.at += 7 * HOUR
                device = devices[who]
                if what == "exchange":
                    await device.account.exchange(device.box)
                else:
                    await getattr(device, what)(*rest)
            post.calm()
            await home.settle(devices)
            first, *others = [await device.told() for device in devices]
            assert all(other == first for other in others)
            states = [d.account._store.read(d.account._store.entries) for d in devices]
            assert states[0] == states[1] == states[2]
            # And then there is quiet: nobody has anything left to say.
            before = len(_sealed(post))
            await home.settle(devices, 3)
            assert len(_sealed(post)) == before

    asyncio.run(play())


def _waits(device: Device) -> bool:
    return device.account._store.waiting is not None


def _sealed(post: RoughPost) -> list[bytes]:
    return [d for d in post.everything if read_letter(d).kind is LetterKind.SEALED]


@pytest.fixture
async def home():  # type: ignore[no-untyped-def]
    async with household() as made:
        yield made


async def test_only_what_changed_goes_out(home: Household) -> None:
    one, two = await home.family(2)
    for n in range(30):
        await one.make(f"thing {n}")
    done = await one.account.exchange(one.box)
    assert done.sent == 30
    assert done.letters_out == 1
    await one.edit(3, "another thing")
    done = await one.account.exchange(one.box)
    assert (done.sent, done.letters_out) == (1, 1)
    assert (await one.account.exchange(one.box)).letters_out == 0
    assert (await two.account.exchange(two.box)).changed == 31
    assert await two.told() == await one.told()


async def test_large_memories_go_in_letters_of_64_kib(home: Household) -> None:
    one, two = await home.family(2)
    for n in range(60):
        await one.make(f"{n} " + "word " * 900)
    done = await one.account.exchange(one.box)
    assert done.letters_out > 4
    assert all(len(letter) <= MAX_LETTER for letter in home.post.everything)
    await two.account.exchange(two.box)
    assert await two.told() == await one.told()
    # What fits no letter stays at home, and is counted.
    await one.make("x" * (MAX_LETTER + 1))
    assert (await one.account.exchange(one.box)).too_large == 1


async def test_a_lost_letter_is_asked_for_and_sent_again_as_it_stands(home: Household) -> None:
    one, two = await home.family(2)
    await home.settle([one, two], 2)
    home.post._lose = 1.0
    await one.make("lost on its way")
    await one.account.exchange(one.box)
    home.post.calm()
    await one.edit(0, "what it became")
    await one.make("a later one")
    await one.account.exchange(one.box)
    await two.account.exchange(two.box)
    await home.settle([one, two])
    assert await two.told() == await one.told()
    assert [text for text, _, _ in await two.told()] == ["a later one", "what it became"]


async def test_the_last_letter_lost_is_noticed_by_its_sender(home: Household) -> None:
    one, two = await home.family(2)
    await home.settle([one, two], 2)
    home.post._lose = 1.0
    await one.make("the last word")
    await one.account.exchange(one.box)
    home.post.calm()
    await two.account.exchange(two.box)
    assert await two.told() == []
    assert REPLY_SECONDS < 25 * HOUR
    await home.settle([one, two])
    assert await two.told() == await one.told()


async def test_a_letter_kept_before_it_is_posted_goes_out_the_same(home: Household) -> None:
    one, two = await home.family(2)

    class Cut(Exception):
        pass

    class Falling:
        def __init__(self) -> None:
            self.posted: list[bytes] = []

        async def post(self, letter: bytes) -> None:
            if read_letter(letter).kind is LetterKind.SEALED:
                self.posted.append(letter)
                raise Cut
            await one.box.post(letter)

        async def collect(self, after: int) -> list[tuple[int, bytes]]:
            return await one.box.collect(after)

    await one.make("tea")
    falling = Falling()
    with pytest.raises(Cut):
        await one.account.exchange(falling)
    await one.edit(0, "green tea")
    done = await one.account.exchange(one.box)
    # The very bytes again (the cloud may have had them), then what changed meanwhile.
    assert falling.posted[0] in home.post.everything
    assert done.letters_out == 2
    await two.account.exchange(two.box)
    assert [text for text, _, _ in await two.told()] == ["green tea"]


async def test_a_full_mailbox_keeps_everything_for_later(home: Household) -> None:
    one, two = await home.family(2)

    class Full:
        async def post(self, letter: bytes) -> None:
            if read_letter(letter).kind is LetterKind.SEALED:
                raise MailboxFull

        async def collect(self, after: int) -> list[tuple[int, bytes]]:
            return await one.box.collect(after)

    await one.make("tea")
    done = await one.account.exchange(Full())
    assert "mailbox is full" in done.problem
    assert (await one.account.exchange(one.box)).problem == ""
    await two.account.exchange(two.box)
    assert await two.told() == await one.told()


async def test_an_erase_takes_a_letter_on_its_way_along(home: Household) -> None:
    one, two = await home.family(2)

    class Full:
        async def post(self, letter: bytes) -> None:
            if read_letter(letter).kind is LetterKind.SEALED:
                raise MailboxFull

        async def collect(self, after: int) -> list[tuple[int, bytes]]:
            return []

    await one.make("a secret")
    await one.account.exchange(Full())
    assert _waits(one)
    await one.erase(0)
    assert not _waits(one)
    assert not [p for _, p in one.account._store._log.read() if b"a secret" in p]
    await home.settle([one, two])
    assert await two.told() == []


async def test_numbers_spent_by_an_older_self_are_passed_over(home: Household) -> None:
    one, two = await home.family(2)

    class Spent:
        refused = 0

        async def post(self, letter: bytes) -> None:
            if read_letter(letter).kind is LetterKind.SEALED and not self.refused:
                self.refused = read_letter(letter).counter
                raise NumberSpent
            await one.box.post(letter)

        async def collect(self, after: int) -> list[tuple[int, bytes]]:
            return await one.box.collect(after)

    await one.make("tea")
    way = Spent()
    assert "restored" in (await one.account.exchange(way)).problem
    await home.settle([one, two])
    assert one.account.view().letters > way.refused + 1000
    assert await two.told() == await one.told() != []


async def test_a_removed_device_reads_nothing_that_follows(home: Household) -> None:
    one, two, three = await home.family(3)
    await home.settle([one, two, three], 2)
    await three.make("said before it left, and come to one alone")
    await three.account.exchange(three.box)
    await two.account.exchange(two.box)
    await one.account.remove(three.account.device[:10])
    keys = {epoch.key for epoch in three.account._profile.epochs}
    await one.make("said afterwards")
    await home.settle([one, two])
    for device in (one, two):
        assert device.account._profile.epoch.key not in keys
        assert device.account._profile.epoch.number == 2
        assert [t for t, _, _ in await device.told()] == [
            "said afterwards",
            "said before it left, and come to one alone",
        ]
    done = await three.account.exchange(three.box)
    assert done.refused > 0
    assert "said afterwards" not in {t for t, _, _ in await three.told()}
    # What it still sends is not taken.
    await three.make("from outside")
    await three.account.exchange(three.box)
    assert (await one.account.exchange(one.box)).refused > 0
    assert "from outside" not in {t for t, _, _ in await one.told()}


async def test_two_removals_at_once_leave_neither_a_key(home: Household) -> None:
    one, two, three, four = await home.family(4)
    await home.settle([one, two, three, four], 3)
    await one.account.remove(three.account.device)
    await two.account.remove(four.account.device)
    await one.account.exchange(one.box)
    await two.account.exchange(two.box)
    await three.account.exchange(three.box)
    await four.account.exchange(four.box)
    await home.settle([one, two])
    key = one.account._profile.epoch
    assert key.order == two.account._profile.epoch.order
    assert key.holders == {one.account.device, two.account.device}
    for gone in (three, four):
        assert key.key not in {e.key for e in gone.account._profile.epochs}
    await one.make("among two")
    await home.settle([one, two], 2)
    assert await two.told() == await one.told()


async def test_a_clock_years_ahead_is_named_and_harms_nothing(home: Household) -> None:
    one, two = await home.family(2)
    await home.settle([one, two], 2)
    now = home.time.at
    home.time.at += 10 * 365 * 24 * HOUR
    await two.make("from the future")
    await two.account.exchange(two.box)
    home.time.at = now
    done = await one.account.exchange(one.box)
    assert done.clocks_off == {two.account.device}
    await one.edit(0, "put right")
    await one.account.exchange(one.box)
    await two.account.exchange(two.box)
    assert await two.told() == await one.told() == [("put right", "active", ())]
    assert one.account._profile.clock.wall < (now + 2 * HOUR) * 1000


async def test_erasing_one_of_two_versions_leaves_the_other(home: Household) -> None:
    one, two = await home.family(2)
    await one.make("tea")
    await home.settle([one, two], 2)
    await one.edit(0, "green tea")
    home.time.at += HOUR
    await two.edit(0, "black tea")
    await home.settle([one, two])
    assert await one.told() == [("black tea", "active", ("green tea",))]
    beside = one.account._store.entries[next(iter(one.account._store.entries))].versions
    await one.forget(list(beside))
    await home.settle([one, two])
    assert await one.told() == await two.told() == [("black tea", "active", ())]
    assert not [p for _, p in two.account._store._log.read() if b"green tea" in p]


async def test_a_crash_at_any_write_loses_and_doubles_nothing(home: Household) -> None:
    """The account's log is cut off at every append in turn; the next exchange makes it good."""
    one, two = await home.family(2)
    await home.settle([one, two], 2)
    log = two.account._store._log
    append = type(log).append_many
    for cut in range(1, 7):
        await one.make(f"number {cut}")
        await two.edit(0, f"edited {cut}")
        left = [cut]

        def failing(self: SealedLog, payloads: Sequence[bytes], left: list[int] = left) -> object:
            left[0] -= self is log
            if self is log and left[0] == 0:
                raise OSError("cut")
            return append(self, payloads)

        await one.account.exchange(one.box)
        with pytest.MonkeyPatch.context() as patch, suppress(OSError):
            patch.setattr(SealedLog, "append_many", failing)
            await two.account.exchange(two.box)
        assert left[0] <= 0, "the cut never came"
        await home.settle([one, two], 3)
        assert await two.told() == await one.told()
        assert len(await one.told()) == cut


async def test_sizes_and_silence_are_all_the_mailbox_sees(home: Household) -> None:
    one, two = await home.family(2)
    await one.make("zanzibar")
    await home.settle([one, two])
    assert not holds(home.post.everything, "zanzibar")
    letters = [read_letter(data) for data in home.post.everything]
    sizes = {len(x.rest) for x in letters if x.kind is LetterKind.SEALED}
    assert len(sizes) <= 2 * len(BUCKETS)
    assert {x.address for x in letters if x.kind is LetterKind.SEALED} == {
        bytes.fromhex(one.account.view().account)
    }


async def test_leaving_keeps_the_memory_and_forgets_the_account(home: Household) -> None:
    one, two = await home.family(2)
    await one.make("tea")
    await home.settle([one, two], 2)
    await two.account.leave()
    assert not two.account.exists
    assert [t for t, _, _ in await two.told()] == ["tea"]
    assert len(two.account._store._log) == 0
