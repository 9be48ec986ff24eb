"""The phone's own page in a real browser: seen, searched, explained, erased."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

DEVICE = str(Path(sys.executable).with_name("reverie-device"))
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
TOKEN = "a-token-for-this-test-only"
SAID = [
    "My name is Lin and I live in Hangzhou",
    "I love spicy hotpot",
    "I am allergic to <b>peanuts</b>",
    "我下周三去上海出差",
]


def environment(home: Path) -> dict[str, str]:
    return os.environ | {"REVERIE_HOME": str(home), "REVERIE_WEB_TOKEN": TOKEN, "TZ": "UTC"}


def device(home: Path, *arguments: str) -> None:
    subprocess.run(
        [DEVICE, *arguments], env=environment(home), check=True, capture_output=True, timeout=120
    )


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("page") / "phone"
    device(home, "init", "--budget", "demo")
    chat = home.with_name("chat.jsonl")
    at = "2026-11-02T08:00:00Z"
    lines = [json.dumps({"at": at, "speaker": "user", "text": text}) for text in SAID]
    chat.write_text("\n".join(lines), encoding="utf-8")
    device(home, "import", str(chat))
    device(home, "dream", "--now")
    return home


@contextmanager
def serving(home: Path) -> Iterator[str]:
    """The page of the phone in `home`, served by its own process; yields its address."""
    process = subprocess.Popen(
        [DEVICE, "web"], env=environment(home), stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+/#token=\S+", line)
    assert found, line
    yield found[0]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode in (0, 130, -signal.SIGINT)


@pytest.fixture(scope="module")
def address(filled: Path) -> Iterator[str]:
    with serving(filled) as address:
        yield address


@pytest.fixture
def own_address(filled: Path, tmp_path: Path, address: str) -> Iterator[str]:
    """A phone of the test's own, to erase from."""
    home = tmp_path / "phone"
    shutil.copytree(filled, home, ignore=shutil.ignore_patterns("*.sock"))
    with serving(home) as own:
        yield own


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM:
        pytest.skip("no chromium here")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, address: str) -> Iterator[Page]:
    """The page in a fresh browser profile; fails on any script error or foreign request."""
    context = browser.new_context(locale="en-US", viewport={"width": 390, "height": 844})
    page = context.new_page()
    faults: list[str] = []
    elsewhere: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on("request", lambda asked: elsewhere.append(asked.url))
    page.goto(address)
    page.wait_for_selector("#rows li")
    yield page
    assert faults == []
    assert [url for url in elsewhere if not url.startswith("http://127.0.0.1:")] == []
    context.close()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    with opened(browser, address) as page:
        yield page


@pytest.fixture
def own_page(browser: Browser, own_address: str) -> Iterator[Page]:
    with opened(browser, own_address) as page:
        yield page


def test_everything_remembered_is_listed_and_filtered_by_kind(page: Page) -> None:
    page.get_by_role("button", name="Said", exact=True).click()
    expect(page.locator("#rows li")).to_have_count(len(SAID))
    expect(page.locator("#rows")).to_contain_text("<b>peanuts</b>")
    assert page.locator("#rows b").count() == 0, "a memory was read as markup"
    page.get_by_role("button", name="Preferences", exact=True).click()
    expect(page.locator("#rows")).to_contain_text("hotpot")
    expect(page.locator("#rows")).not_to_contain_text("Hangzhou")


def test_search_says_where_an_answer_is_from(page: Page) -> None:
    page.fill("#query", "what food do I love?")
    page.press("#query", "Enter")
    expect(page.locator("#rows li").first).to_contain_text("hotpot")
    expect(page.locator("#rows li").first).to_contain_text("from what you said")


def test_why_do_you_know_this(page: Page) -> None:
    page.get_by_role("button", name="Preferences", exact=True).click()
    page.get_by_role("button", name=re.compile("^Why do you know this.*hotpot")).first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("From what was said")
    expect(dialog).to_contain_text("user: I love spicy hotpot")


