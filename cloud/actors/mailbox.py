"""Mail between the devices of one owner: opaque letters, kept until every device has them.

The cloud is a postbox here: it sees who is in an account, sizes and times. A device posts under
numbers of its own, so a repeated post is the same letter; asking for what follows a sequence says
that everything up to it arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    union_all,
    update,
)

from cloud.storage.database import Database, insert_once
from cloud.storage.mail_tables import accounts, mail, members, numbers
from protocol.errors import ProtocolError
from protocol.mail import Letter, LetterKind, read_letter, read_roster

__all__ = ["AccountStanding", "MailRefused", "Mailbox"]

MAX_ACCOUNT_BYTES = 4 << 20
MAX_ACCOUNT_LETTERS = 10_000
MAX_SLOT_LETTERS = 4
MAX_PAIRING_LETTERS = 16
"""Letters of one device that wait in slots, whichever: codes cost nothing to make up."""
SLOT_SECONDS = 900.0
"""How long the letters of a pairing are kept: a little longer than a code serves."""
PAGE_BYTES = 512 << 10
PAGE_LETTERS = 64
MAX_SEQUENCE = (1 << 63) - 1

_ASKED: Final[BindParameter[str]] = bindparam("devices", expanding=True)
_CONCERNED: Final = union_all(
    select(members.c.device_id, members.c.account).where(
        members.c.device_id.in_(_ASKED), members.c.removed == 0, members.c.accepted == 1
    ),
    select(mail.c.sender, literal("")).where(
        mail.c.sender.in_(_ASKED), mail.c.kind == int(LetterKind.PAIRING)
    ),
)
"""Devices that letters may wait for, with their account: members, and whoever is pairing."""


class MailRefused(Exception):
    """A letter that is not taken.

    ``code``: "malformed", "not_sender" (of another device), "not_member", "in_account" (the device
    is in another account), "full", "number" (the number stands for another letter).
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True)
class AccountStanding:
    """How full one account is."""

    letters: int
    bytes: int
    devices: int


class Mailbox:
    """Owner of accounts and their mail.

    Args:
        database_url: where they are kept.
    """

    def __init__(self, database_url: str) -> None:
        self._database = Database(database_url)

    def post(self, device_id: str, data: bytes, now: float) -> int:
        """Keep a letter of this device; its sequence, or 0 for one that was pruned or only spoke
        to the cloud. Durable on return; the same letter again changes nothing.

        Raises:
            MailRefused: see there.
        """
        try:
            letter = read_letter(data)
        except ProtocolError:
            raise MailRefused("malformed") from None
        if letter.sender.hex() != device_id:
            raise MailRefused("not_sender")
        with self._database.write() as connection:
            if letter.kind is LetterKind.ROSTER:
                _take_roster(connection, letter, now)
                return 0
            if letter.kind is LetterKind.SEALED:
                _accept(connection, letter)
            known = _known(connection, letter, sha256(data).digest())
            if known is not None:
                return known
            _check_room(connection, letter, len(data), now)
            return _keep(connection, letter, data, now)

    def collect(self, device_id: str, after: int, now: float) -> list[tuple[int, bytes]]:
        """Letters for this device above `after`, ascending, a page at a time.

        Everything up to `after` counts as arrived; what has arrived everywhere is dropped.
        """
        with self._database.write() as connection:
            _drop_old_slots(connection, now)
            newest = _newest(connection)
            account = _account_of(connection, device_id)
            if account is not None and after <= newest:
                _acknowledge(connection, account, device_id, after)
            # A number nobody gave: this cloud was put back from a copy. From the beginning, then.
            return _page(connection, device_id, account, after if after <= newest else 0)

    def waiting(self, device_id: str, after: int) -> int:
        """How many letters above `after` wait for this device."""
        return self.letters_waiting([(device_id, after)])[0]

    def letters_waiting(self, asked: Sequence[tuple[str, int]]) -> list[int]:
        """For each (device id, after): how many letters above `after` wait for that device."""
        devices = sorted({device_id for device_id, _ in asked})
        with self._database.read() as connection:
            # Most phones are in no account: one look says so for all of them.
            accounts: dict[str, str] = {}
            for device_id, account in connection.execute(_CONCERNED, {"devices": devices}):
                accounts[device_id] = accounts.get(device_id) or account
            return [
                _count(connection, device_id, accounts[device_id] or None, after)
                if device_id in accounts
                else 0
                for device_id, after in asked
            ]

    def standing(self, account: str) -> AccountStanding:
        """How full an account is."""
        with self._database.read() as connection:
            letters, size = _load(connection, account)
            inside = and_(members.c.account == account, members.c.removed == 0)
            devices = select(func.count()).select_from(members).where(inside)
            return AccountStanding(letters, size, int(connection.execute(devices).scalar_one()))

    def close(self) -> None:
        """Give the file handles back."""
        self._database.close()


