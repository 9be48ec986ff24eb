"""The operators' side over HTTP: JSON, headers, forms that are none of ours."""

from __future__ import annotations

import http.client
import json
import re
import shutil
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest
from sqlalchemy import select

from cloud.admin.patience import FAILURES
from cloud.storage.tables import devices, releases
from tests.cloud.admin.house import House, opened


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def ask(house: House, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
    connection = http.client.HTTPConnection(urlsplit(house.url).netloc, timeout=30)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, named)
    answer = connection.getresponse()
    found = Answer(answer.status, answer.headers, answer.read())
    connection.close()
    return found


def post(house: House, token: str, act: str, body: object) -> Answer:
    return ask(
        house,
        "POST",
        f"/v1/admin/{act}",
        json.dumps(body).encode(),
        Authorization=f"Bearer {token}",
    )


@pytest.fixture(scope="module")
def viewer(house: House) -> str:
    return house.token("json", "viewer")


@pytest.fixture(scope="module")
def steerer(house: House) -> str:
    return house.token("steerer", "operator")


def look(house: House, token: str, what: str) -> Answer:
    return ask(house, "GET", f"/v1/admin/{what}", Authorization=f"Bearer {token}")


def test_the_state_as_json(house: House, viewer: str) -> None:
    status = look(house, viewer, "status").json
    assert status["devices"] == {"enrolled": 134, "active": 134, "revoked": 0}
    assert status["reports"]["week"] == 72
    assert {row["task"]: row["filled"] for row in status["rounds"]} == {
        "usage": 0,
        "router": 0,
        "dedup": 0,
    }
    assert (status["budget"], status["aggregation"]) == ("demo", "two-server")
    staged = [row for row in status["releases"] if row["status"] == "staged"]
    assert [(row["model"], row["version"], row["percent"]) for row in staged] == [("router", 2, 1)]
    assert len(look(house, viewer, "usage").json["usage"]) == 3
    assert any(
        row["key"] == "drift:top_layer" for row in look(house, viewer, "alarms").json["alarms"]
    )
    for what in ("rounds", "releases", "documents", "events"):
        answer = look(house, viewer, what)
        assert answer.status == 200
        assert isinstance(answer.json[what], list)


@pytest.mark.parametrize(("what", "key"), [("devices", "device_id"), ("events", "id")])
def test_pages_cover_everything_once(house: House, viewer: str, what: str, key: str) -> None:
    seen, after = [], ""
    for _ in range(100):
        page = look(house, viewer, f"{what}?limit=7&after={after}").json
        seen += [row[key] for row in page[what]]
        if page["after"] is None:
            break
        after = page["after"]
    whole = look(house, viewer, f"{what}?limit=500").json[what]
    assert len(whole) >= 10
    assert seen == [row[key] for row in whole]


def test_rounds_come_in_pages_newest_first(house: House, viewer: str) -> None:
    whole = look(house, viewer, "rounds").json["rounds"]
    assert [row["opens"] for row in whole] == sorted((row["opens"] for row in whole), reverse=True)
    seen: list[Any] = []
    after: str | None = ""
    while after is not None:
        page = look(house, viewer, f"rounds?limit=2&after={after}").json
        seen += page["rounds"]
        after = page["after"]
    assert seen == whole


@pytest.mark.parametrize(
    "query",
    [
        "after=x:y",
        "after=%00",
        "limit=0",
        "limit=501",
        "limit=x",
        "after=" + "1" * 200,
        "after=1:2:3",
    ],
)
def test_a_query_that_is_none(house: House, viewer: str, query: str) -> None:
    answer = look(house, viewer, f"events?{query}")
    assert (answer.status, answer.json["error"]) == (400, "bad_query")


