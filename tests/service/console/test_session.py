"""Signed in with two halves of a key: one alone does nothing, they end with the key, other sites use neither."""

from __future__ import annotations

import json
import time

import pytest

from parcomp.custodian import Access, Settings
from parcomp.service.session import COOKIE, SECONDS, TOKEN_HEADER, join_key, split_key
from tests.service.served import WOMEN, Served, people

BODY = {"sql": WOMEN, "epsilon": "0.1"}


def sign_in(served: Served, who: str = "anna") -> tuple[str, str]:
    """The cookie and the token."""
    response = served.call("POST", "/console/session", None, json={"key": served.keys[who]})
    assert response.status_code == 200
    cookie = response.cookies[COOKIE]
    served.http.cookies.clear()
    return cookie, response.json()["token"]


def send(served: Served, method: str, path: str, cookie: str | None, token: str | None, **sent):
    headers = {} if cookie is None else {"Cookie": f"{COOKIE}={cookie}"}
    if token is not None:
        headers[TOKEN_HEADER] = token
    response = served.call(method, path, None, headers, **sent)
    served.http.cookies.clear()
    return response


def test_both_halves_are_the_key(served: Served):
    cookie, token = sign_in(served)
    assert send(served, "POST", "/v1/answers", cookie, token, json=BODY).status_code == 200
    assert served.charges()[0]["analyst"] == "anna"
    assert send(served, "GET", "/v1/budget/map?x=sex&y=age", cookie, token).status_code == 403


def test_what_a_form_of_another_site_can_send_is_not_taken(shared: Served):
    cookie, token = sign_in(shared)
    signing = json.dumps({"key": shared.keys["ben"]}).encode()
    for kind in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=a", ""):
        said = {"Content-Type": kind} if kind else {}
        response = shared.call("POST", "/console/session", None, said, content=signing)
        assert response.status_code == 400
        assert "set-cookie" not in response.headers
        headers = {"Cookie": f"{COOKIE}={cookie}", TOKEN_HEADER: token, **said}
        asking = json.dumps(BODY).encode()
        assert shared.call("POST", "/v1/answers", None, headers, content=asking).status_code == 400
    assert shared.charges() == []


def test_the_cookie_is_for_this_site_and_not_for_scripts(shared: Served):
    response = shared.call("POST", "/console/session", None, json={"key": shared.keys["anna"]})
    shared.http.cookies.clear()
    attributes = response.headers["set-cookie"].lower()
    assert "httponly" in attributes
    assert "samesite=strict" in attributes
    assert f"max-age={SECONDS}" in attributes
    assert "secure" not in attributes
    behind_tls = shared.call(
        "POST", "/console/session", None, {"X-Forwarded-Proto": "https"}, json={"key": shared.keys["anna"]}
    )
    shared.http.cookies.clear()
    assert "secure" in behind_tls.headers["set-cookie"].lower()
    assert shared.keys["anna"] not in response.text + response.headers["set-cookie"]


def test_a_revoked_key_ends_its_sessions_within_a_second(served: Served):
    cookie, token = sign_in(served)
    assert send(served, "GET", "/v1/domain", cookie, token).status_code == 200
    with Access(Settings.load(served.path)) as access:
        access.revoke("anna")
    time.sleep(1)
    assert send(served, "GET", "/v1/domain", cookie, token).status_code == 401


def test_any_server_takes_the_session(served: Served):
    """Nothing of it is kept at the server where it began."""
    from tests.service.served import serving  # noqa: PLC0415  one test needs it

    cookie, token = sign_in(served)
    with serving(served.path) as other:
        assert send(other, "GET", "/v1/domain", cookie, token).status_code == 200


def test_a_session_ends_and_its_end_cannot_be_moved():
    now = 1_000_000.0
    cookie, token = split_key("pc_key", now)
    assert join_key(cookie, token, now + SECONDS - 1) == "pc_key"
    assert join_key(cookie, token, now + SECONDS + 1) is None
    until, rest = cookie.split(".", 1)
    assert join_key(f"{int(until) + 9}.{rest}", token, now) is None


@pytest.mark.parametrize("cookie", ["", "1", "a.b.c", "9999999999..", "9999999999.é.é", "." * 3, "x" * 5000])
@pytest.mark.parametrize("token", ["", "A", "é", "AAAA"])
def test_halves_that_are_none_are_no_key(cookie, token):
    assert join_key(cookie, token) is None


