"""What always asks the user, whatever was done before (003: history never grants permission)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from device.agent.records import Confirmation

__all__ = ["Ask", "Permission", "is_irreversible", "permission"]

_IRREVERSIBLE = re.compile(
    r"\b(?:pay(?:s|ing|ments?)?|paid|check ?out|purchas\w*|buy(?:s|ing)?|"
    r"order(?:s|ing)? (?:now|it)|"
    r"place (?:the |an |my )?order|subscrib\w*|donat\w*|tip(?:s|ping)?|top[- ]?up|bid(?:s|ding)?|"
    r"transfer\w*|remit\w*|wire|withdraw\w*|"
    r"send(?:s|ing)? (?:\w+ )?(?:money|funds|cash|payment)|"
    r"delet\w*|remov(?:e|es|ing|al)|eras\w*|wip(?:e|es|ing)|format(?:s|ting)?|uninstall\w*|"
    r"factory reset|reset all|empty (?:the )?(?:trash|bin)|discard\w*|clear (?:all|history|data)|"
    r"deactivat\w*|clos(?:e|ing) (?:my |the )?account|unfriend\w*)\b"
    r"|支付|付款|付钱|买单|结账|结算|下单|购买|买下|充值|打赏|捐|订阅|转账|转给|汇款|打款|提现|发红包|红包"
    r"|删|清空|清除|抹掉|抹除|卸载|格式化|恢复出厂|注销|移除|销号",
    re.IGNORECASE,
)


class Ask(StrEnum):
    """Whether an agent asks before it acts."""

    ALWAYS = "always"
    """Payment, transfer, deletion: no history changes it."""
    ASK = "ask"
    HINT = "hint"
    """The user has mostly not wanted to be asked; the agent may plan without it."""


@dataclass(frozen=True, slots=True)
class Permission:
    """The verdict, with the history it leaves out of account or hints from."""

    ask: Ask
    why: str


def is_irreversible(text: str) -> bool:
    """Whether words speak of paying, transferring or deleting, in Chinese or English."""
    return bool(_IRREVERSIBLE.search(text))


def permission(action: str, history: Confirmation = Confirmation.NO_RECORD) -> Permission:
    """Whether `action` (its words: goal, target, button) asks first.

    `history` is how the user met such requests before; it can only ever spare a harmless question.
    """
    if is_irreversible(action):
        return Permission(Ask.ALWAYS, "payment, transfer and deletion always ask")
    if history is Confirmation.NOT_NEEDED:
        return Permission(Ask.HINT, "the user has mostly not needed to confirm this")
    reasons = {
        Confirmation.CONFIRMED: "the user has confirmed this before, each time anew",
        Confirmation.REFUSED: "the user has refused this before",
        Confirmation.NO_RECORD: "nothing is known of this",
    }
    return Permission(Ask.ASK, reasons[history])
