"""An S3 server for one machine that keeps what it was given: `s3_server.py FOLDER PORT BUCKET`.

moto speaks the protocol and forgets everything when it ends. Here each object's bytes are in a file
before it hears of them, and at the start it is given all of them again, so that killing this server
loses nothing that was acknowledged. It listens on loopback; credentials are taken, not checked.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

LARGEST = 64 << 20
"""Bytes of one object; the cloud's largest blob is smaller."""
Environment = dict[str, Any]
Application = Callable[[Environment, Any], Iterable[bytes]]


class Keeper:
    """Every object in a file named by the hash of its key; its first line is the key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def keep(self, key: str, body: bytes) -> None:
        """Write an object durably."""
        file = self._folder / sha256(key.encode()).hexdigest()
        draft = file.with_suffix(f".{os.getpid()}")
        with draft.open("wb") as handle:
            handle.write(key.encode() + b"\n" + body)
            handle.flush()
            os.fsync(handle.fileno())
        draft.replace(file)

    def kept(self) -> Iterator[tuple[str, bytes]]:
        """Every object's key and bytes."""
        for file in self._folder.iterdir():
            if not file.suffix:
                key, _, body = file.read_bytes().partition(b"\n")
                yield key.decode(), body


def keeping(application: Application, keeper: Keeper, bucket: str) -> Application:
    """The application, with each PUT of an object kept before it is passed on."""

    def answer(environment: Environment, start: Any) -> Iterable[bytes]:
        path = unquote(environment.get("PATH_INFO", ""))
        if environment["REQUEST_METHOD"] == "PUT" and path.startswith(f"/{bucket}/"):
            size = int(environment.get("CONTENT_LENGTH") or 0)
            if not 0 <= size <= LARGEST:
                start("413 Content Too Large", [("Content-Length", "0")])
                return []
            body = environment["wsgi.input"].read(size)
            keeper.keep(path.removeprefix(f"/{bucket}/"), body)
            environment["wsgi.input"] = io.BytesIO(body)
        return application(environment, start)

    return answer


def main(folder: Path, port: int, bucket: str) -> None:
    """Serve until a signal ends it."""
    keeper = Keeper(folder)
    store = s3_backends[DEFAULT_ACCOUNT_ID]["aws"]
    store.create_bucket(bucket, "us-east-1")
    for key, body in keeper.kept():
        store.put_object(bucket, key, body)
    application = DomainDispatcherApplication(create_backend_app)
    run_simple("127.0.0.1", port, keeping(application, keeper, bucket), threaded=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
