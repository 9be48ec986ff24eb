"""The secret between leader and helper: a bearer token in a file of its own, never on a screen."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from cloud.identity import KeyFileUnusable, create_private

__all__ = ["FILE_NAME", "TokenCheck", "ensure_token", "read_token"]

FILE_NAME = "helper.token"
TOKEN_BYTES = 32
MAX_FILE_NAME_BYTES = 1 << 10
_SCHEME = "Bearer "


class TokenCheck:
    """What the helper knows of its leader's token: the SHA-256, so that a core dump or a log of
    the process holds nothing to present."""

    def __init__(self, token: str) -> None:
        self._digest = _digest(token)

    def accepts(self, authorization: str) -> bool:
        """Whether an Authorization header presents the token; takes the same time for any other."""
        scheme, presented = authorization[: len(_SCHEME)], authorization[len(_SCHEME) :]
        return hmac.compare_digest(_digest(presented), self._digest) and scheme == _SCHEME


def ensure_token(path: Path, bits: Callable[[int], bytes]) -> TokenCheck:
    """The check for the token in `path`, which is drawn and written with mode 0600 if absent.

    Raises:
        KeyFileUnusable: the file is not a token.
        OSError: the folder cannot be written.
    """
    if not path.exists():
        create_private(path, bits(TOKEN_BYTES).hex().encode() + b"\n")
    return TokenCheck(read_token(path))


def read_token(path: Path) -> str:
    """The token in `path`; KeyFileUnusable says what to do about any other file."""
    try:
        with path.open("rb") as file:
            text = file.read(MAX_FILE_NAME_BYTES).decode("ascii").strip()
        if len(bytes.fromhex(text)) != TOKEN_BYTES:
            raise ValueError
    except OSError:
        raise KeyFileUnusable(
            f"cannot read the token file {path}: copy the one the helper printed at its start"
        ) from None
    except ValueError:
        raise KeyFileUnusable(
            f"{path} holds no helper token: copy the file the helper printed at its start"
        ) from None
    return text


def _digest(token: str) -> bytes:
    return sha256(token.encode("utf-8", "surrogatepass")).digest()
