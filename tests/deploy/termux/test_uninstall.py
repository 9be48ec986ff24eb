"""uninstall.sh: everything of ours goes, the memory stays unless its owner says otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.deploy.termux.fake import FakeTermux


def ours(termux: FakeTermux) -> list[Path]:
    """What an installation leaves outside the store."""
    places = (
        termux.reverie,
        termux.prefix / "bin" / "reverie-device",
        termux.prefix / "var" / "service" / "reverie",
        termux.home / ".termux" / "boot" / "20-reverie",
    )
    return [place for place in places if place.exists() or place.is_symlink()]


@pytest.mark.parametrize("mode", ["auto", "poll"])
def test_all_goes_but_the_memory(termux: FakeTermux, mode: str) -> None:
    kept = termux.keep_something()
    termux.install("--mode", mode)
    assert ours(termux)
    done = termux.run(termux.reverie / "uninstall.sh")
    assert done.returncode == 0, done.stderr
    assert ours(termux) == []
    assert termux.kept() == kept
    assert f"the memory stays in {termux.store}" in done.stdout
    assert termux.noted("job-scheduler")[-1] == "job-scheduler --cancel --job-id 7301"


def test_installed_again_the_phone_is_found_again(termux: FakeTermux) -> None:
    kept = termux.keep_something()
    termux.install()
    termux.run(termux.reverie / "uninstall.sh")
    done = termux.install()
    assert f"the phone in {termux.store} is kept as it is" in done.stdout
    assert termux.kept() == kept


def test_it_may_be_run_again(termux: FakeTermux) -> None:
    script = Path(__file__).resolve().parents[3] / "deploy" / "termux" / "uninstall.sh"
    termux.install()
    assert termux.run(script).returncode == 0
    assert termux.run(script).returncode == 0


@pytest.mark.parametrize("answer", ["", "y\n", "no\n"])
def test_the_memory_is_erased_only_for_a_yes(termux: FakeTermux, answer: str) -> None:
    kept = termux.keep_something()
    termux.install()
    done = termux.run(termux.reverie / "uninstall.sh", "--erase", answer=answer)
    assert done.returncode == 1
    assert termux.kept() == kept
    assert termux.reverie.exists(), "nothing at all was changed"


@pytest.mark.parametrize(
    ("options", "answer"), [(("--erase",), "yes\n"), (("--erase", "--yes"), "")]
)
def test_a_yes_erases_it(termux: FakeTermux, options: tuple[str, ...], answer: str) -> None:
    termux.keep_something()
    termux.install()
    done = termux.run(termux.reverie / "uninstall.sh", *options, answer=answer)
    assert done.returncode == 0, done.stderr
    assert not termux.store.exists()


def test_a_wrong_option_changes_nothing(termux: FakeTermux) -> None:
    termux.install()
    assert termux.run(termux.reverie / "uninstall.sh", "--eraze").returncode == 2
    assert termux.reverie.exists()
