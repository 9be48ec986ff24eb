"""Letters: only the account opens them, only their sender could have made them."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st

from device.account.counting import MAX_RANGES, Received
from device.account.errors import EnvelopeRefused
from device.account.roster import Member, Roster, device_id_of
from device.account.sealing import BUCKETS, MAX_PAYLOAD, Epoch, Opened, open_letter, seal
from protocol.identity import SigningKey
from protocol.mail import HEAD_SIZE, MAX_LETTER, RosterEntry, pack_roster, read_letter, read_roster

ACCOUNT = b"A" * 16


class Someone:
    def __init__(self) -> None:
        self.key = SigningKey.generate(os.urandom)
        self.box = X25519PrivateKey.generate()
        self.id = device_id_of(self.key.public)
        public = self.box.public_key().public_bytes_raw()
        self.member = Member(self.id, self.key.public, public, "x")


ONE, TWO, STRANGER = Someone(), Someone(), Someone()
MEMBERS = {one.id: one.member for one in (ONE, TWO)}
EPOCH = Epoch.fresh(3, MEMBERS, os.urandom)


def sealed(payload: bytes, *, by: Someone = ONE, boxes: tuple[Member, ...] = ()) -> bytes:
    return seal(
        payload,
        account=ACCOUNT,
        epoch=EPOCH,
        counter=9,
        signer=by.key,
        sender=by.id,
        boxes_for=boxes,
        bits=os.urandom,
    )


def opened(letter: bytes, *, by: Someone = TWO, epochs: tuple[Epoch, ...] = (EPOCH,)) -> Opened:
    return open_letter(
        letter, account=ACCOUNT, members=MEMBERS, epochs=epochs, own=by.id, box_key=by.box
    )


@given(st.integers(0, MAX_PAYLOAD))
@settings(max_examples=30, deadline=None)
def test_sizes_say_only_the_bucket(size: int) -> None:
    letter = sealed(bytes(size))
    assert opened(letter).payload == bytes(size)
    overhead = len(sealed(b"")) - BUCKETS[0]
    assert len(letter) - overhead in BUCKETS
    assert len(letter) <= MAX_LETTER


def test_two_letters_of_the_same_words_have_nothing_in_common() -> None:
    one, two = sealed(b"words" * 50), sealed(b"words" * 50)
    assert one[HEAD_SIZE + 40 :] != two[HEAD_SIZE + 40 :]
    assert b"words" not in one


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_no_changed_byte_passes(data: st.DataObject) -> None:
    letter = bytearray(sealed(b"hello", boxes=(TWO.member,)))
    place = data.draw(st.integers(0, len(letter) - 1))
    letter[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(EnvelopeRefused):
        opened(bytes(letter))


@given(st.binary(max_size=400))
def test_no_bytes_crash_it(junk: bytes) -> None:
    with pytest.raises(EnvelopeRefused):
        opened(junk)
    with pytest.raises(EnvelopeRefused):
        opened(sealed(b"")[:HEAD_SIZE] + junk)


def test_cut_anywhere_it_is_refused() -> None:
    letter = sealed(b"hello", boxes=(TWO.member,))
    for end in range(0, len(letter), 7):
        with pytest.raises(EnvelopeRefused):
            opened(letter[:end])


def test_the_cloud_can_neither_inject_nor_swap_senders() -> None:
    with pytest.raises(EnvelopeRefused, match="no device"):
        opened(sealed(b"x", by=STRANGER))
    # A device of the account cannot speak for another, though it holds the account key.
    forged = seal(
        b"x", account=ACCOUNT, epoch=EPOCH, counter=1, signer=TWO.key, sender=ONE.id,
        bits=os.urandom,
    )  # fmt: skip
    with pytest.raises(EnvelopeRefused, match="sign"):
        opened(forged)
    with pytest.raises(EnvelopeRefused, match="another account"):
        open_letter(
            sealed(b"x"), account=b"B" * 16, members=MEMBERS, epochs=[EPOCH], own=TWO.id,
            box_key=TWO.box,
        )  # fmt: skip


def test_a_key_is_given_in_boxes_and_only_to_their_recipients() -> None:
    letter = sealed(b"new key", boxes=(TWO.member,))
    got = opened(letter, epochs=())
    assert got.payload == b"new key"
    assert got.epoch.order == EPOCH.order
    assert TWO.id in got.epoch.holders
    with pytest.raises(EnvelopeRefused, match="not been given"):
        opened(letter, by=STRANGER, epochs=())
    thief = Someone()
    thief.id = TWO.id
    with pytest.raises(EnvelopeRefused, match="box"):
        opened(letter, by=thief, epochs=())


def test_a_letter_too_large_is_not_made() -> None:
    with pytest.raises(ValueError, match="at most"):
        sealed(bytes(MAX_PAYLOAD + 1))
    full = sealed(bytes(MAX_PAYLOAD), boxes=(TWO.member,) * 16)
    assert len(full) == MAX_LETTER


def test_rosters_merge_alike_whatever_the_order() -> None:
    added = Roster([ONE.member]).with_member(TWO.member)
    removed = added.without(TWO.id)
    third = added.with_member(STRANGER.member)
    both = removed.merged(third)
    assert both == third.merged(removed)
    assert set(both.active) == {ONE.id, STRANGER.id}
    # Removed wins within a generation; a device let in again stands in the next one.
    assert removed.merged(added) == removed
    again = removed.with_member(TWO.member)
    assert TWO.id in again.active
    assert removed.merged(again).active == again.active
    assert Roster([replace(TWO.member, name="y"), TWO.member]) == Roster(
        [TWO.member, replace(TWO.member, name="y")]
    )


def test_the_cloud_s_roster_is_read_back() -> None:
    entries = [RosterEntry(bytes([n]) * 16, n + 1, n % 2 == 0) for n in range(5)]
    assert read_roster(pack_roster(entries)) == entries
    assert read_letter(sealed(b"x")).counter == 9


@given(st.lists(st.integers(1, 60), max_size=60))
def test_received_numbers(numbers: list[int]) -> None:
    got = Received()
    for number in numbers:
        got = got.with_number(number)
    assert all(number in got for number in numbers)
    assert [n for n in range(1, 70) if n in got] == sorted(set(numbers))
    missing = {n for a, b in got.gaps() for n in range(a, b + 1)}
    assert missing == set(range(1, got.top + 1)) - set(numbers)
    assert all(got.misses(n) for n in missing)
    assert len(got.runs) <= MAX_RANGES