def test_deleting_one_asks_first_and_is_for_good(own_page: Page) -> None:
    own_page.get_by_role("button", name="Said", exact=True).click()
    erase = own_page.get_by_role("button", name=re.compile("^Delete: I love spicy hotpot"))
    erase.click()
    dialog = own_page.get_by_role("dialog")
    expect(dialog).to_contain_text("Delete this for good?")
    own_page.keyboard.press("Escape")
    expect(own_page.locator("#rows li")).to_have_count(len(SAID))
    erase.click()
    dialog.get_by_role("button", name="Delete").click()
    expect(own_page.locator("#note")).to_contain_text("erased for good")
    expect(own_page.locator("#rows li")).to_have_count(len(SAID) - 1)
    own_page.get_by_role("button", name="Preferences", exact=True).click()
    expect(own_page.locator("#rows")).not_to_contain_text("hotpot")


def test_deleting_everything(own_page: Page) -> None:
    own_page.get_by_role("main").get_by_role("button", name="Delete everything").click()
    own_page.get_by_role("dialog").get_by_role("button", name="Delete everything").click()
    expect(own_page.locator("#note")).to_contain_text("erased for good")
    expect(own_page.locator("#rows li")).to_have_count(0)


def test_by_keyboard_alone(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("hotpot")
    page.keyboard.press("Enter")
    expect(page.locator("#rows li").first).to_contain_text("hotpot")
    page.locator("#query").focus()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Why?":
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).not_to_be_visible()
    assert page.evaluate("document.activeElement.textContent") == "Why?", "focus came back"


def test_in_chinese(page: Page) -> None:
    page.select_option("#language", "zh")
    expect(page.locator("#memories")).to_have_text("记住了什么")
    assert page.evaluate("document.documentElement.lang") == "zh"
    page.reload()
    expect(page.locator("#memories")).to_have_text("记住了什么")


def test_fits_a_phones_screen(page: Page) -> None:
    for width in (320, 390, 1200):
        page.set_viewport_size({"width": width, "height": 800})
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"scrolls sideways at {width}"


def test_window_budget_models_and_key_are_shown(page: Page) -> None:
    expect(page.locator("#window")).to_contain_text("The window is")
    expect(page.locator("#budget")).to_contain_text("protects nobody")
    expect(page.locator("#facts")).to_contain_text("Model router")
    expect(page.locator("#facts")).to_contain_text("whoever copies the folder can read it")


def test_cold_start_preferences_on_the_page(own_page: Page) -> None:
    expect(own_page.locator("#exploring")).to_be_visible()
    own_page.fill("#told", "I dislike coriander")
    own_page.press("#told", "Enter")
    expect(own_page.locator("#note")).to_have_text("Remembered.")
    own_page.get_by_label("When is your birthday?").fill("12 May 1990")
    own_page.get_by_label("When is your birthday?").press("Enter")
    expect(own_page.get_by_label("When is your birthday?")).to_have_count(0)
    own_page.get_by_role("button", name="Preferences", exact=True).click()
    expect(own_page.locator("#rows")).to_contain_text("coriander")


def test_the_token_leaves_the_address_bar_and_nothing_is_served_without_it(
    page: Page, address: str
) -> None:
    assert "token" not in page.url
    base = address.partition("/#")[0]
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        request = urllib.request.Request(f"{base}/api/status", headers=headers)
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request, timeout=10)
        assert caught.value.code == 401
        assert b"Hangzhou" not in caught.value.read()


def test_headers_and_foreign_hosts(address: str) -> None:
    base = address.partition("/#")[0]
    with urllib.request.urlopen(base, timeout=10) as answer:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["cache-control"] == "no-store"
    request = urllib.request.Request(base, headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=10)
    assert caught.value.code == 400


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("forget", b"not json", 400),
        ("forget", b"{}", 400),
        ("forget", b'{"ids": []}', 400),
        ("forget", b'{"ids": ["mem:999"]}', 409),
        ("forget-everything", b'{"everything": false}', 400),
        ("prefer", b'{"text": "' + b"x" * 70_000 + b'"}', 413),
        ("memories?offset=x", None, 400),
        ("memories?kind=nonsense", None, 400),
        ("show?id=mem:999", None, 409),
    ],
)
def test_a_bad_request_is_one_line(address: str, path: str, body: bytes | None, code: int) -> None:
    base = address.partition("/#")[0]
    headers = {"Authorization": f"Bearer {TOKEN}"}
    request = urllib.request.Request(f"{base}/api/{path}", data=body, headers=headers)
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=10)
    assert caught.value.code == code
    told = caught.value.read().decode()
    assert "error" in told
    assert "Traceback" not in told
