"""Section J: history never grants permission; payment, transfer and deletion always ask."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from device.agent.patterns import observed, usual_confirmation
from device.agent.permission import Ask, is_irreversible, permission
from device.agent.policy import AgentPolicy
from device.agent.records import Confirmation, Pattern
from tests.device.agent.parts import NOW

DANGEROUS = [
    "pay the bill", "Check out", "buy the ticket", "place an order", "top up my card", "subscribe",
    "transfer 200 to Ann", "send money to Bob", "withdraw cash", "wire the deposit",
    "delete the photo", "remove this contact", "erase everything", "uninstall the app",
    "empty the trash", "factory reset", "deactivate my account",
    "支付电费", "付款", "给小王转账", "发红包", "提现到银行卡", "充值话费", "下单", "购买会员",
    "删除这条短信", "清空购物车", "卸载微信", "恢复出厂设置", "注销账号",
]  # fmt: skip
HARMLESS = [
    "open the map",
    "send a message to Ann",
    "play some music",
    "打开地图",
    "给妈妈发消息",
    "设置闹钟",
]
POLICY = AgentPolicy()
states = st.sampled_from(list(Confirmation))


@given(action=st.sampled_from(DANGEROUS), history=st.lists(states, max_size=60))
def test_no_history_skips_confirmation_of_payment_transfer_deletion(
    action: str, history: list[Confirmation]
) -> None:
    pattern = Pattern("payment", "shop")
    for state in history:
        pattern = observed(pattern, steps=5, confirmation=state, hour=9, at=NOW)
    usual = usual_confirmation([pattern], POLICY)
    assert permission(action, usual).ask is Ask.ALWAYS


@given(
    before=st.text(max_size=20),
    action=st.sampled_from(["pay", "支付", "delete", "删除", "transfer", "转账"]),
    after=st.text(max_size=20),
    history=states,
)
def test_no_wording_around_it_hides_a_dangerous_word(
    before: str, action: str, after: str, history: Confirmation
) -> None:
    assert permission(f"{before} {action} {after}", history).ask is Ask.ALWAYS


@pytest.mark.parametrize("action", HARMLESS)
def test_history_may_only_spare_a_harmless_question(action: str) -> None:
    assert not is_irreversible(action)
    assert permission(action, Confirmation.NOT_NEEDED).ask is Ask.HINT
    for history in (Confirmation.CONFIRMED, Confirmation.REFUSED, Confirmation.NO_RECORD):
        assert permission(action, history).ask is Ask.ASK
