"""What a fleet shows of itself: everything an auditor needs, and nothing of any device."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from cloud import transparency
from cloud.gateway.app import Root, make_app
from cloud.service import Cloud
from cloud.training.config import TRAINING
from cloud.training.dpsgd import spent_epsilon
from cloud.transparency import PATH, FleetUnavailable, open_fleet
from privacy.budget import DEMO
from privacy.receipts import open_receipt
from privacy.secagg.certificate import BatchCertificate, reports_digest
from protocol.session import UploadCommitted
from tests.cloud.world import DAY, START, Phone, connect, descriptors, usage_answers

N_MIN = DEMO.terms("usage").n_min


@pytest.fixture
async def summed(cloud: Cloud) -> Cloud:
    """A cloud with one closed usage round of real phones."""
    usage = descriptors(cloud.endpoint(), cloud.public_key)["usage"]
    for number in range(N_MIN):
        phone = Phone(number)
        line, _ = await connect(phone, cloud.endpoint())
        line.client.upload(number.to_bytes(16, "big"), phone.report(usage, usage_answers()))
        assert [type(each) for each in await line.exchange()] == [UploadCommitted]
    await cloud.tick(START + DAY)
    return cloud


@pytest.fixture
async def url(summed: Cloud) -> AsyncIterator[str]:
    root = Root(summed.public_key, "demo", open_enrolment=True)
    app = make_app(summed.endpoint(), root, lambda: START, summed.transparency)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def test_the_database_shows_what_the_books_hold(summed: Cloud) -> None:
    fleet = open_fleet(str(summed.config.state))
    assert summed.helper is not None
    assert fleet.cloud_key == summed.public_key.hex()
    assert fleet.helper_signing_key == summed.helper.signing.hex()
    assert fleet.budget == "demo"
    rounds = {(each.task, each.round): each for each in fleet.rounds}
    usage = rounds["usage", 1]
    said = BatchCertificate.open(usage.certificate, summed.helper.signing)
    assert (usage.status, usage.reports) == ("closed", said.count) == ("closed", N_MIN)
    assert said.reports_digest == reports_digest(usage.report_ids)
    assert (said.sigma, said.n_min, said.scale) == (usage.sigma, usage.n_min, usage.scale)
    assert rounds["router", 1].certificate == b""
    assert rounds["router", 1].report_ids == ()
    receipts = [open_receipt(blob, summed.public_key) for blob in fleet.receipts]
    assert len({receipt.device for receipt in receipts}) == N_MIN


async def test_releases_carry_what_they_were_trained_with(summed: Cloud) -> None:
    fleet = open_fleet(summed.config.database_url)
    assert [each.model for each in fleet.releases] == ["dedup", "router"]
    for each in fleet.releases:
        config = TRAINING[each.model]
        assert (each.noise_multiplier, each.sample_rate) == (
            config.noise_multiplier,
            config.sampling_rate,
        )
        assert each.steps == 2  # the tests' quick trainer
        assert each.epsilon == pytest.approx(spent_epsilon(config, each.steps))


async def test_the_page_says_the_same_without_naming_anyone(url: str, summed: Cloud) -> None:
    page = await asyncio.to_thread(open_fleet, url)
    books = open_fleet(str(summed.config.state))
    assert page.releases == books.releases
    assert page.receipts == ()
    assert all(each.report_ids == () for each in page.rounds)
    assert [each.certificate for each in page.rounds] == [each.certificate for each in books.rounds]
    assert (page.cloud_key, page.budget) == (books.cloud_key, books.budget)
    assert await asyncio.to_thread(open_fleet, url + PATH) == page


async def test_no_device_is_on_the_page(summed: Cloud) -> None:
    text = (await summed.transparency()).decode()
    books = open_fleet(str(summed.config.state))
    canaries = {open_receipt(blob, summed.public_key).device for blob in books.receipts}
    for receipt in books.receipts:
        canaries |= {receipt.hex(), open_receipt(receipt, summed.public_key).sha256.hex()}
    canaries |= {each.hex() for row in books.rounds for each in row.report_ids}
    canaries |= {Phone(number).key.public.hex() for number in range(N_MIN)}
    canaries |= {number.to_bytes(16, "big").hex() for number in range(1, N_MIN)}
    assert len(canaries) == 6 * N_MIN - 1
    assert not [canary for canary in canaries if canary in text]
    shown = json.loads(text)["rounds"]
    assert [each["reports"] for each in shown if each["status"] != "closed"] == [0] * 5


async def test_a_round_too_small_to_be_summed_is_not_counted(cloud: Cloud) -> None:
    usage = descriptors(cloud.endpoint(), cloud.public_key)["usage"]
    line, _ = await connect(Phone(1), cloud.endpoint())
    line.client.upload(b"u" * 16, Phone(1).report(usage, usage_answers()))
    await line.exchange()
    await cloud.tick(START + DAY)
    (expired,) = [
        each
        for each in json.loads(await cloud.transparency())["rounds"]
        if (each["task"], each["round"]) == ("usage", 1)
    ]
    assert (expired["status"], expired["reports"], expired["estimates"]) == ("expired", 0, {})


async def test_the_page_follows_the_ticks(cloud: Cloud) -> None:
    before = await cloud.transparency()
    assert await cloud.transparency() is before
    await cloud.tick(START + 2 * DAY)
    assert await cloud.transparency() != before


async def test_looking_writes_nothing(summed: Cloud, tmp_path: Path) -> None:
    await summed.stop()
    copy = tmp_path / "copy.db"
    shutil.copy(summed.config.state / "cloud.db", copy)
    before = copy.read_bytes()
    open_fleet(str(copy))
    assert copy.read_bytes() == before


def test_what_is_no_fleet_is_one_clear_line(tmp_path: Path) -> None:
    junk = tmp_path / "junk.db"
    junk.write_bytes(b"this is no database" * 100)
    for source, line in (
        (str(tmp_path), "no cloud's database at"),
        (str(tmp_path / "missing.db"), "no cloud's database at"),
        (str(junk), "reverie-cloud serve --state"),
        ("nonsense://user:secret@host/x", "no database of a cloud"),
        ("http://127.0.0.1:9", "check the address"),
    ):
        with pytest.raises(FleetUnavailable, match=line) as refused:
            open_fleet(source)
        assert "secret" not in str(refused.value)
        assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda page: page | {"format": "another"},
        lambda page: page | {"rounds": {}},
        lambda page: page | {"cloud_key": 5},
        lambda page: page | {"rounds": [page["rounds"][0] | {"n_min": True}]},
        lambda page: page | {"rounds": [page["rounds"][0] | {"certificate": "zz"}]},
        lambda page: page | {"releases": [page["releases"][0] | {"steps": "2"}]},
        lambda page: [page],
        lambda page: "[" * 100_000,
    ],
)
async def test_a_malformed_page_is_refused(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, change: Any
) -> None:
    page = json.loads(await cloud.transparency())
    made = change(page)
    body = made.encode() if isinstance(made, str) else json.dumps(made).encode()
    monkeypatch.setattr(transparency, "_fetch", lambda _source: body)
    with pytest.raises(FleetUnavailable, match="not one a Reverie cloud shows"):
        open_fleet("http://anywhere")


async def test_an_endless_page_is_cut_off(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transparency, "LARGEST_PAGE", 100)
    with pytest.raises(FleetUnavailable, match="more than 100 bytes"):
        await asyncio.to_thread(open_fleet, url)
