"""The same as JSON under `/v1/admin/`, for programs: `Authorization: Bearer TOKEN`.

Every refusal is JSON too: {"error": a code, "detail": one line}.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal, TypeVar

import structlog
from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import Connection

from cloud.admin.acts import MOST_DAYS, Act, Changed, Plan, applies, perform
from cloud.admin.desk import Desk
from cloud.admin.headers import protect
from cloud.admin.operators import Operator, Role
from cloud.admin.status import status_of
from cloud.admin.visits import BadForm, read_limited, remote
from cloud.identity import KeyFileUnusable
from cloud.storage import facts

__all__ = ["ADMIN_API", "BODIES", "add_api", "guarded"]

log = structlog.get_logger("reverie.cloud.admin")

ADMIN_API: Final = "/v1/admin/"
MOST_ROWS: Final = 500
_SCHEME: Final = "Bearer "

Handler = Callable[[web.Request, Operator], Awaitable[dict[str, Any]]]
Plain = Callable[[web.Request], Awaitable[web.StreamResponse]]
_Answer = TypeVar("_Answer", bound=web.StreamResponse)


class _Refused(Exception):
    """What the caller gets instead of an answer."""

    def __init__(self, status: int, code: str, detail: str, retry_after: int = 0) -> None:
        super().__init__(code)
        self.status, self.code, self.detail, self.retry_after = status, code, detail, retry_after


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Steer(_Body):
    """halt, rollback, approve, advance; version 0 takes whatever version is the newest."""

    model: Literal["router", "dedup"]
    version: int = Field(0, ge=0)


class _Revoke(_Body):
    device_id: str = Field(min_length=1, max_length=64)


class _Token(_Body):
    days: float = Field(7.0, gt=0.0, le=MOST_DAYS, allow_inf_nan=False)


def add_api(app: web.Application, desk: Desk) -> None:
    """The routes of the JSON."""
    for name, look in _LOOKS.items():
        app.router.add_get(ADMIN_API + name, _answered(desk, _looking(desk, look), "viewer"))
    app.router.add_get(ADMIN_API + "status", _answered(desk, _status(desk), "viewer"))
    for act, body in _ACTS.items():
        app.router.add_post(
            ADMIN_API + act, _answered(desk, _steering(desk, act, body), "operator")
        )
    app.router.add_route("*", ADMIN_API + "{tail:.*}", _answered(desk, _nothing_here, "viewer"))


def guarded(desk: Desk, handler: Plain) -> Plain:
    """A handler of another kind behind a viewer's token."""

    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            await _operator(request, desk, "viewer")
        except _Refused as refusal:
            return _refusal(refusal)
        return await handler(request)

    return answer


# --- every answer -----------------------------------------------------------------------------


def _answered(
    desk: Desk, handler: Handler, role: Role
) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        try:
            operator = await _operator(request, desk, role)
            response = web.json_response(await handler(request, operator))
        except _Refused as refusal:
            response = _refusal(refusal)
        except BadForm as refusal:
            detail = "a body is JSON of at most 4 KiB"
            response = _refusal(_Refused(refusal.status, "bad_body", detail))
        except Changed:
            detail = "the newest version is another one now: look again"
            response = _refusal(_Refused(409, "changed", detail))
        except KeyFileUnusable as error:
            response = _refusal(_Refused(409, "keys_unusable", str(error)))
        except ValueError:
            detail = "after and limit are as the page before gave them"
            response = _refusal(_Refused(400, "bad_query", detail))
        except Exception as error:
            log.error("answer_failed", exc_info=error)
            response = _refusal(
                _Refused(500, "failed", "see the cloud's log for this request's id")
            )
        desk.count_refusal(response.status)
        protect(response, secure=desk.secure or request.secure)
        return response

    return answer


async def _operator(request: web.Request, desk: Desk, role: Role) -> Operator:
    address = remote(request)
    if wait := desk.patience.wait(address, desk.clock()):
        desk.metrics.admin_logins.labels(outcome="limited").inc()
        raise _Refused(429, "limit", "too many wrong tokens", math.ceil(wait))
    said = request.headers.get("Authorization", "")
    if not said.startswith(_SCHEME):
        detail = "send Authorization: Bearer TOKEN; see `reverie-cloud operator add`"
        raise _Refused(401, "no_token", detail)
    operator = await desk.admitted(said.removeprefix(_SCHEME).strip(), address)
    if operator is None:
        raise _Refused(401, "bad_token", "the token is unknown, expired or revoked")
    if not operator.may(role):
        raise _Refused(403, "role", "a viewer may look but not steer")
    return operator


