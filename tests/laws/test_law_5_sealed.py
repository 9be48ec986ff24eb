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
from tests.device.owner.reading import readable, readable_of_copies

KEY = b"k" * 32
SECRETS = ("thimbleberry-lane", "覆盆子巷")


async def open_folder(storage: FolderStorage) -> Phone:
    clock = SystemClock()
    machine = Machine(
        clock=clock,
        bits=os.urandom,
        storage=storage,
        protector=StaticProtector(KEY),
        conditions=ScriptedConditions.always(clock.now),
        rng=np.random.Generator(np.random.Philox(key=1)),
    )
    return await Phone.open(machine, Settings())


async def tell_secrets(phone: Phone) -> None:
    for secret in SECRETS:
        await phone.record(f"I live at {secret} 7 and I prefer {secret} to all else")
        answer = await phone.recall(f"where is {secret}?")
        await phone.feedback(answer, [hit.id for hit in answer.hits])
        await phone.feedback_pair(secret, secret, "duplicate")
    await phone.dream()


async def test_no_file_of_a_phone_holds_a_word_of_its_user(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path / "store")
    phone = await open_folder(storage)
    await tell_secrets(phone)
    await phone.close()
    storage.close()
    files = [path for path in (tmp_path / "store").rglob("*") if path.is_file()]
    assert len(files) >= len(LOGS) // 2
    for path in files:
        kept = path.read_bytes()
        for secret in SECRETS:
            assert secret.encode() not in kept, path.name
            assert secret not in path.name


async def test_no_key_that_remains_opens_what_was_forgotten(tmp_path: Path) -> None:
    """Every log is decrypted with every key the folder still holds, and old copies of its files
    with them too: the forgotten words are in none."""
    storage = FolderStorage(tmp_path / "store")
    phone = await open_folder(storage)
    await tell_secrets(phone)
    await phone.record("I keep green tea in the kitchen")
    copies = {name: storage.read(name) for name in storage.names()}
    held = b"".join(readable(storage).values())
    assert all(secret.encode() in held for secret in SECRETS)
    for secret in SECRETS:
        assert (await phone.forget_query(secret)).turns == 1
    await phone.close()
    left = b"".join(readable(storage).values())
    assert b"green tea" in left
    assert all(secret.encode() not in left for secret in SECRETS)
    tried, opened = readable_of_copies(storage, copies)
    assert tried > 0
    assert all(secret.encode() not in opened for secret in SECRETS)
    storage.close()
