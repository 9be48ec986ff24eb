"""A Termux that is none: a PREFIX and a HOME whose programs answer as the real ones do.

`pkg`, `dpkg`, `python`, `pip` are recorded fakes; `sh`, `flock`, `timeout` are this machine's.
The environment that `python -m venv` makes holds a python whose pip only notes what it was asked,
and whose `reverie-device` is the real one of this checkout.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from tests.device.conditions.conftest import Bench

__all__ = ["ACCEPTED", "DEPLOY", "OF_TERMUX", "TREE", "FakeTermux"]

TREE = Path(__file__).resolve().parents[3]
DEPLOY = TREE / "deploy" / "termux"
OF_TERMUX = ("cat", "date", "dirname", "env", "flock", "mv", "sh", "sleep", "timeout", "wc")
"""What the scripts take from coreutils and util-linux."""
LIMIT = 120.0
"""Seconds a script may take; none here takes two, unless the machine is busy."""

FLAGS = "(periodic: 900000ms) (while charging) (while idle) (persisted) (battery not low)"
NETWORK = (
    "(network: NetworkRequest [ NONE id=0, [ Capabilities: NOT_METERED&INTERNET Uid: 10417] ])"
)
ACCEPTED = f"Scheduling Job 7301: /x/job.sh\t{FLAGS} {NETWORK} - response 1"

VENV_PYTHON = """\
here=$(dirname "$(dirname "$0")")
case "$1 ${2:-} ${3:-}" in
  "-m pip "*)
    shift 2
    echo "pip $*" >> @LOG@
    @STALL@
    case "$*" in
      *" wheel "*) mkdir -p @HOME@/.reverie/wheels; touch @HOME@/.reverie/wheels/pydantic.whl ;;
      *"--no-index"*)
        [ -e @HOME@/.reverie/wheels/pydantic.whl ] || [ -e @ROOT@/brought/pydantic.whl ] || exit 1
        touch "$here/pydantic" ;;
      *" install "*)
        printf '#!/bin/sh\\nexport PYTHONPATH=@TREE@\\n' > "$here/bin/reverie-device"
        echo 'exec @PYTHON@ -c "from device.interfaces.cli import main; main()" "$@"' \
>> "$here/bin/reverie-device"
        chmod +x "$here/bin/reverie-device" ;;
    esac ;;
  "-c import pydantic"*) [ -e "$here/pydantic" ] ;;
  "-c from importlib"*) echo "reverie 0.0" ;;
  "-c "*) exec @PYTHON@ "$@" ;;
esac
"""

PYTHON = """\
if [ "$1" = -m ] && [ "$2" = venv ]; then
  echo "venv $*" >> @LOG@
  mkdir -p "$4/bin"
  @STALL@
  cp @ROOT@/venv-python "$4/bin/python"
  exit 0
