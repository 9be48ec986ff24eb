"""Both servers die at every step, and the sums come out as if they had not.

A fuse burns at the n-th point: before a transaction, before its commit, after it, and before and
after every call to the helper; over real SQLite files of leader and helper. Then both start again
and everything is repeated. All noise comes from seeds, so the sum is known to the last unit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import Column, Connection, MetaData, Table, insert, select

from cloud.actors.helper import HelperActor
from cloud.actors.intake import Intake, UploadRow
from cloud.actors.rounds import Rounds
from cloud.actors.runtime import InProcessRuntime, Ref
from cloud.helper_client import EmbeddedHelper, HelperIdentity, HelperUnavailable
from cloud.identity import ensure_key, signing_key
from cloud.leading import sum_closing
from cloud.randomness import SeededBits, bits_for
from cloud.storage import Database, database
from cloud.storage.tables import CLOUD, HELPER, aggregates, releases, rounds
from privacy.budget import DEMO
from privacy.lattice import total_variance
from privacy.mechanisms import gaussian_table
from privacy.secagg import Helper, MemoryHelperStore
from privacy.secagg.certificate import BatchCertificate
from protocol.rounds import RoundDescriptor, open_descriptor
from protocol.update import Report, decode_report, encode_report
from tests.cloud.world import DAY, START, crafted, sqlite

PHONES = DEMO.terms("usage").n_min + 1
CLOSE = START + DAY
HELPER_SEED = 3


def _identity() -> HelperIdentity:
    helper = Helper(
        SeededBits(HELPER_SEED, "helper-key")(32), MemoryHelperStore(), os.urandom, DEMO
    )
    return HelperIdentity(helper.public_key, helper.signing_public_key, "demo")


PER_CALL = 24


HELPER_IDENTITY = _identity()


class Crash(BaseException):
    """Everything stops here: no handler may mistake it for an error."""


class Fuse:
    """Burns at its `at`-th point, once; 0 never. `laid` says whether points count just now."""

    def __init__(self) -> None:
        self.at, self.passed, self.laid = 0, 0, False

    def point(self) -> None:
        self.passed += self.laid
        if self.laid and self.passed == self.at:
            raise Crash


@pytest.fixture
def lay(monkeypatch: pytest.MonkeyPatch) -> Callable[[Fuse], None]:
    """Lay a fuse through every transaction of every database."""
    real, tune = Database.write, database._tune

    def careless(connection: Any, record: object) -> None:
        tune(connection, record)
        # A process that ends loses nothing the file system has: only power cuts need an fsync.
        connection.execute("PRAGMA synchronous=OFF")

    monkeypatch.setattr(database, "_tune", careless)

    def laid(fuse: Fuse) -> None:
        @contextmanager
        def write(self: Database, *, shared: bool = False) -> Iterator[Connection]:
            fuse.point()
            with real(self, shared=shared) as connection:
                yield connection
                fuse.point()  # all of it is undone
            fuse.point()  # durable, and nobody has been told

        monkeypatch.setattr(Database, "write", write)

    return laid


class MortalHelper(EmbeddedHelper):
    """A helper with fused calls. `alone`: it dies without the leader, who only sees silence."""

    def __init__(self, fleet: Fleet) -> None:
        super().__init__(fleet.helper)
        self._fleet = fleet

    async def query_key(self, task: str, number: int) -> bytes:
        return await self._fused(super().query_key, task, number)  # type: ignore[no-any-return]

    async def sum_masks(self, batch: Any) -> Any:
        return await self._fused(super().sum_masks, batch)

    async def _fused(self, call: Any, *args: Any) -> Any:
        fuse, alone = self._fleet.fuse, self._fleet.alone
        before, fuse.laid = fuse.laid, True
        try:
            fuse.point()
            answer = await call(*args)
            fuse.point()
        except Crash:
            if not alone:
                raise
            raise HelperUnavailable("it died") from None
        finally:
            fuse.laid = before
        return answer


class Fleet:
    """Leader and helper over their files in `folder`, as after a start."""

    def __init__(self, folder: Path, fuse: Fuse, *, alone: bool) -> None:
        self.fuse, self.alone = fuse, alone
        folder.mkdir(exist_ok=True)
        key = folder / "signing.key"
        ensure_key(key, SeededBits(1, "key"))
        url = sqlite(folder)
        self.runtime = InProcessRuntime(inline=True)
        spawn = self.runtime.spawn
        self.helper: Ref = spawn("helper", HelperActor, str(folder / "helper"), HELPER_SEED, "demo")
        self.intake = Intake(url, str(key))
        self.rounds = spawn("rounds", Rounds, url, str(key), HELPER_IDENTITY, "demo")
        self.public = signing_key(key).public
        self._url = url

    async def live(self, reports: Reports) -> None:
        """From nothing to summed rounds; what was done before is found done."""
        await self.open()
        for start in range(0, len(reports.rows), PER_CALL):
            self.intake.commit(reports.rows[start : start + PER_CALL])
        await self.rounds.ask("close_due", CLOSE)
        for _ in range(2):  # the second time for a helper that died alone
            await sum_closing(self.rounds, MortalHelper(self), CLOSE, lambda *_: None)
        await self.rounds.ask("open_due", CLOSE)

    async def open(self) -> None:
        """The first rounds, unless this fleet is past them."""
        books = Database(self._url)
        with books.write() as connection:
            if connection.scalar(select(releases.c.id)) is None:
                row = {"model": "router", "version": 1, "parent": 0, "status": "published"}
                row |= {"parameters": "", "sha256": b"", "metrics": {}, "epsilon": 0.0}
                connection.execute(insert(releases).values(**row, delta=0.0, created=START))
            begun = connection.scalar(select(rounds.c.round)) is not None
        books.close()
        if not begun:
            await self.rounds.ask("open_due", START)

    async def stop(self) -> None:
        self.intake.close()
        await self.runtime.stop()


class Reports:
    """What the phones send, the same in every run, and what of it may be counted."""

    def __init__(self, usage: RoundDescriptor, router: RoundDescriptor) -> None:
        self.rows: list[UploadRow] = []
        self.truth: dict[str, NDArray[np.int64]] = {}
        self._bits, self._rng = SeededBits(5, "phones"), np.random.default_rng(5)
        for descriptor in (usage, router):
            good = [self._noisy(descriptor) for _ in range(PHONES)]
            self.truth[descriptor.task] = np.sum(good, axis=0)
            for noisy in good:
                self._add(crafted(descriptor, noisy, self._bits))
        self._add(crafted(usage, self._noisy(usage), self._bits, forge=True))
        sealed = decode_report(crafted(usage, self._noisy(usage), self._bits))
        self._add(encode_report(Report("usage", 1, sealed.report_id, sealed.share, bytes(80))))
        self.rows.append(self.rows[0])  # a phone that never heard its acknowledgement

    def _noisy(self, descriptor: RoundDescriptor) -> NDArray[np.int64]:
        return self._rng.integers(-200, 250, descriptor.dimension)

    def _add(self, body: bytes) -> None:
        number = len(self.rows)
        self.rows.append(UploadRow(number.to_bytes(16, "big"), f"phone-{number}", body, START))


def _told(table: Table) -> list[Column[Any]]:
    """Every column but running numbers: rounds may be summed in another order."""
    return [column for column in table.columns if column.name != "id"]


def dump(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of both databases."""
    rows: dict[str, list[tuple[Any, ...]]] = {}
    for url, metadata in (
        (sqlite(folder), CLOUD),
        (sqlite(folder / "helper", "helper.db"), HELPER),
    ):
        rows |= _tables(url, metadata)
    return rows


