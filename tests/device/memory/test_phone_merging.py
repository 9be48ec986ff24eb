"""A whole phone: its dream merges by the model on its shelf, and its owner can undo it."""

from __future__ import annotations

import pytest

from device.memory import Apply
from device.memory.changes import Change, ChangeKind
from device.memory.judgement import Verdict
from device.memory.merging import CannotUndo
from device.phone import Phone
from protocol.models import Weights
from tests.device.conftest import OpenPhone
from tests.device.memory.dedup_models import weights_for
from tests.device.memory.test_merging import item

TEA, AGAIN = item(1), item(2, "我喜欢喝茶呢")


async def phone_with_two(
    open_phone: OpenPhone, monkeypatch: pytest.MonkeyPatch, verdict: Verdict | None
) -> Phone:
    phone = await open_phone(archive_below=0.0, delete_below=0.0)
    await phone._structured.ask(Apply([Change(ChangeKind.CREATE, i) for i in (TEA, AGAIN)]))

    def weights(model: str) -> Weights | None:
        return None if verdict is None else weights_for(verdict)

    monkeypatch.setattr(phone.shelf, "weights", weights)
    return phone


async def test_a_dream_merges_by_the_model_on_the_shelf_and_every_merge_can_be_undone(
    open_phone: OpenPhone, monkeypatch: pytest.MonkeyPatch
) -> None:
    phone = await phone_with_two(open_phone, monkeypatch, Verdict.DUPLICATE)
    assert (await phone.dream()).merged == 1
    held = {i.id: i for i in await phone.items()}
    assert held[TEA.id].replaced_by == AGAIN.id
    assert await phone.undo_merge(TEA.id) == (AGAIN.id, TEA.id)
    held = {i.id: i for i in await phone.items()}
    assert (held[TEA.id], held[AGAIN.id]) == (TEA, AGAIN)
    assert (await phone.dream()).merged == 0
    with pytest.raises(CannotUndo):
        await phone.undo_merge(TEA.id)


@pytest.mark.parametrize("verdict", [None, Verdict.MERGE, Verdict.INDEPENDENT])
async def test_without_the_models_consent_both_are_kept(
    open_phone: OpenPhone, monkeypatch: pytest.MonkeyPatch, verdict: Verdict | None
) -> None:
    phone = await phone_with_two(open_phone, monkeypatch, verdict)
    assert (await phone.dream()).merged == 0
    assert {i.id for i in await phone.items()} == {TEA.id, AGAIN.id}
