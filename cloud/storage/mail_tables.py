"""The tables of account mail: who is in an account and the sealed letters it holds.

The cloud keeps ciphertext, sizes and times: no key, no content, nothing about single memories.
Times are unix seconds UTC; ids of devices and accounts are hex.
"""

from __future__ import annotations

from sqlalchemy import Column, Float, Index, LargeBinary, String, Table, UniqueConstraint

from cloud.storage.columns import Whole
from cloud.storage.tables import CLOUD

__all__ = ["accounts", "mail", "members", "numbers"]

accounts = Table(
    "accounts",
    CLOUD,
    Column("account", String(32), primary_key=True),
    Column("created", Float, nullable=False),
)

#: A device as the account's own devices state it: the higher generation holds, then removed.
#: `accepted` is set by the device's own first letter: nobody receives mail he did not ask for.
#: `since` is where the mail stood when the device was added: what came before is not for it.
#: `acknowledged` is the sequence up to which the device has everything.
members = Table(
    "account_members",
    CLOUD,
    Column("account", String(32), primary_key=True),
    Column("device_id", String(32), primary_key=True),
    Column("generation", Whole, nullable=False),
    Column("removed", Whole, nullable=False, default=0),
    Column("accepted", Whole, nullable=False, default=0),
    Column("since", Whole, nullable=False, default=0),
    Column("acknowledged", Whole, nullable=False, default=0),
)
# Asked at every session: which account is this device in, and in which slots has it spoken?
Index("members_by_device", members.c.device_id)

#: One line of letters for all addresses, so that one number says how far a device has read. Numbers
#: are never used again (AUTOINCREMENT), or a device would pass over a letter. `address` is an
#: account or the slot of a pairing; `sha256` tells a repeated letter from another under its number.
mail = Table(
    "mail",
    CLOUD,
    Column("sequence", Whole, primary_key=True, autoincrement=True),
    Column("address", String(32), nullable=False),
    Column("sender", String(32), nullable=False),
    Column("counter", Whole, nullable=False),
    Column("kind", Whole, nullable=False),
    Column("sha256", LargeBinary(32), nullable=False),
    Column("size", Whole, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("received", Float, nullable=False),
    UniqueConstraint("address", "sender", "counter", name="one_letter_per_number"),
    sqlite_autoincrement=True,
)
Index("mail_by_address", mail.c.address, mail.c.sequence)
Index("mail_by_sender", mail.c.sender, mail.c.kind)

#: Newest number of each sender at each address, kept after its letters are pruned: a late repeat of
#: a pruned letter is still known.
numbers = Table(
    "mail_numbers",
    CLOUD,
    Column("address", String(32), primary_key=True),
    Column("sender", String(32), primary_key=True),
    Column("newest", Whole, nullable=False),
    Column("sha256", LargeBinary(32), nullable=False),
)
