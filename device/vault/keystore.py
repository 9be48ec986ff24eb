"""A key that cannot be had without the phone's chip, through ``termux-keystore``.

Termux:API can only sign. RSA PKCS#1 v1.5 signatures are deterministic (RFC 8017, 8.2), so HKDF over
the signature of a fixed label is a key that only the chip can give again. The label must never be
signed for anything else; any process of Termux's own user can ask for the same signature.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from device.vault.errors import KeyUnavailable

__all__ = ["RunKeystore", "TermuxKeystoreProtector", "run_keystore"]

RunKeystore = Callable[[Sequence[str], bytes], bytes | None]
"""(arguments of termux-keystore, its input) → what it printed, None on any failure."""

LABEL = b"reverie vault key encryption key 1"
PURPOSE = b"reverie keystore kek"
ALGORITHM = "SHA256withRSA"
KEY = 32
KEY_BITS = "2048"
SIGNATURE = 256
"""Bytes of an RSA-2048 signature."""
KEYSTORE_LIMIT = 10.0
"""Seconds a call may take; it hangs for ever without the add-on app."""


def run_keystore(arguments: Sequence[str], data: bytes) -> bytes | None:
    """Call termux-keystore in its own session and kill the whole group if it hangs."""
    try:
        process = subprocess.Popen(  # noqa: S603 - fixed program, our own arguments
            ["termux-keystore", *arguments],  # noqa: S607 - on Termux's PATH
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None
    try:
        printed, _ = process.communicate(data, timeout=KEYSTORE_LIMIT)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return printed if process.returncode == 0 else None


class TermuxKeystoreProtector:
    """Derives the key from a signature made by a key in Android's keystore."""

    name = "termux"

    def __init__(self, alias: str, run: RunKeystore = run_keystore, *, secure: bool = True) -> None:
        """`secure`: whether the keystore said that the key lies in secure hardware."""
        self._alias = alias
        self._run = run
        self.secure = secure

    @classmethod
    def create(cls, alias: str, run: RunKeystore = run_keystore) -> TermuxKeystoreProtector:
        """Make the key unless it is there, and prove that its signatures repeat."""
        hardware = _in_hardware(run, alias)
        if hardware is None:
            run(("generate", alias, "-a", "RSA", "-s", KEY_BITS), b"")
            hardware = _in_hardware(run, alias)
        if hardware is None:
            raise KeyUnavailable("termux-keystore made no key; install the Termux:API app")
        protector = cls(alias, run, secure=hardware)
        if protector._signature() != protector._signature():
            raise KeyUnavailable("this keystore's signatures differ; use a passphrase instead")
        return protector

    def kek(self, salt: bytes) -> bytes:
        """May take seconds; `KeyUnavailable` when the keystore does not answer."""
        stretch = HKDF(algorithm=hashes.SHA256(), length=KEY, salt=salt, info=PURPOSE)
        return stretch.derive(self._signature())

    def destroy(self) -> None:
        """Delete the key from the keystore."""
        self._run(("delete", self._alias), b"")

    def _signature(self) -> bytes:
        signature = self._run(("sign", self._alias, ALGORITHM), LABEL)
        if signature is None or len(signature) != SIGNATURE:
            # An empty answer with exit code 0 is how Termux:API reports an error.
            raise KeyUnavailable(
                "termux-keystore gave no signature; unlock the phone and open the Termux:API app"
            )
        return signature


def _in_hardware(run: RunKeystore, alias: str) -> bool | None:
    """Whether the key lies in secure hardware; None when there is no such RSA key."""
    try:
        keys = json.loads(run(("list",), b"") or b"[]")
        for key in keys:
            if key["alias"] == alias and key["algorithm"] == "RSA":
                return bool(key.get("inside_secure_hardware", False))
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    return None
