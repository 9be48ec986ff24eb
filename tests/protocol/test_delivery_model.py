"""Exactly once from the sealed outbox to the durable row, in every interleaving of two faults.

The model has one phone with up to two reports, each sent in two chunks, and one gateway. A fault
is: the connection breaks upwards, downwards or both ways before any frame, a frame arrives twice,
either process is killed before any frame or at any of its writes. Every order of deliveries and of
up to two faults is run. A session ends in what phone and cloud hold durably; equal ends are gone on
from once, and the orders that lead to them are counted.

What holds in every one of them: a report is in the cloud at most once and always with the bytes it
entered the outbox with; it is in the outbox, or in the cloud, at every moment; the phone lets go of
it only after the commit and with its receipt; without further faults the next session ends with
everything handed in.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cloud.actors.intake import Outcome, UploadRow
from cloud.actors.partials import Offer, Piece
from cloud.gateway import connection
from device.sync.outbox import Outbox
from privacy import PrivateReport
from protocol import session_transfers
from protocol.update import Report, encode_report
from tests.protocol.delivery import FAULTS, Phone, Script, Session, WatchedStorage
from tests.protocol.delivery_stores import NOW, DatabaseStore, LocalReports, MemoryStore

ROUNDS = (1, 2)
CHUNKS = 2


@pytest.fixture(scope="module")
def reports() -> list[PrivateReport]:
    return LocalReports().make(*ROUNDS)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch, reports: list[PrivateReport]) -> None:
    """A report of a local round has some 40 bytes: cut it in two all the same."""
    size = len(Phone(WatchedStorage()).put(reports[0]))
    monkeypatch.setattr(connection, "LEAST_KEPT", 1)  # chunks are as small here
    monkeypatch.setattr(session_transfers, "MAX_CHUNK", -(-size // CHUNKS))


@dataclass
class Rest:
    """What is durable between two sessions."""

    storage: WatchedStorage
    store: MemoryStore

    def waiting(self) -> dict[bytes, bytes]:
        """The outbox as a restart would find it."""
        return {each.report_id: each.body for each in Phone(self.storage.copy()).outbox.waiting()}


@dataclass
class Exploration:
    """Every run from one beginning, equal rests once."""

    bodies: dict[bytes, bytes]
    sessions: int = 0
    frames: int = 0
    struck: set[str] = field(default_factory=set)
    """Kinds of faults that have been."""
    _counted: dict[object, int] = field(default_factory=dict)

    def orders(self, rest: Rest, faults: int) -> int:
        """In how many orders things can go from here, having run them all."""
        waiting = rest.waiting()
        key = (
            tuple(waiting),
            tuple(sorted(rest.store.rows)),
            tuple(sorted((upload, data) for (_, upload), (_, data) in rest.store.parts.items())),
            faults,
        )
        if key not in self._counted:
            self._counted[key] = sum(
                self.orders(after, left) if after.waiting() else 1
                for after, left in self._sessions(rest, faults)
            )
        return self._counted[key]

    def _sessions(self, rest: Rest, faults: int) -> Iterator[tuple[Rest, int]]:
        """Each way one session can go, and the faults left after it."""
        todo: list[list[int]] = [[]]
        while todo:
            script = Script(todo.pop(), faults)
            after = Rest(rest.storage.copy(), rest.store.copy())
            phone = Phone(after.storage, after.store)
            session = Session(phone, after.store, script)
            try:
                alive = session.run()
                self._check(rest, after, alive, faults - script.faults_left)
            except AssertionError as error:
                raise AssertionError(f"{error} after {script.told}") from error
            todo += script.untried()
            self.sessions += 1
            self.frames += session.frames
            self.struck |= {told.split(":")[1] for told in script.told}
            yield after, script.faults_left

    def _check(self, before: Rest, after: Rest, alive: Phone | None, struck: int) -> None:
        waiting, rows = after.waiting(), after.store.rows
        for report, body in waiting.items():
            assert self.bodies[report] == body, "a report changed in the outbox"
        for report, (_, body, _) in rows.items():
            assert self.bodies[report] == body, "a report changed on its way"
        assert set(waiting) | set(rows) == set(self.bodies), "a report is nowhere"
        assert len(set(after.store.taken)) == len(after.store.taken), "committed twice"
        assert set(before.store.rows) <= set(rows), "a committed report is gone"
        if alive is not None:
            held = {each.report_id: each.body for each in alive.outbox.waiting()}
            assert held == waiting, "the phone remembers another outbox than it keeps"
        if not struck:
            assert not waiting, "a session without a fault left a report behind"
            assert not after.store.parts, "a session without a fault left parts behind"


def _explored(
    reports: list[PrivateReport], faults: int, kind: type[MemoryStore] = MemoryStore
) -> tuple[Exploration, int]:
    storage = WatchedStorage()
    phone = Phone(storage)
    bodies = {report.report_id: phone.put(report) for report in reports}
    exploration = Exploration(bodies)
    rest = Rest(storage, kind(frozenset(ROUNDS)))
    return exploration, exploration.orders(rest, faults)


@pytest.mark.parametrize(("items", "faults", "least"), [(1, 2, 10_000), (2, 2, 50_000)])
def test_every_order_of_faults_delivers_each_report_once(
    reports: list[PrivateReport],
    items: int,
    faults: int,
    least: int,
    record_property: Callable[[str, object], None],
) -> None:
    exploration, orders = _explored(reports[:items], faults)
    record_property("orders", orders)
    sys.stdout.write(
        f"{items} reports, {faults} faults: {orders:,} orders of events in "
        f"{exploration.sessions:,} sessions, {exploration.frames:,} frames\n"
    )
    assert exploration.struck == FAULTS, "a kind of fault never struck"
    assert orders > least, "fewer orders than there are: something is not tried any more"


# The model must notice what it is there for.


class _Forgetful(MemoryStore):
    """Says committed and stores nothing."""

    def _commit(self, row: UploadRow) -> Outcome:
        outcome = super()._commit(row)
        self.rows.pop(row.upload_id, None)
        return outcome


class _Doubling(MemoryStore):
    """Takes every upload for a new one."""

    def known(self, offers: Sequence[tuple[str, bytes]]) -> list[bytes | None]:
        return [None] * len(offers)

    def _commit(self, row: UploadRow) -> Outcome:
        self.rows.pop(row.upload_id, None)
        return super()._commit(row)


class _Careless(MemoryStore):
    """Keeps other bytes than came."""

    def _append(self, piece: Piece) -> bool:
        key = (piece.offer.device_id, piece.offer.upload_id)
        self.parts[key] = (piece.offer, self._held(piece.offer) + bytes(len(piece.data)))
        return True


@pytest.mark.parametrize(
    ("kind", "seen"),
    [
        (_Forgetful, "acknowledged before it was durable"),
        (_Doubling, "committed twice"),
        (_Careless, "left a report behind"),
    ],
)
def test_a_cloud_that_breaks_a_promise_is_noticed(
    reports: list[PrivateReport], kind: type[MemoryStore], seen: str
) -> None:
    with pytest.raises(AssertionError, match=seen):
        _explored(reports[:1], 1, kind)


def test_a_phone_that_lets_go_in_ram_only_is_noticed(
    reports: list[PrivateReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    def settle(outbox: Outbox, report_id: bytes) -> None:
        outbox._waiting.pop(report_id, None)

    monkeypatch.setattr(Outbox, "settle", settle)
    with pytest.raises(AssertionError, match="remembers another outbox"):
        _explored(reports[:1], 0)


def test_an_upload_that_broke_off_goes_on_where_it_stopped(reports: list[PrivateReport]) -> None:
    storage, store = WatchedStorage(), MemoryStore(frozenset(ROUNDS))
    body = Phone(storage).put(reports[0])
    broken = Session(Phone(storage), store, Script([], 0))
    while not store.parts:
        broken.step()
    ((_, kept),) = store.parts.values()
    assert 0 < len(kept) < len(body)
    resumed = Session(Phone(storage), store, Script([], 0))
    resumed.run()
    assert resumed.offsets == [len(kept)]
    assert resumed.carried == len(body) - len(kept)
    assert store.taken == [reports[0].report_id]


# The store in RAM and the one over SQLite.


def _body(number: int, answer: int, report_id: int) -> bytes:
    share = (1 << answer).to_bytes(4, "little")
    return encode_report(Report("local_usage", number, bytes([report_id]) * 16, share, b""))


def _steps(rng: random.Random, answers: int) -> Iterator[tuple[str, list[Any]]]:
    """Calls with arguments drawn from so few that they meet again and again."""
    bodies = [
        _body(number, rng.randrange(answers), report) for number in (1, 2) for report in (1, 2)
    ]
    bodies += [b"no report at all", bodies[0][:-1]]
    devices, ids = ("d1", "d2"), (bytes(16), b"\x01" * 16)
    for _ in range(30):
        body, device, upload = rng.choice(bodies), rng.choice(devices), rng.choice(ids)
        offer = Offer(device, upload, len(body), sha256(body).digest())
        place = rng.choice((0, 10, 20))
        step: tuple[str, list[Any]] = rng.choice(
            (
                ("known", [(device, upload)]),
                ("commit", [UploadRow(upload, device, body, NOW)]),
                ("held", [offer]),
                ("append", [Piece(offer, place, body[place : place + 10], NOW)]),
                ("drop", [offer]),
            )
        )
        yield step


def test_the_store_in_ram_answers_as_the_one_over_sqlite(tmp_path: Path) -> None:
    said = Counter[str]()
    for seed in range(12):
        folder = tmp_path / str(seed)
        folder.mkdir()
        real, model = DatabaseStore(folder), MemoryStore(frozenset({1}))
        for name, items in _steps(random.Random(seed), 3):
            answers = getattr(real, name)(items)
            assert answers == getattr(model, name)(items), (seed, name, items)
            said[f"{name} {bool(answers[0])} {getattr(answers[0], 'code', '')}"] += 1
        real.close()
    assert {
        "commit True committed",
        "commit True stale_round",
        "commit True duplicate_report",
    } <= set(said)
    assert {"known True ", "known False ", "held True ", "append True ", "append False "} <= set(
        said
    )
