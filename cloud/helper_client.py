"""The leader's way to a helper: an actor in this process, or another operator's URL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple, Protocol, cast

import aiohttp

from cloud.actors.runtime import Ref
from privacy.budget import BUDGETS
from privacy.errors import BatchRefused, RefusalReason
from privacy.secagg import Batch, MaskSum

__all__ = [
    "EmbeddedHelper",
    "HelperChanged",
    "HelperIdentity",
    "HelperPort",
    "HelperUnavailable",
    "HelperUnsuitable",
    "RemoteHelper",
    "TokenRefused",
    "allows",
    "decode_identity",
    "decode_refusal",
    "encode_identity",
    "encode_refusal",
]

KEY_BYTES = 32
MAX_IDENTITY_BYTES = 1 << 10
MAX_REFUSAL_BYTES = 1 << 20
WIDEST_VALUE_BYTES = 8
CONNECT_SECONDS = 10.0
_OTHER_KEYS = (
    "the helper has other keys than the one this cloud has trusted since its first use, and "
    "phones will refuse it too: have its operator restore the helper's key file, or, if the "
    "change is meant, start once with --new-helper"
)
_REASONS: Mapping[str, RefusalReason] = {
    "too_few": "too_few",
    "overlap": "overlap",
    "replay": "replay",
    "seal": "seal",
    "invalid": "invalid",
    "floor": "floor",
}


class HelperUnavailable(Exception):
    """The helper does not answer now; the round waits and is asked for again."""


class TokenRefused(HelperUnavailable):
    """The helper does not know the leader's token; the message says what to do."""


class HelperUnsuitable(Exception):
    """The helper would refuse every round of this cloud; the message says what to do."""


class HelperChanged(Exception):
    """The helper is not the one this cloud trusts."""

    def __init__(self, message: str = _OTHER_KEYS) -> None:
        super().__init__(message)


class HelperIdentity(NamedTuple):
    """A helper's public keys, 32 bytes each, and the name of the budget whose floors it holds."""

    sealing: bytes
    signing: bytes
    budget: str


class HelperPort(Protocol):
    """What the leader asks of a helper; each raises HelperUnavailable when it does not answer."""

    async def identity(self) -> HelperIdentity:
        """Its keys and budget."""
        ...

    async def query_key(self, task: str, number: int) -> bytes:
        """The 32 secret bytes that the proofs of one round are checked under."""
        ...

    async def sum_masks(self, batch: Batch) -> MaskSum:
        """The noisy mask sum, or BatchRefused."""
        ...

    async def close(self) -> None:
        """Give connections back."""
        ...


class EmbeddedHelper:
    """A helper run by the leader's own operator: the same arithmetic, no gain in trust."""

    def __init__(self, actor: Ref) -> None:
        self._actor = actor

    async def identity(self) -> HelperIdentity:
        """The actor's keys."""
        return cast(HelperIdentity, await self._actor.ask("identity"))

    async def query_key(self, task: str, number: int) -> bytes:
        """The actor's key for one round."""
        return cast(bytes, await self._actor.ask("query_key", task, number))

    async def sum_masks(self, batch: Batch) -> MaskSum:
        """The actor's answer."""
        return cast(MaskSum, await self._actor.ask("sum_masks", batch))

    async def close(self) -> None:
        """Nothing to give back: the runtime ends the actor."""


class RemoteHelper:
    """A helper behind `url`: `timeout` seconds for one batch, `token` as its operator gave it."""

    def __init__(self, url: str, timeout: float, token: str) -> None:
        self._url = url.rstrip("/")
        self._timeout = aiohttp.ClientTimeout(total=timeout, connect=CONNECT_SECONDS)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._session: aiohttp.ClientSession | None = None

    async def identity(self) -> HelperIdentity:
        """GET /v1/key; a wrong token is noticed here already."""
        status, body = await self._request("GET", "/v1/key", None, MAX_IDENTITY_BYTES)
        try:
            if status != HTTPStatus.OK:
                raise ValueError
            return decode_identity(body)
        except ValueError:
            raise HelperUnavailable(f"{self._url} is not a Reverie helper") from None

    async def query_key(self, task: str, number: int) -> bytes:
        """GET /v1/query/{task}/{round}."""
        path = f"/v1/query/{task}/{number}"
        status, body = await self._request("GET", path, None, KEY_BYTES)
        if status != HTTPStatus.OK or len(body) != KEY_BYTES:
            raise HelperUnavailable(f"the helper answered with status {status}")
        return body

    async def sum_masks(self, batch: Batch) -> MaskSum:
        """POST /v1/masks."""
        limit = WIDEST_VALUE_BYTES * batch.dimension + MAX_REFUSAL_BYTES
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
            self._session = aiohttp.ClientSession(timeout=self._timeout, headers=self._headers)
        try:
            # A redirect would carry the token to another host.
            async with self._session.request(
                method, self._url + path, data=body, allow_redirects=False
            ) as answer:
                if answer.status == HTTPStatus.UNAUTHORIZED:
                    raise TokenRefused(
                        f"the helper at {self._url} refuses this token: ask its operator for the "
                        "token file it printed, and give it with --helper-token-file"
                    )
                return answer.status, await _read_bounded(answer.content, limit)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise HelperUnavailable(
                f"the helper at {self._url} does not answer ({type(error).__name__})"
            ) from error


def allows(helper: HelperIdentity, budget: str) -> None:
    """HelperUnsuitable when the helper's floors lie above what this cloud's budget plans."""
    theirs, ours = BUDGETS.get(helper.budget), BUDGETS[budget]
    for mine in ours.streams:
        floor = None if theirs is None else theirs.stream(mine.tasks[0])
        if floor is None or mine.noise < floor.noise or mine.n_min < floor.n_min:
            raise HelperUnsuitable(
                f"the helper holds the floors of the {helper.budget} budget and will refuse every "
                f"round of the {budget} budget: run both with the same --budget"
            )


async def _read_bounded(stream: aiohttp.StreamReader, limit: int) -> bytes:
    data = bytearray()
    async for part in stream.iter_any():
        data += part
        if len(data) > limit:
            raise HelperUnavailable(f"the helper's answer is over {limit} bytes")
    return bytes(data)


def encode_identity(identity: HelperIdentity) -> dict[str, str]:
    """The body of `/v1/key` as JSON values."""
    return {
        "public_key": identity.sealing.hex(),
        "signing_public_key": identity.signing.hex(),
        "budget": identity.budget,
    }


def decode_identity(body: bytes) -> HelperIdentity:
    """The identity of `encode_identity`'s JSON; ValueError for anything else."""
    try:
        said = json.loads(body)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(said, dict):
        raise ValueError("not an object")
    values = [said.get(name) for name in ("public_key", "signing_public_key", "budget")]
    if not all(isinstance(value, str) for value in values):
        raise ValueError("a field is missing")
    sealing, signing = (bytes.fromhex(str(value)) for value in values[:2])
    if len(sealing) != KEY_BYTES or len(signing) != KEY_BYTES:
        raise ValueError("a key has another length")
    return HelperIdentity(sealing, signing, str(values[2]))


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
    return BatchRefused(_REASONS.get(reason, "malformed"), "said by the helper", report_ids)
