"""The shell scripts of this room: clean, and plain about a wrong call. Nothing is started."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.deploy.cluster.chart import DEPLOY
from tests.deploy.cluster.local import COMPONENTS, SCRIPT

SCRIPTS = [SCRIPT, DEPLOY / "local-cluster" / "processes.sh", DEPLOY / "compose" / "secrets.sh"]


def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", str(SCRIPT), *arguments],
        env=os.environ | {"REVERIE_CLUSTER": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="apt-get install shellcheck")
def test_shellcheck_finds_nothing() -> None:
    done = subprocess.run(
        ["shellcheck", "-x", "-P", str(DEPLOY.parent), *map(str, SCRIPTS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_script_tells_what_it_takes(tmp_path: Path) -> None:
    told = call(tmp_path / "none", "--help")
    assert told.returncode == 0
    assert all(name in told.stdout for name in (*COMPONENTS, "REVERIE_CLUSTER", "--wipe"))
    for wrong in ([], ["start"]):
        done = call(tmp_path / "none", *wrong)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == told.stdout


@pytest.mark.parametrize("verb", ["kill", "stop", "up"])
def test_an_unknown_component_is_named(tmp_path: Path, verb: str) -> None:
    done = call(tmp_path / "none", verb, "gateway-c")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "gateway-c" in done.stderr
    assert "gateway-a" in done.stderr
    assert not (tmp_path / "none").exists()


def test_where_nothing_runs_nothing_is_ended(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    # The number of a process that is not ours: this one, as if started at another time.
    (tmp_path / "run" / "s3.pid").write_text(f"{os.getpid()} 1\n")
    done = call(tmp_path, "status")
    assert done.returncode == 1
    assert [line.split() for line in done.stdout.splitlines()] == [[n, "ended"] for n in COMPONENTS]
    done = call(tmp_path, "kill", "s3")
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "run" / "s3.pid").exists()


def test_only_a_cluster_s_folder_is_wiped(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    done = call(mine, "down", "--wipe")
    assert done.returncode == 2
    assert mine.exists()
    (mine / "run").mkdir()
    (mine / "logs").mkdir()
    assert call(mine, "down", "--wipe").returncode == 0
    assert not mine.exists()
