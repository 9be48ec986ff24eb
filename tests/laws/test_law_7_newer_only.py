"""Law 7: only signed and listed, only newer, never worse on the phone's own probes."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from cloud.identity import signing_key
from device.observer import Adopted, Kept
from device.phone import Phone
from device.recall import Score
from device.sync.adoption import Models
from protocol.errors import ReleaseRefused
from protocol.identity import SigningKey
from protocol.release import open_manifest, seal_manifest
from tests.device.conftest import Notes
from tests.laws.conftest import OpenWorld


async def test_a_manifest_by_another_key_changes_nothing(open_world: OpenWorld) -> None:
    async with open_world() as w:
        core = w.cloud.endpoint()
        stranger = SigningKey.generate(os.urandom)
        resigned = tuple(
            (model, version, seal_manifest(open_manifest(blob, w.cloud.public_key), stranger))
            for model, version, blob in core.snapshot.releases
        )
        core.snapshot = replace(
            core.snapshot, showing=replace(core.snapshot.showing, newest=resigned)
        )
        phone = await w.phone()
        report = await phone.sync_now()
        assert phone.shelf.have() == {"router": 0, "dedup": 0}
        assert len([line for line in report.problems if "release" in line]) == 2


async def test_a_manifest_the_targets_do_not_list_changes_nothing(open_world: OpenWorld) -> None:
    """Whoever steals the key that signs rounds and manifests still cannot make phones install."""
    async with open_world() as w:
        core = w.cloud.endpoint()
        phone = await w.phone()
        await phone.sync_now()
        before = phone.shelf.have()
        assert phone.shelf.trusted()["root"] == 1
        stolen = signing_key(w.cloud.config.signing_key)
        forged = []
        for model, version, blob in core.snapshot.releases:
            newer = open_manifest(blob, stolen.public).model_copy(update={"version": version + 1})
            forged.append((model, version + 1, seal_manifest(newer, stolen)))
        core.snapshot = replace(
            core.snapshot, showing=replace(core.snapshot.showing, newest=tuple(forged))
        )
        report = await phone.sync_now()
        assert phone.shelf.have() == before
        assert len([line for line in report.problems if "unlisted" in line]) == 2


async def test_an_older_version_is_refused_and_the_newer_stays(open_world: OpenWorld) -> None:
    async with open_world() as w:
        phone = await w.phone()
        await phone.sync_now()
        _, _, blob = next(r for r in w.cloud.endpoint().snapshot.releases if r[0] == "router")
        later = open_manifest(blob, w.cloud.public_key).version + 1
        _pretend(phone, later)
        with pytest.raises(ReleaseRefused) as refused:
            phone.shelf.offer(blob, cloud_key=w.cloud.public_key, now=w.clock.now())
        assert refused.value.reason == "rollback"
        assert phone.shelf.version("router") == later


async def test_worse_on_own_probes_keeps_the_old_and_says_so(
    open_world: OpenWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_world() as w:
        notes = Notes()
        phone = await w.phone(observer=notes)
        await phone.sync_now()
        assert len(notes.of(Adopted)) == 2
        _pretend(phone, 0)
        scores = iter([Score(0.9, 2.0), Score(0.9, 1.0)])
        monkeypatch.setattr(type(phone), "_probe", lambda self, model, weights: next(scores))
        await phone.sync_now()
        assert len(notes.of(Kept)) == 1
        assert phone.shelf.version("router") == 0


class Picky:
    """Passes a memory probe with the router it knows, and with no other."""

    async def passed(self, models: Models) -> frozenset[str]:
        known = models.router is not None and models.router.version == 0
        return frozenset({"zh-trip/day"} if known else ())


async def test_losing_a_memory_probe_keeps_the_old_and_says_so(open_world: OpenWorld) -> None:
    async with open_world() as w:
        notes = Notes()
        phone = await w.phone(observer=notes, examiner=Picky())
        await phone.sync_now()
        assert len(notes.of(Adopted)) == 2
        _pretend(phone, 0)
        await phone.sync_now()
        (kept,) = notes.of(Kept)
        assert isinstance(kept, Kept)
        assert kept.reason.endswith("memory probes that the present parameters pass: zh-trip/day")
        assert phone.shelf.version("router") == 0


def _pretend(phone: Phone, version: int) -> None:
    """Have the phone believe that its router is of another version."""
    held = phone.shelf._held["router"]
    phone.shelf._held["router"] = replace(
        held, parameters=replace(held.parameters, version=version)
    )