fi
[ "$1" = -c ] && { cat @ROOT@/python-version; exit 0; }
"""

PKG = """\
echo "pkg $*" >> @LOG@
[ -e @ROOT@/broken-"$3" ] && { echo "E: Unable to locate package $3" >&2; exit 100; }
@STALL@
echo "$3" >> @ROOT@/installed
"""

DPKG = """\
grep -qx "$2" @ROOT@/installed || { echo "package $2 is not installed" >&2; exit 1; }
printf 'Package: %s\\nStatus: install ok installed\\n' "$2"
"""


class FakeTermux:
    """Lives below `root`; `run` starts a script as a Termux session would."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.prefix = root / "files" / "usr"
        self.home = root / "files" / "home"
        self.store = self.home / ".local" / "share" / "reverie"
        self.reverie = self.home / ".reverie"
        self.log = root / "log"
        for folder in ("bin", "libexec", "etc/profile.d", "tmp"):
            (self.prefix / folder).mkdir(parents=True)
        self.home.mkdir()
        (root / "installed").write_text("coreutils\n")
        for program in OF_TERMUX:  # a job's PATH names nothing but Termux and Android
            (self.prefix / "bin" / program).symlink_to(str(shutil.which(program)))
        self.python_version("3.14")
        self.log.touch()
        self.bench = Bench(self.prefix / "bin")
        venv_python = self._script(VENV_PYTHON, "pip")
        (root / "venv-python").write_text(f"#!/bin/sh\n{venv_python}")
        (root / "venv-python").chmod(0o755)
        self.bench.tool("python", self._script(PYTHON, "venv"))
        self.bench.tool("pkg", self._script(PKG, "pkg"))
        self.bench.tool("dpkg", self._script(DPKG, "dpkg"))
        self.bench.tool("termux-job-scheduler", f'echo "job-scheduler $*" >> {self.log}')
        for name in ("sv", "sv-enable", "sv-disable", "termux-wake-lock", "svlogd"):
            self.bench.tool(name, f'echo "{name} $*" >> {self.log}')
        (self.prefix / "etc/profile.d/start-services.sh").write_text(
            f"echo start-services >> {self.log}\n"
        )
        self.job_reply(ACCEPTED)

    def _script(self, text: str, name: str) -> str:
        stall = (
            f"[ -e {self.root}/stall-{name} ] && {{ echo here > {self.root}/stalled; sleep 3600; }}"
        )
        places = {"LOG": self.log, "ROOT": self.root, "HOME": self.home, "TREE": TREE}
        for word, value in {**places, "PYTHON": sys.executable, "STALL": stall}.items():
            text = text.replace(f"@{word}@", str(value))
        return text

    def python_version(self, version: str) -> None:
        """What Termux's python says of itself."""
        (self.root / "python-version").write_text(version + "\n")

    def job_reply(self, text: str, script: str = "") -> None:
        """What the helper behind termux-job-scheduler prints; `script` runs before that."""
        (self.root / "job-reply").write_text(text)
        helper = self.prefix / "libexec" / "termux-api"
        children = self.bench.children
        stall = (
            f"[ -e {self.root}/stall-api ] && {{ echo here > {self.root}/stalled; sleep 3600; }}"
        )
        helper.write_text(
            f"#!/bin/sh\necho $$ >> {children}\necho \"termux-api $*\" >> {self.log}\n"
            f"{stall}\n{script}\ncat {self.root}/job-reply\n"
        )  # fmt: skip
        helper.chmod(0o755)

    def environment(self, **more: str) -> dict[str, str]:
        """What a Termux session exports."""
        return {
            "PREFIX": str(self.prefix),
            "HOME": str(self.home),
            "TMPDIR": str(self.prefix / "tmp"),
            "PATH": f"{self.prefix}/bin:/usr/bin:/bin",
            "TERMUX_VERSION": "0.118.3",
            "TERMUX_API_VERSION": "0.53.0",
            "LANG": "C.UTF-8",
            "REVERIE_API_SECONDS": "20",
            **more,
        }

    def run(
        self, script: Path | str, *arguments: str, answer: str = "", **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run `script` to its end."""
        return subprocess.run(
            ["sh", str(script), *arguments],
            env=self.environment(**environment),
            input=answer,
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=False,
        )

    def install(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """`install.sh` of this checkout."""
        return self.run(DEPLOY / "install.sh", *arguments, **environment)

    def install_killed_at(self, point: str) -> None:
        """Start the installation and kill it, with all its children, when it reaches `point`."""
        stalled = self.root / "stalled"
        os.mkfifo(stalled)
        (self.root / f"stall-{point}").touch()
        process = subprocess.Popen(
            ["sh", str(DEPLOY / "install.sh")],
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert stalled.read_text() == "here\n"  # blocks until the point is reached
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        # What `timeout` started has a group of its own; on a phone the app's death ends it.
        for pid in self.bench.children.read_text().split():
            if Path(f"/proc/{pid}/environ").exists() and self._is_ours(int(pid)):
                os.killpg(os.getpgid(int(pid)), signal.SIGKILL)
        stalled.unlink()
        (self.root / f"stall-{point}").unlink()

    def _is_ours(self, pid: int) -> bool:
        try:
            return str(self.prefix).encode() in Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False

    def noted(self, beginning: str) -> list[str]:
        """Lines of the log that begin so."""
        return [line for line in self.log.read_text().splitlines() if line.startswith(beginning)]

    def forget_log(self) -> None:
        """Start a new log."""
        self.log.write_text("")

    def keep_something(self) -> dict[str, bytes]:
        """Put a phone into the store; its files."""
        (self.store / "vault").mkdir(parents=True)
        (self.store / "device.toml").write_text('timezone = "Asia/Shanghai"\n')
        (self.store / "vault" / "raw.0").write_bytes(bytes(range(256)))
        return self.kept()

    def kept(self) -> dict[str, bytes]:
        """Every file of the store."""
        files = (path for path in sorted(self.store.rglob("*")) if path.is_file())
        return {str(path.relative_to(self.store)): path.read_bytes() for path in files}
