"""Blobs in a bucket of S3 or of anything that speaks its protocol."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from cloud.storage.blobs import (
    LARGEST_BLOB,
    BlobMissing,
    BlobsUnavailable,
    check_key,
    checked,
    is_key,
    key_of,
)

if TYPE_CHECKING:
    from obstore.store import S3Config

__all__ = ["S3Blobs"]

RETRIES: Final = 5
RETRY_SECONDS: Final = 60
"""An answer that may come later is asked for so often, and so long, in all."""
TIMEOUT_SECONDS: Final = 30
CONNECT_SECONDS: Final = 5
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_OPTIONS = frozenset({"endpoint", "region"})


class S3Blobs:
    """One prefix of one bucket.

    Args:
        url: ``s3://bucket/prefix``, for other stores with
            ``?endpoint=https://storage.internal:9000&region=eu-west-1``. Credentials come from
            where every S3 client looks (AWS_ACCESS_KEY_ID…, a role of the machine), never from it.
        environment: where the endpoint is looked for when the URL names none.
        retry_seconds: how long a call may take with all its retries.

    Raises:
        BlobsUnavailable: the URL is none, or the client is not installed.
    """

    def __init__(
        self,
        url: str,
        environment: Mapping[str, str] | None = None,
        retry_seconds: float = RETRY_SECONDS,
    ) -> None:
        try:
            from obstore.store import S3Store
        except ModuleNotFoundError:
            raise BlobsUnavailable("S3 needs its client: pip install 'reverie[s3]'") from None
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        if not parts.hostname or parts.username or set(options) - _OPTIONS:
            raise BlobsUnavailable(
                "the blobs' URL looks like s3://bucket/prefix?endpoint=https://host&region=name"
            )
        self._shown = f"s3://{parts.netloc}{parts.path}"
        found = os.environ if environment is None else environment
        endpoint = options.get("endpoint") or next(
            (found[name] for name in _ENDPOINTS if found.get(name)), None
        )
        settings: S3Config = {"checksum_algorithm": "SHA256"}
        if "region" in options:
            settings["region"] = options["region"]
        if endpoint:
            settings["endpoint"] = endpoint
        plain = endpoint is not None and endpoint.startswith("http://")
        self._store = S3Store(
            parts.netloc,
            prefix=parts.path.strip("/") or None,
            config=settings,
            client_options={
                "timeout": timedelta(seconds=TIMEOUT_SECONDS),
                "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
                "allow_http": plain,
            },
            retry_config={
                "max_retries": RETRIES,
                "retry_timeout": timedelta(seconds=retry_seconds),
            },
        )

    def put(self, data: bytes) -> str:
        """Store `data` unless it is there; the store has checked what arrived."""
        key = key_of(data)
        with self._plain_errors():
            if self._size(key) != len(data):
                # The same bytes under their own name: putting them twice changes nothing.
                self._store.put(key, data, use_multipart=False)
        return key

    def get(self, key: str) -> bytes:
        """The bytes under `key`, checked against it; BlobMissing when absent or damaged."""
        check_key(key)
        with self._plain_errors():
            try:
                answer = self._store.get(key)
            except FileNotFoundError:
                raise BlobMissing(f"no blob {key[:16]}…") from None
            data = bytes(answer.bytes()) if answer.meta["size"] <= LARGEST_BLOB else b""
        return checked(key, data)

    def keys(self) -> Iterator[str]:
        """Every key, in no order."""
        with self._plain_errors():
            for page in self._store.list():
                for found in page:
                    name = found["path"].rpartition("/")[2]
                    if is_key(name):
                        yield name

    def _size(self, key: str) -> int | None:
        try:
            return int(self._store.head(key)["size"])
        except FileNotFoundError:
            return None

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, FileNotFoundError) as error:  # the latter: no such bucket
            # Its text may name keys and hosts; its kind is enough to know where to look.
            raise BlobsUnavailable(
                f"{self._shown} cannot be used ({type(error).__name__}): "
                "check the endpoint, the bucket and the credentials"
            ) from None