def test_nothing_without_a_token(house: House) -> None:
    for path in ("status", "devices", "nonsense"):
        answer = ask(house, "GET", f"/v1/admin/{path}")
        assert (answer.status, answer.json["error"]) == (401, "no_token")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    answer = look(house, "0" * 64, "status")
    assert (answer.status, answer.json["error"]) == (401, "bad_token")
    for act in ("halt", "revoke", "token"):
        assert ask(house, "POST", f"/v1/admin/{act}", b"{}").status == 401


def test_a_viewer_steers_nothing(house: House, viewer: str) -> None:
    for act in ("halt", "rollback", "approve", "advance", "revoke", "forget", "token"):
        answer = post(house, viewer, act, {"model": "router"})
        assert (answer.status, answer.json["error"]) == (403, "role")
    with house.database.read() as connection:
        staged = select(releases.c.version).where(releases.c.status == "staged")
        assert connection.scalars(staged).all() == [2]


def test_steering_by_json(own_house: House) -> None:
    token = own_house.token("bot", "operator")
    stale = post(own_house, token, "halt", {"model": "router", "version": 1})
    assert (stale.status, stale.json["error"]) == (409, "changed")
    done = post(own_house, token, "halt", {"model": "router", "version": 2})
    assert (done.status, done.json) == (200, {"done": "halt", "status": "withdrawn"})
    again = post(own_house, token, "halt", {"model": "router"})
    assert (again.status, again.json["error"]) == (409, "nothing_to_do")
    phone = f"{7:032x}"
    assert post(own_house, token, "revoke", {"device_id": phone}).json == {"done": "revoke"}
    with own_house.database.read() as connection:
        gone = select(devices.c.revoked).where(devices.c.device_id == phone)
        assert connection.scalar(gone) == own_house.now
    made = post(own_house, token, "token", {"days": 2}).json
    assert re.fullmatch("[0-9a-f]{32}", made["token"])
    assert own_house.desk.metrics.value("reverie_steered_total", act="halt", outcome="done") == 1
    assert post(own_house, token, "revoke", {"device_id": "nobody"}).status == 409
    own_house.operators.revoke("bot", own_house.now)
    assert post(own_house, token, "token", {"days": 2}).status == 401


@pytest.mark.parametrize(
    ("act", "body"),
    [
        ("halt", b"{"),
        ("halt", b"[]"),
        ("halt", b'{"model":"other"}'),
        ("halt", b'{"model":"router","more":1}'),
        ("halt", b'{"model":"router","version":-1}'),
        ("revoke", b'{"device_id":"a/b"}'),
        ("revoke", b'{"device_id":""}'),
        ("token", b'{"days":1e999}'),
        ("token", b'{"days":0}'),
        ("token", b'{"days":NaN}'),
        ("halt", b'{"model":"router"}' + b" " * 5_000),
    ],
)
def test_bodies_that_are_none(house: House, steerer: str, act: str, body: bytes) -> None:
    answer = ask(house, "POST", f"/v1/admin/{act}", body, Authorization=f"Bearer {steerer}")
    assert answer.status in (400, 413)
    assert set(answer.json) == {"error", "detail"}


def test_many_wrong_tokens_make_an_address_wait(own_house: House) -> None:
    good = own_house.token("good", "viewer")
    for _ in range(FAILURES):
        assert look(own_house, "0" * 64, "status").status == 401
    limited = look(own_house, good, "status")
    assert (limited.status, limited.json["error"]) == (429, "limit")
    assert int(limited.headers["Retry-After"]) > 0
    assert ask(own_house, "POST", "/admin/login", b"", Content_Type=FORM).status == 429
    own_house.now += 61
    assert look(own_house, good, "status").status == 200
    value = own_house.desk.metrics.value
    assert value("reverie_admin_logins_total", outcome="refused") == FAILURES
    assert value("reverie_admin_logins_total", outcome="limited") == 2


# --- forms ------------------------------------------------------------------------------------

FORM = "application/x-www-form-urlencoded"


