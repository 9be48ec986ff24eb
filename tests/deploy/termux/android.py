"""A pytest plugin that makes this Python like Termux's: ``pytest -p tests.deploy.termux.android``.

Termux's Python (3.13 and newer) calls its platform "android", is built without several calls that
Android forbids to apps, and lives where there is no /tmp. What runs under this plugin passes
without all of them; an access to /tmp, or a hard link, fails the run and says where it came from.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

MISSING = ("link", "getloadavg", "copy_file_range", "getxattr", "setxattr", "listxattr")
"""Of `os`: absent from Termux's Python (configure flags of its package)."""
FORBIDDEN = ("open", "os.mkdir", "os.rename", "os.remove", "os.listdir", "os.link")
"""Audit events whose first argument may be a path."""
OWN = (str(Path(__file__).resolve().parents[3]), sys.prefix, sys.base_prefix)
"""The checkout and its Python may lie anywhere, also in a /tmp."""
_faults: list[str] = []


def _forbidden(path: object) -> bool:
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    text = os.fsdecode(path)
    return f"{text}/".startswith(("/tmp/", "/dev/shm/")) and not text.startswith(OWN)


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event == "os.link" or (event in FORBIDDEN and arguments and _forbidden(arguments[0])):
        where = "".join(traceback.format_stack(limit=6))
        _faults.append(f"{event} {arguments[:1]}\n{where}")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Before anything of ours is imported, the conftests with it."""
    assert not any(name.split(".")[0] in ("device", "privacy", "protocol") for name in sys.modules)
    for name in MISSING:
        if hasattr(os, name):
            delattr(os, name)
    # Android's CPython has no sem_open; whoever needs it must do without.
    sys.modules["_multiprocessing"] = None  # type: ignore[assignment]
    sys.modules["multiprocessing.synchronize"] = None  # type: ignore[assignment]
    assert multiprocessing.get_all_start_methods()
    sysconfig.get_config_vars()  # read once, from a file named after the real platform
    sys.platform = "android"
    sys.addaudithook(_audit)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """What was touched that a phone does not have fails the run."""
    if _faults:
        print(f"not on Android: {_faults[0]}({len(_faults)} in all)", file=sys.stderr)  # noqa: T201
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session", autouse=True)
def guarded() -> Iterator[None]:
    """The guard holds from the first test to the last."""
    assert sys.platform == "android"
    yield
    assert not any(hasattr(os, name) for name in MISSING), "somebody brought a call back"
    assert Path(os.environ["TMPDIR"]).is_dir()
    assert shutil.disk_usage(os.environ["TMPDIR"]).free >= 0
