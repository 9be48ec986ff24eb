"""What the parts of a phone may ask of its account."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from device.account.calls import AccountCalls

__all__ = ["AccountHolder"]


class AccountHolder:
    """Mixed into parts of `Phone`, which gives both."""

    @property
    def account(self) -> AccountCalls:
        """The owner's other devices; asking loads what an account takes."""
        raise NotImplementedError

    @property
    def _in_account(self) -> bool:
        """Whether there ever was an account; without one `account` need not be asked."""
        raise NotImplementedError
