"""The cloud's mailbox: opaque letters, limits, and nothing dropped that somebody still needs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest
from sqlalchemy import select

from cloud.actors.mailbox import (
    MAX_ACCOUNT_BYTES,
    MAX_SLOT_LETTERS,
    PAGE_LETTERS,
    SLOT_SECONDS,
    Mailbox,
    MailRefused,
)
from cloud.storage.mail_tables import mail, members
from protocol.mail import MAX_LETTER, Letter, LetterKind, RosterEntry, pack_roster

ACCOUNT, OTHER = b"A" * 16, b"B" * 16
ONE, TWO, THREE = (bytes([n]) * 16 for n in (1, 2, 3))
NOW = 1e9


@pytest.fixture
def box(each_database: str) -> Iterator[Mailbox]:
    made = Mailbox(each_database)
    yield made
    made.close()


def roster(
    box: Mailbox, *devices: bytes, by: bytes = ONE, gone: tuple[bytes, ...] = (),
    account: bytes = ACCOUNT, generation: int = 1,
) -> None:  # fmt: skip
    entries = [RosterEntry(device, generation, device in gone) for device in devices]
    letter = Letter(LetterKind.ROSTER, account, by, 1, pack_roster(entries))
    box.post(by.hex(), letter.pack(), NOW)


def send(
    box: Mailbox, sender: bytes, counter: int, body: bytes = b"x", account: bytes = ACCOUNT,
    kind: LetterKind = LetterKind.SEALED, now: float = NOW,
) -> int:  # fmt: skip
    return box.post(sender.hex(), Letter(kind, account, sender, counter, body).pack(), now)


def read(box: Mailbox, device: bytes, after: int = 0) -> list[int]:
    return [sequence for sequence, _ in box.collect(device.hex(), after, NOW)]


def refused(code: str) -> AbstractContextManager[object]:
    return pytest.raises(MailRefused, match=f"^{code}$")


def test_a_letter_comes_to_the_others_until_all_have_it(box: Mailbox) -> None:
    roster(box, ONE, TWO, THREE)
    send(box, TWO, 1), send(box, THREE, 1)
    first, second = send(box, ONE, 1, b"first"), send(box, ONE, 2, b"second")
    assert read(box, TWO)[-2:] == [first, second]
    assert first not in read(box, ONE)
    assert read(box, TWO, second) == []
    assert box.standing(ACCOUNT.hex()).letters == 4  # THREE has not asked yet
    assert read(box, THREE)[-1] == second
    read(box, THREE, second)
    assert box.standing(ACCOUNT.hex()).letters == 2
    read(box, ONE, second)
    assert box.standing(ACCOUNT.hex()).letters == 0
    assert box.standing(ACCOUNT.hex()).devices == 3


def test_who_never_answers_blocks_no_letters_of_others(box: Mailbox) -> None:
    """A device that only sends needs no letters of its own acknowledged by itself."""
    roster(box, ONE, TWO)
    send(box, TWO, 1)
    last = [send(box, ONE, n) for n in range(1, 20)][-1]
    read(box, TWO, last)
    assert box.standing(ACCOUNT.hex()).letters == 1  # TWO's own, which ONE has not asked for


def test_posting_again_is_nothing_even_after_it_was_pruned(box: Mailbox) -> None:
    roster(box, ONE, TWO)
    send(box, TWO, 1)
    sequence = send(box, ONE, 1)
    assert send(box, ONE, 1) == sequence
    with refused("number"):
        send(box, ONE, 1, b"other words")
    read(box, TWO, sequence)
    assert send(box, ONE, 1) == 0
    with refused("number"):
        send(box, ONE, 1, b"other words")
    assert send(box, ONE, 2) > sequence  # numbers are never used again


def test_a_number_is_not_used_again_though_the_mailbox_is_empty(box: Mailbox) -> None:
    roster(box, ONE)
    last = [send(box, ONE, n) for n in range(1, 4)][-1]
    read(box, ONE, last)
    assert box.standing(ACCOUNT.hex()).letters == 0
    assert send(box, ONE, 4) == last + 1


def test_only_devices_of_an_account_use_it(box: Mailbox) -> None:
    with refused("not_member"):
        send(box, ONE, 1)
    roster(box, ONE, TWO)
    with refused("not_member"):
        send(box, THREE, 1)
    with refused("not_member"):
        roster(box, ONE, TWO, THREE, by=THREE)
    with refused("not_sender"):
        box.post(TWO.hex(), Letter(LetterKind.SEALED, ACCOUNT, ONE, 1, b"x").pack(), NOW)
    with refused("malformed"):
        box.post(ONE.hex(), b"junk", NOW)
    with refused("malformed"):
        box.post(ONE.hex(), os.urandom(MAX_LETTER + 1), NOW)
    with refused("malformed"):
        box.post(ONE.hex(), Letter(LetterKind.ROSTER, ACCOUNT, ONE, 1, b"xx").pack(), NOW)
    assert read(box, THREE) == []


def test_nobody_is_sent_mail_he_did_not_ask_for(box: Mailbox) -> None:
    roster(box, ONE, TWO)
    send(box, ONE, 1)
    assert read(box, TWO) == []  # named by ONE, never spoken
    assert box.waiting(TWO.hex(), 0) == 0
    send(box, TWO, 1)
    assert len(read(box, TWO)) == 1  # and what came since it was named is there
    assert box.waiting(TWO.hex(), 0) == 1
    with refused("in_account"):
        roster(box, TWO, by=TWO, account=OTHER)
    with refused("in_account"):
        send(box, TWO, 2, account=OTHER)


def test_a_removed_device_is_out_and_may_come_again(box: Mailbox) -> None:
    roster(box, ONE, TWO)
    send(box, TWO, 1)
    roster(box, ONE, TWO, gone=(TWO,))
    send(box, ONE, 1)
    with refused("not_member"):
        send(box, TWO, 2)
    assert read(box, TWO) == []
    roster(box, ONE, TWO)  # a stale word within the generation changes nothing
    with refused("not_member"):
        send(box, TWO, 2)
    roster(box, ONE, TWO, generation=2)
    late = send(box, ONE, 2)
    send(box, TWO, 2)
    assert read(box, TWO) == [late]


def test_a_removed_device_holds_nothing_up(box: Mailbox) -> None:
    roster(box, ONE, TWO, THREE)
    send(box, TWO, 1), send(box, THREE, 1)
    last = send(box, ONE, 1)
    read(box, TWO, last)
    assert box.standing(ACCOUNT.hex()).letters == 3
    roster(box, ONE, TWO, THREE, gone=(THREE,))
    assert box.standing(ACCOUNT.hex()).letters == 2  # what ONE has still to fetch


def test_limits(box: Mailbox) -> None:
    roster(box, ONE, TWO)
    body = os.urandom(MAX_LETTER - 45)
    count = MAX_ACCOUNT_BYTES // MAX_LETTER
    for n in range(1, count + 1):
        send(box, ONE, n, body)
    with refused("full"):
        send(box, ONE, count + 1)
    assert send(box, ONE, 3, body) > 0  # what is there already is there
    send_again = count + 1
    pages = read(box, ONE)
    assert pages == []
    roster(box, ONE, TWO, gone=(TWO,))
    assert send(box, ONE, send_again) > 0


def test_pages_are_bounded_and_in_order(box: Mailbox) -> None:
    roster(box, ONE, TWO)
    send(box, TWO, 1)
    sent = [send(box, ONE, n) for n in range(1, PAGE_LETTERS + 9)]
    first = read(box, TWO)
    assert first == sent[:PAGE_LETTERS]
    assert read(box, TWO, first[-1]) == sent[PAGE_LETTERS:]


def test_a_cloud_put_back_from_a_copy_starts_over(box: Mailbox) -> None:
    roster(box, ONE, TWO)
    send(box, TWO, 1)
    sent = send(box, ONE, 1)
    assert read(box, TWO, sent + 500) == [sent]
    assert box.standing(ACCOUNT.hex()).letters == 2


def test_a_slot_is_small_and_short_lived(box: Mailbox) -> None:
    slot, pairing = b"S" * 16, LetterKind.PAIRING
    send(box, ONE, 1, b"", slot, pairing)
    assert read(box, THREE) == []
    send(box, THREE, 1, b"request", slot, pairing)
    assert len(read(box, ONE)) == 1
    assert read(box, TWO) == []
    for n in range(2, MAX_SLOT_LETTERS):
        send(box, ONE, n, b"", slot, pairing)
    with refused("full"):
        send(box, ONE, 9, b"", slot, pairing)
    assert box.collect(ONE.hex(), 0, NOW + SLOT_SECONDS + 1) == []
    with refused("malformed"):
        send(box, ONE, 9, bytes(4097), slot, pairing)


def test_the_tables_hold_nothing_but_numbers_and_ciphertext(box: Mailbox) -> None:
    roster(box, ONE, TWO)
    send(box, ONE, 1, b"ciphertext")
    assert set(mail.c.keys()) == {
        "sequence", "address", "sender", "counter", "kind", "sha256", "size", "data", "received",
    }  # fmt: skip
    with box._database.read() as connection:
        rows = connection.execute(select(members)).all()
    assert {row.device_id for row in rows} == {ONE.hex(), TWO.hex()}
