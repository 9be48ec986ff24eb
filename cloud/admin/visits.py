"""One request to the pages: who asks, in which language, and what came with it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl

from aiohttp import web

from cloud.admin.acts import ACTS
from cloud.admin.desk import Desk
from cloud.admin.entry import SESSION_SECONDS, Session
from cloud.admin.rendering import html
from cloud.admin.words import LANGUAGES, Language, Words, preferred
from cloud.gateway.requests import request_id

__all__ = [
    "SECTIONS",
    "BadForm",
    "Visit",
    "admit",
    "fields_of",
    "read_limited",
    "remote",
    "words_of",
]

SECTIONS: Final = (
    "overview",
    "rounds",
    "releases",
    "usage",
    "budgets",
    "devices",
    "documents",
    "alarms",
    "events",
)
LARGEST_BODY: Final = 4 << 10
"""Bytes of a form, or of a JSON body."""
BODY_SECONDS: Final = 10.0
_FIELDS: Final = 8
_FORM: Final = "application/x-www-form-urlencoded"
_LANGUAGE_COOKIE: Final = "reverie_language"
_LANGUAGE_SECONDS: Final = 365 * 86_400
_FOREIGN: Final = frozenset({"cross-site", "same-site"})
_DONE: Final = frozenset({*ACTS, "reject", "nothing"} - {"token"})


class BadForm(Exception):
    """A form that is no form of ours; `status` is 400, 403 or 413."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


@dataclass(frozen=True)
class Visit:
    """A request, its session (None before the login) and the language it is answered in."""

    request: web.Request
    desk: Desk
    words: Words
    session: Session | None

    @property
    def operator(self) -> str:
        """The name of who asks; "" before the login."""
        return "" if self.session is None else self.session.operator.name

    @property
    def may_steer(self) -> bool:
        """Whether the role covers changes."""
        return self.session is not None and self.session.operator.may("operator")

    @property
    def here(self) -> str:
        """The address without its query."""
        return self.request.rel_url.raw_path

    def cookie_name(self, kind: str) -> str:
        """The name of a cookie: over TLS one that no other host or path can set."""
        return f"{'__Host-' if self.secure else ''}reverie_{kind}"

    @property
    def secure(self) -> bool:
        """Whether the visitor came over TLS, as far as this process knows."""
        return self.desk.secure or self.request.secure

    def page(self, template: str, status: int = 200, **context: Any) -> web.Response:
        """A rendered page."""
        session = self.session
        done = self.request.query.get("done", "")
        shared: dict[str, Any] = {
            "operator": None if session is None else session.operator,
            "csrf": "" if session is None else self.desk.entry.form_token(session.nonce),
            "may_steer": self.may_steer,
            "sections": SECTIONS,
            "current": template,
            "here": self.here,
            "paged": "after" in self.request.query,
            "done": done if done in _DONE else "",
            "alarm_count": 0,
            "request_id": request_id(),
        }
        body = html(template, self.words, {**shared, **context})
        response = web.Response(text=body, status=status, content_type="text/html")
        if self.request.query.get("lang") in LANGUAGES:
            self.set_cookie(response, _LANGUAGE_COOKIE, self.words.language, _LANGUAGE_SECONDS)
        return response

    def problem(self, status: int, key: str = "") -> web.Response:
        """A page that says what did not work."""
        said = self.words(key or f"error.{status}", id=request_id())
        return self.page("error", status, said=said)

    def set_cookie(self, response: web.Response, name: str, value: str, seconds: float) -> None:
        """A cookie that scripts cannot read and other sites cannot send."""
        response.set_cookie(
            name,
            value,
            max_age=int(seconds),
            path="/",
            secure=self.secure,
            httponly=True,
            samesite="Strict",
        )

    def start_session(self, response: web.Response, cookie: str) -> None:
        """Hand out a session's cookie."""
        self.set_cookie(response, self.cookie_name("session"), cookie, SESSION_SECONDS)

    def end_session(self, response: web.Response) -> None:
        """Take it back."""
        response.del_cookie(self.cookie_name("session"), path="/", secure=self.secure)

    async def form(self, nonce: str) -> dict[str, str]:
        """The fields of a form that one of our pages sent, under the nonce it was made with.

        Raises:
            BadForm: too large, malformed, or from elsewhere.
        """
        if self.request.headers.get("Sec-Fetch-Site", "") in _FOREIGN:
            raise BadForm(403)
        if self.request.content_type != _FORM:
            raise BadForm(400)
        fields = fields_of(await read_limited(self.request))
        if not self.desk.entry.is_form_token(nonce, fields.pop("csrf", "")):
            raise BadForm(403)
        return fields


def fields_of(body: bytes) -> dict[str, str]:
    """The fields of a form, each there once.

    Raises:
        BadForm: it is malformed.
    """
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            max_num_fields=_FIELDS,
            errors="strict",
        )
    except ValueError:
        raise BadForm(400) from None
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise BadForm(400)
    return fields


async def read_limited(request: web.Request) -> bytes:
    """The body, which must be small and come soon.

    Raises:
        BadForm: it is not.
    """
    if (request.content_length or 0) > LARGEST_BODY:
        raise BadForm(413)
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for piece in request.content.iter_any():
                body += piece
                if len(body) > LARGEST_BODY:
                    raise BadForm(413)
    except TimeoutError:
        raise BadForm(400) from None
    return bytes(body)


async def admit(request: web.Request, desk: Desk) -> Visit:
    """The visit, with its session when the cookie is one of ours and its operator still active."""
    visit = Visit(request, desk, words_of(request), None)
    said = desk.entry.read(request.cookies.get(visit.cookie_name("session"), ""), desk.clock())
    if said is None:
        return visit
    operator = await asyncio.to_thread(desk.operators.named, said.name)
    return Visit(request, desk, visit.words, desk.entry.admit(said, operator, desk.clock()))


def remote(request: web.Request) -> str:
    """Whom a failure is counted against."""
    return request.remote or ""


def words_of(request: web.Request) -> Words:
    """What to say it in: as chosen before, else as the browser prefers."""
    return Words(_language(request))


def _language(request: web.Request) -> Language:
    asked = request.query.get("lang") or request.cookies.get(_LANGUAGE_COOKIE, "")
    for language in LANGUAGES:
        if asked == language:
            return language
    return preferred(request.headers.get("Accept-Language", ""))
