"""The pages under `/admin/`: looking, and steering by form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import structlog
from aiohttp import web
from sqlalchemy import Connection

from cloud.admin import views
from cloud.admin.acts import ACTS, Act, Changed, applies, perform, plan
from cloud.admin.desk import Counts, Desk
from cloud.admin.headers import protect
from cloud.admin.rendering import STYLE, asset
from cloud.admin.visits import BadForm, Visit, admit, remote, words_of
from cloud.identity import KeyFileUnusable
from protocol.models.spec import SPECS

__all__ = ["add_pages"]

log = structlog.get_logger("reverie.cloud.admin")

Handler = Callable[[Visit], Awaitable[web.Response]]
Look = Callable[[Connection, Visit, Counts], dict[str, Any]]

_LOGIN: Final = "/admin/login"
_LOGIN_SECONDS: Final = 3_600.0
_AFTER: Final = {"revoke": "devices", "forget": "devices", "token": "devices"}
"""Where an act leads back to; all others to the releases."""


def add_pages(app: web.Application, desk: Desk) -> None:
    """The routes of the pages."""
    routes = app.router
    for path in STYLE:
        routes.add_get(path, _served(desk, path))
    routes.add_get("/admin", _redirect_home)
    routes.add_get(_LOGIN, _answered(desk, _login_page, public=True))
    routes.add_post(_LOGIN, _answered(desk, _log_in, public=True))
    routes.add_post("/admin/logout", _answered(desk, _log_out))
    routes.add_get("/admin/", _answered(desk, _looking("overview", _overview)))
    for section, look in _LOOKS.items():
        routes.add_get(f"/admin/{section}", _answered(desk, _looking(section, look)))
    routes.add_get("/admin/releases/{model}/{version}", _answered(desk, _card))
    routes.add_get("/admin/do/{act}/{target}", _answered(desk, _confirm))
    routes.add_post("/admin/do/{act}/{target}", _answered(desk, _steer))
    routes.add_route("*", "/admin/{tail:.*}", _answered(desk, _nothing_here, public=True))


# --- every page -------------------------------------------------------------------------------


def _answered(
    desk: Desk, handler: Handler, *, public: bool = False
) -> Callable[[web.Request], Awaitable[web.Response]]:
    """The handler behind the login, its errors as pages, its answer under the headers."""

    async def answer(request: web.Request) -> web.Response:
        visit = Visit(request, desk, words_of(request), None)
        try:
            visit = await admit(request, desk)
            if visit.session is None and not public:
                response = _see_other(_LOGIN)
            else:
                response = await handler(visit)
        except BadForm as refusal:
            response = visit.problem(refusal.status, "error.form" if refusal.status == 403 else "")
        except Changed:
            response = visit.problem(409)
        except KeyFileUnusable as error:
            response = visit.page("error", 409, said=str(error))
        except ValueError:  # a cursor or a number that is none
            response = visit.problem(400)
        except Exception as error:
            log.error("page_failed", exc_info=error)
            response = visit.problem(500)
        desk.count_refusal(response.status)
        protect(response, secure=visit.secure)
        return response

    return answer


def _looking(template: str, look: Look) -> Handler:
    async def show(visit: Visit) -> web.Response:
        desk = visit.desk
        counts = await desk.counts()
        context = await desk.read(lambda connection: look(connection, visit, counts))
        shared = {"counts": counts, "alarm_count": len(counts.alarms)}
        return visit.page(template, **{**shared, **context})

    return show


def _served(desk: Desk, path: str) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(request: web.Request) -> web.Response:
        file = asset(path)
        held = request.headers.get("If-None-Match", "") == file.tag
        response = (
            web.Response(status=304)
            if held
            else web.Response(body=file.body, content_type=file.kind, charset="utf-8")
        )
        response.headers["ETag"] = file.tag
        protect(response, secure=desk.secure or request.secure, cached=True)
        return response

    return answer


async def _redirect_home(_request: web.Request) -> web.Response:
    return _see_other("/admin/")


async def _nothing_here(visit: Visit) -> web.Response:
    return visit.problem(404)


def _see_other(where: str) -> web.Response:
    return web.Response(status=303, headers={"Location": where})


# --- looking ----------------------------------------------------------------------------------


def _overview(connection: Connection, visit: Visit, counts: Counts) -> dict[str, Any]:
    desk, now = visit.desk, visit.desk.clock()
    value = desk.metrics.value
    return {
        **views.overview(connection, visit.words, counts, desk.by_hand),
        "aggregation": desk.config.aggregation,
        "embedded": desk.config.helper_url is None,
        "budget": desk.budget,
        "uptime": max(0.0, now - value("reverie_start_time_seconds")),
        "sessions": int(value("reverie_open_sessions")),
        "failures": int(value("reverie_tick_failures_total")),
        "now": now,
    }


def _budgets(connection: Connection, visit: Visit, counts: Counts) -> dict[str, Any]:
    phones = counts.fleet["active"]
    shown = views.budgets(connection, visit.words, phones)
    return {**shown, "budget": visit.desk.budget, "phones": phones}


def _after(visit: Visit) -> str:
    return visit.request.query.get("after", "")


_LOOKS: Final[dict[str, Look]] = {
    "rounds": lambda connection, visit, _: views.rounds(connection, visit.words, _after(visit)),
    "releases": lambda connection, visit, _: views.releases(
        connection, visit.words, _after(visit), visit.desk.by_hand
    ),
    "usage": lambda connection, visit, _: views.usage(connection, visit.words),
    "budgets": _budgets,
    "devices": lambda connection, visit, _: views.devices(connection, visit.words, _after(visit)),
    "documents": lambda connection, visit, _: views.documents(
        connection, visit.words, _after(visit)
    ),
    "alarms": lambda connection, visit, _: views.alarms(connection, visit.words),
    "events": lambda connection, visit, _: views.events(connection, visit.words, _after(visit)),
}


async def _card(visit: Visit) -> web.Response:
    model, version = visit.request.match_info["model"], visit.request.match_info["version"]
    if model not in SPECS or not version.isascii() or not version.isdigit() or len(version) > 9:
        return visit.problem(404)
    found = await visit.desk.read(
        lambda connection: views.card(connection, model, int(version), visit.desk.by_hand)
    )
    if found is None:
        return visit.problem(404)
    return visit.page("card", **{**found, "current": "releases"})


# --- steering ---------------------------------------------------------------------------------


async def _confirm(visit: Visit) -> web.Response:
    act, target = _asked(visit)
    if act is None:
        return visit.problem(404)
    if not visit.may_steer:
        return visit.problem(403)
    planned = await visit.desk.read(lambda connection: plan(connection, act, target))
    back = f"/admin/{_AFTER.get(act, 'releases')}"
    return visit.page("confirm", act=act, target=target, plan=planned, cancel=back)


async def _steer(visit: Visit) -> web.Response:
    act, target = _asked(visit)
    if act is None or visit.session is None:
        return visit.problem(404)
    fields = await visit.form(visit.session.nonce)
    if not visit.may_steer:
        return visit.problem(403)
    desk = visit.desk
    planned = await desk.read(lambda connection: plan(connection, act, target))
    deed = None
    if planned is not None:
        if int(fields.get("version", "0")) != planned.version:
            raise Changed
        deed = await perform(desk, planned, visit.operator, float(fields.get("days", "0")))
        if deed.secret:
            return visit.page("token", secret=deed.secret, until=deed.until, current="devices")
    done: str = act if deed is not None and deed.done else "nothing"
    if deed is not None and deed.status == "rejected":
        done = "reject"
    return _see_other(f"/admin/{_AFTER.get(act, 'releases')}?done={done}")


def _asked(visit: Visit) -> tuple[Act | None, str]:
    said, target = visit.request.match_info["act"], visit.request.match_info["target"]
    for act in ACTS:
        if act == said and applies(act, target):
            return act, target
    return None, ""


# --- coming and going -------------------------------------------------------------------------


async def _login_page(visit: Visit) -> web.Response:
    if visit.session is not None:
        return _see_other("/admin/")
    return _form(visit, 200)


async def _log_in(visit: Visit) -> web.Response:
    desk, now, address = visit.desk, visit.desk.clock(), remote(visit.request)
    if wait := desk.patience.wait(address, now):
        desk.metrics.admin_logins.labels(outcome="limited").inc()
        seconds = max(1, round(wait))
        response = _form(visit, 429, visit.words("login.wait", seconds=seconds))
        response.headers["Retry-After"] = str(seconds)
        return response
    fields = await visit.form(visit.request.cookies.get(visit.cookie_name("login"), ""))
    operator = await desk.admitted(fields.get("token", "").strip(), address)
    if operator is None:
        return _form(visit, 403, visit.words("login.refused"))
    log.info("logged_in", operator=operator.name, role=operator.role)
    response = _see_other("/admin/")
    visit.start_session(response, desk.entry.cookie(operator, now))
    response.del_cookie(visit.cookie_name("login"), path="/", secure=visit.secure)
    return response


async def _log_out(visit: Visit) -> web.Response:
    assert visit.session is not None
    await visit.form(visit.session.nonce)
    response = _see_other(f"{_LOGIN}?out=1")
    visit.end_session(response)
    return response


def _form(visit: Visit, status: int, problem: str = "") -> web.Response:
    """The login page, bound to this browser by a nonce."""
    nonce = visit.desk.entry.nonce()
    told = visit.words("login.out") if "out" in visit.request.query and not problem else ""
    csrf = visit.desk.entry.form_token(nonce)
    response = visit.page("login", status, csrf=csrf, problem=problem, told=told)
    visit.set_cookie(response, visit.cookie_name("login"), nonce, _LOGIN_SECONDS)
    return response