def log_in(house: House, token: str) -> str:
    """The session's cookie, as a browser keeps it."""
    page = ask(house, "GET", "/admin/login")
    nonce = page.headers["Set-Cookie"].partition(";")[0]
    csrf = _csrf(page)
    body = urlencode({"csrf": csrf, "token": token}).encode()
    answer = ask(house, "POST", "/admin/login", body, Content_Type=FORM, Cookie=nonce)
    assert answer.status == 303
    cookie = next(
        said for said in answer.headers.get_all("Set-Cookie", []) if "reverie_session" in said
    )
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
    return str(cookie.partition(";")[0])


def _csrf(page: Answer) -> str:
    found = re.search(rb'name="csrf" value="([0-9a-f]{64})"', page.body)
    assert found is not None
    return found[1].decode()


@pytest.fixture(scope="module")
def cookie(house: House) -> str:
    return log_in(house, house.token("forms", "operator"))


def test_a_login_form_must_be_ours(house: House) -> None:
    token = house.token("foreign", "operator")
    body = urlencode({"csrf": "0" * 64, "token": token}).encode()
    assert ask(house, "POST", "/admin/login", body, Content_Type=FORM).status == 403
    page = ask(house, "GET", "/admin/login")
    mine = urlencode({"csrf": _csrf(page), "token": token}).encode()
    # The right form token with another browser's nonce, or from another site.
    assert ask(house, "POST", "/admin/login", mine, Content_Type=FORM).status == 403
    nonce = page.headers["Set-Cookie"].partition(";")[0]
    cross = {"Content_Type": FORM, "Cookie": nonce, "Sec_Fetch_Site": "cross-site"}
    assert ask(house, "POST", "/admin/login", mine, **cross).status == 403


def test_a_form_without_its_token_moves_nothing(house: House, cookie: str) -> None:
    page = ask(house, "GET", "/admin/do/halt/router", Cookie=cookie)
    csrf, path = _csrf(page), "/admin/do/halt/router"
    good = {"csrf": csrf, "version": "2"}
    refused: list[tuple[int, dict[str, str], dict[str, str]]] = [
        (403, {"version": "2"}, {}),
        (403, good | {"csrf": "0" * 64}, {}),
        (403, good, {"Sec_Fetch_Site": "cross-site"}),
        (409, good | {"version": "1"}, {}),
        (400, good | {"version": "x"}, {}),
        (413, good | {"more": "x" * 5_000}, {}),
        (400, good | {str(n): "" for n in range(20)}, {}),
        (400, good, {"Content_Type": "text/plain"}),
    ]
    for status, fields, headers in refused:
        sent = {"Content_Type": FORM, "Cookie": cookie} | headers
        answer = ask(house, "POST", path, urlencode(fields).encode(), **sent)
        assert answer.status == status, fields
    twice = urlencode(good).encode() + b"&version=2"
    assert ask(house, "POST", path, twice, Content_Type=FORM, Cookie=cookie).status == 400
    assert ask(house, "POST", path, urlencode(good).encode(), Content_Type=FORM).status == 303
    with house.database.read() as connection:
        staged = select(releases.c.version).where(releases.c.status == "staged")
        assert connection.scalars(staged).all() == [2]


def test_another_sessions_form_token_does_not_fit(house: House, cookie: str) -> None:
    other = log_in(house, house.token("other", "operator"))
    csrf = _csrf(ask(house, "GET", "/admin/do/halt/router", Cookie=other))
    body = urlencode({"csrf": csrf, "version": "2"}).encode()
    sent = {"Content_Type": FORM, "Cookie": cookie}
    assert ask(house, "POST", "/admin/do/halt/router", body, **sent).status == 403


@pytest.mark.parametrize(
    "path",
    [
        "do/burn/router",
        "do/halt/other",
        "do/token/old",
        "do/revoke/a%2Fb",
        "releases/router/0",
        "releases/router/x",
        "releases/router/99999999999999999999",
        "nothing",
        "../etc",
    ],
)
def test_addresses_with_nothing_under_them(house: House, cookie: str, path: str) -> None:
    answer = ask(house, "GET", f"/admin/{path}", Cookie=cookie)
    assert answer.status == 404


