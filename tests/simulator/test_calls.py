from collections.abc import Sequence
from typing import Any

import pytest

from cloud.actors.runtime import InProcessRuntime
from cloud.gateway.batcher import BATCH_ITEMS, Batcher, Sharded
from cloud.gateway.core import GatewayCore
from simulator.calls import BATCHED, Call, Outcome, ask_each, joined


class _Actor:
    def __init__(self) -> None:
        self.asked: list[tuple[str, Any]] = []

    def lookups(self, names: list[str]) -> list[str]:
        self.asked.append(("lookups", list(names)))
        return [name.upper() for name in names]

    def commit(self, rows: list[int]) -> list[int]:
        if any(row < 0 for row in rows):
            raise ValueError("the whole batch fails")
        return [row + 1 for row in rows]

    def blob(self, name: str) -> str:
        self.asked.append(("blob", name))
        return f"<{name}>"


@pytest.fixture
def actor() -> _Actor:
    return _Actor()


@pytest.fixture
def ref(actor: _Actor) -> Any:
    return InProcessRuntime(inline=True).spawn("one", lambda: actor)


def test_batches_of_one_method_are_one_call_and_each_gets_its_own(ref: Any, actor: _Actor) -> None:
    calls = [
        Call(ref, "lookups", (["a"],)),
        Call(ref, "blob", ("x",)),
        Call(ref, "lookups", (["b", "c"],)),
        Call(ref, "blob", ("x",)),
    ]
    assert joined(calls, ask_each) == [
        (["A"], None),
        ("<x>", None),
        (["B", "C"], None),
        ("<x>", None),
    ]
    assert actor.asked == [("lookups", ["a", "b", "c"]), ("blob", "x"), ("blob", "x")]


def test_no_batch_grows_beyond_what_a_gateway_sends(ref: Any, actor: _Actor) -> None:
    calls = [Call(ref, "lookups", ([str(n), "x"],)) for n in range(BATCH_ITEMS)]
    outcomes = joined(calls, ask_each)
    assert [value for value, _ in outcomes] == [[str(n), "X"] for n in range(BATCH_ITEMS)]
    assert [len(items) for _, items in actor.asked] == [BATCH_ITEMS, BATCH_ITEMS]


def test_a_batch_that_fails_fails_all_who_shared_it(ref: Any) -> None:
    calls = [Call(ref, "commit", ([1],)), Call(ref, "commit", ([-1],)), Call(ref, "blob", ("x",))]
    first, second, third = joined(calls, ask_each)
    assert isinstance(first[1], ValueError)
    assert first == second
    assert third == ("<x>", None)


def test_two_actors_share_no_batch() -> None:
    sent: list[Sequence[Call]] = []

    def keep(calls: Sequence[Call]) -> list[Outcome]:
        sent.append(calls)
        return [(call.args[0], None) for call in calls]

    runtime = InProcessRuntime(inline=True)
    one, other = runtime.spawn("one", _Actor), runtime.spawn("other", _Actor)
    calls = [Call(one, "lookups", (["a"],)), Call(other, "lookups", (["b"],))]
    assert joined(calls, keep) == [(["a"], None), (["b"], None)]
    assert len(sent) == 1
    assert len(sent[0]) == 2


def test_what_is_joined_is_what_a_gateway_batches(ref: Any) -> None:
    gateway = GatewayCore(ref, ref, ref, ref, bytes, partials=ref)
    parts = [part for part in vars(gateway).values() if isinstance(part, Batcher | Sharded)]
    batchers = [one for part in parts for one in getattr(part, "_shards", [part])]
    assert {batcher._method for batcher in batchers} == BATCHED
