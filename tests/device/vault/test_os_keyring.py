"""A real GNOME keyring on a private D-Bus session, asked through the `keyring` package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from device.vault import KeyUnavailable, OsKeyringProtector
from device.vault.os_keyring import os_keyring

SALT = bytes(16)
SESSION = """
printf pw | gnome-keyring-daemon --unlock --components=secrets >"$HOME/unlocked" 2>&1
exec "$@"
"""
DAEMONS = ("dbus-run-session", "gnome-keyring-daemon")
PHONE = """
import os, sys
from pathlib import Path
from device.vault import *
from device.vault.vault_file import VAULT_FILE, read_vault_file
folder = Path(sys.argv[1])
made = create_protector("os-keyring", folder, bits=os.urandom)
again = protector_from_file(folder / VAULT_FILE)
assert made.kek(bytes(16)) == again.kek(bytes(16)) != made.kek(bytes(15) + b"1")
assert (again.name, again.secure) == ("os-keyring", True)
name = read_vault_file(folder / VAULT_FILE).secret
try:
    OsKeyringProtector.create(name, os.urandom)
except KeyUnavailable as error:
    assert "not replaced" in str(error)
else:
    raise SystemExit("an existing secret was replaced")
again.destroy()
try:
    again.kek(bytes(16))
except KeyUnavailable as error:
    print(error)
"""


@pytest.mark.skipif(
    any(shutil.which(program) is None for program in DAEMONS), reason="no gnome-keyring here"
)
def test_the_os_keyring_keeps_a_phones_key(tmp_path: Path) -> None:
    runtime, home = tmp_path / "run", tmp_path / "home"
    runtime.mkdir(mode=0o700)
    home.mkdir()
    environment = os.environ | {"XDG_RUNTIME_DIR": str(runtime), "HOME": str(home)}
    session = ["dbus-run-session", "--", "sh", "-c", SESSION, "sh"]
    script = [sys.executable, "-c", PHONE, str(tmp_path / "phone")]
    done = subprocess.run(
        [*session, *script], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "does not hold this phone's key" in done.stdout


def test_a_keyring_that_protects_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = pytest.importorskip("keyring")
    null = pytest.importorskip("keyring.backends.null")
    monkeypatch.setattr(keyring, "get_keyring", null.Keyring)
    with pytest.raises(KeyUnavailable, match="passphrase"):
        os_keyring()


def test_without_the_package_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(KeyUnavailable, match=r"reverie\[os-keyring\]"):
        OsKeyringProtector("vault-00").kek(SALT)


class Locked:
    priority = 5.0

    def get_password(self, service: str, username: str) -> str | None:
        raise RuntimeError("prompt dismissed: secret words")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise RuntimeError("prompt dismissed")

    def delete_password(self, service: str, username: str) -> None:
        raise RuntimeError("prompt dismissed")


def test_a_locked_keyring_is_told_in_one_line() -> None:
    with pytest.raises(KeyUnavailable, match="unlock it") as caught:
        OsKeyringProtector("vault-00", Locked).kek(SALT)
    assert "secret words" not in str(caught.value)