def _take_roster(connection: Connection, letter: Letter, now: float) -> None:
    """Note who is in the account; the first roster of an unknown account makes it."""
    try:
        entries = read_roster(letter.rest)
    except ProtocolError:
        raise MailRefused("malformed") from None
    account, sender = letter.address.hex(), letter.sender.hex()
    named = {entry.device.hex(): entry for entry in entries}
    if sender not in named or named[sender].removed:
        raise MailRefused("not_member")
    elsewhere = _account_of(connection, sender)
    if elsewhere not in (None, account):
        raise MailRefused("in_account")
    if not insert_once(connection, accounts, {"account": account, "created": now}):
        _require_member(connection, account, sender)
    newest = _newest(connection)
    for device, entry in named.items():
        row: dict[str, int | str] = {
            "account": account,
            "device_id": device,
            "generation": entry.generation,
            "removed": int(entry.removed),
            "accepted": int(device == sender),
            "acknowledged": newest,
            "since": newest,
        }
        if not insert_once(connection, members, row):
            _merge_member(connection, row)
    accepted = and_(members.c.account == account, members.c.device_id == sender)
    connection.execute(update(members).where(accepted).values(accepted=1))
    _prune(connection, account)


def _merge_member(connection: Connection, row: dict[str, int | str]) -> None:
    own = and_(members.c.account == row["account"], members.c.device_id == row["device_id"])
    again = members.c.generation < row["generation"]
    connection.execute(
        update(members)
        .where(own, again)
        .values(
            generation=row["generation"],
            removed=row["removed"],
            accepted=row["accepted"],
            acknowledged=row["acknowledged"],
            since=row["since"],
        )
    )
    if row["removed"]:
        same = members.c.generation == row["generation"]
        connection.execute(update(members).where(own, same).values(removed=1, accepted=0))


def _accept(connection: Connection, letter: Letter) -> None:
    """A device's own letter says that it wants to be in the account."""
    account, sender = letter.address.hex(), letter.sender.hex()
    elsewhere = _account_of(connection, sender)
    if elsewhere is None:
        _require_member(connection, account, sender)
        own = and_(members.c.account == account, members.c.device_id == sender)
        connection.execute(update(members).where(own).values(accepted=1))
    elif elsewhere != account:
        raise MailRefused("in_account")


def _require_member(connection: Connection, account: str, device_id: str) -> None:
    own = and_(
        members.c.account == account, members.c.device_id == device_id, members.c.removed == 0
    )
    if connection.execute(select(members.c.device_id).where(own)).first() is None:
        raise MailRefused("not_member")


def _account_of(connection: Connection, device_id: str) -> str | None:
    """The account the device is in and has spoken in."""
    own = and_(
        members.c.device_id == device_id, members.c.removed == 0, members.c.accepted == 1
    )  # fmt: skip
    return connection.execute(select(members.c.account).where(own)).scalar()


def _known(connection: Connection, letter: Letter, digest: bytes) -> int | None:
    """The sequence of the very letter; 0 when it was pruned; None when its number is new."""
    address, sender = letter.address.hex(), letter.sender.hex()
    own = and_(mail.c.address == address, mail.c.sender == sender)
    query = select(mail.c.sequence, mail.c.sha256).where(own, mail.c.counter == letter.counter)
    found = connection.execute(query).first()
    if found is not None:
        if found.sha256 != digest:
            raise MailRefused("number")
        return int(found.sequence)
    last = and_(numbers.c.address == address, numbers.c.sender == sender)
    newest = connection.execute(select(numbers.c.newest, numbers.c.sha256).where(last)).first()
    if newest is None or newest.newest < letter.counter:
        return None
    if (newest.newest, newest.sha256) != (letter.counter, digest):
        raise MailRefused("number")
    return 0


def _check_room(connection: Connection, letter: Letter, size: int, now: float) -> None:
    address = letter.address.hex()
    if letter.kind is LetterKind.PAIRING:
        _drop_old_slots(connection, now)
        letters, _ = _load(connection, address)
        if letters >= MAX_SLOT_LETTERS or _pairing(connection, letter) >= MAX_PAIRING_LETTERS:
            raise MailRefused("full")
        return
    letters, held = _load(connection, address)
    if letters >= MAX_ACCOUNT_LETTERS or held + size > MAX_ACCOUNT_BYTES:
        raise MailRefused("full")