def _refusal(refusal: _Refused) -> web.Response:
    body = {"error": refusal.code, "detail": refusal.detail}
    response = web.json_response(body, status=refusal.status)
    if refusal.status == 401:
        response.headers["WWW-Authenticate"] = "Bearer"
    if refusal.retry_after:
        response.headers["Retry-After"] = str(refusal.retry_after)
    return response


async def _nothing_here(_request: web.Request, _operator: Operator) -> dict[str, Any]:
    raise _Refused(404, "not_found", "there is nothing under this address")


# --- looking ----------------------------------------------------------------------------------


def _looking(desk: Desk, look: Callable[[Connection, str, int], dict[str, Any]]) -> Handler:
    async def answer(request: web.Request, _operator: Operator) -> dict[str, Any]:
        after = request.query.get("after", "")
        limit = int(request.query.get("limit", facts.PAGE))
        if not 1 <= limit <= MOST_ROWS:
            raise ValueError("limit")
        return await desk.read(lambda connection: look(connection, after, limit))

    return answer


def _status(desk: Desk) -> Handler:
    async def answer(_request: web.Request, _operator: Operator) -> dict[str, Any]:
        now = desk.clock()
        found = await desk.read(lambda connection: status_of(connection, now))
        return {
            **found,
            "budget": desk.budget.name,
            "aggregation": desk.config.aggregation,
            "open_sessions": int(desk.metrics.value("reverie_open_sessions")),
        }

    return answer


def _paged(name: str, page: facts.Page) -> dict[str, Any]:
    return {name: page.rows, "after": page.after}


_LOOKS: Final[dict[str, Callable[[Connection, str, int], dict[str, Any]]]] = {
    "rounds": lambda c, after, limit: _paged("rounds", facts.rounds_page(c, after, limit)),
    "releases": lambda c, after, limit: _paged("releases", facts.releases_page(c, after, limit)),
    "devices": lambda c, after, limit: _paged("devices", facts.devices_page(c, after, limit)),
    "documents": lambda c, after, limit: _paged("documents", facts.documents_page(c, after, limit)),
    "events": lambda c, after, limit: _paged("events", facts.events_page(c, after, limit)),
    "usage": lambda c, _, limit: {"usage": facts.usage_series(c, limit)},
    "alarms": lambda c, _, limit: {"alarms": facts.alarms_page(c, limit)},
}


# --- steering ---------------------------------------------------------------------------------


def _steering(desk: Desk, act: Act, kind: type[_Body]) -> Handler:
    async def answer(request: web.Request, operator: Operator) -> dict[str, Any]:
        try:
            body = kind.model_validate_json(await read_limited(request) or b"{}")
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise _Refused(400, "bad_body", f"{where}: {first['msg']}") from None
        wanted, days = _wanted(act, body)
        if not applies(act, wanted.target):
            raise _Refused(400, "bad_body", "device_id: letters and digits")
        deed = await perform(desk, wanted, operator.name, days)
        if not deed.done:
            raise _Refused(409, "nothing_to_do", f"{act} does not apply to {wanted.target} now")
        said: dict[str, Any] = {"done": act}
        if deed.secret:
            return said | {"token": deed.secret, "expires": deed.until}
        return said | ({"status": deed.status} if deed.status else {})

    return answer


def _wanted(act: Act, body: _Body) -> tuple[Plan, float]:
    match body:
        case _Steer(model=model, version=version):
            return Plan(act, model, version), 0.0
        case _Revoke(device_id=device_id):
            return Plan(act, device_id), 0.0
        case _Token(days=days):
            return Plan(act, "new"), days
    raise TypeError("an act without a body")


_ACTS: Final[dict[Act, type[_Body]]] = {
    "halt": _Steer,
    "rollback": _Steer,
    "approve": _Steer,
    "advance": _Steer,
    "revoke": _Revoke,
    "forget": _Revoke,
    "token": _Token,
}
BODIES: Final[tuple[type[BaseModel], ...]] = (_Steer, _Revoke, _Token)
"""Every kind of body."""
