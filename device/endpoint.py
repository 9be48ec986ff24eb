"""A client of an OpenAI-compatible service: one JSON request, one bounded, checked answer.

Off unless the phone's owner names a service. Plain HTTP is allowed to the phone itself only; a
redirect is refused, because it could carry the words elsewhere. Neither the request nor the answer
nor the key is ever part of an error.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from ipaddress import ip_address
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self
from urllib.parse import urlsplit

from device.actors import Clock, DomainError, SystemClock

if TYPE_CHECKING:
    import httpx

__all__ = ["Endpoint", "EndpointError"]

MAX_RESPONSE_BYTES = 4 * 1024 * 1024
"""Answers longer than this are dropped unread; 64 embeddings of 1,536 numbers are about 2 MB."""
CALL_SECONDS = 30.0
"""One call at most, its retries included."""
ATTEMPTS = 3
FIRST_PAUSE_SECONDS = 0.5
"""Pause before the second attempt; it doubles."""
LONGEST_PAUSE_SECONDS = 8.0
OK = 200
WORTH_A_RETRY = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers that say "later", not "never"."""


class EndpointError(DomainError):
    """The service gave no usable answer; the message says which way and what to check."""


class _Passing(EndpointError):
    """A failure that may be gone at the next attempt."""

    def __init__(self, message: str, pause: float = 0.0) -> None:
        super().__init__(message)
        self.pause = pause
        """Seconds the service asks to be left alone."""


class Endpoint:
    """One service, one model.

    Args:
        url: base of the service, such as `https://models.example/v1` or `http://127.0.0.1:8080/v1`.
        model: what the service calls the model; sent by whoever builds the request.
        key: bearer secret, or empty.
        timeout: seconds one call may take, its retries included.
        max_response_bytes: size over which an answer is dropped.
        attempts: how often one call is tried.
        clock: where the pauses between attempts come from.

    Raises:
        EndpointError: the address cannot be used, or `httpx` is not installed.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str = "",
        key: str = "",
        timeout: float = CALL_SECONDS,
        max_response_bytes: int = MAX_RESPONSE_BYTES,
        attempts: int = ATTEMPTS,
        clock: Clock | None = None,
    ) -> None:
        self.model = model
        self.host = _host(url)
        """Where the words go; shown by `status`."""
        self._url = url.rstrip("/")
        self._headers = _headers(key)
        self._timeout = timeout
        self._max_bytes = max_response_bytes
        self._attempts = max(1, attempts)
        self._clock = clock or SystemClock()
        self._client: httpx.AsyncClient | None = None
        _httpx()

    async def post_json(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        """POST `body` to `path` under the base address; the answer's JSON object.

        Raises:
            EndpointError: unreachable, too slow, refused, too long, or no JSON object.
        """
        content = json.dumps(body, ensure_ascii=False).encode()
        try:
            async with asyncio.timeout(self._timeout):
                return await self._persist(path, content)
        except TimeoutError:
            raise EndpointError(
                f"{self.host} gave no answer within {self._timeout:g} s: try later"
            ) from None

    async def close(self) -> None:
        """Let go of the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _persist(self, path: str, content: bytes) -> dict[str, Any]:
        pause = FIRST_PAUSE_SECONDS
        for _ in range(self._attempts - 1):
            try:
                return await self._once(path, content)
            except _Passing as failure:
                await self._clock.sleep(min(max(pause, failure.pause), LONGEST_PAUSE_SECONDS))
                pause *= 2
        return await self._once(path, content)

    async def _once(self, path: str, content: bytes) -> dict[str, Any]:
        httpx = _httpx()
        client = self._open()
        url = f"{self._url}/{path.lstrip('/')}"
        try:
            async with client.stream("POST", url, content=content, headers=self._headers) as answer:
                self._check(answer)
                raw = await self._read(answer)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as error:
            raise _Passing(
                f"{self.host} cannot be reached ({type(error).__name__}): check the address"
            ) from None
        return self._parse(raw)

    def _open(self) -> httpx.AsyncClient:
        if self._client is None:
            # trust_env off: neither a proxy nor a netrc secret of the environment may join in.
            self._client = _httpx().AsyncClient(
                timeout=self._timeout, follow_redirects=False, trust_env=False
            )
        return self._client

    def _check(self, answer: httpx.Response) -> None:
        status = answer.status_code
        if status in WORTH_A_RETRY:
            raise _Passing(f"{self.host} is busy (HTTP {status}): try later", _pause(answer))
        if answer.is_redirect or 300 <= status < 400:
            self._refuse(f"redirects (HTTP {status}): configure the final address")
        if status in (401, 403):
            self._refuse(f"refuses the key (HTTP {status}): check the key's environment variable")
        if status != OK:
            self._refuse(f"refuses the request (HTTP {status}): check address and model")
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            self._refuse("sends a compressed answer nobody asked for")

    async def _read(self, answer: httpx.Response) -> bytes:
        parts = bytearray()
        async for part in answer.aiter_raw():
            parts += part
            if len(parts) > self._max_bytes:
                self._refuse(f"sends more than {self._max_bytes:,} bytes: answer dropped")
        return bytes(parts)

    def _parse(self, raw: bytes) -> dict[str, Any]:
        try:
            value = json.loads(raw, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            self._refuse("sends something that is no JSON object: is it OpenAI-compatible?")
        return value

    def _refuse(self, why: str) -> NoReturn:
        raise EndpointError(f"{self.host} {why}")


def _httpx() -> Any:
    try:
        import httpx
    except ImportError:
        raise EndpointError(
            "a model service needs httpx: install `reverie[endpoint]`, or leave the service unset"
        ) from None
    return httpx


def _host(url: str) -> str:
    """Host and port of an address that may be used."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise EndpointError("the service's address is no URL") from None
    if parts.scheme not in ("http", "https") or not host:
        raise EndpointError("the service's address must begin with https:// and name a host")
    if parts.username is not None or parts.query or parts.fragment:
        raise EndpointError("the service's address may hold neither a secret nor a query")
    if parts.scheme == "http" and not _is_loopback(host):
        raise EndpointError(f"{host} must be reached over https; http is for this device alone")
    return host if port is None else f"{host}:{port}"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _headers(key: str) -> dict[str, str]:
    if any(not 0x21 <= ord(character) <= 0x7E for character in key):
        raise EndpointError("the key holds a character no header may carry: check its variable")
    headers = {"content-type": "application/json", "accept-encoding": "identity"}
    return headers | ({"authorization": f"Bearer {key}"} if key else {})


def _pause(answer: httpx.Response) -> float:
    asked = answer.headers.get("retry-after", "")
    return float(asked) if asked.isascii() and asked.isdigit() and len(asked) < 6 else 0.0


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
