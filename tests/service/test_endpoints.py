"""Every endpoint that the application has: who may use it, with half a session too, and what others see of it."""

from __future__ import annotations

import pytest
from starlette.routing import Mount

from parcomp.custodian import Access, Settings
from parcomp.service import create_app, guard
from parcomp.service.session import COOKIE, TOKEN_HEADER
from tests.service.endpoints import CITIZENS, DOMAIN, ENDPOINTS, HOLDERS, request_of
from tests.service.served import WOMEN, Served, add_keys, freeze_noise, people, seen_from_outside

CLOSED = [one for one, endpoint in ENDPOINTS.items() if endpoint.served is not None]
QUOTAS = {"anna": "0.5", "ben": "0.5", "dual": "0.5"}
UNEQUAL = {
    # The rows of a rehearsal are drawn at random, and are those of no table.
    ("POST", "/console/rehearsals"),
    # These hold times of requests, and of an audit.
    ("GET", "/metrics"),
    ("POST", "/console/audits"),
}


@pytest.fixture(scope="module")
def roles(tmp_path_factory):
    directory = tmp_path_factory.mktemp("roles")
    with pytest.MonkeyPatch.context() as patch:
        # More wrong keys come here than are taken of one address.
        patch.setattr(guard, "_GUESSES_A_MINUTE", 10_000)
        with people(directory, "rate = 100000", quotas=QUOTAS, domain=DOMAIN, rows=CITIZENS) as served:
            served.keys |= add_keys(served.path, dual="custodian", former="custodian")
            served.keys["stranger"] = "pc_" + "A" * 43
            with Access(Settings.load(served.path)) as access:
                access.revoke("former")
            assert served.ask(WOMEN, "0.1").status_code == 200
            yield served


def test_every_route_is_tried(tmp_path):
    parts = create_app(tmp_path / "none").routes
    routes = [route for part in parts for route in getattr(part, "original_router", Mount("", routes=[part])).routes]
    assert {(method, route.path) for route in routes for method in route.methods} == set(ENDPOINTS)


@pytest.mark.parametrize("who", ["nobody", "stranger", "former", *HOLDERS])
@pytest.mark.parametrize(("method", "pattern"), ENDPOINTS)
def test_role_by_endpoint(roles: Served, who, method, pattern):
    endpoint, before = ENDPOINTS[method, pattern], len(roles.charges())
    response = roles.call(who=None if who == "nobody" else who, **request_of(roles, method, pattern))
    roles.http.cookies.clear()
    if endpoint.served is None or who in endpoint.served:
        assert response.status_code == endpoint.status, response.text
        return
    expected = (403, "role") if who in HOLDERS else (401, "unauthorized")
    assert (response.status_code, response.json()["type"].rpartition(":")[2]) == expected
    assert response.headers.get("www-authenticate", "").startswith("Bearer") is (expected[0] == 401)
    assert "set-cookie" not in response.headers
    assert len(roles.charges()) == before


@pytest.mark.parametrize(("method", "pattern"), CLOSED)
def test_half_a_session_does_nothing(roles: Served, method, pattern):
    """A stolen cookie without its token, a token without its cookie, and halves that do not belong together."""
    sessions = [roles.call("POST", "/console/session", None, json={"key": roles.keys["dual"]}) for _ in range(2)]
    roles.http.cookies.clear()
    (cookie, token), (_, other) = ((one.cookies[COOKIE], one.json()["token"]) for one in sessions)
    before, keys = len(roles.charges()), roles.get("/console/keys", "boss").json()
    sent = request_of(roles, method, pattern)
    for theirs, said in ((cookie, None), (cookie, ""), (cookie, other), (cookie, "A" * len(token)), (None, token)):
        headers = {} if theirs is None else {"Cookie": f"{COOKIE}={theirs}"}
        headers |= {} if said is None else {TOKEN_HEADER: said}
        assert roles.call(who=None, headers=headers, **sent).status_code == 401
    # Nor is a half a key that programs could send.
    for half in (cookie, token):
        assert roles.call(who=half, **sent).status_code == 401
    assert (len(roles.charges()), roles.get("/console/keys", "boss").json()) == (before, keys)
    both = {"Cookie": f"{COOKIE}={cookie}", TOKEN_HEADER: token}
    status = roles.call(who=None, headers=both, **sent).status_code
    roles.http.cookies.clear()
    assert status == ENDPOINTS[method, pattern].status


@pytest.mark.parametrize("noise", [0, -120])
def test_what_others_see_does_not_depend_on_the_data(monkeypatch, tmp_path, noise):
    """Status, headers and length of every response on neighboring tables, on an empty one and on a large one."""
    freeze_noise(monkeypatch, noise)
    seen = []
    for number, rows in enumerate([CITIZENS, CITIZENS[1:], [], CITIZENS * 100]):
        with people(tmp_path / str(number), "rate = 100000", rows=rows, domain=DOMAIN, quotas=QUOTAS) as served:
            served.keys |= add_keys(served.path, dual="custodian")
            assert served.ask(WOMEN, "0.1", who="dual").status_code == 200
            seen.append({one: _outside(served, *one) for one in ENDPOINTS if one not in UNEQUAL})
    assert seen[0] == seen[1] == seen[2] == seen[3]


def _outside(served: Served, method: str, pattern: str) -> tuple[object, ...]:
    """What somebody sees who cannot read the body: all but times and random numbers."""
    response = served.call(who="dual", **request_of(served, method, pattern))
    served.http.cookies.clear()
    return seen_from_outside(response)
