"""The cluster's topology as processes: one of each is killed under load, and nothing is lost.

Two gateways over TLS, a ticking process whose actors are on a Ray cluster of three nodes,
PostgreSQL, an S3 server and a helper, each started and ended by `deploy/local-cluster.sh`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import OperationalError

from cloud.storage.tables import aggregates, devices, rounds, uploads
from privacy.budget import DEMO
from tests.cloud.crowd import Acknowledged, Crowd
from tests.cloud.postgres import INSTALL, programs
from tests.deploy.cluster.local import COMPONENTS, CREDENTIALS, LocalCluster, local_cluster

N_MIN = DEMO.terms("usage").n_min
PHONES = N_MIN + 4
THREADS, SEED = 3, 11
FRAMES = 40
"""Between two kills."""
PATIENCE_SECONDS, FINISH_SECONDS = 3.0, 180.0
LOOKS = 900
VICTIMS = ("gateway-a", "ray-b", "postgres", "ticker", "s3", "helper")

pytestmark = [
    pytest.mark.ray,
    pytest.mark.timeout(900),
    pytest.mark.skipif(programs() is None, reason=INSTALL),
]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalCluster]:
    """All of it, up, founded."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with local_cluster() as made:
        made.found()
        made.call("up")
        monkeypatch.setenv("SSL_CERT_FILE", str(made.authority))
        yield made


def test_one_of_each_is_killed_and_nothing_is_lost_or_doubled(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    assert set(cluster.states()) == set(COMPONENTS)
    before = cluster.pids()
    cluster.call("up")
    assert cluster.pids() == before, "what runs is left alone"
    kept = cluster.blobs()
    assert kept

    public = bytes.fromhex(cluster.said("gateway-a")["public_key"])
    helper = str(cluster.said("ticker")["helper_key"])
    crowd = Crowd(cluster.urls, public, helper, PHONES, THREADS, SEED, cluster.binding())
    crowd.start()
    try:
        for victim in VICTIMS:
            crowd.wait_steps(FRAMES, PATIENCE_SECONDS)
            cluster.call("kill", victim)
            assert cluster.states()[victim] == "ended"
            cluster.call("up")
            _end_round_if_full(cluster, crowd)
            assert crowd.faults == []
        _until_full(cluster, crowd)
        crowd.finish(FINISH_SECONDS)
    finally:
        crowd.quit()
    _close(cluster)
    _until_settled(cluster)
    assert crowd.faults == []
    summed = _check(cluster, crowd.acknowledged)
    assert summed >= 1
    assert cluster.blobs() >= kept

    phone = _real_phone(cluster, tmp_path)
    assert phone in {row.device_id for row in _rows(cluster, select(devices))}

    cluster.call("down")
    assert set(cluster.states().values()) == {"ended"}
    assert [pid for pid in before.values() if Path(f"/proc/{pid}/exe").exists()] == []
    figures = {"kills": list(VICTIMS), "acknowledged": len(crowd.acknowledged), "summed": summed}
    sys.stdout.write(json.dumps(figures) + "\n")


def _rows(cluster: LocalCluster, query: Any) -> Sequence[Any]:
    engine = cluster.engine()
    try:
        with engine.connect() as connection:
            return list(connection.execute(query).all())
    finally:
        engine.dispose()


def _close(cluster: LocalCluster) -> None:
    """Let the time of the open usage round be over."""
    due = (rounds.c.task == "usage") & (rounds.c.status == "open")
    engine = cluster.engine()
    try:
        with engine.begin() as connection:
            connection.execute(update(rounds).where(due).values(closes=0.0))
    except OperationalError:
        pass  # at the next turn, then
    finally:
        engine.dispose()


def _until_full(cluster: LocalCluster, crowd: Crowd) -> None:
    """Until enough phones have reported for a round that one can be summed."""
    patience = threading.Event()
    for _ in range(LOOKS):
        numbers = [
            row.round
            for row in _rows(cluster, select(rounds.c.round).where(rounds.c.task == "usage"))
        ]
        if any(crowd.in_round(number) >= N_MIN for number in numbers):
            return
        patience.wait(0.2)
    raise AssertionError(f"no round is full after {len(crowd.acknowledged)} reports")


def _end_round_if_full(cluster: LocalCluster, crowd: Crowd) -> None:
    query = select(rounds.c.round).where(rounds.c.task == "usage", rounds.c.status == "open")
    for (number,) in _rows(cluster, query):
        if crowd.in_round(number) >= N_MIN:
            _close(cluster)


def _until_settled(cluster: LocalCluster) -> None:
    """Until no usage round is being summed."""
    patience = threading.Event()
    for _ in range(LOOKS):
        found = _rows(
            cluster, select(rounds.c.status, rounds.c.closes).where(rounds.c.task == "usage")
        )
        if found and all(
            row.status != "closing" and row.closes != 0.0
            for row in found
            if row.status in ("open", "closing")
        ):
            return
        patience.wait(0.2)
    raise AssertionError(f"stuck: {found}")


def _check(cluster: LocalCluster, acknowledged: list[Acknowledged]) -> int:
    """Acknowledged, held and summed are the same; gives how many rounds were summed."""
    held = {row.upload_id: row for row in _rows(cluster, select(uploads))}
    ended = {r.round: r for r in _rows(cluster, select(rounds).where(rounds.c.task == "usage"))}
    sums = {
        r.round: r for r in _rows(cluster, select(aggregates).where(aggregates.c.task == "usage"))
    }
    told = Counter(each.sent.round for each in acknowledged)
    assert len(acknowledged) == len({each.sent.upload_id for each in acknowledged})
    for each in acknowledged:
        row = held[each.sent.upload_id]
        assert (row.device_id, row.round) == (each.device, each.sent.round)
        if ended[row.round].status == "closed":
            assert row.counted == 1
    assert len(held) == len(acknowledged)
    for number, reports in told.items():
        status = ended[number].status
        assert status == "closed" or (status == "expired" and reports < N_MIN), (number, status)
    for number, row in sums.items():
        assert row.n == told[number]
    return len(sums)


def _real_phone(cluster: LocalCluster, folder: Path) -> str:
    """A phone as its owner runs it, over TLS with the cluster's authority; gives its id."""
    home = folder / "phone"
    device = [sys.executable, "-c", "from device.interfaces.cli import main; main()"]
    setting = ["--home", str(home)]
    environment = os.environ | {"SSL_CERT_FILE": str(cluster.authority)}
    for command in (
        ["init", *setting, "--cloud", cluster.urls[1], "--budget", "demo"],
        ["sync", *setting, "--now"],
    ):
        done = subprocess.run(
            [*device, *command], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    done = subprocess.run(
        [*device, "status", *setting, "--json"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return str(json.loads(done.stdout)["device_id"])
