"""Renewing what is in order costs a few looks, and nothing is missed by that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import delete, insert, select, update

from cloud.actors.publisher import LIFETIME, RENEWAL
from cloud.releases import listing
from cloud.releases.repository import LIFETIMES
from cloud.releases.tables import listed, role_files
from cloud.storage.tables import releases
from tests.cloud.test_rollout import Service
from tests.cloud.world import DAY, START

HOUR = 3_600.0


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path, 10)
    made.publish(1, START)
    made.publisher.renew(START)
    yield made
    made.close()


def versions(service: Service) -> dict[str, int]:
    with service.database.read() as connection:
        rows = connection.execute(select(role_files.c.role, role_files.c.version))
        return {row.role: row.version for row in rows}


def names(service: Service) -> list[str]:
    with service.database.read() as connection:
        return list(connection.scalars(select(listed.c.name)))


def test_nothing_is_gone_through_while_all_is_in_order(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone_through: list[float] = []
    real = listing.relist

    def relist(connection: object, repository: object, now: float) -> None:
        gone_through.append(now)
        real(connection, repository, now)  # type: ignore[arg-type]

    monkeypatch.setattr("cloud.actors.publisher.relist", relist)
    before = versions(service)
    for hour in range(1, 5):
        assert service.publisher.renew(START + hour * HOUR) == []
    assert gone_through == []
    assert versions(service) == before


def test_a_file_is_signed_anew_when_it_grows_old(service: Service) -> None:
    before = versions(service)
    due = START + LIFETIMES["timestamp"].renew_at
    service.publisher.renew(due - 1.0)
    assert versions(service) == before
    service.publisher.renew(due)
    assert versions(service)["timestamp"] == before["timestamp"] + 1


def test_a_manifest_is_renewed_in_time(service: Service) -> None:
    day = START
    while day < START + LIFETIME - RENEWAL:
        assert service.publisher.renew(day) == []
        day += DAY
    assert service.publisher.renew(day + 1.0) == ["dedup"]


def test_what_others_withdraw_is_listed_no_more(service: Service) -> None:
    assert names(service) == ["models/dedup/1"]
    with service.database.write() as connection:
        connection.execute(update(releases).values(status="withdrawn"))
    service.publisher.renew(START + HOUR)
    assert names(service) == []


def test_what_others_put_back_is_seen(service: Service) -> None:
    """As a database that is restored under a running process."""
    with service.database.write() as connection:
        rows = [dict(row) for row in connection.execute(select(role_files)).mappings()]
        connection.execute(delete(role_files).where(role_files.c.role == "timestamp"))
    service.publisher.renew(START + HOUR)
    assert set(versions(service)) == {row["role"] for row in rows}
    with service.database.write() as connection:
        connection.execute(delete(role_files))
        connection.execute(insert(role_files), rows)
    service.publisher.renew(START + 2 * HOUR)
    assert versions(service) == {row["role"]: row["version"] for row in rows}