def _tables(url: str, metadata: MetaData) -> dict[str, list[tuple[Any, ...]]]:
    books = Database(url, metadata)
    with books.read() as connection:
        found = {
            table.name: sorted(map(repr, connection.execute(select(*_told(table))).all()))
            for table in metadata.sorted_tables
        }
    books.close()
    return found  # type: ignore[return-value]


async def _run(folder: Path, fuse: Fuse, reports: Reports | None, *, alone: bool) -> Reports:
    """Live until nothing crashes any more. The phones' reports are made in the first run."""
    while True:
        fleet = None
        try:
            fleet = Fleet(folder, fuse, alone=alone)
            fuse.laid = not alone  # from here on: a start only makes what is missing
            reports = reports or await _reports(fleet)
            await fleet.live(reports)
            return reports
        except Crash:
            continue
        finally:
            fuse.laid = False
            if fleet is not None:
                await fleet.stop()


async def _reports(fleet: Fleet) -> Reports:
    await fleet.open()
    blobs = await fleet.rounds.ask("descriptors")
    usage, router = (open_descriptor(blob, fleet.public) for blob in blobs)
    assert isinstance(usage, RoundDescriptor)
    assert isinstance(router, RoundDescriptor)
    return Reports(usage, router)


@pytest.mark.parametrize("alone", [False, True], ids=["both die", "the helper dies"])
async def test_both_servers_die_at_every_step(
    tmp_path: Path, lay: Callable[[Fuse], None], alone: bool
) -> None:
    fuse = Fuse()
    lay(fuse)
    reports = await _run(tmp_path / "made", fuse, None, alone=alone)
    fuse.passed = 0
    await _run(tmp_path / "whole", fuse, reports, alone=alone)
    points, whole = fuse.passed, dump(tmp_path / "whole")
    _check_sums(tmp_path / "whole", reports)
    assert points > (12 if alone else 40)
    for at in range(1, points + 1):
        fuse.at, fuse.passed = at, 0
        await _run(tmp_path / str(at), fuse, reports, alone=alone)
        assert dump(tmp_path / str(at)) == whole, f"a crash at point {at} changed something"


def _check_sums(folder: Path, reports: Reports) -> None:
    """The totals are Σ distinct honest reports + the helper's noise, exactly."""
    books = Database(sqlite(folder))
    with books.read() as connection:
        rows = {row.task: row for row in connection.execute(select(aggregates))}
    assert sorted(rows) == ["router", "usage"]
    for task, row in rows.items():
        said = BatchCertificate.open(row.certificate, HELPER_IDENTITY.signing)
        bits = bits_for(HELPER_SEED, f"helper-noise|{said.batch_id.hex()}")
        noise = gaussian_table(total_variance(said.sigma, said.scale)).sample(said.dimension, bits)
        total = np.frombuffer(row.total, dtype="<i8")
        assert (total == reports.truth[task] + noise).all()
        assert row.n == said.count == PHONES
    books.close()
