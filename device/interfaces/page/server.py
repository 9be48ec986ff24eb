"""The page's small server: static files that hold nothing of the user, and a guarded JSON API.

The token travels in the address's fragment, which browsers never send, and from there in a header
that no foreign page can set; the Host header must be loopback's, against DNS rebinding; the content
policy allows nothing that does not come from here.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from device.agent.keeping import fact_of
from device.interfaces.loopback import ServerMissing
from device.interfaces.service import EXPECTED, PhoneCalls
from device.memory.confidence import OWNER_SOURCE
from device.memory.records import AGENT_KINDS, Item, ItemKind, TurnDraft
from device.owner import UNKNOWN, question_for, sentence_for
from device.recall.origin import origin_line

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

__all__ = ["page"]

MAX_BODY_BYTES = 64 << 10
MAX_PAGE = 100
HITS = 20
LONGEST_QUERY = 1_000
STATIC = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/words.js": ("words.js", "text/javascript; charset=utf-8"),
    "/chart.js": ("chart.js", "text/javascript; charset=utf-8"),
}
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
LOOPBACK = ["127.0.0.1", "localhost"]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Ids(_Body):
    ids: list[str] = Field(min_length=1, max_length=1_000)


class _Everything(_Body):
    """Forgetting all asks for the word itself, so that no slip does it."""

    everything: bool


class _Text(_Body):
    text: str = Field(min_length=1, max_length=2_000)
    topic: Literal["", *UNKNOWN] = ""  # type: ignore[valid-type]
    """The question it answers; empty: a sentence of its own."""


Body = TypeVar("Body", bound=_Body)
Handler = Callable[["Request"], Awaitable[Any]]


def page(phone: PhoneCalls, token: str, now: Callable[[], float]) -> Starlette:
    """The page of one phone. Raises `ServerMissing` with what to install."""
    try:
        from starlette.applications import Starlette
        from starlette.middleware import Middleware
        from starlette.middleware.trustedhost import TrustedHostMiddleware
        from starlette.responses import Response
        from starlette.routing import Route
    except ImportError:
        raise ServerMissing("this needs a package: pip install 'reverie[web]'") from None

    api = _Api(phone, now)

    def static(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
        body = resources.files(__package__).joinpath("static", name).read_bytes()

        async def answer(request: Request) -> Response:  # noqa: ARG001 - the same for all
            return Response(body, media_type=kind, headers=HEADERS)

        return answer

    def guarded(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            return await _answer(request, handler, token)

        return answer

    routes = [Route(path, static(*file)) for path, file in STATIC.items()]
    routes += [
        Route("/api/status", guarded(api.status)),
        Route("/api/memories", guarded(api.memories)),
        Route("/api/recall", guarded(api.recall)),
        Route("/api/show", guarded(api.show)),
        Route("/api/why", guarded(api.why)),
        Route("/api/plan", guarded(api.plan), methods=["POST"]),
        Route("/api/forget", guarded(api.forget), methods=["POST"]),
        Route("/api/forget-everything", guarded(api.forget_everything), methods=["POST"]),
        Route("/api/prefer", guarded(api.prefer), methods=["POST"]),
    ]
    hosts = Middleware(TrustedHostMiddleware, allowed_hosts=LOOPBACK, www_redirect=False)
    return Starlette(routes=routes, middleware=[hosts])


class _Api:
    """What the page asks, as JSON."""

    def __init__(self, phone: PhoneCalls, now: Callable[[], float]) -> None:
        self._phone = phone
        self._now = now

    async def status(self, request: Request) -> Any:
        state = await self._phone.status()
        language = request.query_params.get("language", "en")
        spent = await self._phone.spending()
        questions = {topic: question_for(topic, language) for topic in state.unknown}
        return {
            **state.model_dump(mode="json"),
            "spending": [asdict(one) for one in spent],
            "questions": questions,
            "kinds": [*ItemKind],
        }

    async def memories(self, request: Request) -> Any:
        asked = request.query_params
        offset = max(int(asked.get("offset", "0")), 0)
        limit = min(max(int(asked.get("limit", "50")), 1), MAX_PAGE)
        kind = asked.get("kind", "")
        if kind == "turn":
            return await self._turns(offset, limit)
        archived = asked.get("archived", "") == "yes"
        found = await self._phone.browse(ItemKind(kind) if kind else None, archived, offset, limit)
        rows = [
            {
                "id": item.id,
                "kind": item.kind.value,
                "text": item.text,
                "at": item.updated,
                "state": "" if item.kind in AGENT_KINDS else item.state.value,
                "app": item.subject if item.kind in AGENT_KINDS else "",
                "confidence": item.confidence,
                "starts": item.starts,
                "replaced": bool(item.replaced_by),
            }
            for item in found.items
        ]
        return {"rows": rows, "total": found.total}

    async def _turns(self, offset: int, limit: int) -> Any:
        """What was said, newest first: sequences run on, so a page is found from the end."""
        state = await self._phone.status()
        last = max(state.memory.turns - offset, 0)
        turns = await self._phone.turns(max(last - limit, 0) - 1, min(limit, last)) if last else []
        rows = [
            {"id": t.id, "kind": "turn", "text": t.text, "at": t.at, "speaker": t.speaker}
            for t in reversed(turns)
        ]
        return {"rows": rows, "total": state.memory.turns}

    async def recall(self, request: Request) -> Any:
        query = request.query_params.get("q", "")[:LONGEST_QUERY]
        language = request.query_params.get("language", "en")
        answer = await self._phone.recall(query, HITS)
        now = self._now()
        rows = [
            {
                "id": hit.id,
                "kind": hit.layer.value,
                "text": hit.text,
                "at": hit.at,
                "origin": origin_line(hit, now, language),
            }
            for hit in answer.hits
        ]
        return {
            "rows": rows,
            "missing": answer.missing,
            "conflicts": answer.conflicts,
            "changes": [hit.text for hit in answer.changes],
        }

    async def show(self, request: Request) -> Any:
        shown = await self._phone.show(request.query_params.get("id", ""))
        return _plain(asdict(shown)) | {"runs": await self._runs_behind(shown.item)}

    async def _runs_behind(self, item: Item | None) -> list[str]:
        """The goals of the tasks a fact was learnt from, those still held."""
        if item is None or item.kind is not ItemKind.FACT:
            return []
        sources = set(fact_of(item).sources)
        runs = await self._phone.items(ItemKind.RUN)
        return [run.text for run in runs if run.id in sources]

    async def why(self, request: Request) -> Any:
        why = await self._phone.why(request.query_params.get("about", "")[:LONGEST_QUERY])
        return _plain(asdict(why))

    async def plan(self, request: Request) -> Any:
        wanted = await _body(request, _Ids)
        return asdict(await self._phone.plan_forget(wanted.ids))

    async def forget(self, request: Request) -> Any:
        wanted = await _body(request, _Ids)
        gone = await self._phone.forget_items(wanted.ids)
        return asdict(gone) | {"total": gone.total}

    async def forget_everything(self, request: Request) -> Any:
        wanted = await _body(request, _Everything)
        if not wanted.everything:
            raise _Refused(400, "nothing was erased")
        gone = await self._phone.forget_everything()
        return asdict(gone) | {"total": gone.total}

    async def prefer(self, request: Request) -> Any:
        told = await _body(request, _Text)
        text = sentence_for(told.topic, told.text) if told.topic else told.text
        draft = TurnDraft(self._now(), "user", text, source=OWNER_SOURCE)
        turns = await self._phone.record_many([draft])
        await self._phone.consolidate()
        return {"id": turns[0].id}


class _Refused(Exception):
    """A request that is answered with a status and one line."""

    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


async def _answer(request: Request, handler: Handler, token: str) -> Response:
    """One API request: token first, then the handler; whatever goes wrong is one line."""
    from starlette.responses import Response

    given = request.headers.get("authorization", "").encode()
    status, value = 200, None
    if not hmac.compare_digest(given, f"Bearer {token}".encode()):
        status, value = 401, {"error": "open the address that `reverie-device web` printed"}
    else:
        try:
            value = await handler(request)
        except _Refused as error:
            status, value = error.status, {"error": str(error)}
        except EXPECTED as error:
            status, value = 409, {"error": str(error)}
        except (ValidationError, ValueError):
            status, value = 400, {"error": "this request is not understood"}
    body = json.dumps(value, ensure_ascii=False).encode()
    return Response(body, status, headers=HEADERS, media_type="application/json")


async def _body(request: Request, kind: type[Body]) -> Body:
    size = request.headers.get("content-length", "")
    if not size.isdigit() or int(size) > MAX_BODY_BYTES:
        raise _Refused(413, "too large")
    return kind.model_validate_json(await request.body())


def _plain(value: Any) -> Any:
    """Without the packed bytes of the agent's kinds, which say nothing to a reader."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items() if name != "detail"}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value
