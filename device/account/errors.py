"""What can go wrong between the devices of one owner: each says in one line what to do."""

from __future__ import annotations

from device.actors import DomainError

__all__ = [
    "AccountError",
    "AlreadyInAccount",
    "CodeUnusable",
    "EnvelopeRefused",
    "MailboxFull",
    "NoAccount",
    "NumberSpent",
    "UnknownDevice",
]


class AccountError(DomainError):
    """Something about the account of this phone."""


class NoAccount(AccountError):
    """This phone shares its memory with no other device."""

    def __init__(self) -> None:
        super().__init__(
            "this phone is in no account: `reverie-device account create` makes one, "
            "`account join CODE` enters one"
        )


class AlreadyInAccount(AccountError):
    """It is in an account already, and may be in one only."""

    def __init__(self) -> None:
        super().__init__("this phone is in an account already: `reverie-device account show`")


class UnknownDevice(AccountError):
    """No device of the account is called so."""

    def __init__(self) -> None:
        super().__init__("no device of the account has this id: see `reverie-device account show`")


class CodeUnusable(AccountError):
    """A pairing code mistyped, used, expired, or known to somebody else."""


class EnvelopeRefused(AccountError):
    """An envelope that is none, of nobody in the account, or changed on its way."""


class MailboxFull(AccountError):
    """The cloud holds all it may for this account until every device has collected."""

    def __init__(self) -> None:
        super().__init__(
            "the account's mailbox is full: sync the other devices, or remove one that is gone "
            "(`reverie-device account remove DEVICE`)"
        )


class NumberSpent(AccountError):
    """The cloud holds another envelope under this number: this phone was restored from a copy."""

    def __init__(self) -> None:
        super().__init__("this phone seems restored from a copy: it goes on with fresh numbers")
