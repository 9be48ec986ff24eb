"""Law 5: nothing in clear at rest, on a real folder, in every log a phone keeps."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from device.actors import SystemClock
from device.conditions import ScriptedConditions
from device.phone import LOGS, Machine, Phone
from device.settings import Settings
from device.vault import FolderStorage, StaticProtector

SECRETS = ("thimbleberry-lane", "覆盆子巷")


async def test_no_file_of_a_phone_holds_a_word_of_its_user(tmp_path: Path) -> None:
    clock = SystemClock()
    storage = FolderStorage(tmp_path / "store")
    machine = Machine(
        clock=clock,
        bits=os.urandom,
        storage=storage,
        protector=StaticProtector(b"k" * 32),
        conditions=ScriptedConditions.always(clock.now),
        rng=np.random.Generator(np.random.Philox(key=1)),
    )
    phone = await Phone.open(machine, Settings())
    for secret in SECRETS:
        await phone.record(f"I live at {secret} 7 and I prefer {secret} to all else")
        answer = await phone.recall(f"where is {secret}?")
        await phone.feedback(answer, [hit.id for hit in answer.hits])
        await phone.feedback_pair(secret, secret, "duplicate")
    await phone.dream()
    await phone.close()
    storage.close()
    files = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert len(files) >= len(LOGS) // 2
    for path in files:
        kept = path.read_bytes()
        for secret in SECRETS:
            assert secret.encode() not in kept, path.name
            assert secret not in path.name
