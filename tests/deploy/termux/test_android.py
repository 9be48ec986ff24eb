"""The heart of the phone under a Python that lacks what Termux's lacks (`android.py`)."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.termux.fake import TREE

CORE = (
    "tests/device/test_phone.py",
    "tests/device/memory/test_raw.py",
    "tests/device/recall/test_recaller.py",
    "tests/device/vault/test_storage.py",
    "tests/device/vault/test_anchor.py",
    "tests/device/sync/test_outbox.py",
    "tests/device/interfaces/test_service.py",
)
"""A phone from its storage to its socket, in a few seconds."""


@pytest.fixture
def elsewhere() -> Iterator[Path]:
    """A folder for temporary files that is not /tmp, as Termux's $PREFIX/tmp is not."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


def guarded(elsewhere: Path, *tests: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.deploy.termux.android"]
    command += ["-p", "no:cacheprovider", "-n0", f"--basetemp={elsewhere}/pytest", *tests]
    return subprocess.run(
        command, cwd=TREE, env=os.environ | {"TMPDIR": str(elsewhere)}, timeout=280,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_core_runs_as_on_android(elsewhere: Path) -> None:
    done = guarded(elsewhere, *CORE)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("import os; os.link('a', 'b')", "no attribute 'link'"),
        ("open('/tmp/x-of-nobody')", "not on Android: open"),
        ("import multiprocessing as m; m.Lock()", "multiprocessing.synchronize"),
        ("import sys; assert sys.platform == 'linux'", "assert 'android' == 'linux'"),
    ],
)
def test_the_guard_bites(elsewhere: Path, wrong: str, told: str) -> None:
    suppressed = f"    try:\n        {wrong}\n    except FileNotFoundError:\n        pass\n"
    (elsewhere / "test_wrong.py").write_text(f"def test_it():\n{suppressed}")
    done = guarded(elsewhere, "--rootdir", str(elsewhere), str(elsewhere / "test_wrong.py"))
    assert done.returncode == 1
    assert told in done.stdout + done.stderr
