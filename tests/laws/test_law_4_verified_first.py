"""Law 4: nothing of a release is decoded before its signed manifest's hash fits."""

from __future__ import annotations

import pytest

from device.sync.channel import ChannelClosed
from device.sync.client import SyncFailed
from protocol.messages import ReleaseBlob
from protocol.wire import decode, encode
from tests.laws.conftest import OpenWorld
from tests.laws.world import Wire


async def test_a_blob_changed_on_the_way_is_never_inflated(
    open_world: OpenWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    inflated: list[int] = []

    def watch(data: bytes, limit: int) -> bytes:
        inflated.append(len(data))
        raise AssertionError("decoded what was not verified")

    async with open_world() as w:
        wire = Wire()
        wire.change = flip_last_byte
        phone = await w.phone(wire=wire)
        monkeypatch.setattr("protocol.params.inflate", watch)
        report = await phone.sync_now()
        assert [outcome.adopted for outcome in report.outcomes] == [False, False]
        assert all("match" in outcome.reason for outcome in report.outcomes)
        assert inflated == []
        assert phone.shelf.have() == {"router": 0, "dedup": 0}


async def test_endless_data_ends_the_session_and_nothing_else(open_world: OpenWorld) -> None:
    async with open_world() as w:
        wire = Wire()
        wire.change = lengthen
        phone = await w.phone(wire=wire)
        with pytest.raises((SyncFailed, ChannelClosed)):
            await phone.sync_now()
        wire.change = None
        report = await phone.sync_now()
        assert [outcome.adopted for outcome in report.outcomes] == [True, True]


def flip_last_byte(frame: bytes) -> bytes:
    message = decode(frame)
    if not isinstance(message, ReleaseBlob):
        return frame
    data = message.data[:-1] + bytes([message.data[-1] ^ 1])
    return encode(message.model_copy(update={"data": data}))


def lengthen(frame: bytes) -> bytes:
    message = decode(frame)
    if not isinstance(message, ReleaseBlob):
        return frame
    return encode(message.model_copy(update={"total": message.total + 1000}))
