"""The leader's way to a helper: an actor in this process, or another operator's URL."""

from __future__ import annotations

from http import HTTPStatus
from typing import Protocol, cast

import aiohttp

from cloud.actors.runtime import Ref
from privacy.errors import BatchRefused, RefusalReason
from privacy.secagg import Batch, MaskSum

__all__ = ["EmbeddedHelper", "HelperPort", "HelperUnavailable", "RemoteHelper"]

KEY_BYTES = 32
MAX_REFUSAL_BYTES = 1 << 20
CONNECT_SECONDS = 10.0


class HelperUnavailable(Exception):
    """The helper does not answer now; the round waits and is asked for again."""


class HelperPort(Protocol):
    """What the leader asks of a helper."""

    async def public_key(self) -> bytes:
        """Its X25519 key, 32 bytes; HelperUnavailable when it does not answer."""
        ...

    async def sum_masks(self, batch: Batch) -> MaskSum:
        """The noisy mask sum; BatchRefused or HelperUnavailable otherwise."""
        ...

    async def close(self) -> None:
        """Give connections back."""
        ...


class EmbeddedHelper:
    """A helper run by the leader's own operator: the same arithmetic, no gain in trust."""

    def __init__(self, actor: Ref) -> None:
        self._actor = actor

    async def public_key(self) -> bytes:
        """The actor's key."""
        return cast(bytes, await self._actor.ask("public_key"))

    async def sum_masks(self, batch: Batch) -> MaskSum:
        """The actor's answer."""
        return cast(MaskSum, await self._actor.ask("sum_masks", batch))

    async def close(self) -> None:
        """Nothing to give back: the runtime ends the actor."""


class RemoteHelper:
    """A helper behind `url`, with `timeout` seconds for one batch."""

    def __init__(self, url: str, timeout: float) -> None:
        self._url = url.rstrip("/")
        self._timeout = aiohttp.ClientTimeout(total=timeout, connect=CONNECT_SECONDS)
        self._session: aiohttp.ClientSession | None = None

    async def public_key(self) -> bytes:
        """GET /v1/key."""
        status, body = await self._request("GET", "/v1/key", None, KEY_BYTES)
        if status != HTTPStatus.OK or len(body) != KEY_BYTES:
            raise HelperUnavailable(f"{self._url} is not a Reverie helper")
        return body

    async def sum_masks(self, batch: Batch) -> MaskSum:
        """POST /v1/masks."""
        limit = max(4 * batch.dimension + MAX_REFUSAL_BYTES, MAX_REFUSAL_BYTES)
        status, body = await self._request("POST", "/v1/masks", batch.encode(), limit)
        if status == HTTPStatus.CONFLICT:
            raise decode_refusal(body)
        if status != HTTPStatus.OK:
            raise HelperUnavailable(f"the helper answered with status {status}")
        return MaskSum.decode(body)

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _request(
        self, method: str, path: str, body: bytes | None, limit: int
    ) -> tuple[int, bytes]:
        if self._session is None:
            self._session = aiohttp.ClientSession(timeout=self._timeout)
        try:
            async with self._session.request(method, self._url + path, data=body) as answer:
                data = await _read_bounded(answer.content, limit)
                return answer.status, data
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise HelperUnavailable(
                f"the helper at {self._url} does not answer ({type(error).__name__})"
            ) from error


async def _read_bounded(stream: aiohttp.StreamReader, limit: int) -> bytes:
    data = bytearray()
    async for part in stream.iter_any():
        data += part
        if len(data) > limit:
            raise HelperUnavailable(f"the helper's answer is over {limit} bytes")
    return bytes(data)


def encode_refusal(refusal: BatchRefused) -> bytes:
    """One line: the reason, then the hex ids of the reports at fault."""
    return " ".join([refusal.reason, *(each.hex() for each in refusal.report_ids)]).encode()


def decode_refusal(body: bytes) -> BatchRefused:
    """The refusal of `encode_refusal`; "malformed" for anything else."""
    try:
        reason, *ids = body.decode("ascii").split(" ")
        report_ids = [bytes.fromhex(each) for each in ids]
    except ValueError:
        return BatchRefused("malformed", "the helper's refusal cannot be read")
    known: dict[str, RefusalReason] = {
        "too_few": "too_few",
        "overlap": "overlap",
        "replay": "replay",
        "seal": "seal",
    }
    return BatchRefused(known.get(reason, "malformed"), "said by the helper", report_ids)