def _pairing(connection: Connection, letter: Letter) -> int:
    """How many of its sender's letters wait in slots."""
    own = and_(mail.c.sender == letter.sender.hex(), mail.c.kind == int(LetterKind.PAIRING))
    return int(connection.execute(select(func.count()).where(own)).scalar_one())


def _load(connection: Connection, address: str) -> tuple[int, int]:
    query = select(func.count(), func.coalesce(func.sum(mail.c.size), 0))
    letters, size = connection.execute(query.where(mail.c.address == address)).one()
    return int(letters), int(size)


def _keep(connection: Connection, letter: Letter, data: bytes, now: float) -> int:
    address, sender = letter.address.hex(), letter.sender.hex()
    digest = sha256(data).digest()
    row = {
        "address": address,
        "sender": sender,
        "counter": letter.counter,
        "kind": int(letter.kind),
        "sha256": digest,
        "size": len(data),
        "data": data,
        "received": now,
    }
    made = connection.execute(insert(mail).values(row)).inserted_primary_key
    assert made is not None
    if letter.kind is LetterKind.SEALED:
        newest = {"newest": letter.counter, "sha256": digest}
        key = {"address": address, "sender": sender}
        if not insert_once(connection, numbers, {**key, **newest}):
            own = and_(numbers.c.address == address, numbers.c.sender == sender)
            connection.execute(update(numbers).where(own).values(**newest))
    return int(made[0])


def _for_device(connection: Connection, device_id: str, account: str | None) -> ColumnElement[bool]:
    """Its account's letters and those of the slots it has spoken in, all but its own."""
    spoken = select(mail.c.address).where(
        mail.c.sender == device_id, mail.c.kind == int(LetterKind.PAIRING)
    )
    pairing = and_(mail.c.kind == int(LetterKind.PAIRING), mail.c.address.in_(spoken))
    mine: ColumnElement[bool] = pairing
    if account is not None:
        own = and_(members.c.account == account, members.c.device_id == device_id)
        since = connection.execute(select(members.c.since).where(own)).scalar_one()
        sealed = and_(mail.c.kind == int(LetterKind.SEALED), mail.c.address == account)
        mine = or_(pairing, and_(sealed, mail.c.sequence > since))
    return and_(mail.c.sender != device_id, mine)


def _count(connection: Connection, device_id: str, account: str | None, after: int) -> int:
    query = select(func.count()).select_from(mail)
    chosen = _for_device(connection, device_id, account)
    return int(connection.execute(query.where(chosen, mail.c.sequence > after)).scalar_one())


def _page(
    connection: Connection, device_id: str, account: str | None, after: int
) -> list[tuple[int, bytes]]:
    chosen = _for_device(connection, device_id, account)
    query = select(mail.c.sequence, mail.c.data).where(chosen, mail.c.sequence > after)
    page: list[tuple[int, bytes]] = []
    size = 0
    for row in connection.execute(query.order_by(mail.c.sequence).limit(PAGE_LETTERS)):
        size += len(row.data)
        if page and size > PAGE_BYTES:
            break
        page.append((int(row.sequence), bytes(row.data)))
    return page


def _newest(connection: Connection) -> int:
    """The highest sequence known to have been given: what is pruned was acknowledged by someone."""
    held = connection.execute(select(func.max(mail.c.sequence))).scalar_one()
    known = connection.execute(select(func.max(members.c.acknowledged))).scalar_one()
    return max(held or 0, known or 0)


def _acknowledge(connection: Connection, account: str, device_id: str, after: int) -> None:
    own = and_(
        members.c.account == account,
        members.c.device_id == device_id,
        members.c.acknowledged < after,
    )
    if connection.execute(update(members).where(own).values(acknowledged=after)).rowcount:
        _prune(connection, account)


def _prune(connection: Connection, account: str) -> None:
    """Drop what every device of the account has; nobody waits for a letter of his own."""
    inside = and_(members.c.account == account, members.c.removed == 0)
    query = select(members.c.acknowledged, members.c.device_id).where(inside)
    rows = connection.execute(query.order_by(members.c.acknowledged)).all()
    if not rows:
        return
    slowest, least = rows[0].device_id, rows[0].acknowledged
    others_least = rows[1].acknowledged if len(rows) > 1 else MAX_SEQUENCE
    here = mail.c.address == account
    theirs = and_(mail.c.sender != slowest, mail.c.sequence <= least)
    own = and_(mail.c.sender == slowest, mail.c.sequence <= others_least)
    connection.execute(delete(mail).where(here, or_(theirs, own)))


def _drop_old_slots(connection: Connection, now: float) -> None:
    old = and_(
        mail.c.kind == int(LetterKind.PAIRING), mail.c.received < now - SLOT_SECONDS
    )  # fmt: skip
    connection.execute(delete(mail).where(old))