def test_a_cursor_that_is_none_is_a_plain_page(house: House, cookie: str) -> None:
    for section in ("rounds", "releases", "events", "devices", "documents"):
        answer = ask(house, "GET", f"/admin/{section}?after=a:b:c:d%00", Cookie=cookie)
        assert answer.status == 400
        assert b"<h1>" in answer.body


@pytest.mark.parametrize("path", ["/admin/", "/admin/login", "/admin/x", "/v1/admin/status"])
def test_every_answer_is_under_the_headers(house: House, path: str) -> None:
    headers = ask(house, "GET", path).headers
    policy = headers["Content-Security-Policy"]
    for part in ("default-src 'none'", "form-action 'self'", "frame-ancestors 'none'"):
        assert part in policy
    assert "script" not in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Strict-Transport-Security"] is None
    assert re.fullmatch("[0-9a-f]{16}", headers["X-Request-Id"])


def test_the_sheet_is_asked_for_once(house: House) -> None:
    first = ask(house, "GET", "/admin/admin.css")
    assert first.status == 200
    again = ask(house, "GET", "/admin/admin.css", If_None_Match=first.headers["ETag"])
    assert (again.status, again.body) == (304, b"")


def test_over_tls_cookies_and_headers_say_so(lived: Path, tmp_path: Path) -> None:
    state = Path(shutil.copytree(lived, tmp_path / "cloud"))
    with opened(state, secure=True) as house:
        page = ask(house, "GET", "/admin/login")
        assert page.headers["Strict-Transport-Security"] == "max-age=31536000"
        cookie = page.headers["Set-Cookie"]
        assert cookie.startswith("__Host-reverie_login=")
        assert {"Secure", "HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))


def test_metrics_beyond_this_machine_ask_for_a_token(lived: Path, tmp_path: Path) -> None:
    state = Path(shutil.copytree(lived, tmp_path / "cloud"))
    with opened(state, open_metrics=False) as house:
        refused = ask(house, "GET", "/metrics")
        assert (refused.status, refused.json["error"]) == (401, "no_token")
        bearer = f"Bearer {house.token('prometheus', 'viewer')}"
        told = ask(house, "GET", "/metrics", Authorization=bearer)
        assert told.status == 200
        assert b'reverie_devices{state="active"} 134.0' in told.body
        assert b'reverie_newest_version{model="router",status="staged"} 2.0' in told.body
        assert b'reverie_alarms{kind="drift"} 1.0' in told.body
        assert ask(house, "GET", "/healthz").status == 200


def test_metrics_are_shown_when_the_database_is_not(own_house: House) -> None:
    async def broken() -> None:
        raise OSError

    own_house.desk.counts = broken  # type: ignore[assignment, method-assign]
    told = ask(own_house, "GET", "/metrics")
    assert told.status == 200
    assert b"reverie_database_up 0.0" in told.body


def test_a_page_that_fails_says_where_to_look(own_house: House) -> None:
    cookie = log_in(own_house, own_house.token("lin", "viewer"))

    async def broken() -> None:
        raise OSError("canary of a row")

    own_house.desk.counts = broken  # type: ignore[assignment, method-assign]
    page = ask(own_house, "GET", "/admin/", Cookie=cookie)
    assert page.status == 500
    assert page.headers["X-Request-Id"].encode() in page.body
    assert b"canary" not in page.body


def test_what_was_counted_is_kept_for_a_moment_and_anew_after_a_change(own_house: House) -> None:
    token = own_house.token("lin", "operator")
    desk = own_house.desk
    first = own_house.call(desk.counts())
    assert own_house.call(desk.counts()) is first
    assert post(own_house, token, "revoke", {"device_id": f"{7:032x}"}).status == 200
    assert own_house.call(desk.counts()).fleet["revoked"] == 1
    own_house.now += 11
    assert own_house.call(desk.counts()) is not first
