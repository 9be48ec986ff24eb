"""The operators' pages in a real browser: seen, understood, and steered from."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from sqlalchemy import select

from cloud.admin.site import _LOOKS
from cloud.storage.tables import devices, events, releases, tokens
from tests.cloud.admin.house import HOSTILE, House, add_hostile_document

CHROMIUM = shutil.which("chromium") or ""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
SECTIONS = ["", *_LOOKS]
ON_A_PHONE = {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("no chromium here")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def calling(browser: Browser, house: House, **options: Any) -> Iterator[Page]:
    """A fresh profile at the login; fails on any complaint of the browser and foreign request."""
    context = browser.new_context(**({"locale": "en-US"} | options))
    page = context.new_page()
    faults: list[str] = []
    elsewhere: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on("dialog", lambda dialog: faults.append(f"a script ran: {dialog.message}"))
    page.on("request", lambda asked: elsewhere.append(asked.url))
    page.goto(house.url + "/admin/")
    yield page
    # What a refused login answers is logged by Chromium as a failed load; nothing else may be.
    assert [fault for fault in faults if "403" not in fault] == []
    assert [url for url in elsewhere if not url.startswith(house.url)] == []
    context.close()


def log_in(page: Page, token: str) -> None:
    page.get_by_label("Operator token").or_(page.get_by_label("操作员令牌")).fill(token)
    page.locator("main button").click()


@pytest.fixture(scope="module")
def viewer(house: House) -> str:
    """A token for every test that only looks."""
    add_hostile_document(house.database)
    return house.token("viewer", "viewer")


def test_only_a_token_that_is_good_opens_the_door(browser: Browser, house: House) -> None:
    with calling(browser, house) as page:
        expect(page).to_have_url(house.url + "/admin/login")
        log_in(page, "f" * 64)
        expect(page.get_by_role("alert")).to_contain_text("opens nothing")
        expect(page).to_have_title(re.compile("Log in"))
        log_in(page, house.token("door", "viewer"))
        expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
        assert house.operators.revoke("door", house.now)
        page.get_by_role("link", name="Rounds").click()
        expect(page).to_have_url(house.url + "/admin/login")


def test_logging_out_ends_the_session(browser: Browser, house: House, viewer: str) -> None:
    with calling(browser, house) as page:
        log_in(page, viewer)
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("status")).to_have_text("You are logged out.")
        page.goto(house.url + "/admin/usage")
        expect(page).to_have_url(house.url + "/admin/login")


@pytest.mark.parametrize(("locale", "scheme"), [("en-US", "light"), ("zh-CN", "dark")])
def test_every_page_is_whole_on_a_phones_screen(
    browser: Browser, house: House, viewer: str, locale: str, scheme: str
) -> None:
    look = {"locale": locale, "color_scheme": scheme, "viewport": ON_A_PHONE}
    with calling(browser, house, **look) as page:
        log_in(page, viewer)
        for section in SECTIONS:
            answer = page.goto(f"{house.url}/admin/{section}")
            assert answer is not None
            assert answer.status == 200, section
            assert page.locator("html").get_attribute("lang") == locale[:2]
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, section
            paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert paper == ("rgb(251, 250, 247)" if scheme == "light" else "rgb(23, 24, 26)")
            # What a screen reader goes by.
            assert page.locator("h1").count() == 1
            assert page.locator("table:not(:has(caption))").count() == 0
            assert page.locator("svg:not([aria-label])").count() == 0
            assert page.locator("[aria-current=page]").count() == 1
            assert page.locator("[style], script, iframe, img").count() == 0


def test_hostile_names_are_text(browser: Browser, house: House, viewer: str) -> None:
    with calling(browser, house) as page:
        log_in(page, viewer)
        for section in ("documents", "alarms", "events", "releases", "releases/router/2"):
            page.goto(f"{house.url}/admin/{section}")
            expect(page.locator("main")).to_contain_text(HOSTILE)
            assert page.locator("script").count() == 0


def test_the_language_is_switched_and_kept(browser: Browser, house: House, viewer: str) -> None:
    with calling(browser, house) as page:
        log_in(page, viewer)
        page.get_by_role("link", name="中文").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("概览")
        page.get_by_role("link", name="轮次").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("轮次")


def test_the_overview_tells_the_state_of_the_service(
    browser: Browser, house: House, viewer: str
) -> None:
    with calling(browser, house) as page:
        log_in(page, viewer)
        main = page.locator("main")
        expect(main).to_contain_text("134 phones enrolled")
        expect(main).to_contain_text("72 within a week")
        expect(main).to_contain_text("0 of at least 20")
        expect(main).to_contain_text("NOT private")
        expect(main).to_contain_text("no gain in trust")
        expect(main).to_contain_text("“Which layer answered” have moved")
        expect(main).to_contain_text("on its way 1 % of phones")


def test_every_estimate_has_its_whisker(browser: Browser, house: House, viewer: str) -> None:
    with calling(browser, house) as page:
        log_in(page, viewer)
        page.goto(house.url + "/admin/usage")
        expect(page.locator("h2")).to_have_count(8)
        charts = page.locator(".chart:has(.bar)")
        expect(charts).to_have_count(8)
        bars, whiskers = charts.locator(".bar"), charts.locator(".whisker")
        assert bars.count() == whiskers.count() == 32
        expect(page.locator("main")).to_contain_text("24 phones, noise of ±")
        # Drawn where the figures say: the bar ends inside its interval.
        page.locator("summary").first.click()
        row = page.locator("details").first.get_by_role("row").nth(1)
        share, interval = (row.get_by_role("cell").nth(n).inner_text() for n in (0, 1))
        low, high = (float(part.strip(" %")) for part in interval.split("–"))
        assert low <= float(share.strip(" %")) <= high
        bar, whisker = bars.first.bounding_box(), whiskers.first.bounding_box()
        assert bar is not None
        assert whisker is not None
        assert whisker["x"] <= bar["x"] + bar["width"] <= whisker["x"] + whisker["width"]
        assert whisker["width"] > 10
        over_time = page.locator(".chart:has(.line)")
        expect(over_time).to_have_count(8)
        assert over_time.first.locator(".whisker").count() == 4 * 3


def test_versions_adopted_over_time(browser: Browser, house: House, viewer: str) -> None:
    with calling(browser, house) as page:
        log_in(page, viewer)
        page.goto(house.url + "/admin/releases")
        chart = page.get_by_role("img", name="How phones took router")
        expect(chart.locator(".mark")).to_have_count(2)
        expect(chart.locator(".dot")).to_have_count(2 * 3)
        expect(chart.locator(".whisker")).to_have_count(2 * 3)
        accuracy = page.get_by_role("img", name="Accuracy of router by version")
        expect(accuracy.locator(".dot")).to_have_count(2)
        page.get_by_role("link", name="router v2").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("router, version 2")
        expect(page.locator("main")).to_contain_text("slices.zh")


def test_a_viewer_sees_no_buttons(browser: Browser, house: House, viewer: str) -> None:
    with calling(browser, house) as page:
        log_in(page, viewer)
        for section in ("releases", "devices"):
            page.goto(f"{house.url}/admin/{section}")
            assert page.locator("a.button").count() == 0
        answer = page.goto(house.url + "/admin/do/halt/router")
        assert answer is not None
        assert answer.status == 403
        expect(page.get_by_role("alert")).to_contain_text("may look but not steer")


def test_halt_withdraws_after_a_confirmation(browser: Browser, own_house: House) -> None:
    with calling(browser, own_house) as page:
        log_in(page, own_house.token("lin", "operator"))
        page.goto(own_house.url + "/admin/releases")
        page.get_by_role("link", name="Halt").click()
        expect(page.locator("main")).to_contain_text("will be withdrawn")
        expect(page.locator("main")).to_contain_text("back to version 1")
        page.get_by_role("link", name="Cancel").click()
        assert _status(own_house, "router", 2) == "staged"
        page.get_by_role("link", name="Halt").click()
        page.get_by_role("button", name="Halt").click()
        expect(page.get_by_role("status")).to_contain_text("Withdrawn.")
        assert _status(own_house, "router", 2) == "withdrawn"
        assert own_house.changes == 1
        newest = {
            model: version for model, version, _ in own_house.cloud.endpoint().snapshot.releases
        }
        assert newest["router"] == 1
        page.goto(own_house.url + "/admin/events")
        row = page.locator("tbody tr").first
        expect(row.or_(page.locator("tbody tr").nth(1)).first).to_contain_text("router")
        expect(page.locator("tbody")).to_contain_text("by lin")


def test_publishing_rejecting_and_everyone(browser: Browser, own_house: House) -> None:
    with calling(browser, own_house) as page:
        log_in(page, own_house.token("lin", "operator"))
        page.goto(own_house.url + "/admin/do/approve/dedup")
        page.get_by_role("button", name="Publish").click()
        expect(page.get_by_role("status")).to_contain_text("Approved")
        with own_house.database.read() as connection:
            here = (releases.c.model == "dedup") & (releases.c.version == 2)
            assert connection.scalar(select(releases.c.approved).where(here)) == own_house.now
        page.goto(own_house.url + "/admin/do/halt/dedup")
        page.get_by_role("button", name="Reject").click()
        expect(page.get_by_role("status")).to_contain_text("Rejected")
        assert _status(own_house, "dedup", 2) == "rejected"
        page.goto(own_house.url + "/admin/releases")
        page.get_by_role("link", name="To everyone").click()
        page.get_by_role("button", name="To everyone").click()
        expect(page.get_by_role("status")).to_contain_text("every phone")
        assert _status(own_house, "router", 2) == "published"
        page.get_by_role("link", name="Roll back").click()
        page.get_by_role("button", name="Roll back").click()
        assert _status(own_house, "router", 2) == "withdrawn"


def test_phones_are_paged_revoked_forgotten_and_let_in(browser: Browser, own_house: House) -> None:
    with calling(browser, own_house) as page:
        log_in(page, own_house.token("lin", "operator"))
        page.goto(own_house.url + "/admin/devices")
        expect(page.locator("tbody tr")).to_have_count(50)
        page.get_by_role("link", name="Next").click()
        page.get_by_role("link", name="Next").click()
        expect(page.locator("tbody tr")).to_have_count(134 - 100)
        chosen = page.locator("tbody tr .id").first.inner_text()
        row = page.locator("tbody tr").first
        row.get_by_role("link", name="Revoke").click()
        expect(page.locator("main")).to_contain_text(chosen)
        page.get_by_role("button", name="Revoke phone").click()
        expect(page.locator("main")).to_contain_text("133 phones enrolled · 1 revoked")
        page.goto(f"{own_house.url}/admin/do/forget/{chosen}")
        page.get_by_role("button", name="Forget phone").click()
        with own_house.database.read() as connection:
            gone = select(devices.c.device_id).where(devices.c.device_id == chosen)
            assert connection.execute(gone).first() is None
            told = connection.scalars(select(events.c.detail)).all()
            assert chosen not in repr(told)
        page.get_by_role("link", name="New enrolment token").click()
        page.get_by_label("Days it is good for").fill("3")
        page.get_by_role("button", name="New enrolment token").click()
        secret = page.locator("code").inner_text()
        assert re.fullmatch("[0-9a-f]{32}", secret)
        with own_house.database.read() as connection:
            assert secret not in repr(connection.execute(select(tokens)).all())
        assert own_house.cloud.config.open_enrolment


def _status(house: House, model: str, version: int) -> str:
    with house.database.read() as connection:
        here = (releases.c.model == model) & (releases.c.version == version)
        return str(connection.scalar(select(releases.c.status).where(here)))
