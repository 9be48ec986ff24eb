"""The leader's talk with the helper: ask about each round that is closing until it is settled."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import structlog

from cloud.actors.rounds import WAITING
from cloud.actors.runtime import Ref
from cloud.helper_client import HelperChanged, HelperPort, HelperUnavailable
from privacy.errors import BatchRefused

__all__ = ["sum_closing"]

log = structlog.get_logger("reverie.cloud")


async def sum_closing(
    rounds: Ref, helper: HelperPort, now: float, ended: Callable[[str, str], None]
) -> None:
    """Sum every closing round. `ended` is told (task, status) of each that came to its end.

    A helper that is silent, mistrusted, or in need of its operator delays a round and costs no
    report: the round stays closing, and the next call asks again.
    """
    for task, number, query_missing in await rounds.ask("closing"):
        try:
            if query_missing:
                key = await helper.query_key(task, number)
                await rounds.ask("keep_query", task, number, key)
            status = await _sum(rounds, helper, task, number, now)
        except HelperUnavailable as error:
            log.warning("helper_unavailable", task=task, round=number, reason=str(error))
        except HelperChanged as error:
            log.error("helper_changed", task=task, round=number, reason=str(error))
        else:
            if status != WAITING:
                ended(task, status)
                log.info("round_ended", task=task, round=number, status=status)


async def _sum(rounds: Ref, helper: HelperPort, task: str, number: int, now: float) -> str:
    """Ask, leaving out what the helper names, until there is an answer. Gives the last status."""
    status, before = "closing", b""
    while status == "closing":
        batch = await rounds.ask("batch", task, number)
        asked = batch.digest()
        if asked == before:
            return WAITING  # what the helper named is left out already: at the next tick, then
        before = asked
        try:
            answer = await helper.sum_masks(batch)
        except BatchRefused as refusal:
            told = (refusal.reason, list(refusal.report_ids), now)
            status = await rounds.ask("drop", task, number, *told)
            log.warning(
                "batch_refused", task=task, round=number, reason=told[0], advice=_advice(refusal)
            )
        else:
            status = cast(str, await rounds.ask("settle", task, number, asked, answer, now))
    return status


def _advice(refusal: BatchRefused) -> str:
    if refusal.reason == "floor":
        return (
            "the helper holds the floors of a stricter budget: run both with the same --budget; "
            "the reports are kept meanwhile"
        )
    if refusal.reason == "malformed":
        return "leader and helper speak different versions: the reports are kept meanwhile"
    return f"{len(refusal.report_ids)} reports are left out"