def test_halves_of_a_key_are_as_random_as_can_be():
    """No bit of the key shows in either half: over many splits each bit of both is set about half of the time."""
    from base64 import urlsafe_b64decode  # noqa: PLC0415  one test needs it

    for half in (lambda cookie, token: cookie.split(".")[1], lambda cookie, token: token):
        ones = [0] * 8
        for _ in range(2000):
            text = half(*split_key("\x00"))
            byte = urlsafe_b64decode(text + "=" * (-len(text) % 4))[0]
            for bit in range(8):
                ones[bit] += byte >> bit & 1
        assert all(800 < count < 1200 for count in ones)


def test_wrong_keys_are_slowed_here_too(served: Served):
    statuses = [
        served.call("POST", "/console/session", None, json={"key": f"pc_{number}"}).status_code for number in range(105)
    ]
    assert statuses[:100] == [401] * 100
    assert statuses[-1] == 429
    sign_in(served)


@pytest.mark.parametrize(
    "body", [{}, {"key": 1}, {"key": ""}, {"key": "a b"}, {"key": "x" * 300}, {"key": "x", "y": 1}]
)
def test_odd_bodies_are_400(shared: Served, body):
    assert shared.call("POST", "/console/session", None, json=body).status_code == 400


def test_analysts_make_and_revoke_no_keys(shared: Served):
    for path, body in (
        ("/console/keys", {"name": "anna", "role": "custodian"}),
        ("/console/keys/revoked", {"name": "ben"}),
    ):
        assert shared.call("POST", path, "anna", json=body).status_code == 403


def test_analysts_see_their_own_charges_only(tmp_path):
    with people(tmp_path / "own") as served:
        served.ask(WOMEN, who="ben")
        assert served.get("/console/charges").json()["total"] == 0
        assert served.get("/console/charges/1").status_code == 404
        assert served.get("/console/answers").json()["answers"] == []
        assert served.get("/console/charges/1", "ben").status_code == 200
        assert served.get("/console/charges/1", "boss").status_code == 200


def test_recalling_charges_nothing_and_answers_what_was_bought(served: Served):
    recall = {"sql": WOMEN, "epsilon": "0.05"}
    assert served.call("POST", "/console/recalled", json=recall).status_code == 404
    assert served.charges() == []
    bought = served.ask(WOMEN, "0.1").json()
    recalled = served.call("POST", "/console/recalled", json=recall).json()
    assert (recalled["value"], recalled["cost"], recalled["cached"]) == (bought["value"], 0, True)
    assert served.call("POST", "/console/recalled", json={**recall, "epsilon": "0.2"}).status_code == 404
    (listed,) = served.get("/console/answers").json()["answers"]
    assert (listed["sql"], listed["answer"]["value"]) == (WOMEN, bought["value"])
    assert len(served.charges()) == 1


def test_a_region_is_what_its_rows_have_paid(served: Served):
    served.ask(WOMEN, "0.2")
    served.ask("SELECT COUNT(*) FROM people WHERE age < 3", "0.1")

    def region(**where):
        return served.call("POST", "/console/region", "boss", json={"where": where}).json()

    assert region(sex=["M"], age=[5])["total"] == 0
    assert region(sex=["M"], age=[5])["left"] == 1
    both = region(sex=["F", "M"], age=[{"from": 0, "to": 9}])
    assert both["maximum"]["upper"] == pytest.approx(0.3)
    assert both["left"] == pytest.approx(0.7)
    assert {one["number"] for one in both["charges"] if one["maximum"]} == {1, 2}
    for wrong in ({"height": [1]}, {"age": {"up": 1}}, {"sex": [1]}):
        assert served.call("POST", "/console/region", "boss", json={"where": wrong}).status_code == 400


def test_maps_apart_are_maps_of_the_rows_with_each_value(tmp_path):
    domain = {
        "name": "people",
        "attributes": {
            "sex": {"values": ["F", "M"]},
            "age": {"low": 0, "high": 3},
            "town": {"values": ["a", "b"], "nullable": True},
        },
    }
    rows = [{"sex": "F", "age": 1, "town": "a"}]
    with people(tmp_path / "three", domain=domain, rows=rows) as served:
        served.ask("SELECT COUNT(*) FROM people WHERE town = 'a' AND age < 2", "0.2")
        served.ask(WOMEN, "0.1")
        found = served.get("/console/maps?x=sex&y=age&z=town", "boss").json()["maps"]
        assert [one["value"] for one in found] == ["a", "b", None]
        assert found[0]["cells"] == [pytest.approx([0.3, 0.3, 0.1, 0.1]), pytest.approx([0.2, 0.2, 0, 0])]
        assert found[1]["cells"] == [pytest.approx([0.1] * 4), [0] * 4] == found[2]["cells"]
        for wrong in ("sex", "height"):
            assert served.get(f"/console/maps?x=sex&y=age&z={wrong}", "boss").status_code == 400
