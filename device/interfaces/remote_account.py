"""What a running daemon serves of the account, name by name as `AccountCalls` has it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from device.account.calls import AccountView, CodeShown, Joined
from device.interfaces.wire import Wire

__all__ = ["ACCOUNT_CALLS", "RemoteAccount"]

PREFIX = "account."

ACCOUNT_CALLS: dict[str, tuple[Wire, Wire]] = {
    f"{PREFIX}show": (Wire(tuple[()]), Wire(AccountView)),
    f"{PREFIX}create": (Wire(tuple[str]), Wire(AccountView)),
    f"{PREFIX}show_code": (Wire(tuple[()]), Wire(CodeShown)),
    f"{PREFIX}device_came": (Wire(tuple[()]), Wire(Joined | None)),
    f"{PREFIX}join": (Wire(tuple[str, str]), Wire(None)),
    f"{PREFIX}joined": (Wire(tuple[()]), Wire(Joined | None)),
    f"{PREFIX}remove": (Wire(tuple[str]), Wire(None)),
    f"{PREFIX}leave": (Wire(tuple[()]), Wire(None)),
}
"""Name → (arguments, result), checked at both ends."""


class RemoteAccount:
    """The account of the phone that a daemon owns."""

    def __init__(self, call: Callable[..., Awaitable[Any]]) -> None:
        self._ask = call

    async def show(self) -> AccountView:
        """As `AccountCalls.show`."""
        return await self._call("show")  # type: ignore[no-any-return]

    async def create(self, name: str) -> AccountView:
        """As `AccountCalls.create`."""
        return await self._call("create", name)  # type: ignore[no-any-return]

    async def show_code(self) -> CodeShown:
        """As `AccountCalls.show_code`."""
        return await self._call("show_code")  # type: ignore[no-any-return]

    async def device_came(self) -> Joined | None:
        """As `AccountCalls.device_came`."""
        return await self._call("device_came")  # type: ignore[no-any-return]

    async def join(self, code: str, name: str) -> None:
        """As `AccountCalls.join`."""
        await self._call("join", code, name)

    async def joined(self) -> Joined | None:
        """As `AccountCalls.joined`."""
        return await self._call("joined")  # type: ignore[no-any-return]

    async def remove(self, device: str) -> None:
        """As `AccountCalls.remove`."""
        await self._call("remove", device)

    async def leave(self) -> None:
        """As `AccountCalls.leave`."""
        await self._call("leave")

    async def _call(self, name: str, *values: Any) -> Any:
        return await self._ask(f"{PREFIX}{name}", *values)
