"""Public documents on their way into a phone: whole, by increments, across restarts, refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import pytest

from device.sync import documents as room
from device.sync.documents import DocumentOutcome, Documents, take_documents
from protocol.documents import Document, describe, encode_delta, encode_whole
from protocol.identity import SigningKey
from protocol.publication import Delta, Publication, seal_publication
from protocol.release import BlobInfo
from tests.device.recall.rig import START, StillClock
from tests.device.recall.shelf import METRO, Shelf, document, facts
from tests.protocol.deltas import copying_delta

KEY = SigningKey(b"k" * 32)
DAY = 86_400.0


@dataclass
class Press:
    """A cloud that publishes one document; counts what is fetched."""

    contents: dict[int, bytes] = field(default_factory=dict)
    fetched: list[int] = field(default_factory=list)
    """Bases asked for."""
    tamper: Callable[[bytes, int], bytes | None] = lambda blob, _base: blob
    created: float = START

    def publish(self, texts: dict[str, str]) -> int:
        version = max(self.contents, default=0) + 1
        self.contents[version] = document(facts(texts))
        return version

    def description(self, version: int) -> Document:
        return describe("metro", version, self.contents[version])

    def blob(self, version: int, base: int) -> bytes:
        content = self.contents[version]
        if not base:
            return encode_whole(content)
        delta = copying_delta(self.contents[base], content)
        return encode_delta(delta, self.description(base))

    def publication(self, **changes: Any) -> Publication:
        version = max(self.contents)
        deltas = []
        for base in sorted(self.contents)[:-1]:
            blob = self.blob(version, base)
            deltas.append(Delta(base=base, size=len(blob), sha256=sha256(blob).digest()))
        whole = self.blob(version, 0)
        made = Publication(
            document=self.description(version),
            records=self.contents[version].count(b"\n"),
            whole=BlobInfo(size=len(whole), sha256=sha256(whole).digest()),
            deltas=tuple(deltas),
            created=self.created,
            expires=self.created + 90 * DAY,
        )
        return made.model_copy(update=changes)

    async def fetch(self, name: str, version: int, base: int, size: int) -> bytes | None:
        assert name == "knowledge/metro"
        self.fetched.append(base)
        blob = self.tamper(self.blob(version, base), base)
        assert blob is None or len(blob) == size
        return blob


@dataclass
class Phone:
    shelf: Shelf = field(default_factory=Shelf)
    clock: StillClock = field(default_factory=StillClock)

    async def sync(self, press: Press, key: SigningKey = KEY, **changes: Any) -> DocumentOutcome:
        return (await self.syncs(press, key, **changes))[0]

    async def syncs(
        self, press: Press, key: SigningKey = KEY, allows: Any = None, **changes: Any
    ) -> list[DocumentOutcome]:
        sealed = seal_publication(press.publication(**changes), key)
        documents = Documents(self.shelf.store, self.shelf.layer, self.clock)
        return await take_documents(
            [sealed], press.fetch, documents, cloud_key=KEY.public, allows=allows
        )

    def content(self) -> bytes:
        return self.shelf.store.content(self.shelf.store.held[0])


async def test_first_whole_then_by_increments_across_restarts() -> None:
    press, phone = Press(), Phone()
    press.publish(METRO)
    first = await phone.sync(press)
    assert (first.taken, first.version, first.base) == (True, 1, 0)
    for number in range(2, 6):
        phone.shelf.open()
        press.publish({**METRO, "fare": f"A metro ticket costs {number} yuan"})
        outcome = await phone.sync(press)
        assert (outcome.taken, outcome.version, outcome.base) == (True, number, number - 1)
        assert phone.content() == press.contents[number]
    assert press.fetched == [0, 1, 2, 3, 4]
    assert outcome.fetched < first.fetched


async def test_from_several_versions_back_in_one_step() -> None:
    press, phone = Press(), Phone()
    press.publish(METRO)
    await phone.sync(press)
    for number in range(6):
        press.publish({**METRO, "fare": f"A metro ticket costs {number} yuan"})
    outcome = await phone.sync(press)
    assert (outcome.version, outcome.base) == (7, 1)
    assert press.fetched == [0, 1]


async def test_what_is_here_already_is_not_fetched() -> None:
    press, phone = Press(), Phone()
    press.publish(METRO)
    await phone.sync(press)
    phone.shelf.open()
    assert await phone.syncs(press) == []
    assert press.fetched == [0]


async def test_a_base_that_no_delta_is_from_leads_to_the_whole() -> None:
    press, phone = Press(), Phone()
    press.publish(METRO)
    await phone.sync(press)
    # The cloud was set up again: another version 1, from which its delta starts.
    press.contents[1] = document(facts({**METRO, "fare": "Never published before"}))
    press.publish({**METRO, "fare": "A metro ticket costs 5 yuan"})
    outcome = await phone.sync(press)
    assert (outcome.taken, outcome.base) == (True, 0)
    assert press.fetched == [0, 1, 0]
    assert phone.content() == press.contents[2]


@pytest.mark.parametrize("what", ["damaged", "missing", "other bytes that hash right"])
async def test_a_bad_delta_leads_to_the_whole_in_the_same_session(what: str) -> None:
    press, phone = Press(), Phone()
    press.publish(METRO)
    await phone.sync(press)
    press.publish({**METRO, "fare": "A metro ticket costs 5 yuan"})
    changes: dict[str, Any] = {}
    if what == "damaged":
        press.tamper = lambda blob, base: blob[:-1] + b"\x00" if base else blob
    elif what == "missing":
        press.tamper = lambda blob, base: None if base else blob
    else:
        wrong = encode_delta(b"\xd6\xc3\xc4\x00\x00", press.description(1))
        delta = Delta(base=1, size=len(wrong), sha256=sha256(wrong).digest())
        changes = {"deltas": (delta,)}
        press.tamper = lambda blob, base: wrong if base else blob
    outcome = await phone.sync(press, **changes)
    assert (outcome.taken, outcome.base) == (True, 0)
    assert press.fetched == [0, 1, 0]
    assert phone.content() == press.contents[2]


async def test_a_tampered_whole_is_refused_and_tried_again_later() -> None:
    press, phone = Press(), Phone()
    press.publish(METRO)
    honest = press.tamper
    press.tamper = lambda blob, _base: blob[:-1] + b"\x00"
    outcome = await phone.sync(press)
    assert not outcome.taken
    assert "(hash)" in outcome.reason
    assert phone.shelf.layer.empty
    press.tamper = honest
    assert (await phone.sync(press)).taken


async def test_a_rollback_is_refused_even_after_a_drop() -> None:
    press, phone = Press(), Phone()
    press.publish(METRO)
    press.publish({**METRO, "x": "new"})
    await phone.sync(press)
    del press.contents[2]
    outcome = await phone.sync(press)
    assert "(rollback)" in outcome.reason
    phone.shelf.store.drop("metro")
    phone.shelf.store.want("metro")
    phone.shelf.open()
    assert "(rollback)" in (await phone.sync(press)).reason
    assert press.fetched == [0]


@pytest.mark.parametrize(("after", "reason"), [(90 * DAY, "(expired)"), (-2 * DAY, "(future)")])
async def test_neither_expired_nor_from_the_future(after: float, reason: str) -> None:
    press, phone = Press(), Phone()
    press.publish(METRO)
    phone.clock.at += after
    assert reason in (await phone.sync(press)).reason
    assert press.fetched == []


async def test_only_what_the_cloud_signed_and_the_targets_list() -> None:
    press, phone = Press(), Phone()
    press.publish(METRO)
    assert "(signature)" in (await phone.sync(press, SigningKey(b"s" * 32))).reason
    asked = []

    def allows(name: str, digest: bytes, size: int) -> bool:
        asked.append((name, digest, size))
        return len(asked) > 1

    (outcome,) = await phone.syncs(press, allows=allows)
    assert "(unlisted)" in outcome.reason
    assert press.fetched == []
    (outcome,) = await phone.syncs(press, allows=allows)
    assert outcome.taken
    sealed = seal_publication(press.publication(), KEY)
    assert asked[0] == ("knowledge/metro", sha256(sealed).digest(), len(sealed))


async def test_a_phone_has_room_for_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    press, phone = Press(), Phone()
    press.publish(METRO)
    await phone.shelf.take(METRO, name="other")
    monkeypatch.setattr(room, "MAX_HELD_RECORDS", 7)
    assert "drop another" in (await phone.sync(press)).reason
    monkeypatch.setattr(room, "MAX_HELD_RECORDS", 8)
    assert (await phone.sync(press)).taken


async def test_signed_but_no_facts_is_refused_once_and_for_all() -> None:
    press, phone = Press(), Phone()
    press.contents[1] = document([{"id": "a", "price": 4}])
    assert "(records)" in (await phone.sync(press)).reason
    assert await phone.syncs(press) == []
    assert press.fetched == [0]
    press.publish(METRO)
    assert (await phone.sync(press)).taken


async def test_what_the_owner_dropped_stays_away_until_it_is_wanted() -> None:
    press, phone = Press(), Phone()
    press.publish(METRO)
    await phone.sync(press)
    phone.shelf.store.drop("metro")
    press.publish({**METRO, "x": "new"})
    assert await phone.syncs(press) == []
    phone.shelf.store.want("metro")
    outcome = await phone.sync(press)
    assert (outcome.taken, outcome.base) == (True, 0)


async def test_the_link_breaking_in_the_middle_keeps_what_was_taken() -> None:
    press, phone = Press(), Phone()
    press.publish(METRO)

    async def broken(*_: Any) -> bytes:
        raise ConnectionError

    sealed = seal_publication(press.publication(), KEY)
    documents = Documents(phone.shelf.store, phone.shelf.layer, phone.clock)
    with pytest.raises(ConnectionError):
        await take_documents([sealed], broken, documents, cloud_key=KEY.public)
    assert (await phone.sync(press)).taken
    assert documents.have() == {"knowledge/metro": 1}


async def test_nothing_is_decoded_before_its_hash_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Law 4."""
    press, phone = Press(), Phone()
    press.publish(METRO)
    await phone.sync(press)
    press.publish({**METRO, "x": "new"})
    for name in ("inflate", "decode_delta"):
        monkeypatch.setattr(f"protocol.documents.{name}", None)
    press.tamper = lambda blob, _base: bytes([blob[0] ^ 1]) + blob[1:]
    assert "(hash)" in (await phone.sync(press)).reason
