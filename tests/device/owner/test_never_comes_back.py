"""Whatever an owner does in whatever order, and wherever the phone dies: what was forgotten never
comes back, nothing else is lost, and every memory knows where it comes from."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Any, TypeVar

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from device.conditions import ScriptedConditions
from device.memory import Archive
from device.memory.records import Item
from device.phone import Machine, Phone
from device.settings import Settings
from device.vault import MemoryStorage, StaticProtector
from tests.device.owner.reading import KEY, readable

T = TypeVar("T")
DAY = 86_400.0
WORDS = ("quince", "walnut", "saffron", "juniper")
SAID = (
    "I like {} very much",
    "I fly to {} next Wednesday",
    "move the {} trip to next Thursday",
    "cancel the {} trip",
    "I bought {} at the market yesterday",
    "My sister is called {}",
    "I live at {} lane 7",
    "我喜欢{}",
)


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.at = 1_780_000_000.0

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float, until: object = None) -> None:
        await asyncio.sleep(0)


class Owner(RuleBasedStateMachine):
    """One phone, and what its owner knows to have told it."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.storage, self.clock = MemoryStorage(), Clock()
        self.told: dict[str, str] = {}
        """Turns that should be held, each with its telling word."""
        self.phone: Phone

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @initialize()
    def open(self) -> None:
        machine = Machine(
            clock=self.clock,
            bits=os.urandom,
            storage=self.storage,
            protector=StaticProtector(KEY),
            conditions=ScriptedConditions.always(self.clock.now),
            rng=np.random.Generator(np.random.Philox(key=1)),
        )
        self.phone = self.run(Phone.open(machine, Settings(budget="demo")))

    @rule(word=st.sampled_from(WORDS), form=st.sampled_from(SAID))
    def tell(self, word: str, form: str) -> None:
        self.clock.at += 600.0
        turn = self.run(self.phone.record(form.format(word.title())))
        self.told[turn.id] = word

    @rule(days=st.sampled_from([0.0, 1.0, 40.0, 200.0]))
    def dream(self, days: float) -> None:
        self.clock.at += days * DAY
        self.run(self.phone.dream())

    @rule(word=st.sampled_from(WORDS))
    def ask_and_use(self, word: str) -> None:
        answer = self.run(self.phone.recall(f"what about {word}?"))
        assert all(turn in self.told for hit in answer.hits for turn in hit.turns)
        self.run(self.phone.feedback(answer, [hit.id for hit in answer.hits[:2]]))

    @rule(pick=st.randoms(use_true_random=False))
    def archive(self, pick: Any) -> None:
        held = self.run(self.phone.items())
        chosen = pick.sample(held, min(2, len(held)))
        self.run(self.phone._structured.ask(Archive([item.id for item in chosen])))

    @rule()
    def unarchive(self) -> None:
        cold = self.run(self.phone.archived())
        back = self.run(self.phone.unarchive([item.id for item in cold]))
        assert sorted(back) == sorted(item.id for item in cold)

    @precondition(lambda self: self.told)
    @rule(pick=st.randoms(use_true_random=False))
    def forget_a_turn(self, pick: Any) -> None:
        identifier = pick.choice(sorted(self.told))
        plan = self.run(self.phone.plan_forget([identifier]))
        self.run(self.phone.forget_items([identifier]))
        self._drop(plan.ids)

    @rule(pick=st.randoms(use_true_random=False))
    def forget_an_item(self, pick: Any) -> None:
        held = [*self.run(self.phone.items()), *self.run(self.phone.archived())]
        if held:
            plan = self.run(self.phone.plan_forget([pick.choice(held).id]))
            gone = self.run(self.phone.forget_planned(plan.ids))
            assert (gone.turns, gone.items) == (plan.turns, plan.items)
            self._drop(plan.ids)

    @rule(word=st.sampled_from(WORDS))
    def forget_a_word(self, word: str) -> None:
        plan = self.run(self.phone.plan_forget_query(word))
        self.run(self.phone.forget_query(word))
        self._drop(plan.ids)
        assert word not in self.told.values()
        self._nowhere(word)

    @rule()
    def forget_everything(self) -> None:
        self.run(self.phone.forget_everything())
        self.told.clear()

    @rule()
    def die_and_open_again(self) -> None:
        # Not closed: a killed process closes nothing.
        self.open()

    @rule(keep=st.integers(0, 3))
    def die_while_forgetting(self, keep: int) -> None:
        """The raw layer had forgotten all but the newest few turns when the phone died."""
        doomed = sorted(self.told, key=lambda turn: int(turn[4:]))[: max(len(self.told) - keep, 0)]
        self.phone._logs["raw"].erase([int(turn[4:]) for turn in doomed])
        self._drop(doomed)
        self.open()

    @invariant()
    def nothing_else_is_lost(self) -> None:
        turns = self.run(self.phone.turns())
        assert sorted(turn.id for turn in turns) == sorted(self.told)
        status = self.run(self.phone.status())
        assert status.memory.turns == len(self.told)

    @invariant()
    def every_memory_knows_where_it_comes_from(self) -> None:
        held, cold = self.run(self.phone.items()), self.run(self.phone.archived())
        ids = [item.id for item in (*held, *cold)]
        assert len(set(ids)) == len(ids)
        for item in (*held, *cold):
            assert item.turns
            assert all(turn in self.told for turn in item.turns)
            assert _words_of(item) <= set(self.told.values())

    @invariant()
    def forgotten_words_are_nowhere(self) -> None:
        for word in WORDS:
            if word not in self.told.values():
                self._nowhere(word)

    def _nowhere(self, word: str) -> None:
        for log, clear in readable(self.storage).items():
            assert word.encode() not in clear.lower(), (word, log)

    def _drop(self, ids: tuple[str, ...] | list[str]) -> None:
        for identifier in ids:
            self.told.pop(identifier, None)

    def teardown(self) -> None:
        self.run(self.phone.close())
        self.runner.close()


def _words_of(item: Item) -> set[str]:
    whole = " ".join([item.text, item.subject, item.object, item.place, *item.people]).lower()
    return {word for word in WORDS if word in whole}


TestOwner = Owner.TestCase
TestOwner.settings = settings(
    max_examples=12,
    stateful_step_count=18,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
