"""A phone's sync with its cloud: what it takes, what it gives, and what it tells its owner."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from functools import partial
from typing import TYPE_CHECKING

from device.account.holder import AccountHolder
from device.actors import DomainError
from device.learning import ExampleStore
from device.machine import Machine
from device.memory import RawStats
from device.owner.records import Layers
from device.recall import Score, probe
from device.settings import Settings
from device.sync.adoption import Models, Outcome, Policy, Shelf
from device.sync.backoff import Backoff
from device.sync.bookkeeping import Bookkeeper
from device.sync.channel import ChannelClosed, CloudUnreachable, Connect
from device.sync.client import SyncClient, SyncFailed, SyncReport
from device.sync.contributions import Contributions
from device.sync.conversation import Conversation
from device.sync.documents import Documents
from device.sync.identity import Identity
from device.sync.outbox import Outbox
from device.sync.usage import Usage
from device.vault import VaultError
from privacy import Ledger, LedgerUnavailable
from protocol.models import SPECS, Weights
from protocol.params import Parameters, encode_full
from protocol.policy import POLICY_MODEL
from protocol.rounds import Round
from protocol.session import PlanReceived

if TYPE_CHECKING:
    from device.account.calls import OpenMailbox

__all__ = ["SYNC_TROUBLE", "NothingToRevert", "SyncCalls"]

SYNC_TROUBLE = (CloudUnreachable, ChannelClosed, SyncFailed, LedgerUnavailable, VaultError)
"""Failures of a sync after which the phone simply tries again later; a full disk is one."""


class NothingToRevert(DomainError):
    """There are no parameters before the present ones."""


class SyncCalls(AccountHolder):
    """Mixed into `Phone`, which opens what is named here."""

    settings: Settings
    identity: Identity
    outbox: Outbox
    shelf: Shelf
    usage: Usage
    examples: ExampleStore
    _machine: Machine
    _busy: asyncio.Lock
    _backoff: Backoff
    ledger: Ledger
    _books: Bookkeeper
    _documents: Documents
    _contributions: Contributions
    _layers: Layers
    _problems: tuple[str, ...]

    async def sync_now(self) -> SyncReport:
        """Sync because the owner asked; still through the privacy gate.

        Raises:
            CloudUnreachable, ChannelClosed, SyncFailed, LedgerUnavailable, VaultError: nothing is
            lost.
        """
        if self._machine.connect is None:
            raise CloudUnreachable("this phone has no cloud: run `reverie-device init --cloud URL`")
        async with self._busy:
            return await self._sync(self._machine.connect)

    async def _sync(self, connect: Connect) -> SyncReport:
        client = SyncClient(
            identity=self.identity,
            cloud_key=bytes.fromhex(self.settings.cloud_key),
            token=self.settings.token,
            connect=connect,
            outbox=self.outbox,
            shelf=self.shelf,
            documents=self._documents,
            probe=self._probe,
            examine=self._examine if self._machine.examiner else None,
            make_reports=self._make_reports,
            books=self._books,
            on_outcome=self._note_outcome,
            clock=self._machine.clock,
            bits=self._machine.bits,
            observer=self._machine.observer,
            errands=[self._carry_mail],
            mail=lambda: self.account.cursor if self._in_account else 0,
        )
        try:
            self.ledger.reopen()  # a disk that was full may have room again
            self._books.reconcile()
            report = await client.sync()
        except SYNC_TROUBLE as error:
            self._backoff.failed(self._machine.clock.now(), getattr(error, "retry_after", 0.0))
            self._problems = (str(error),)
            raise
        self._backoff.succeeded(self._machine.clock.now(), report.retry_after)
        self._problems = tuple(report.problems)
        return report

    async def _make_reports(self, rounds: list[Round], report: SyncReport) -> None:
        stats = await self._layers.raw.ask(RawStats())
        joined = self._contributions.make(rounds, records=stats.turns)
        report.rounds_joined.extend(joined.rounds)
        report.problems.extend(joined.problems)
        report.tell(self._books.news())

    def _probe(self, model: str, weights: Weights) -> Score:
        """Score on the built-in probes and on what this phone's owner has told it."""
        return probe(model, weights, self.examples.training_set(model))

    async def _examine(self, parameters: Parameters, policy: Policy) -> frozenset[str]:
        """Memory probes passed with these parameters, and their policy where they are a router's,
        beside those in use of the other models."""
        assert self._machine.examiner is not None
        held = {name: self.shelf.adopted(name) for name in SPECS}
        if parameters.model != POLICY_MODEL:
            policy = self.shelf.policy(POLICY_MODEL)
        models = Models(**{**held, parameters.model: parameters}, policy=policy)
        return await self._machine.examiner.passed(models)

    def _note_outcome(self, outcome: Outcome) -> None:
        if outcome.tried:
            self.usage.adoption(outcome.model, "adopted" if outcome.adopted else "refused")

    async def revert(self, model: str) -> int:
        """Put a model's parameters before the present ones back, and take this version no more.

        Returns the version now in use. Durable on return.

        Raises:
            NothingToRevert: no such model, or nothing came before what it has.
        """
        async with self._busy:
            outcome = self.shelf.revert(model) if model in SPECS else None
            if outcome is None:
                known = " or ".join(sorted(SPECS))
                raise NothingToRevert(
                    f"no older parameters of {known} lie here under {model!r}: see `status`"
                )
            return self.shelf.version(model)

    async def adopted(self) -> dict[str, tuple[int, str]]:
        """The parameters in use: model → (version, the full blob in base64)."""
        held = {model: self.shelf.adopted(model) for model in SPECS}
        return {
            model: (parameters.version, b64encode(encode_full(parameters)).decode())
            for model, parameters in held.items()
            if parameters is not None
        }

    def _reach_mailbox(self) -> OpenMailbox:
        from device.account.postbox import cloud_mailbox

        machine, settings = self._machine, self.settings
        assert machine.connect is not None
        return partial(
            cloud_mailbox,
            self.identity,
            self._books,
            machine.connect,
            cloud_key=bytes.fromhex(settings.cloud_key),
            token=settings.token,
            bits=machine.bits,
        )

    async def _carry_mail(self, talk: Conversation, _: PlanReceived, report: SyncReport) -> None:
        """Exchange with the owner's other devices while a session is open."""
        if not self._in_account or not self.account.exists:
            return
        from device.account.errors import AccountError
        from device.account.postbox import SessionMailbox

        try:
            done = await self.account.exchange(SessionMailbox(talk))
        except AccountError as error:
            report.tell(str(error))
            return
        report.tell(done.problem)
