"""What the owner is told about privacy: what is left, with whom, and when to worry."""

from __future__ import annotations

import io
import re
from hashlib import sha256
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from device.interfaces.cli import app
from device.interfaces.views import status_table
from device.phone import Phone
from device.settings import load_settings
from device.status import Status
from device.vault import MemoryStorage
from device.vault.anchor import MemoryAnchor
from privacy.streams import USAGE_DIMENSION
from tests.device.conftest import OpenPhone
from tests.device.sync.conftest import HELPER_KEY, descriptor
from tests.device.sync.test_bookkeeping import Clock

WORDS_OF_THE_PAGE = Path("device/interfaces/page/static/words.js")


def report(phone: Phone, round_: int = 1) -> tuple[str, ...]:
    about = descriptor(round_=round_, dimension=USAGE_DIMENSION)
    return phone._contributions.make([about], records=1).problems


def told(status: Status, monkeypatch: pytest.MonkeyPatch, locale: str = "en") -> str:
    monkeypatch.setenv("LC_ALL", locale)
    console = Console(file=io.StringIO(), width=1000)
    console.print(status_table(status))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


async def test_a_report_takes_from_its_stream_and_from_every_window(
    open_phone: OpenPhone, monkeypatch: pytest.MonkeyPatch
) -> None:
    phone = await open_phone(clock=Clock(), anchor=MemoryAnchor())
    before = (await phone.status()).budget
    assert {name: stream.left for name, stream in before.streams.items()} == {
        "counts": 1.0, "models": 1.0,
    }  # fmt: skip
    assert before.helper == ""
    assert report(phone) == ()
    after = (await phone.status()).budget
    counts = after.streams["counts"]
    assert "local_usage" in counts.tasks
    assert 0 < counts.left < 1
    assert counts.epsilon_left < before.streams["counts"].epsilon_left
    assert after.streams["models"] == before.streams["models"]
    assert after.epsilon_spent == after.epsilon_month == after.epsilon_year > 0
    assert after.epsilon_spent == pytest.approx(counts.epsilon_report)
    assert after.epsilon_cap < after.epsilon_lifetime or not after.private
    assert (after.helper, after.helper_pinned) == (sha256(HELPER_KEY).hexdigest(), False)
    assert (after.suspicion, after.quarantine, after.quarantined_at) == ("", "", None)
    said = told(await phone.status(), monkeypatch)
    assert f"{counts.left:.0%} of the year's budget left" in said
    assert f"ε {counts.epsilon_report:.2f} a report" in said
    assert f"{after.helper[:16]}…, the first one ever reported with" in said


async def test_a_pinned_helper_is_shown_and_another_is_a_problem(
    open_phone: OpenPhone, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned = bytes([5, *bytes(31)])
    phone = await open_phone(clock=Clock(), helper_key=pinned.hex())
    (problem,) = report(phone)
    assert "another helper" in problem
    status = await phone.status()
    assert (status.budget.helper, status.budget.helper_pinned) == (
        sha256(pinned).hexdigest(), True,
    )  # fmt: skip
    assert "named in the settings" in told(status, monkeypatch)


@pytest.mark.parametrize(
    ("locale", "suspected", "settled"),
    [
        ("en_GB.UTF-8", "the folder was copied or moved", "no report leaves until it renews"),
        ("zh_CN.UTF-8", "文件夹被复制或移动过", "恢复之前不再上报"),
    ],
)
async def test_a_folder_copied_elsewhere_says_so_in_one_clear_sentence(
    open_phone: OpenPhone,
    monkeypatch: pytest.MonkeyPatch,
    locale: str,
    suspected: str,
    settled: str,
) -> None:
    storage, copied = MemoryStorage(), MemoryStorage()
    phone = await open_phone(clock=Clock(), storage=storage, anchor=MemoryAnchor())
    assert report(phone) == ()
    for name in storage.names():
        copied.replace(name, storage.read(name))
    clone = await open_phone(clock=Clock(), storage=copied, anchor=MemoryAnchor())
    status = await clone.status()
    assert status.budget.suspicion == "unmarked"
    assert {stream.left for stream in status.budget.streams.values()} == {0.0}
    assert suspected in told(status, monkeypatch, locale)
    (problem,) = report(clone, 2)
    assert "budget is spent" in problem
    status = await clone.status()
    assert (status.budget.suspicion, status.budget.quarantine) == ("", "unmarked")
    assert status.budget.quarantined_at is not None
    assert settled in told(status, monkeypatch, locale)
    assert [spent.task for spent in await clone.spending()] == ["usage", "quarantine"]
    # The phone that was copied knows nothing of it.
    assert report(phone, 2) == ()


def test_the_page_has_words_for_all_of_it_in_both_languages() -> None:
    words = WORDS_OF_THE_PAGE.read_text(encoding="utf-8")
    names = (
        "windows", "stream", "suspected", "quarantined", '"rolled back"', "cloned", "unmarked",
        "helperPinned", "helperFirst", "lastSync",
    )  # fmt: skip
    both = r'\["[^"]+", "[^"]*[\u4e00-\u9fff][^"]*"\]'
    for name in names:
        assert re.search(rf"^  {name}: {both},$", words, re.MULTILINE), name


def test_init_pins_the_helper(tmp_path: Path) -> None:
    home, key = tmp_path / "phone", "5C" * 32
    done = CliRunner().invoke(app, ["init", "--home", str(home), "--helper-key", key])
    assert done.exit_code == 0
    assert f"with the helper {key.lower()[:16]}… only" in done.output
    assert load_settings(home).helper_key == key.lower()


def test_init_refuses_what_is_no_key(tmp_path: Path) -> None:
    home = tmp_path / "phone"
    done = CliRunner().invoke(app, ["init", "--home", str(home), "--helper-key", "me"])
    assert "helper_key" in str(done.exception)
    assert not (home / "device.toml").exists()
