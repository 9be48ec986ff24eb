"""The release repository: what is listed is signed, in one transaction, and phones can follow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from cloud.randomness import SeededBits
from cloud.releases.keys import KeysMissing, RoleKeys
from cloud.releases.repository import LIFETIMES, Repository, majority
from cloud.releases.showing import Showing, Staged
from cloud.storage import Database
from protocol.metadata import MetadataRefused, Role
from protocol.release import in_cohort
from protocol.trust import MAX_FILES, MAX_UPDATE, TrustedSet
from tests.cloud.world import DAY, START, database_in

NAME, FILE = "models/router/1", b"a manifest"


@dataclass
class House:
    """One repository on disk."""

    database: Database
    roles: RoleKeys
    bits: SeededBits

    @property
    def repository(self) -> Repository:
        """A new object each time, as after a restart."""
        return Repository(self.roles)

    def sign(self, now: float) -> list[Role]:
        with self.database.write() as connection:
            return self.repository.sign(connection, now)

    def put(self, data: bytes, now: float, name: str = NAME) -> None:
        with self.database.write() as connection:
            self.repository.put(connection, name, data)
            self.repository.sign(connection, now)

    def showing(self) -> Showing:
        with self.database.read() as connection:
            return Showing(files=tuple(self.repository.files(connection)))

    def sync(self, trusted: TrustedSet, now: float) -> int:
        """What a phone does; how many files it was sent."""
        files = self.showing().metadata_for(trusted.versions())
        trusted.update(files, now)
        return len(files)

    def pinned(self) -> TrustedSet:
        with self.database.read() as connection:
            first = self.repository.first_root(connection)
        return TrustedSet({}, sha256(first).hexdigest())


@pytest.fixture
def house(each_database: str, tmp_path: Path) -> Iterator[House]:
    bits = SeededBits(3, "keys")
    roles = RoleKeys(tmp_path / "keys", tmp_path / "offline")
    roles.ensure(bits, root_keys=3)
    database = Database(database_in(tmp_path))
    yield House(database, roles, bits)
    database.close()


def allows(trusted: TrustedSet, data: bytes, name: str = NAME) -> bool:
    return trusted.allows(name, sha256(data).digest(), len(data))


def test_a_phone_follows_what_is_listed(house: House) -> None:
    house.put(FILE, START)
    phone = house.pinned()
    assert house.sync(phone, START) == 4
    assert allows(phone, FILE)
    assert house.sync(phone, START) == 0
    house.put(b"another", START + 1)
    assert house.sync(phone, START + 1) == 3
    assert allows(phone, b"another")
    assert not allows(phone, FILE)
    with house.database.write() as connection:
        house.repository.drop(connection, NAME)
        house.repository.sign(connection, START + 2)
    house.sync(phone, START + 2)
    assert not phone.targets()


def test_signing_again_signs_nothing(house: House) -> None:
    assert house.sign(START) == ["targets", "snapshot", "timestamp"]
    before = house.showing()
    assert house.sign(START + 10) == []
    house.put(FILE, START + 20)
    house.put(FILE, START + 30)
    versions = {role: version for role, version, _ in house.showing().files}
    assert versions == {"root": 1, "timestamp": 2, "snapshot": 2, "targets": 2}
    assert before != house.showing()


def test_ticks_keep_every_role_alive_for_two_years(house: House) -> None:
    house.put(FILE, START)
    phone = house.pinned()
    late = house.pinned()
    house.sync(phone, START)
    now, sent = START, 0
    while now < START + 2 * 365 * DAY:
        now += 5 * DAY
        house.sign(now)
        sent += house.sync(phone, now)
        assert allows(phone, FILE)
    assert sent < 2 * 365 / 5 * 1.7, "mostly a timestamp, now and then a snapshot"
    assert phone.versions()["root"] == 3
    house.sync(late, now)
    assert late.state == phone.state


def test_a_cloud_that_was_down_for_long_leaves_phones_frozen_until_it_is_back(house: House) -> None:
    house.put(FILE, START)
    phone = house.pinned()
    house.sync(phone, START)
    later = START + LIFETIMES["timestamp"].good_for
    with pytest.raises(MetadataRefused, match="freeze"):
        phone.update([], later)
    house.sign(later)
    house.sync(phone, later)
    assert allows(phone, FILE)


@pytest.mark.parametrize("role", ["root", "timestamp", "snapshot", "targets"])
def test_every_key_can_be_replaced_and_phones_follow(house: House, role: Role) -> None:
    house.put(FILE, START)
    phone = house.pinned()
    house.sync(phone, START)
    with house.database.write() as connection:
        old = house.repository.rotate(connection, role, house.bits, START + 1, keys=1)
    assert len(old) == (3 if role == "root" else 1)
    house.roles.discard(role, old)
    assert house.sync(phone, START + 1) == 4
    assert allows(phone, FILE)
    house.put(b"more", START + 2)
    house.sync(phone, START + 2)
    assert allows(phone, b"more")


def test_a_key_made_in_a_rotation_that_died_signs_nothing(house: House) -> None:
    house.put(FILE, START)
    phone = house.pinned()
    house.roles.make("timestamp", house.bits)
    house.sign(START + 2 * DAY)
    house.sync(phone, START + 2 * DAY)
    assert allows(phone, FILE)


def test_without_root_keys_all_goes_on_but_a_rotation(house: House, tmp_path: Path) -> None:
    house.put(FILE, START)
    online = Repository(RoleKeys(tmp_path / "keys", tmp_path / "nowhere"))
    with house.database.write() as connection:
        online.put(connection, NAME, b"more")
        assert online.sign(connection, START + 300 * DAY) == ["targets", "snapshot", "timestamp"]
        with pytest.raises(KeysMissing, match="--root"):
            online.rotate(connection, "targets", house.bits, START)


def test_a_lost_key_says_what_to_do(house: House) -> None:
    house.put(FILE, START)
    house.roles.discard("timestamp", house.roles.all("timestamp"))
    with pytest.raises(KeysMissing, match="key of timestamp"):
        house.sign(START + 2 * DAY)
    empty = Repository(RoleKeys(Path("/nonexistent")))
    with house.database.write() as connection:
        connection.exec_driver_sql("DELETE FROM role_files")
        with pytest.raises(KeysMissing, match="keys init"):
            empty.sign(connection, START)


def test_a_crash_before_the_commit_changes_nothing(house: House) -> None:
    house.put(FILE, START)
    before = house.showing()

    def publish_and_die() -> None:
        with house.database.write() as connection:
            house.repository.put(connection, NAME, b"another")
            house.repository.sign(connection, START + 1)
            raise OSError("power went out")

    with pytest.raises(OSError, match="power went out"):
        publish_and_die()
    assert house.showing() == before
    house.put(b"another", START + 2)
    phone = house.pinned()
    house.sync(phone, START + 2)
    assert allows(phone, b"another")


def test_a_phone_that_missed_many_roots_comes_up_in_several_updates(house: House) -> None:
    house.put(FILE, START)
    phone = house.pinned()
    house.sync(phone, START)
    for number in range(40):
        with house.database.write() as connection:
            house.repository.rotate(connection, "snapshot", house.bits, START + number)
    syncs = 0
    while phone.versions()["root"] < 41 or not phone.targets():
        files = house.showing().metadata_for(phone.versions())
        assert len(files) <= MAX_FILES
        assert sum(map(len, files)) <= MAX_UPDATE
        phone.update(files, START + 60)
        syncs += 1
    assert 2 < syncs < 6
    assert allows(phone, FILE)


def test_a_majority_of_root_keys_signs() -> None:
    assert [majority(n) for n in (1, 2, 3, 4, 5)] == [1, 2, 2, 3, 3]


def test_key_files_are_the_owners_alone(house: House, tmp_path: Path) -> None:
    files = [*(tmp_path / "keys").iterdir(), *(tmp_path / "offline").iterdir()]
    assert sorted(path.name.split(".")[0] for path in files) == [
        "root", "root", "root", "snapshot", "targets", "timestamp",
    ]  # fmt: skip
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_what_a_phone_is_shown_depends_on_its_stage_and_version() -> None:
    showing = Showing(
        newest=(("dedup", 1, b"d1"), ("router", 4, b"r4")),
        first=(("dedup", 1, b"d1"), ("router", 4, b"r4 for the first")),
        staged=(Staged("router", 5, 10, b"r5"),),
    )
    phones = [f"phone-{number}" for number in range(2000)]
    early = [phone for phone in phones if in_cohort(phone, "router", 5, 10)]
    assert 150 < len(early) < 250
    late = next(phone for phone in phones if phone not in early)
    assert showing.releases_for(early[0], {}, 2) == (b"d1", b"r5")
    assert showing.releases_for(late, {"dedup": 1}, 2) == (b"r4",)
    assert showing.releases_for(late, {"dedup": 1, "router": 4}, 2) == ()
    assert showing.releases_for(early[0], {"dedup": 1, "router": 4}, 2) == (b"r5",)
    assert showing.releases_for(early[0], {"dedup": 1}, 1) == (b"r4 for the first",)


def test_a_later_stage_holds_the_phones_of_an_earlier_one() -> None:
    phones = [f"phone-{number}" for number in range(3000)]
    stages = [{p for p in phones if in_cohort(p, "router", 7, percent)} for percent in (1, 10, 100)]
    assert stages[0] < stages[1] < stages[2] == set(phones)
    others = {p for p in phones if in_cohort(p, "router", 8, 1)}
    assert not others <= stages[0], "every version has other first phones"
